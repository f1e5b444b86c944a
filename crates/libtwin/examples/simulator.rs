//! The disk of a deterministic simulator: a heap of events in virtual time, eight tasks that read, write and flush.
#![allow(clippy::print_stdout, reason = "a program that prints")]

use std::{cmp::Reverse, collections::BinaryHeap};

use assay_libtwin::{Error, Op, Twin};

const SECOND_NS: u64 = 1_000_000_000;

/// A second of the tasks on the twin of a file's text.
pub fn play(text: &str) -> Result<String, Error> {
    let mut disk = Twin::open(text, 42)?;
    let blocks = disk.describe().capacity_bytes / 4096;
    let mut events: BinaryHeap<Reverse<(u64, usize)>> = (0..8).map(|task| Reverse((0, task))).collect();
    let (mut steps, mut chance, mut commits) = ([0; 8], 1_u64, 0);
    while let Some(Reverse((now, task))) = events.pop() {
        if now >= SECOND_NS {
            break;
        }
        chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let offset = (chance >> 20) % blocks * 4096;
        let done = match steps[task] {
            0 => disk.submit(now, Op::Read, offset, 4096),
            1 => disk.submit(now, Op::Write, offset, 4096),
            _ => disk.flush(now),
        };
        commits += steps[task] / 2;
        steps[task] = (steps[task] + 1) % 3;
        events.push(Reverse((done, task)));
    }
    Ok(format!("{}: {commits} durable changes in a second of 8 tasks", disk.describe().title))
}

#[allow(dead_code, reason = "a test takes only what is above")]
fn main() {
    let path = std::env::args().nth(1).expect("usage: simulator catalog/twins/NAME.toml");
    let text = std::fs::read_to_string(&path).expect("the twin's file can be read");
    match play(&text) {
        Ok(said) => println!("{said}"),
        Err(error) => println!("{error}; {}", error.fix()),
    }
}
