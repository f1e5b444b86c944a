//! Speed of Dash as its authors' driver measures it: `dash_speed [eh|lh] [KEYS] [OPERATIONS] [THREADS] [FOLDER]`.
//!
//! Keys and values have 8 bytes; the table is loaded, then keys that are there, keys that are not, new keys and removals
//! follow, uniformly at random. Times are of the wall and of the CPU, which others on the machine bend less.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::{hint::black_box, path::PathBuf, time::Instant};

use assay_index::{
    Index, Session,
    dash::{Dash, DashEh, DashLh, DashSession, DashShape, Directory},
};
use assay_pmem::{Mapped, Medium, Metered, PoolFile, Shape, counts};

/// Keys that follow each other, made far from each other.
fn key(number: u64) -> u64 {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ 0x5555_5555
}

fn cpu_s() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Random loads a second in the same memory, by CPU time: a yardstick for how busy the machine is.
fn loads_per_s<D: Directory>(table: &Dash<Mapped, D>) -> f64 {
    let (medium, bytes) = (table.pool().medium(), table.pool().usage().expect("a sound pool").allocated_bytes);
    let (before, count) = (cpu_s(), 2_000_000);
    let words = (bytes / 8).max(1 << 16);
    let sum = (0..count).fold(0u64, |sum, number| sum ^ medium.load(65536 + mix(number, words) * 8));
    black_box(sum);
    count as f64 / (cpu_s() - before)
}

/// Runs an operation on a range of numbers, each thread on its part.
fn phase<D: Directory>(
    table: &Dash<Mapped, D>,
    name: &str,
    numbers: std::ops::Range<u64>,
    threads: u64,
    operation: impl Fn(&mut DashSession<'_, Mapped, D>, &mut Vec<u8>, u64) -> bool + Sync,
) {
    let loads = loads_per_s(table);
    let (start, cpu) = (Instant::now(), cpu_s());
    let share = (numbers.end - numbers.start) / threads;
    let succeeded: u64 = std::thread::scope(|scope| {
        let of = |thread: u64| {
            let (from, operation) = (numbers.start + thread * share, &operation);
            scope.spawn(move || {
                let (mut session, mut value) = (table.session(), Vec::new());
                (from..from + share).filter(|&number| operation(&mut session, &mut value, black_box(number))).count()
                    as u64
            })
        };
        let all: Vec<_> = (0..threads).map(of).collect();
        all.into_iter().map(|thread| thread.join().expect("a worker panicked")).sum()
    });
    let (wall, cpu) = (start.elapsed().as_secs_f64(), cpu_s() - cpu);
    let count = (share * threads) as f64;
    println!(
        "{name:12} {:7.2} M/s by the clock, {:7.2} M/s a CPU by CPU time, {:5.1} random loads each; {succeeded} of {count} succeeded",
        count / wall / 1e6,
        count / cpu / 1e6,
        loads / (count / cpu),
    );
}

fn mix(number: u64, most: u64) -> u64 {
    let spread = (number ^ number >> 31).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    ((u128::from(spread) * u128::from(most)) >> 64) as u64
}

fn all<D: Directory>(table: Dash<Mapped, D>, keys: u64, operations: u64, threads: u64) {
    let insert = |session: &mut DashSession<'_, Mapped, D>, _: &mut Vec<u8>, number: u64| {
        session.insert(&key(number).to_le_bytes(), &number.to_le_bytes()).expect("the pool is large enough")
    };
    phase(&table, "load", 0..keys, threads, insert);
    let filling = table.filling();
    println!("{filling:?}, load factor {:.3}", filling.load_factor());
    phase(&table, "found, bytes", 0..operations, threads, |session, value, number| {
        session.lookup(&key(mix(number, keys)).to_le_bytes(), value).expect("it reads")
    });
    phase(&table, "found", 0..operations, threads, |session, _, number| session.get(key(mix(number, keys))).is_some());
    phase(&table, "missing", 0..operations, threads, |session, _, number| {
        session.get(key(mix(number, keys) + (1 << 40))).is_some()
    });
    phase(&table, "update", 0..operations, threads, |session, _, number| {
        session.update(&key(mix(number, keys)).to_le_bytes(), &number.to_le_bytes()).expect("it updates")
    });
    phase(&table, "insert", keys..keys + operations, threads, insert);
    phase(&table, "delete", keys..keys + operations, threads, |session, _, number| {
        session.remove(&key(number).to_le_bytes()).expect("it removes")
    });
    let filling = table.filling();
    println!("{filling:?}, load factor {:.3}", filling.load_factor());
}

/// What an operation costs in persistent memory.
fn costs<D: Directory>(table: &Dash<Metered<Mapped>, D>, keys: u64) {
    let mut session = table.session();
    let line = |name: &str, numbers: std::ops::Range<u64>, action: &mut dyn FnMut(u64)| {
        let (before, count) = (counts(), (numbers.end - numbers.start) as f64);
        numbers.for_each(action);
        let cost = counts() - before;
        println!(
            "{name:8} per operation: {:.3} fences, {:.3} lines flushed, {:.3} blocks read, {:.3} blocks written",
            cost.fences as f64 / count,
            cost.flushes as f64 / count,
            cost.blocks_read as f64 / count,
            cost.blocks_written as f64 / count,
        );
    };
    let mut value = Vec::new();
    line("insert", 0..keys, &mut |number| {
        session.insert(&key(number).to_le_bytes(), &number.to_le_bytes()).expect("the pool is large enough");
    });
    line("found", 0..keys, &mut |number| {
        session.lookup(&key(mix(number, keys)).to_le_bytes(), &mut value).expect("it reads");
    });
    line("missing", 0..keys, &mut |number| {
        session.lookup(&key(number + (1 << 40)).to_le_bytes(), &mut value).expect("it reads");
    });
    line("update", 0..keys, &mut |number| {
        session.update(&key(mix(number, keys)).to_le_bytes(), &number.to_le_bytes()).expect("it updates");
    });
    line("delete", 0..keys, &mut |number| {
        session.remove(&key(number).to_le_bytes()).expect("it removes");
    });
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let kind = arguments.next().unwrap_or_else(|| "eh".to_owned());
    let mut number = |otherwise: u64| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let (keys, operations, threads) = (number(2_000_000), number(3_000_000), number(1));
    let folder = PathBuf::from(arguments.next().unwrap_or_else(|| "/dev/shm".to_owned()));
    let path = folder.join(format!("assay-dash-speed-{}", std::process::id()));
    let bytes = (keys + operations) * 48 + (256 << 20);
    let layout = if kind == "lh" { "dash-lh-1" } else { "dash-eh-1" };
    let (file, _lock) = PoolFile::create(&path, bytes, &Shape::new(layout)).expect("a pool can be made").split();
    file.medium().populate().expect("memory is there");
    let shape = DashShape::default();
    match kind.as_str() {
        "lh" => all(DashLh::create(file, &shape).expect("a new table"), keys, operations, threads),
        _ => all(DashEh::create(file, &shape).expect("a new table"), keys, operations, threads),
    }
    std::fs::remove_file(&path).expect("it was made here");
    let meter = |mapped| Metered::new(mapped, 4096);
    let made = PoolFile::create_with(&path, bytes, &Shape::new(layout), meter);
    let (file, _lock) = made.expect("a pool can be made").split();
    match kind.as_str() {
        "lh" => costs(&DashLh::create(file, &shape).expect("a new table"), keys / 4),
        _ => costs(&DashEh::create(file, &shape).expect("a new table"), keys / 4),
    }
    std::fs::remove_file(&path).expect("it was made here");
}
