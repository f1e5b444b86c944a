//! The multi-word compare-and-swap alone: crashes, threads that meet, a thread that stands still, a process that is
//! killed. What must hold: operations that raise all their words by one leave a sum that is a multiple of their length.

use std::{path::Path, sync::Arc, time::Duration};

use crate::{
    child::killed,
    turns::{Stepped, Turns},
};
use assay_index::pmwcas::{Block, CONTROL, CasOutcome, DescriptorTable, Fate, WordChange, Worker, area_bytes};
use assay_pmem::{
    Medium, Offset, Pool, PoolFile, Shape,
    crash::{CrashCase, Explorer, Mark, Recorder},
    pin,
};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

const LAYOUT: &str = "pmwcas-test-1";
const DESCRIPTORS: u16 = 6;
const WORDS: u64 = 6;
const BYTES: usize = 1 << 20;
/// Which word points to a block, and how long that is.
const POINTER: u64 = WORDS - 1;
const BLOCK: usize = 200;

/// Words and descriptors in a pool.
struct Words<M: Medium> {
    pool: Pool<M>,
    table: DescriptorTable,
    at: u64,
}

fn make<M: Medium>(pool: &Pool<M>) {
    let mut transaction = pool.begin();
    let area: Offset<u64> = transaction.alloc(area_bytes(DESCRIPTORS)).unwrap();
    let words: Offset<u64> = transaction.alloc(WORDS as usize * 64).unwrap();
    for (block, bytes) in [(area, area_bytes(DESCRIPTORS)), (words, WORDS as usize * 64)] {
        pool.medium().write(block.raw(), &vec![0; bytes]);
        pool.medium().flush(block.raw(), bytes);
    }
    transaction.set(pool.root(0), area.raw()).unwrap();
    transaction.set(pool.root(1), words.raw()).unwrap();
    transaction.commit();
}

impl<M: Medium> Words<M> {
    fn open(pool: Pool<M>) -> Result<Self, String> {
        let root = |index| pool.medium().load(pool.root::<u64>(index).raw());
        let (area, at) = (root(0), root(1));
        let table = DescriptorTable::open(&pool, area, DESCRIPTORS).map_err(|error| error.to_string())?;
        Ok(Self { pool, table, at })
    }

    /// A line for each word, so that a crash may lose each alone.
    fn place(&self, word: u64) -> u64 {
        self.at + word * 64
    }

    /// Raises words by one each, together; tries again while others are faster.
    fn raise(&self, worker: &mut Worker<'_>, words: &[u64]) -> Result<(), String> {
        loop {
            let guard = pin();
            let change = |&word: &u64| {
                let old = worker.read(self.pool.medium(), self.place(word));
                WordChange { at: self.place(word), old, new: old + 1 }
            };
            let changes: Vec<WordChange> = words.iter().map(change).collect();
            match worker.run(&self.pool, &changes, &[], &guard).map_err(|error| error.to_string())? {
                CasOutcome::Succeeded => return Ok(()),
                CasOutcome::Failed => {}
                CasOutcome::Busy => {
                    drop(guard);
                    pin().flush();
                }
            }
        }
    }

    /// Puts a new block in the place of the one that the last word points to, and raises a word.
    fn replace(&self, worker: &mut Worker<'_>, word: u64) -> Result<(), String> {
        let said = |error: assay_pmem::PmemError| error.to_string();
        loop {
            let (guard, medium) = (pin(), self.pool.medium());
            let [old, count] = [POINTER, word].map(|word| worker.read(medium, self.place(word)));
            let new = self.pool.reserve::<u64>(BLOCK).map_err(said)?;
            medium.store(new.raw(), new.raw() ^ 0x55);
            medium.flush(new.raw(), 8);
            let mut blocks = vec![Block { at: new.raw(), bytes: BLOCK as u32, fate: Fate::Taken }];
            if old != 0 {
                blocks.push(Block { at: old, bytes: BLOCK as u32, fate: Fate::Freed });
            }
            let changes = [
                WordChange { at: self.place(POINTER), old, new: new.raw() },
                WordChange { at: self.place(word), old: count, new: count + 1 },
            ];
            match worker.run(&self.pool, &changes, &blocks, &guard).map_err(said)? {
                CasOutcome::Succeeded => return Ok(()),
                CasOutcome::Failed => {}
                CasOutcome::Busy => {
                    self.pool.cancel(new, BLOCK);
                    drop(guard);
                    pin().flush();
                }
            }
        }
    }

    fn values(&self) -> Result<Vec<u64>, String> {
        let all: Vec<u64> = (0..WORDS).map(|word| self.pool.medium().load(self.place(word))).collect();
        match all.iter().find(|&&word| word & CONTROL != 0) {
            Some(word) => Err(format!("a word is {word:#x} after recovery")),
            None => Ok(all),
        }
    }

