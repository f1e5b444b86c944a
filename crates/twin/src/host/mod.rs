//! What the host adds to an operation: cycles by path and file system.

use assay_record::DurabilityKind;

use crate::{Host, PathCost, PathKey, Stream, TwinError, document::FileSystemCost};

/// What a commit of the file system's journal costs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Commit {
    /// CPU cycles, for one who waits.
    pub cycles: f64,
    /// Time in which nobody works on it, ns.
    pub sleep_ns: f64,
    /// CPU cycles for each other one.
    pub cycles_per_waiter: f64,
    /// Bytes that it writes.
    pub bytes: f64,
    /// Flushes of the device.
    pub device_flushes: f64,
}

/// File system of a file that grows where nobody names one: the one whose journal was measured.
const GROWS_ON: &str = "ext4";

/// Cost of one operation of a stream on a host.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Demand {
    /// CPU cycles of a read.
    pub read_cycles: f64,
    /// CPU cycles of a write, without its flush.
    pub write_cycles: f64,
    /// CPU cycles of a submission, shared by a batch.
    pub submission_cycles: f64,
    /// CPU cycles of a flush.
    pub flush_cycles: f64,
    /// CPU cycles of a sleep until something has ended.
    pub sleep_cycles: f64,
    /// CPU cycles of a submission that finds nothing in flight.
    pub bell_cycles: f64,
    /// Part of the cycles of an operation that holds a lock all threads share.
    pub serial_cycles: f64,
    /// CPU cycles of one look at an empty queue.
    pub poll_cycles: f64,
    /// From completion until the sleeping thread runs, ns.
    pub wakeup_ns: f64,
    /// Bytes written to the device with every flush beyond the data.
    pub journal_bytes_per_flush: f64,
    /// Device flushes per flush.
    pub device_flushes_per_flush: f64,
    /// Bytes written per byte of data.
    pub write_amplification: f64,
    /// Growth of the cycles with each thread that is busy in the path.
    pub crowding: f64,
    /// Operations that kernel workers serve at a time; infinite where the caller's own thread does the work.
    pub workers: f64,
    /// Share of the cycles that other threads spend.
    pub offloaded: f64,
    /// What each flush commits; none where the file has its size and space already.
    pub commit: Option<Commit>,
}

impl Demand {
    /// What a stream costs on a host, an operation's share of sleeps and bells among the cycles of reads and writes.
    ///
    /// # Errors
    /// Where the host has no cost of the path, or does not know the file system.
    pub fn of(host: &Host, stream: &Stream) -> Result<Self, TwinError> {
        let mut demand = Self::of_call(host, stream)?;
        let waking = demand.waking_cycles(stream);
        demand.read_cycles += waking;
        demand.write_cycles += waking;
        Ok(demand)
    }

    /// The same without sleeps and bells, for who knows when there are some.
    ///
    /// # Errors
    /// Likewise.
    pub fn of_call(host: &Host, stream: &Stream) -> Result<Self, TwinError> {
        let key = stream.path.key;
        if key == PathKey::Pmem && !host.costs.contains_key(&key) {
            // Loads and stores pass through no software: what they take is the device's time.
            return Ok(Self { workers: f64::INFINITY, write_amplification: 1.0, ..Self::default() });
        }
        let cost = host.costs.get(&key).ok_or_else(|| TwinError::NoPath { host: host.name.clone(), path: key })?;
        let mut demand = Self::of_path(cost, stream.size_bytes);
        if let Some(ahead_bytes) = stream.ahead_bytes() {
            demand.read_cycles = ahead_cycles(cost, stream, ahead_bytes);
        }
        if stream.path.holds_core() {
            (demand.wakeup_ns, demand.sleep_cycles, demand.bell_cycles) = (0.0, 0.0, 0.0);
        }
        let in_path = demand.cycles_of_calls(stream);
        let serial = cost.serial_cycles_per_flush.as_ref().map_or(0.0, |cycles| cycles.value);
        let drained = cost.serial_cycles_per_byte_flushed.as_ref().map_or(0.0, |cycles| cycles.value);
        let every = f64::from(stream.durability.every.max(1));
        demand.serial_cycles += (serial + drained * every * stream.size_bytes) * flushes_per_op(stream);
        let workers = cost.workers_per_thread.as_ref();
        demand.workers =
            workers.map_or(f64::INFINITY, |each| each.value * host.cores.value * host.threads_per_core.value.max(1.0));
        if let Some(name) = &stream.file_system {
            let system = file_system(host, name)?;
            // What a file on DAX costs was measured on a file system; the figures apart are those of block devices.
            if !key.is_load_store() {
                demand.add(system);
            }
        }
        if stream.grows && needs_flush(stream) {
            demand.grow(host, stream)?;
        }
        if key != PathKey::Mmap {
            // Threads crowd one another where they copy and keep pages: not in the file system, nor in a flush. `msync` keeps
            // pages, too.
            demand.crowding *= in_path / demand.cycles_per_op(stream).max(in_path).max(1.0);
        }
        Ok(demand)
    }

