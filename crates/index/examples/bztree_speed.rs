//! Prints what operations of the BzTree cost here, by the CPU time of their threads, and how often they flush and fence:
//! `bztree_speed [FOLDER] [KEYS]` (/dev/shm, a million).

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::{path::PathBuf, time::Duration};

use assay_index::{Index, IndexError, Session, bztree::BzTree};
use assay_pmem::{Counts, Mapped, Medium, Metered, Pool, PoolFile, counts};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};
use rustix::time::{ClockId, clock_gettime};

type Tree<M> = BzTree<Box<Pool<M>>>;

/// CPU time of this thread: what other programs take from the machine is not in it.
fn cpu_time() -> Duration {
    let now = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
}

/// Keys all over the range, each once.
fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

#[derive(Clone, Copy, PartialEq)]
enum Work {
    Insert,
    Lookup,
    Missing,
    Update,
    UpdateAnywhere,
    Scan,
    Remove,
}

/// Does the share of one thread; operations that did what was asked for.
fn work<M: Medium>(tree: &Tree<M>, work: Work, keys: u64, thread: u64, threads: u64) -> Result<u64, IndexError> {
    let mut session = tree.session();
    let mut random = Xoshiro256PlusPlus::seed_from_u64(thread);
    let (mut value, mut done) = (Vec::new(), 0);
    let rounds = if work == Work::Scan { keys / 50 } else { keys } / threads;
    for round in 0..rounds {
        let picked = key(random.next_u64() % keys);
        let own = key(round * threads + thread);
        done += match work {
            Work::Insert => u64::from(session.insert(&own, &(round >> 4).to_le_bytes())?),
            Work::Lookup => u64::from(session.lookup(&picked, &mut value)?),
            Work::Missing => u64::from(!session.lookup(&key(keys + round), &mut value)?),
            Work::Update => u64::from(session.update(&picked, &round.to_le_bytes())?),
            Work::UpdateAnywhere => u64::from(session.update(&picked, &(round | 1 << 63).to_le_bytes())?),
            Work::Scan => u64::from(session.scan(&picked, 100, &mut |_, _| true)? > 0),
            Work::Remove => u64::from(session.remove(&own)?),
        };
    }
    Ok(done)
}

/// Millions of operations for each second of CPU time, all threads together.
fn rate<M: Medium>(tree: &Tree<M>, what: Work, keys: u64, threads: u64) -> Result<f64, IndexError> {
    std::thread::scope(|scope| {
        let one = |thread| {
            scope.spawn(move || {
                let start = cpu_time();
                let done = work(tree, what, keys, thread, threads)?;
                Ok(done as f64 / (cpu_time() - start).as_secs_f64() / 1e6)
            })
        };
        let running: Vec<_> = (0..threads).map(one).collect();
        running.into_iter().map(|thread| thread.join().expect("no thread panics")).sum()
    })
}

/// Flushes, fences and blocks of an operation, by one thread.
fn cost<M: Medium>(tree: &Tree<M>, what: Work, keys: u64) -> Result<String, IndexError> {
    let before = counts();
    let done = work(tree, what, keys, 0, 1)?.max(1) as f64;
    let Counts { flushes, fences, blocks_read, blocks_written } = counts() - before;
    let each = |count: u64| count as f64 / done;
    Ok(format!(
        "{:.2} fences, {:.2} flushes, {:.2} blocks read, {:.2} written",
        each(fences),
        each(flushes),
        each(blocks_read),
        each(blocks_written)
    ))
}

const ALL: [(&str, Work); 7] = [
    ("insert", Work::Insert),
    ("lookup", Work::Lookup),
    ("lookup, missing", Work::Missing),
    ("update in place", Work::Update),
    ("update elsewhere", Work::UpdateAnywhere),
    ("scan of 100", Work::Scan),
    ("remove", Work::Remove),
];

fn main() -> Result<(), IndexError> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().map_or_else(|| PathBuf::from("/dev/shm"), PathBuf::from);
    let keys = arguments.next().and_then(|keys| keys.parse().ok()).unwrap_or(1_000_000);
    for threads in [1, 2] {
        let path = folder.join(format!("assay-bztree-speed-{}", std::process::id()));
        let file = PoolFile::create(&path, 160 * keys + (64 << 20), &Tree::<Mapped>::pool_shape())?;
        // The mapping keeps it: nothing is left behind, whatever happens.
        let _ = std::fs::remove_file(&path);
        let (pool, _lock) = file.split();
        pool.medium().populate().map_err(assay_pmem::PmemError::from)?;
        let tree = Tree::open(Box::new(pool))?;
        for (name, what) in ALL {
            println!("{threads} threads, {name:18} {:7.3} M/s", rate(&tree, what, keys, threads)?);
        }
    }
    let pool =
        Pool::create(Metered::new(Mapped::memory(160 * keys + (64 << 20))?, 32 << 10), &Tree::<Mapped>::pool_shape())?;
    let tree = Tree::open(Box::new(pool))?;
    for (name, what) in ALL {
        println!("{name:18} {}", cost(&tree, what, keys)?);
        if what == Work::Insert {
            println!("{:?}", tree.census()?);
        }
    }
    Ok(())
}