    fn check_blocks(&self) -> Result<(), String> {
        let pointer = self.values()?[POINTER as usize];
        let blocks: Vec<_> = self.pool.allocated().map_err(|error| error.to_string())?;
        let linked = usize::from(pointer != 0);
        if blocks.len() != 2 + linked || (linked == 1 && !blocks.iter().any(|block| block.at == pointer)) {
            return Err(format!("{pointer:#x} is linked, allocated are {blocks:x?}"));
        }
        if linked == 1 && self.pool.medium().load(pointer) != pointer ^ 0x55 {
            return Err("the block that is linked was not written".to_owned());
        }
        Ok(())
    }
}

/// Which words an operation raises, as bits; the last one stands for a new block.
type Step = u64;

fn act<M: Medium>(words: &Words<M>, worker: &mut Worker<'_>, step: Step) -> Result<(), String> {
    let chosen: Vec<u64> = (0..POINTER).filter(|word| step >> word & 1 == 1).rev().collect();
    if step >> POINTER & 1 == 1 { words.replace(worker, chosen[0]) } else { words.raise(worker, &chosen) }
}

struct Case {
    threads: Vec<Vec<Step>>,
    seed: u64,
}

const STAMP: u32 = 8;

impl CrashCase for Case {
    type Recovered = Words<Recorder>;

    fn bytes(&self) -> usize {
        BYTES
    }

    fn set_up(&self, medium: Recorder) -> Result<(), String> {
        let shape = Shape { lanes: 3, ..Shape::new(LAYOUT) };
        make(&Pool::create(medium, &shape).map_err(|error| error.to_string())?);
        Ok(())
    }

    fn run(&self, medium: Recorder) -> Result<(), String> {
        let turns = Turns::new(medium.clone(), self.threads.len(), self.seed);
        let pool =
            Pool::open(Stepped::new(medium.clone(), turns.clone()), LAYOUT).map_err(|error| error.to_string())?;
        let words = Words::open(pool)?;
        std::thread::scope(|scope| {
            let one = |(number, steps): (usize, &Vec<Step>)| {
                let (words, turns, medium, steps) = (&words, turns.clone(), medium.clone(), steps.clone());
                scope.spawn(move || {
                    let _turn = turns.begin(number);
                    let mut worker = words.table.worker();
                    for (index, step) in steps.into_iter().enumerate() {
                        let code = step | ((number * 100 + index) as u64) << STAMP;
                        medium.begin(code);
                        act(words, &mut worker, step)?;
                        medium.end(code);
                    }
                    Ok(())
                })
            };
            let running: Vec<_> = self.threads.iter().enumerate().map(one).collect();
            running.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?)
        })
    }

    fn recover(&self, medium: Recorder) -> Result<Words<Recorder>, String> {
        medium.play_thread(0);
        Words::open(Pool::open(medium, LAYOUT).map_err(|error| error.to_string())?)
    }

    fn go_on(&self, words: &Words<Recorder>, medium: &Recorder) -> Result<(), String> {
        medium.play_thread(1);
        let mut worker = words.table.worker();
        for (index, step) in [0b11111 & !(1 << 4), 0b100001, 0b110].into_iter().enumerate() {
            let code = step | (900 + index as u64) << STAMP;
            medium.begin(code);
            act(words, &mut worker, step)?;
            medium.end(code);
        }
        Ok(())
    }

    /// Each operation that was cut off has happened or not: some choice of them explains all words.
    fn check(&self, words: &Words<Recorder>, past: &[Mark]) -> Result<(), String> {
        words.check_blocks()?;
        let found = words.values()?;
        let mut wanted = [0; POINTER as usize];
        let mut open: Vec<u64> = Vec::new();
        let mut cut_off = Vec::new();
        for mark in past.iter().chain([&Mark::Crash]) {
            match *mark {
                Mark::Begin(code) => open.push(code),
                Mark::End(code) => {
                    open.retain(|other| *other != code);
                    add(&mut wanted, code);
                }
                Mark::Crash => cut_off.append(&mut open),
            }
        }
        let explained = (0u32..1 << cut_off.len()).any(|choice| {
            let mut wanted = wanted;
            let chosen = cut_off.iter().enumerate().filter(|(index, _)| choice >> index & 1 == 1);
            chosen.for_each(|(_, code)| add(&mut wanted, *code));
            found[..POINTER as usize] == wanted
        });
        if explained {
            Ok(())
        } else {
            Err(format!("words are {found:?}, acknowledged {wanted:?}, cut off {cut_off:x?}"))
        }
    }
}