    /// An operation's share of a sleep and of a bell. A thread sleeps once for all that it has in flight; of all that is in
    /// flight one operation finds nothing else there. At a rate of its own each is alone.
    fn waking_cycles(&self, stream: &Stream) -> f64 {
        let all = if stream.rate_per_s.is_some() { 1.0 } else { stream.in_flight() };
        let own = all / f64::from(stream.threads).min(all);
        self.sleep_cycles / own + self.bell_cycles / all
    }

    fn of_path(cost: &PathCost, size_bytes: f64) -> Self {
        Self {
            read_cycles: cost.cycles_per_read.value + cost.cycles_per_byte_read.value * size_bytes,
            write_cycles: cost.cycles_per_write.value + cost.cycles_per_byte_write.value * size_bytes,
            submission_cycles: cost.cycles_per_submission.value,
            flush_cycles: cost.cycles_per_flush.value,
            sleep_cycles: cost.cycles_per_sleep.as_ref().map_or(0.0, |cycles| cycles.value),
            bell_cycles: cost.cycles_per_bell.as_ref().map_or(0.0, |cycles| cycles.value),
            serial_cycles: cost.serial_cycles_per_op.as_ref().map_or(0.0, |cycles| cycles.value),
            poll_cycles: cost.cycles_per_poll.as_ref().map_or(0.0, |cycles| cycles.value),
            wakeup_ns: cost.wakeup_ns.value,
            journal_bytes_per_flush: 0.0,
            device_flushes_per_flush: 1.0,
            write_amplification: 1.0,
            crowding: cost.crowding_per_busy_thread.as_ref().map_or(0.0, |growth| growth.value),
            workers: f64::INFINITY,
            offloaded: 0.0,
            commit: None,
        }
    }

    fn add(&mut self, system: &FileSystemCost) {
        self.read_cycles += system.cycles_per_read.value;
        self.write_cycles += system.cycles_per_write.value;
        self.flush_cycles += system.cycles_per_flush.value;
        self.journal_bytes_per_flush = system.journal_bytes_per_flush.value;
        self.device_flushes_per_flush = system.device_flushes_per_flush.value;
        self.write_amplification = system.write_amplification.as_ref().map_or(1.0, |factor| factor.value);
        self.offloaded = system.offloaded_share.as_ref().map_or(0.0, |share| share.value);
    }

    /// Every flush commits the metadata of a file that grows.
    fn grow(&mut self, host: &Host, stream: &Stream) -> Result<(), TwinError> {
        let name = stream.file_system.as_deref().unwrap_or(GROWS_ON);
        let unknown = || TwinError::NotPossible {
            what: "making a growing file durable".to_owned(),
            name: host.name.clone(),
            why: format!("what {name} takes for it is not known"),
        };
        let growth = file_system(host, name)?.growth.as_ref().ok_or_else(unknown)?;
        self.flush_cycles += growth.cycles_per_flush.value;
        self.commit = Some(Commit {
            cycles: growth.cycles_per_commit.value,
            sleep_ns: growth.sleep_ns_per_commit.as_ref().map_or(0.0, |time| time.value),
            cycles_per_waiter: growth.cycles_per_waiter.value,
            bytes: growth.bytes_per_commit.value,
            device_flushes: growth.device_flushes_per_commit.value,
        });
        Ok(())
    }

    /// Mean CPU cycles of a read or write of the stream alone.
    fn cycles_of_calls(&self, stream: &Stream) -> f64 {
        (1.0 - stream.write_share) * self.read_cycles + stream.write_share * self.write_cycles
    }

    /// Mean CPU cycles of an operation of the stream, its share of submissions and flushes included.
    pub fn cycles_per_op(&self, stream: &Stream) -> f64 {
        let flushes = flushes_per_op(stream);
        self.cycles_of_calls(stream) + self.submission_cycles / stream.bunch() + flushes * self.flush_cycles
    }
}

