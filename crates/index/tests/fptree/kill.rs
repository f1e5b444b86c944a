//! A process with two threads at work on a tree in a file is killed, again and again; what it said is done is there.

use std::{io::Write, path::Path, time::Duration};

use assay_index::{Index, Session, fptree::FpTree};
use assay_pmem::{PoolFile, PoolLock, Shape};

use super::{
    case::{State, dump, key},
    child::killed,
};

const CHILD: &str = "ASSAY_FPTREE_KILL_TEST";
const LIVES: u64 = 8;
const KEYS: u64 = 400;

/// What a thread does as its n-th operation: inserts all of its keys, changes them, removes most.
fn act(words: bool, thread: u64, n: u64, session: &mut impl Session) {
    let (key, value) = entry(words, thread, n);
    match n / KEYS % 3 {
        0 => drop(session.insert(&key, &value).unwrap()),
        1 => drop(session.update(&key, &value).unwrap()),
        _ => drop(session.remove(&key).unwrap()),
    }
}

fn apply(words: bool, thread: u64, n: u64, state: &mut State) {
    let (key, value) = entry(words, thread, n);
    match n / KEYS % 3 {
        0 => drop(state.entry(key).or_insert(value)),
        1 => drop(state.get_mut(&key).map(|old| *old = value)),
        _ => drop(state.remove(&key)),
    }
}

fn entry(words: bool, thread: u64, n: u64) -> (Vec<u8>, Vec<u8>) {
    let key = key(words, (n * 7 % KEYS) * 2 + thread);
    let value = if words { n.to_ne_bytes().to_vec() } else { vec![n as u8; (n % 200) as usize] };
    (key, value)
}

fn open(path: &Path, words: bool) -> (FpTree<assay_pmem::Mapped>, PoolLock) {
    let (pool, lock) = PoolFile::open(path, "fptree-kill").unwrap().split();
    (FpTree::open(pool, words).unwrap(), lock)
}

/// Runs only as the child: both threads go on where they were told to, and say each number once it is durable.
#[test]
fn child() {
    let Ok(orders) = std::env::var(CHILD) else { return };
    let orders: Vec<&str> = orders.split(' ').collect();
    let words = orders[1] == "true";
    let (tree, _lock) = open(Path::new(orders[0]), words);
    let work = |thread: u64, from: u64| {
        let mut session = tree.session();
        for n in from.. {
            act(words, thread, n, &mut session);
            writeln!(std::io::stdout(), "done {thread} {n}").unwrap();
        }
    };
    let from = |index: usize| orders[index].parse().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| work(0, from(2)));
        work(1, from(3));
    });
}

#[test]
fn what_a_killed_process_said_is_there_and_nothing_leaked() {
    for words in [true, false] {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
            eprintln!("skipped: no folder can be made under /dev/shm");
            return;
        };
        let path = folder.path().join("pool");
        drop(PoolFile::create(&path, 32 << 20, &Shape { lanes: 4, ..Shape::new("fptree-kill") }).unwrap());
        let mut next = [0; 2];
        for life in 0..LIVES {
            let said = operations(&path, words, next, Duration::from_micros(2000 + life * 3100));
            let (tree, _lock) = open(&path, words);
            tree.examine().unwrap().unwrap_or_else(|wrong| panic!("life {life}: {wrong}"));
            next =
                matching(words, said, &dump(&tree).unwrap()).unwrap_or_else(|| panic!("life {life}: it said {said:?}"));
        }
        println!("{next:?} operations in {LIVES} lives");
        assert!(next.iter().sum::<u64>() > LIVES);
    }
}

/// Numbers of operations that give what is there: those that were said, and perhaps one more of each thread.
fn matching(words: bool, said: [u64; 2], found: &State) -> Option<[u64; 2]> {
    let more = [[0, 0], [0, 1], [1, 0], [1, 1]];
    more.map(|more| [said[0] + more[0], said[1] + more[1]]).into_iter().find(|done| {
        let mut state = State::new();
        (0..2).for_each(|thread| (0..done[thread as usize]).for_each(|n| apply(words, thread, n, &mut state)));
        state == *found
    })
}

/// How many operations of each thread are known to be done when the child was killed.
fn operations(path: &Path, words: bool, next: [u64; 2], after: Duration) -> [u64; 2] {
    let orders = format!("{} {words} {} {}", path.display(), next[0], next[1]);
    let mut done = next;
    killed("kill::child", (CHILD, orders), after, |line| {
        let words: Vec<&str> = line.split(' ').collect();
        let number = |index: usize| words.get(index).and_then(|word| word.parse::<u64>().ok());
        let (Some(&"done"), Some(thread), Some(n)) = (words.first(), number(1), number(2)) else { return false };
        done[thread as usize] = n + 1;
        true
    });
    done
}
