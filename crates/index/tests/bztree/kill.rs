//! A process that works on a tree in a file is killed at any moment, again and again; what it said is done must be there.

use std::{collections::BTreeMap, io::Write, path::Path, time::Duration};

use crate::{
    child::killed,
    common::{Tree, key},
};
use assay_index::{Index, Session, bztree::BzTree};
use assay_pmem::{Mapped, PoolFile, Shape};

const CHILD: &str = "ASSAY_BZTREE_KILL_TEST";
const THREADS: u64 = 2;
/// Keys of one thread: few enough that its leaves split and merge again and again.
const KEYS: u64 = 700;
const ROUNDS: u64 = 12;

fn open(path: &Path) -> (Tree<Mapped>, assay_pmem::PoolLock) {
    let (pool, lock) = PoolFile::open(path, "bztree-1").unwrap().split();
    (BzTree::open(Box::new(pool)).unwrap(), lock)
}

/// What a thread does in its n-th turn: a key that comes and goes.
fn own(thread: u64, turn: u64) -> Vec<u8> {
    key((turn.wrapping_mul(0x9E37_79B9) % KEYS) * THREADS + thread)
}

fn act(session: &mut impl Session, thread: u64, turn: u64) {
    let (key, mut value) = (own(thread, turn), Vec::new());
    // Turns come in fours of hundreds: mostly added, changed, changed elsewhere, removed.
    match turn / 500 % 4 {
        3 => drop(session.remove(&key).unwrap()),
        2 => drop(session.upsert(&key, &[turn.to_le_bytes(), turn.to_le_bytes()].concat()).unwrap()),
        _ => drop(session.upsert(&key, &turn.to_le_bytes()).unwrap()),
    }
    session.lookup(&key, &mut value).unwrap();
}

/// Runs only as the child: each thread says each of its turns once it is done.
#[test]
fn child() {
    let Ok(path) = std::env::var(CHILD) else { return };
    let (tree, _lock) = open(Path::new(&path));
    let starts = std::fs::read_to_string(Path::new(&path).with_extension("turns")).unwrap_or_default();
    let starts: Vec<u64> = starts.split_whitespace().map(|turn| turn.parse().unwrap()).collect();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (tree, start) = (&tree, starts.get(thread as usize).copied().unwrap_or(0));
            scope.spawn(move || {
                let mut session = tree.session();
                for turn in start.. {
                    act(&mut session, thread, turn);
                    let mut out = std::io::stdout().lock();
                    writeln!(out, "\ndone {thread} {turn}").unwrap();
                    if turn == start + 20 {
                        writeln!(out, "\nready").unwrap();
                    }
                }
            });
        }
    });
}

/// What a thread's keys have after so many turns: the turn that wrote them last.
fn model(thread: u64, turns: u64) -> BTreeMap<Vec<u8>, u64> {
    let mut model = BTreeMap::new();
    for turn in 0..turns {
        if turn / 500 % 4 == 3 {
            model.remove(&own(thread, turn))
        } else {
            model.insert(own(thread, turn), turn)
        };
    }
    model
}

fn found(tree: &Tree<Mapped>, thread: u64) -> BTreeMap<Vec<u8>, u64> {
    let keys: std::collections::BTreeSet<Vec<u8>> = (0..KEYS).map(|number| key(number * THREADS + thread)).collect();
    let mut found = BTreeMap::new();
    let mut visit = |key: &[u8], value: &[u8]| {
        let turn = u64::from_le_bytes(*value.first_chunk().unwrap());
        let same = value.chunks_exact(8).all(|word| word == turn.to_le_bytes());
        assert!(same && value.len() == if turn / 500 % 4 == 2 { 16 } else { 8 }, "half a value: {value:x?}");
        if keys.contains(key) {
            found.insert(key.to_vec(), turn);
        }
        true
    };
    tree.session().scan(&[], usize::MAX, &mut visit).unwrap();
    found
}

#[test]
fn what_a_killed_process_said_is_there_and_nothing_leaked() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("skipped: no folder can be made under /dev/shm");
        return;
    };
    let path = folder.path().join("pool");
    let shape = Shape { lanes: 4, ..Tree::<Mapped>::pool_shape() };
    drop(PoolFile::create(&path, 64 << 20, &shape).unwrap());
    let mut turns = [0; THREADS as usize];
    for round in 0..ROUNDS {
        killed("kill::child", (CHILD, &path), Duration::from_micros(500 + round * 3100), |line| {
            let mut words = line.split(' ');
            if let (Some("done"), Some(thread), Some(turn), None) =
                (words.next(), words.next(), words.next(), words.next())
            {
                let (thread, turn) = (thread.parse::<usize>().unwrap(), turn.parse::<u64>().unwrap());
                turns[thread] = turns[thread].max(turn + 1);
            }
            line.ends_with("ready")
        });
        let (tree, _lock) = open(&path);
        let census = tree.census().unwrap_or_else(|error| panic!("round {round}: {error}"));
        for (thread, said) in turns.iter_mut().enumerate() {
            let found = found(&tree, thread as u64);
            // The turn that was cut off may have happened.
            let happened = [*said, *said + 1].into_iter().find(|turns| found == model(thread as u64, *turns));
            *said = happened.unwrap_or_else(|| panic!("round {round}, thread {thread}: not as after {said} turns"));
        }
        println!("{turns:?} turns, {census:?}");
        std::fs::write(path.with_extension("turns"), format!("{} {}", turns[0], turns[1])).unwrap();
    }
    assert!(turns.iter().all(|turns| *turns > 20 * ROUNDS));
}