fn file_system<'a>(host: &'a Host, name: &str) -> Result<&'a FileSystemCost, TwinError> {
    let missing = || TwinError::NoFileSystem { host: host.name.clone(), file_system: name.to_owned() };
    host.file_systems.get(name).ok_or_else(missing)
}

/// CPU cycles of a read that the kernel read ahead: its share of the large read, or one large read where it is longer than
/// that, the call, the pages and their copy.
fn ahead_cycles(cost: &PathCost, stream: &Stream, ahead_bytes: f64) -> f64 {
    let hit = cost.cycles_per_hit.as_ref().map_or(0.0, |cycles| cycles.value);
    let byte = cost.cycles_per_byte_ahead.as_ref().unwrap_or(&cost.cycles_per_byte_read).value;
    cost.cycles_per_read.value / (ahead_bytes / stream.size_bytes).max(1.0) + hit + byte * stream.size_bytes
}

/// Flushes per operation.
fn flushes_per_op(stream: &Stream) -> f64 {
    if needs_flush(stream) { stream.write_share / f64::from(stream.durability.every.max(1)) } else { 0.0 }
}

/// Its writes are made durable by a flush of the device.
pub fn needs_flush(stream: &Stream) -> bool {
    !matches!(stream.durability.kind, DurabilityKind::None | DurabilityKind::Persist) && stream.write_share > 0.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Parameter, StreamPath};

    fn demand(host: &Host, threads: u32, depth: u32) -> f64 {
        let stream = Stream::closed("one", 0.0, 4096.0, StreamPath::plain(PathKey::IoUring));
        Demand::of(host, &Stream { threads, depth, ..stream }).unwrap().read_cycles
    }

    fn host() -> Host {
        let path = format!("{}/../../catalog/hosts/epyc-7702p.toml", env!("CARGO_MANIFEST_DIR"));
        crate::document::parse_file(path.as_ref()).unwrap()
    }

    fn durable_writes(key: PathKey, size_bytes: f64, every: u32) -> Stream {
        let durability = assay_record::Durability { kind: DurabilityKind::Fdatasync, every };
        Stream { durability, ..Stream::closed("one", 1.0, size_bytes, StreamPath::plain(key)) }
    }

    #[test]
    fn a_flush_holds_its_lock_for_the_longer_the_more_was_written_since_the_last() {
        let mut host = host();
        let cost = host.costs.get_mut(&PathKey::DaxPread).unwrap();
        cost.serial_cycles_per_flush = Some(Parameter::assumed(2000.0, "a test", "2026-11"));
        cost.serial_cycles_per_byte_flushed = Some(Parameter::assumed(0.25, "a test", "2026-11"));
        let held =
            |size, every| Demand::of(&host, &durable_writes(PathKey::DaxPread, size, every)).unwrap().serial_cycles;
        assert_eq!([held(128.0, 1), held(8192.0, 1), held(8192.0, 4)], [2032.0, 4048.0, 2548.0]);
    }

    #[test]
    fn threads_crowd_where_they_keep_pages_and_not_in_a_flush() {
        let host = host();
        let crowding = |stream: &Stream| {
            let demand = Demand::of(&host, stream).unwrap();
            (demand.crowding * demand.cycles_per_op(stream), demand.write_cycles)
        };
        let bare = Stream::closed("one", 1.0, 8192.0, StreamPath::plain(PathKey::PreadBuffered));
        let ((flushed, _), (alone, cycles)) =
            (crowding(&durable_writes(PathKey::PreadBuffered, 8192.0, 1)), crowding(&bare));
        assert!((flushed / alone - 1.0).abs() < 1e-12, "{flushed} {alone}");
        assert!(
            (alone / cycles - host.costs[&PathKey::PreadBuffered].crowding_per_busy_thread.as_ref().unwrap().value)
                .abs()
                < 1e-12
        );
    }

    #[test]
    fn a_thread_shares_its_sleep_among_what_it_has_in_flight_and_all_share_the_bell() {
        let mut host = host();
        let before = demand(&host, 1, 1);
        let cost = host.costs.get_mut(&PathKey::IoUring).unwrap();
        cost.cycles_per_sleep = Some(Parameter::assumed(800.0, "a test", "2026-11"));
        cost.cycles_per_bell = Some(Parameter::assumed(16_000.0, "a test", "2026-11"));
        let more = |threads, depth| demand(&host, threads, depth) - before;
        assert_eq!([more(1, 1), more(4, 1), more(1, 4), more(4, 4)], [16_800.0, 4800.0, 4200.0, 1200.0]);
    }
}
