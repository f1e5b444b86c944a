//! What the pool and the tree cost, measured side by side with what lies beneath: `buffer_speed FOLDER [MIB [PART]]`, where
//! the part is `hot`, `points`, `scans-64`, `scans-16` or `scans-4`.
//!
//! Each pair takes turns in one run, so that a busy machine disturbs both alike; ratios are of medians over the turns.

#![allow(clippy::print_stdout, reason = "its output is what it is for")]

use std::{
    cell::Cell,
    collections::BTreeMap,
    hint::black_box,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use assay_btree::Tree;
use assay_buffer::{
    Config, HEADER_BYTES, PageId, Pool, Worker,
    disk::{Access, Action, Disk, DiskRequest, Drive, Memory, ONE},
};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

type Failure = Box<dyn std::error::Error>;

const DEPTH: u32 = 64;
const TURNS: usize = 5;
const TURN: Duration = Duration::from_millis(500);

fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let folder = PathBuf::from(arguments.next().ok_or("name a folder on the drive")?);
    let mib = arguments.next().map_or(Ok(512), |text| text.parse::<u64>())?;
    let (only, file) = (arguments.next(), folder.join("buffer-speed"));
    let wanted = |part: &str| only.as_deref().is_none_or(|only| only == part);
    let part = |name: &str, measure: &dyn Fn() -> Result<(), Failure>| if wanted(name) { measure() } else { Ok(()) };
    let done = part("hot", &hot)
        .and_then(|()| part("points", &|| points(&file, mib)))
        .and_then(|()| part("scans-64", &|| scans(&file, mib, 64 << 10, 1000)))
        .and_then(|()| part("scans-16", &|| scans(&file, mib, 16 << 10, 120)))
        .and_then(|()| part("scans-4", &|| scans(&file, mib, 4 << 10, 120)));
    if file.exists() {
        std::fs::remove_file(&file)?;
    }
    done
}

/// Makes the file anew.
fn drive(file: &Path, bytes: u64) -> Result<Arc<dyn Disk>, Failure> {
    if file.exists() {
        std::fs::remove_file(file)?;
    }
    Ok(Arc::new(Drive::create(&[file.to_owned()], bytes, Access::default())?))
}

