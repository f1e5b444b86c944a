//! The tree on a simulated disk: power is cut at every I/O, and every I/O fails once. What a checkpoint has covered is there
//! afterwards, as it was at one moment; nothing is damaged, and no page is lost.

use std::{collections::BTreeMap, sync::Arc};

use assay_btree::{Tree, TreeError};
use assay_buffer::{
    Config, Grouping, Pool,
    disk::{
        Disk,
        sim::{Fate, World},
    },
};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const BYTES: u64 = 8 << 20;
const FATES: [Fate; 4] = [Fate::Lost, Fate::Kept, Fate::Reordered(5), Fate::Torn(6)];

thread_local! {
    /// Which slots pages of pools of this thread get.
    static GROUPING: std::cell::Cell<Grouping> = const { std::cell::Cell::new(Grouping::None) };
}

fn config() -> Config {
    Config { pool_bytes: 64 * 4096, workers: 2, depth: 8, grouping: GROUPING.get(), ..Config::default() }
}

/// Models as they were at each checkpoint that was begun; `ended` counts those that returned well.
#[derive(Default)]
struct History {
    begun: Vec<Model>,
    ended: usize,
}

/// Makes a tree and changes it, with checkpoints between. Ends at the first error.
fn work(disk: &Arc<dyn Disk>, seed: u64, history: &mut History) -> Result<(), TreeError> {
    let pool = Pool::create(Arc::clone(disk), config())?;
    let worker = pool.worker()?;
    let tree = Tree::create(&worker, &worker.write())?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut model = Model::new();
    for round in 0..5_u8 {
        for _ in 0..250 {
            let key = (random.next_u64() % 1500).to_be_bytes().to_vec();
            let writing = worker.write();
            if random.next_u64() % 4 == 0 {
                tree.remove(&worker, &writing, &key)?;
                model.remove(&key);
            } else {
                let bytes = if random.next_u64() % 40 == 0 { 6000 } else { random.next_u64() as usize % 500 };
                let value = vec![round; bytes];
                tree.upsert(&worker, &writing, &key, &value)?;
                model.insert(key, value);
            }
        }
        history.begun.push(model.clone());
        worker.checkpoint(|| tree.root().to_le_bytes().to_vec(), || Ok(()))?;
        history.ended += 1;
    }
    Ok(())
}

/// What the disk holds: none where no checkpoint has ever been made.
fn recovered(disk: &Arc<dyn Disk>) -> Result<Option<Model>, TreeError> {
    let pool = Pool::open(Arc::clone(disk), config())?;
    let Some(root) = pool.owner_bytes().first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes)) else {
        return Ok(None);
    };
    let worker = pool.worker()?;
    let tree = Tree::open(&pool, root);
    let facts = tree.check(&worker)?;
    assert_eq!(facts.pages(), pool.pages(), "no page is lost");
    let mut model = Model::new();
    tree.scan(&worker, &[], u64::MAX, &mut |key, value| model.insert(key.to_vec(), value.to_vec()).is_none())?;
    // It goes on working.
    assert!(tree.insert(&worker, &worker.write(), b"afterwards", b"1")?);
    worker.checkpoint(|| root.to_le_bytes().to_vec(), || Ok(()))?;
    Ok(Some(model))
}

/// The content is that of the last checkpoint that ended, or of one that had begun by then.
fn judge(disk: &Arc<dyn Disk>, history: &History, what: &str) {
    match recovered(disk) {
        Ok(Some(model)) => {
            let allowed = &history.begun[history.ended.saturating_sub(1)..];
            assert!(allowed.contains(&model), "{what}: {} entries after {} checkpoints", model.len(), history.ended);
        }
        Ok(None) => assert_eq!(history.ended, 0, "{what}: an acknowledged checkpoint is gone"),
        Err(error) => assert_eq!(history.ended, 0, "{what}: {error}"),
    }
}

fn ios(seed: u64) -> u64 {
    let world = World::new(seed);
    let disk: Arc<dyn Disk> = world.add("tree", BYTES);
    work(&disk, seed, &mut History::default()).unwrap();
    world.ios()
}

#[test]
fn power_is_cut_at_every_io_and_the_last_checkpoint_is_there() {
    power_is_cut_everywhere(11);
}

#[test]
fn power_is_cut_at_every_io_while_pages_are_grouped_and_trimmed() {
    GROUPING.set(Grouping::ByDeath { unit_bytes: 64 << 10 });
    power_is_cut_everywhere(13);
}