fn add(words: &mut [u64], step: u64) {
    let chosen = (0..POINTER).filter(|word| step >> word & 1 == 1);
    // A new block goes with one word, the highest.
    let most = if step >> POINTER & 1 == 1 { 1 } else { 5 };
    chosen.rev().take(most).for_each(|word| words[word as usize] += 1);
}

fn some_steps(count: usize, random: &mut Xoshiro256PlusPlus) -> Vec<Step> {
    let one = |_| loop {
        let step = random.next_u64() % 64;
        let words = (step & 0b11111).count_ones();
        if words != 0 && words <= 4 {
            return step;
        }
    };
    (0..count).map(one).collect()
}

#[test]
fn all_words_change_or_none_whatever_crash_and_whoever_helps() {
    let (mut images, mut nested) = (0, 0);
    for seed in 0..12u64 {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let threads = 1 + seed % 3;
        let case =
            Case { threads: (0..threads).map(|_| some_steps(12 / threads as usize, &mut random)).collect(), seed };
        let explorer = Explorer { seed, images: 250, nested_every: 12, nested_images: 24, ..Explorer::default() };
        let found = explorer.explore(&case).unwrap_or_else(|violation| panic!("seed {seed}: {violation}"));
        (images, nested) = (images + found.images, nested + found.nested_images);
    }
    println!("{images} images, {nested} of them of recoveries that were cut off");
    assert!(images > 3000);
}

/// One thread stands still before its n-th step, for each n; the other one must come to its end all the same, though it
/// wants the same words in the opposite order.
#[test]
fn a_thread_that_stands_still_anywhere_keeps_nobody_waiting() {
    let mut stops = 0;
    for words in [[[0u64, 1], [1, 0]], [[0, 1], [1, 2]], [[1, 2], [0, 1]]] {
        for stop in 0.. {
            let recorder = Recorder::new(BYTES);
            make(&Pool::create(recorder.clone(), &Shape { lanes: 3, ..Shape::new(LAYOUT) }).unwrap());
            let turns = Turns::stopping(recorder.clone(), stop);
            let pool = Pool::open(Stepped::new(recorder, Arc::clone(&turns)), LAYOUT).unwrap();
            let all = Words::open(pool).unwrap();
            std::thread::scope(|scope| {
                for (number, chosen) in words.iter().enumerate() {
                    let (all, turns) = (&all, Arc::clone(&turns));
                    scope.spawn(move || {
                        let _turn = turns.begin(number);
                        all.raise(&mut all.table.worker(), chosen).unwrap();
                    });
                }
            });
            let mut wanted = vec![0; WORDS as usize];
            words.iter().flatten().for_each(|word| wanted[*word as usize] += 1);
            assert_eq!(all.values().unwrap(), wanted, "stopped before step {stop}");
            if !turns.stopped() {
                break;
            }
            stops += 1;
        }
    }
    println!("stopped at {stops} places");
    assert!(stops > 100);
}

const CHILD: &str = "ASSAY_PMWCAS_KILL_TEST";

/// Runs only as the child: two threads raise four words at a time and replace blocks, until the process is killed.
#[test]
fn child() {
    let Ok(path) = std::env::var(CHILD) else { return };
    let (pool, _lock) = PoolFile::open(Path::new(&path), LAYOUT).unwrap().split();
    let words = Words::open(pool).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..2u64 {
            let words = &words;
            scope.spawn(move || {
                let mut worker = words.table.worker();
                for turn in 0u64.. {
                    words.raise(&mut worker, &[3, 2, 1, 0]).unwrap();
                    if turn % 8 == thread {
                        words.replace(&mut worker, 4).unwrap();
                    }
                    if turn == 50 {
                        println!("\nready");
                    }
                }
            });
        }
    });
}

#[test]
fn the_sum_of_the_words_survives_a_killed_process() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("skipped: no folder can be made under /dev/shm");
        return;
    };
    let path = folder.path().join("pool");
    let shape = Shape { lanes: 4, ..Shape::new(LAYOUT) };
    make(&*PoolFile::create(&path, 8 << 20, &shape).unwrap());
    let mut before = 0;
    for round in 0..12 {
        killed("pmwcas::child", (CHILD, &path), Duration::from_micros(300 + round * 1700), |line| {
            line.ends_with("ready")
        });
        let (pool, _lock) = PoolFile::open(&path, LAYOUT).unwrap().split();
        let words = Words::open(pool).unwrap();
        let values = words.values().unwrap();
        assert!(values[..4].iter().all(|value| *value == values[0]), "round {round}: {values:?}");
        assert_eq!(values[..4].iter().sum::<u64>() % 4, 0);
        words.check_blocks().unwrap_or_else(|what| panic!("round {round}: {what}"));
        assert!(values[0] > before, "round {round}: it did nothing");
        before = values[0];
    }
    println!("{before} operations of four words in 12 lives");
}
