//! Chains of dependent accesses: lookups and updates of an index, hash or tree.
//!
//! A chain's time on one thread is the sum of its steps. On the medium a step costs granules: a read as many as it
//! touches, a write those that no step before it has opened; writing a line again costs part of one, because the first
//! write has left the buffer meanwhile.

use super::operation::{Access, smooth_min};
use crate::document::{Chains, Pmem};

/// One access of a chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Step {
    /// Reads from persistent memory.
    Read {
        /// How much.
        bytes: f64,
    },
    /// Reads from DRAM.
    DramRead {
        /// How much.
        bytes: f64,
    },
    /// Writes to persistent memory and makes it durable.
    Write {
        /// How much.
        bytes: f64,
        /// Where, bytes from what the chain read last.
        offset: f64,
    },
}

/// What a chain takes from the modules.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Work {
    thread_ns: f64,
    read_granules: f64,
    write_granules: f64,
}

/// Chains per second of `threads` threads on `modules` modules.
pub fn chains_per_s(pmem: &Pmem, chains: &Chains, modules: u32, steps: &[Step], threads: f64) -> f64 {
    let granule = pmem.granule_bytes.value;
    let work = work(chains, granule, steps);
    let reads = Access::new(&pmem.operations.random_read, granule, modules, 1);
    let writes = Access::new(&pmem.operations.random_nt, 64.0, modules, 1);
    let read_ns = work.read_granules / reads.capacity;
    let write_ns = work.write_granules / writes.capacity;
    let room = 1.0 / (read_ns + write_ns).max(f64::MIN_POSITIVE);
    smooth_min(reads.effective(threads) / work.thread_ns, room, reads.sharpness) * 1e9
}

fn work(chains: &Chains, granule: f64, steps: &[Step]) -> Work {
    let mut work = Work::default();
    let mut opened: Vec<f64> = Vec::new();
    let mut lines: Vec<f64> = Vec::new();
    for step in steps {
        match *step {
            Step::Read { bytes } => {
                work.thread_ns += chains.read_ns.at(bytes);
                work.read_granules += (bytes / granule).ceil();
                opened.clear();
            }
            Step::DramRead { bytes } => work.thread_ns += chains.dram_read_ns.at(bytes),
            Step::Write { bytes, offset } => {
                work.thread_ns += chains.write_ns.at(bytes);
                work.write_granules += open(chains, granule, &mut opened, &mut lines, bytes, offset);
            }
        }
    }
    work
}

/// Granules that a write costs, given those that are open.
fn open(chains: &Chains, granule: f64, opened: &mut Vec<f64>, lines: &mut Vec<f64>, bytes: f64, offset: f64) -> f64 {
    let again = lines.contains(&offset);
    lines.push(offset);
    let (first, last) = ((offset / granule).floor(), ((offset + bytes - 1.0) / granule).floor());
    let mut cost = if again { chains.rewrite_granules.value } else { 0.0 };
    let mut place = first;
    while place <= last {
        if !opened.contains(&place) {
            opened.push(place);
            cost += 1.0;
        }
        place += 1.0;
    }
    cost
}
