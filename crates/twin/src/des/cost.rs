//! What the host's CPU does for an operation, in virtual time.

use crate::{Host, Stream, TwinError, host::Demand, simulated::Picoseconds};

/// CPU time of one operation of one size.
#[derive(Clone, Copy, Debug, Default)]
pub struct OpCost {
    /// Size, bytes.
    pub bytes: u32,
    /// Of a read: before and after the device.
    pub read: [Picoseconds; 2],
    /// Of a write: before and after the device.
    pub write: [Picoseconds; 2],
}

/// What a commit of the file system's journal costs.
#[derive(Clone, Copy, Debug, Default)]
pub struct CommitCost {
    /// CPU time for one who waits.
    pub work: Picoseconds,
    /// Time in which nobody works on it.
    pub sleep: Picoseconds,
    /// CPU time for each other one.
    pub waiter: Picoseconds,
    /// Bytes that it writes.
    pub bytes: u32,
    /// Flushes of the device.
    pub device_flushes: u8,
}

/// CPU times of a class.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    /// By size; one where all operations have the same.
    by_size: Vec<OpCost>,
    /// Of a submission.
    pub submission: Picoseconds,
    /// Of a flush.
    pub flush: Picoseconds,
    /// Part of an operation that holds the lock that all threads share.
    pub serial: Picoseconds,
    /// From completion until the sleeping thread runs.
    pub wakeup: Picoseconds,
    /// Bytes written with every flush beyond the data.
    pub journal_bytes: u32,
    /// Device flushes per flush.
    pub device_flushes: u32,
    /// Cycles of one look at an empty queue.
    pub poll_cycles: f64,
    /// What every flush commits, where its file grows.
    pub commit: Option<CommitCost>,
}

impl Costs {
    /// The costs of a class on a host.
    ///
    /// # Errors
    /// Where the host does not know the path or the file system.
    pub fn of(host: &Host, stream: &Stream, sizes: &[u32]) -> Result<Self, TwinError> {
        let ps = |cycles: f64| (cycles / host.clock_hz.value * 1e12).round() as Picoseconds;
        let demand = Demand::of(host, stream)?;
        let halves = |cycles: f64| [ps(cycles / 2.0), ps(cycles) - ps(cycles / 2.0)];
        let by_size = sizes.iter().map(|bytes| {
            let one = Demand::of(host, &Stream { size_bytes: f64::from(*bytes), ..stream.clone() })?;
            Ok(OpCost { bytes: *bytes, read: halves(one.read_cycles), write: halves(one.write_cycles) })
        });
        Ok(Self {
            by_size: by_size.collect::<Result<_, TwinError>>()?,
            submission: ps(demand.submission_cycles),
            flush: ps(demand.flush_cycles),
            serial: ps(demand.serial_cycles),
            wakeup: (demand.wakeup_ns * 1e3) as Picoseconds,
            journal_bytes: demand.journal_bytes_per_flush as u32,
            device_flushes: demand.device_flushes_per_flush.round() as u32,
            poll_cycles: demand.poll_cycles,
            commit: demand.commit.map(|commit| CommitCost {
                work: ps(commit.cycles),
                sleep: (commit.sleep_ns * 1e3) as Picoseconds,
                waiter: ps(commit.cycles_per_waiter),
                bytes: commit.bytes as u32,
                device_flushes: commit.device_flushes.round().max(1.0) as u8,
            }),
        })
    }

    /// Stretches the work of operations by a factor.
    pub fn stretch(&mut self, factor: f64) {
        let longer = |time: &mut Picoseconds| *time = (*time as f64 * factor).round() as Picoseconds;
        for cost in &mut self.by_size {
            cost.read.iter_mut().chain(&mut cost.write).for_each(longer);
        }
        longer(&mut self.submission);
        longer(&mut self.serial);
        longer(&mut self.flush);
    }

    /// `work` per operation of `bytes`, half of it on each side of the device, and nothing else.
    pub fn flat(bytes: u32, work: Picoseconds) -> Self {
        let halves = [work / 2, work - work / 2];
        Self { by_size: vec![OpCost { bytes, read: halves, write: halves }], device_flushes: 1, ..Self::default() }
    }

    /// CPU time before and after the device.
    #[inline(always)]
    pub fn of_op(&self, write: bool, bytes: u32) -> [Picoseconds; 2] {
        let mut found = &self.by_size[0];
        if self.by_size.len() > 1 {
            found = self.by_size.iter().find(|cost| cost.bytes == bytes).unwrap_or(found);
        }
        if write { found.write } else { found.read }
    }
}

/// The host's cores: bursts of CPU work take one that is free, or the one that is so first.
#[derive(Clone, Debug)]
pub struct Cores {
    free_at: Vec<Picoseconds>,
    contended: bool,
    lock_free_at: Picoseconds,
}

impl Cores {
    /// `cores` cores for `threads` threads. Where there are enough, nobody ever waits for one.
    pub fn new(cores: u32, threads: u32) -> Self {
        Self { free_at: vec![0; cores.max(1) as usize], contended: threads > cores, lock_free_at: 0 }
    }

    /// A burst of `work` that may begin at `at`, of which `serial` holds the shared lock. Returns when it ends.
    #[inline(always)]
    pub fn run(&mut self, at: Picoseconds, work: Picoseconds, serial: Picoseconds) -> Picoseconds {
        if !self.contended && serial == 0 {
            return at + work;
        }
        self.run_contended(at, work, serial)
    }

    #[inline(never)]
    fn run_contended(&mut self, at: Picoseconds, work: Picoseconds, serial: Picoseconds) -> Picoseconds {
        let mut begin = at;
        let mut core = 0;
        if self.contended {
            // The one that is free the shortest, so that what a thread does in turn stays on a core: on any other one the
            // time before it begins would be lost to everybody. Where none is free, the one that is so first.
            let rank = |free_at: Picoseconds| (free_at > at, if free_at > at { free_at } else { at - free_at });
            for (index, free_at) in self.free_at.iter().enumerate().skip(1) {
                if rank(*free_at) < rank(self.free_at[core]) {
                    core = index;
                }
            }
            begin = begin.max(self.free_at[core]);
        }
        let mut end = begin + work;
        if serial > 0 {
            let locked = begin.max(self.lock_free_at);
            self.lock_free_at = locked + serial;
            end += locked - begin;
        }
        if self.contended {
            self.free_at[core] = end;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_cores_serve_two_bursts_at_once_and_the_third_waits() {
        let mut cores = Cores::new(2, 3);
        assert_eq!([cores.run(0, 10, 0), cores.run(0, 20, 0), cores.run(0, 5, 0)], [10, 20, 15]);
    }

    #[test]
    fn a_thread_that_works_in_turn_takes_one_core() {
        let mut cores = Cores::new(2, 3);
        let chain = [cores.run(0, 10, 0), cores.run(10, 10, 0), cores.run(20, 10, 0)];
        assert_eq!((chain, cores.run(0, 10, 0)), ([10, 20, 30], 10), "the other core was free all the time");
    }

    #[test]
    fn a_lock_is_held_by_one() {
        let mut cores = Cores::new(4, 4);
        assert_eq!([cores.run(0, 10, 4), cores.run(0, 10, 4), cores.run(0, 10, 4)], [10, 14, 18]);
    }
}