/// Takes turns at two things and prints how fast each was.
fn compare(
    what: &str,
    unit: &str,
    mut ours: impl FnMut(Duration) -> Result<f64, Failure>,
    mut theirs: impl FnMut(Duration) -> Result<f64, Failure>,
) -> Result<(), Failure> {
    let (mut a, mut b) = (Vec::new(), Vec::new());
    for _ in 0..TURNS {
        a.push(ours(TURN)?);
        b.push(theirs(TURN)?);
    }
    let (a, b) = (median(a), median(b));
    println!("{what}: {a:.3} against {b:.3} {unit}, ratio {:.2}", a / b);
    Ok(())
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Calls `step` for so long; steps counted by what it returns, per second in millions.
fn rate(time: Duration, mut step: impl FnMut() -> Result<u64, Failure>) -> Result<f64, Failure> {
    let (start, mut done) = (Instant::now(), 0);
    while start.elapsed() < time {
        done += step()?;
    }
    Ok(done as f64 / start.elapsed().as_secs_f64() / 1e6)
}

/// Look-ups with everything in memory, against the standard library's tree of the same entries.
fn hot() -> Result<(), Failure> {
    const KEYS: u64 = 1_000_000;
    let folder = tempfile::tempdir()?;
    let config = Config { pool_bytes: 128 << 20, ..Config::default() };
    let pool = Pool::create(drive(&folder.path().join("hot"), 1 << 30)?, config)?;
    let worker = pool.worker()?;
    let tree = Tree::create(&worker, &worker.write())?;
    let entries = (0..KEYS).map(|key| (key.wrapping_mul(0x9e37_79b9_7f4a_7c15), key));
    let map: BTreeMap<[u8; 8], [u8; 8]> =
        entries.map(|(key, value)| (key.to_be_bytes(), value.to_be_bytes())).collect();
    tree.load(&worker, &worker.write(), map.iter())?;
    let mut random = (Xoshiro256PlusPlus::seed_from_u64(1), Xoshiro256PlusPlus::seed_from_u64(1));
    let key =
        |random: &mut Xoshiro256PlusPlus| (random.next_u64() % KEYS).wrapping_mul(0x9e37_79b9_7f4a_7c15).to_be_bytes();
    let mut value = Vec::new();
    let ours = |time| {
        rate(time, || {
            for _ in 0..1000 {
                black_box(tree.lookup(&worker, &key(&mut random.0), &mut value)?);
            }
            Ok(1000)
        })
    };
    let theirs = |time| {
        rate(time, || {
            for _ in 0..1000 {
                black_box(map.get(&key(&mut random.1)));
            }
            Ok(1000)
        })
    };
    compare("hot look-ups, 1 M keys of 8 B, tree against BTreeMap", "M/s", ours, theirs)
}

/// Makes pages and writes them to the drive.
fn fill(worker: &Worker<'_>, pages: u64) -> Result<Vec<PageId>, Failure> {
    let mut made = Vec::new();
    for number in 0..pages {
        let writing = worker.write();
        made.push(worker.retry(|| {
            let mut page = worker.allocate(&writing)?;
            page.bytes_mut()[HEADER_BYTES..HEADER_BYTES + 8].copy_from_slice(&number.to_le_bytes());
            Ok(page.page())
        })?);
    }
    worker.checkpoint(Vec::new, || Ok(()))?;
    Ok(made)
}

/// Random reads of pages out of memory, against the same reads by the queue alone.
fn points(file: &Path, mib: u64) -> Result<(), Failure> {
    let disk = drive(file, (mib * 2) << 20)?;
    let config = Config { pool_bytes: (mib << 20) / 32, depth: DEPTH, ..Config::default() };
    let pool = Pool::create(Arc::clone(&disk), config)?;
    let worker = pool.worker()?;
    let pages = fill(&worker, mib * 256)?;
    let mut random = Xoshiro256PlusPlus::seed_from_u64(2);
    let ours = |time| {
        rate(time, || {
            let wanted: Vec<_> = (0..4096).map(|_| pages[random.next_u64() as usize % pages.len()]).collect();
            worker
                .retry_many(wanted.len(), &mut |at| worker.look(wanted[at])?.read(|page| _ = page.u64(HEADER_BYTES)))?;
            Ok(4096)
        })
    };
    let before = worker.counters();
    let mut raw = Xoshiro256PlusPlus::seed_from_u64(3);
    let memory = config.pool_bytes as usize;
    let theirs = |time| raw_reads(&*disk, time, (4096, memory), &mut || raw.next_u64() % (mib * 256), &mut |_| {});
    compare("4 KiB reads out of memory, pool (1/32 of the data) against queue", "M/s", ours, theirs)?;
    let after = worker.counters();
    println!("  of the pool's, {} hits and {} reads", after.hits - before.hits, after.prefetched - before.prefetched);
    Ok(())
}

/// Reads of the queue alone at the same depth, into memory of so many bytes, all of it in turn; millions a second. A pool
/// reads into as much as it has: the less there is, the more of it the caches hold, and the faster bytes arrive there.
/// `look` gets the bytes of each read.
fn raw_reads(
    disk: &dyn Disk,
    time: Duration,
    (bytes, memory): (u32, usize),
    next: &mut dyn FnMut() -> u64,
    look: &mut dyn FnMut(&[u8]),
) -> Result<f64, Failure> {
    let places = (memory / bytes as usize).max(2 * DEPTH as usize);
    let memory = Arc::new(Memory::new(places * bytes as usize)?);
    let mut queue = disk.queue(DEPTH * 2, &memory)?;
    let mut place = 0;
    let mut push = |queue: &mut dyn assay_buffer::disk::Queue| {
        let offset = (128 << 10) + next() * u64::from(bytes);
        let request =
            DiskRequest { action: Action::Read, offset, memory: place * bytes as usize, bytes, token: place as u64 };
        place = (place + 1) % places;
        // SAFETY: nobody looks at the memory of these reads before they have ended.
        unsafe { queue.push(request) };
    };
    (0..DEPTH).for_each(|_| push(&mut *queue));
    let mut done = Vec::new();
    rate(time, || {
        queue.reap(ONE, &mut done)?;
        let count = done.len() as u64;
        for completion in done.drain(..) {
            completion.result?;
            let (at, length) = (completion.token as usize * bytes as usize, bytes as usize);
            // SAFETY: read completely, and its place is not read into again before all others were.
            look(unsafe { std::slice::from_raw_parts(memory.start().add(at), length) });
            push(&mut *queue);
        }
        Ok(count)
    })
}

/// CPU time of this thread.
fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// A scan of a tree, against reads of 64 KiB in order by the queue alone, with as many bytes in flight, into as much memory as
/// the pool has.
fn scans(file: &Path, mib: u64, page_bytes: u32, value_bytes: usize) -> Result<(), Failure> {
    const RAW: u32 = 64 << 10;
    let disk = drive(file, (mib * 3) << 20)?;
    let depth = DEPTH * RAW / page_bytes;
    let config = Config { page_bytes, pool_bytes: (mib << 20) / 8, depth, ..Config::default() };
    let memory = config.pool_bytes as usize;
    let pool = Pool::create(Arc::clone(&disk), config)?;
    let worker = pool.worker()?;
    let tree = Tree::create(&worker, &worker.write())?;
    let value = vec![7; value_bytes];
    let entries = (0..(mib << 20) / (value_bytes as u64 + 24)).map(|key| (key.to_be_bytes(), &value));
    tree.load(&worker, &worker.write(), entries)?;
    worker.checkpoint(Vec::new, || Ok(()))?;
    let bytes = tree.check(&worker)?.leaf_pages * u64::from(page_bytes);
    let (cpu, read) = (Cell::new(Duration::ZERO), Cell::new(0));
    let ours = |_| {
        let (start, before, mut visited) = (Instant::now(), thread_cpu(), 0);
        let counted = worker.counters();
        tree.scan(&worker, &[], u64::MAX, &mut |_, value| {
            visited += value.len();
            true
        })?;
        black_box(visited);
        let time = start.elapsed().as_secs_f64();
        cpu.set(cpu.get() + (thread_cpu() - before));
        let now = worker.counters();
        // Those that an earlier scan left in the pool came from nowhere.
        let pages = now.prefetched + now.faults - counted.prefetched - counted.faults;
        read.set(read.get() + pages);
        Ok((pages * u64::from(page_bytes)) as f64 / time / 1e6)
    };
    let (mut at, mut looked) = (0, Vec::new());
    let theirs = |time| {
        let mut next = || {
            at += 1;
            at % (bytes / u64::from(RAW))
        };
        let sum = &mut |bytes: &[u8]| _ = black_box(crc32c::crc32c(bytes));
        looked.push(raw_reads(&*disk, time, (RAW, memory), &mut next, sum)? * f64::from(RAW));
        Ok(raw_reads(&*disk, time, (RAW, memory), &mut next, &mut |_| {})? * f64::from(RAW))
    };
    let what = format!("scans of pages of {} KiB, pool (1/8 of the data) against queue", page_bytes >> 10);
    let before = worker.counters();
    compare(&what, "MB/s", ours, theirs)?;
    println!("  the queue where each byte is looked at once, for a CRC-32C: {:.3} MB/s", median(looked));
    let after = worker.counters();
    let (waited, requests) = (after.faults - before.faults, after.requests - before.requests);
    let copied = after.copied - before.copied;
    let each = cpu.get().as_secs_f64() / read.get() as f64 * 1e6;
    println!(
        "  the pool's: {} pages read, {copied} of them copied, {waited} waited for, {requests} requests, \
         {each:.2} us of CPU time a page",
        read.get()
    );
    Ok(())
}