fn power_is_cut_everywhere(seed: u64) {
    let all = ios(seed);
    assert!(all > 100, "{all}");
    for io in (0..=all).step_by(2) {
        for fate in FATES {
            let world = World::new(seed);
            let disk: Arc<dyn Disk> = world.add("tree", BYTES);
            world.cut_power(io);
            let mut history = History::default();
            let cut = work(&disk, seed, &mut history);
            // Nobody is told of a trim that fails: nothing is lost by it.
            let trims = GROUPING.get() != Grouping::None;
            assert!(cut.is_err() || io >= all || trims, "power was cut at {io}");
            let after: Arc<dyn Disk> = world.image().after(fate).disk(0);
            judge(&after, &history, &format!("power cut at {io} of {all}, {fate:?}, seed {seed}"));
        }
    }
}

#[test]
fn every_io_fails_once_and_nothing_durable_is_lost() {
    every_io_fails_once(12);
}

#[test]
fn every_io_fails_once_while_pages_are_grouped_and_trimmed() {
    GROUPING.set(Grouping::ByDeath { unit_bytes: 64 << 10 });
    every_io_fails_once(14);
}

fn every_io_fails_once(seed: u64) {
    let all = ios(seed);
    for errno in [rustix::io::Errno::IO, rustix::io::Errno::NOSPC] {
        for io in (0..all).step_by(3) {
            let world = World::new(seed);
            let disk: Arc<dyn Disk> = world.add("tree", BYTES);
            world.fail(io, errno, false);
            let mut history = History::default();
            let failed = work(&disk, seed, &mut history);
            world.heal();
            let what = format!("{errno:?} at {io} of {all}, seed {seed}: {failed:?}");
            let after: Arc<dyn Disk> = world.image().after(FATES[0]).disk(0);
            judge(&after, &history, &what);
        }
    }
}

#[test]
fn a_flipped_bit_is_named_and_never_returned() {
    let seed = 13;
    let mut named = 0;
    for turn in 0..60_u64 {
        let world = World::new(seed);
        let disk: Arc<dyn Disk> = world.add("tree", BYTES);
        let mut history = History::default();
        work(&disk, seed, &mut history).unwrap();
        let ranges = world.written(0);
        let (start, end) = ranges[turn as usize % ranges.len()];
        world.flip(0, (start + turn * 9973 % (end - start)) * 8 + turn % 8);
        match recovered(&disk) {
            // It hit what nothing refers to, or a superblock of which there are two.
            Ok(Some(model)) => assert!(history.begun.contains(&model), "turn {turn}"),
            Ok(None) => panic!("turn {turn}: all is gone, and nothing is said"),
            Err(error) => {
                named += 1;
                assert!(error.to_string().contains("damaged"), "turn {turn}: {error}");
            }
        }
    }
    assert!(named > 5, "{named} of 60 flips were named");
}

/// Of pages that were read together, a failed request costs those that have the error at most: the scan has every entry, or
/// names the error, and the next one has every entry.
#[test]
fn each_read_of_a_scan_fails_once_and_no_entry_is_missing() {
    let seed = 14;
    let world = World::new(seed);
    let disk: Arc<dyn Disk> = world.add("tree", BYTES);
    let root = {
        let pool = Pool::create(Arc::clone(&disk), config()).unwrap();
        let worker = pool.worker().unwrap();
        let tree = Tree::create(&worker, &worker.write()).unwrap();
        tree.load(&worker, &worker.write(), (0..6000_u32).map(|key| (key.to_be_bytes(), [1; 100]))).unwrap();
        worker.checkpoint(Vec::new, || Ok(())).unwrap();
        tree.root()
    };
    let scan = |fault: Option<u64>| {
        let world = world.image().after(Fate::Kept);
        let pool = Pool::open(world.disk(0), config()).unwrap();
        let (worker, tree) = (pool.worker().unwrap(), Tree::open(&pool, root));
        let count = || tree.scan(&worker, &[], u64::MAX, &mut |_, value| value == [1; 100]);
        let opened = world.ios();
        if let Some(fault) = fault {
            world.fail(opened + fault, rustix::io::Errno::IO, false);
        }
        let first = count();
        let read = world.ios() - opened;
        assert_eq!(count().unwrap(), 6000, "after a fault at {fault:?}, seed {seed}");
        (first, read, worker.counters().prefetched)
    };
    let (whole, reads, pages) = scan(None);
    assert_eq!(whole.unwrap(), 6000);
    assert!(reads < pages, "{reads} reads of {pages} pages: some come together");
    let fine = (0..reads).filter(|&fault| match scan(Some(fault)).0 {
        Ok(count) => {
            assert_eq!(count, 6000, "fault {fault}, seed {seed}");
            true
        }
        Err(error) => {
            assert!(error.to_string().contains("reading"), "fault {fault}, seed {seed}: {error}");
            false
        }
    });
    assert!(fine.count() as u64 > reads / 2, "a request for several pages that failed is made again for each");
}
