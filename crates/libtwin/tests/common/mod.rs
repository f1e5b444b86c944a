//! Twins of the catalog, and loads that play against them.
#![allow(dead_code)]

use std::{cmp::Reverse, collections::BinaryHeap, fs, path::Path};

use assay_libtwin::{Op, Twin};

/// Names and texts of the catalog's twins.
pub fn files() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog/twins");
    let mut found: Vec<(String, String)> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "toml"))
        .map(|path| (path.file_stem().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap()))
        .collect();
    found.sort();
    found
}

/// One of each family, and those with something of their own.
pub fn drives() -> Vec<(String, String)> {
    let wanted = ["970evoplus", "p4610", "p5800x", "disk-7200", "gp3", "gp2-500g", "i3-2xlarge", "d5-p5336"];
    files().into_iter().filter(|(name, _)| wanted.contains(&name.as_str())).collect()
}

/// A twin of the catalog.
pub fn open(name: &str, seed: u64) -> Twin {
    let (_, text) = files().into_iter().find(|(file, _)| file == name).unwrap();
    Twin::open(&text, seed).unwrap()
}

/// A closed load.
#[derive(Clone, Copy)]
pub struct Load {
    pub depth: usize,
    pub bytes: u32,
    pub writes: f64,
    pub in_order: bool,
    /// Requests between two flushes of a customer; 0 where none flushes.
    pub flush_every: u32,
}

impl Load {
    /// Random reads of 4 KiB.
    pub fn reads(depth: usize) -> Self {
        Self { depth, bytes: 4096, writes: 0.0, in_order: false, flush_every: 0 }
    }
}

/// Latencies of so many requests, flushes not among them, ns.
pub fn play(twin: &mut Twin, load: Load, count: usize) -> Vec<u64> {
    run(twin, load, count).0
}

/// When the last of them was answered, ns.
pub fn end_of(twin: &mut Twin, load: Load, count: usize) -> u64 {
    run(twin, load, count).1
}

fn run(twin: &mut Twin, load: Load, count: usize) -> (Vec<u64>, u64) {
    let blocks = twin.describe().capacity_bytes / 2 / u64::from(load.bytes);
    let mut chance = 0x2545_f491_4f6c_dd1d_u64;
    let mut draw = move || {
        chance ^= chance << 13;
        chance ^= chance >> 7;
        chance ^= chance << 17;
        chance
    };
    let mut ready: BinaryHeap<Reverse<(u64, usize)>> = (0..load.depth).map(|customer| Reverse((0, customer))).collect();
    let (mut took, mut end, mut next) = (Vec::with_capacity(count), 0, 0);
    let mut since = vec![0; load.depth];
    while took.len() < count {
        let Some(Reverse((now, customer))) = ready.pop() else { break };
        if load.flush_every > 0 && since[customer] >= load.flush_every {
            since[customer] = 0;
            ready.push(Reverse((twin.flush(now), customer)));
            continue;
        }
        since[customer] += 1;
        let op = if (draw() >> 11) as f64 / (1u64 << 53) as f64 <= load.writes { Op::Write } else { Op::Read };
        let block = if load.in_order { next } else { draw() % blocks };
        next = (next + 1) % blocks;
        let done = twin.submit(now, op, block * u64::from(load.bytes), load.bytes);
        took.push(done - now);
        end = end.max(done);
        ready.push(Reverse((done, customer)));
    }
    (took, end)
}
