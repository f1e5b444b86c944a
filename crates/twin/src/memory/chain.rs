//! Chains of dependent accesses: lookups and updates of an index, hash or tree.
//!
//! A chain's time on one thread is the sum of its steps. On the medium a step costs granules: a read as many as it
//! touches, a write those that no step before it has opened; writing a line again costs part of one, because the first
//! write has left the buffer meanwhile.

use super::operation::{Access, smooth_min};
use crate::document::{Chains, Pmem};

/// One access of a chain.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ChainStep {
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

/// What a chain takes: time of a thread, and time of one module.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Work {
    thread_ns: f64,
    reads: u32,
    module_ns: f64,
}

/// Chains per second of `threads` threads on `modules` modules.
pub fn chains_per_s(pmem: &Pmem, chains: &Chains, modules: u32, steps: &[ChainStep], threads: f64) -> f64 {
    let work = work(pmem, chains, steps);
    let reads = Access::new(&pmem.operations.random_read, pmem.granule_bytes.value, modules, 1);
    let deep = f64::from(work.reads) > chains.overlapped_reads.value;
    let thread_ns = work.thread_ns * if deep { chains.deep_factor.value } else { 1.0 };
    let room = f64::from(modules) / work.module_ns.max(f64::MIN_POSITIVE);
    smooth_min(reads.effective(threads) / thread_ns, room, reads.sharpness) * 1e9
}

fn work(pmem: &Pmem, chains: &Chains, steps: &[ChainStep]) -> Work {
    let granule = pmem.granule_bytes.value;
    let read_ns = |bytes: f64| {
        // Half a granule and less is read as lines are, whole granules one after the other.
        let size = if bytes <= granule / 2.0 { 64.0 } else { granule };
        (bytes / granule).ceil() / Access::new(&pmem.operations.random_read, size, 1, 1).capacity
    };
    let write_ns = 1.0 / Access::new(&pmem.operations.random_nt, 64.0, 1, 1).capacity;
    let mut work = Work::default();
    let mut opened: Vec<f64> = Vec::new();
    let mut lines: Vec<f64> = Vec::new();
    for step in steps {
        match *step {
            ChainStep::Read { bytes } => {
                work.thread_ns += chains.read_ns.at(bytes);
                work.module_ns += read_ns(bytes);
                work.reads += 1;
                opened.clear();
            }
            ChainStep::DramRead { bytes } => work.thread_ns += chains.dram_read_ns.at(bytes),
            ChainStep::Write { bytes, offset } => {
                work.thread_ns += chains.write_ns.at(bytes);
                work.module_ns += write_ns * open(chains, granule, &mut opened, &mut lines, bytes, offset);
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
