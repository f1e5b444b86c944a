//! One kind of load, as the engines see it.

use assay_record::{Durability, DurabilityKind, Persist};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{PathKey, Target, TwinError};

/// How bytes travel.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StreamPath {
    /// The way through the host.
    pub key: PathKey,
    /// How stores leave the CPU caches, where the path is load and store.
    #[serde(default)]
    pub persist: Persist,
    /// Each read ends before the next begins, where the path is load and store.
    #[serde(default)]
    pub fenced: bool,
    /// Sleep between two looks at a polled completion queue, ns; 0 spins.
    #[serde(default)]
    pub poll_sleep_ns: f64,
    /// The CPU moves the bytes itself, behind a block device ([`Target::is_inline`]): nobody says it, the target does.
    #[serde(skip)]
    pub inline: bool,
}

impl StreamPath {
    /// A path without options.
    pub fn plain(key: PathKey) -> Self {
        Self { key, persist: Persist::Auto, fenced: false, poll_sleep_ns: 0.0, inline: false }
    }

    /// The time that the device takes is CPU time.
    pub fn is_copied(&self) -> bool {
        self.key.is_load_store() || self.inline
    }

    /// It is that of the thread that asks, which never sleeps over it. Workers of the kernel copy for who goes through the page
    /// cache without blocking.
    pub fn holds_core(&self) -> bool {
        self.is_copied() && (self.key.is_blocking() || !self.key.is_buffered())
    }
}

/// A closed or rate-limited stream of equal operations.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stream {
    /// Name of the class.
    pub name: String,
    /// Share of writes, 0..=1.
    pub write_share: f64,
    /// Mean bytes of an operation.
    pub size_bytes: f64,
    /// Offsets are consecutive.
    pub sequential: bool,
    /// Threads.
    pub threads: u32,
    /// Operations in flight per thread; blocking paths know only 1.
    #[serde(default = "one")]
    pub depth: u32,
    /// Operations per submission.
    #[serde(default = "one")]
    pub batch: u32,
    /// How bytes travel.
    pub path: StreamPath,
    /// What makes writes durable, and how often.
    #[serde(default = "not_durable")]
    pub durability: Durability,
    /// Operations per second of the whole stream; none where it is closed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
    /// Pause of a thread between two operations, ns; 0 where the next starts at once.
    #[serde(default)]
    pub think_ns: f64,
    /// Bytes that it works on; the target's capacity where 0.
    #[serde(default)]
    pub working_set_bytes: f64,
    /// Name of the file system, as the host knows it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
    /// Seconds that the load lasts; what caches and credits cover depends on it. 0 asks for the steady state.
    #[serde(default)]
    pub duration_s: f64,
    /// Of them, those before figures are taken: caches fill meanwhile.
    #[serde(default)]
    pub warmup_s: f64,
    /// Bytes that the kernel reads ahead of sequential reads through the page cache; its default where none, 0 is off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_ahead_bytes: Option<f64>,
    /// The page cache holds the working set already.
    #[serde(default)]
    pub warm: bool,
    /// Its writes make the file grow, or fill space of it that was never written: each flush commits metadata, too.
    #[serde(default)]
    pub grows: bool,
}

/// Direct ways to a block device.
const ON_BLOCKS: [PathKey; 3] = [PathKey::PreadDirect, PathKey::Libaio, PathKey::IoUring];

/// What Linux reads ahead of sequential reads through the page cache where nobody says otherwise (VM_READAHEAD_PAGES).
pub const READ_AHEAD_BYTES: f64 = 131_072.0;

fn one() -> u32 {
    1
}

fn not_durable() -> Durability {
    Durability { kind: DurabilityKind::None, every: 1 }
}

impl Stream {
    /// A closed stream of reads or writes with one operation in flight.
    pub fn closed(name: &str, write_share: f64, size_bytes: f64, path: StreamPath) -> Self {
        Self {
            name: name.to_owned(),
            write_share,
            size_bytes,
            sequential: false,
            threads: 1,
            depth: 1,
            batch: 1,
            path,
            durability: not_durable(),
            rate_per_s: None,
            think_ns: 0.0,
            working_set_bytes: 0.0,
            file_system: None,
            duration_s: 0.0,
            warmup_s: 0.0,
            read_ahead_bytes: None,
            warm: false,
            grows: false,
        }
    }

    /// The same on a target.
    ///
    /// # Errors
    /// Where the target is not reached by its path.
    pub fn on(&self, target: &Target) -> Result<Self, TwinError> {
        let inline = target.is_inline();
        if inline && !self.path.key.is_buffered() && !ON_BLOCKS.contains(&self.path.key) {
            return Err(TwinError::NotPossible {
                what: format!("stream {}: the path {:?}", self.name, self.path.key),
                name: target.twin().name.clone(),
                why: "it is memory as a block device, which takes no NVMe commands, no stores and is not polled"
                    .to_owned(),
            });
        }
        let mut stream = Self { path: StreamPath { inline, ..self.path }, ..self.clone() };
        if inline && !self.path.key.is_buffered() {
            // Each request has ended when the call that hands it over returns.
            (stream.depth, stream.batch) = (1, 1);
        }
        Ok(stream)
    }

    /// Bytes of the requests in which the kernel reads ahead what is not in memory; none where it does not read ahead.
    pub fn ahead_bytes(&self) -> Option<f64> {
        let reads = self.path.key.is_buffered() && self.sequential && self.write_share == 0.0;
        let bytes = self.read_ahead_bytes.unwrap_or(READ_AHEAD_BYTES);
        // Who copies as it asks has one request at a time, however large.
        let bytes = if self.path.inline { bytes.max(self.size_bytes) } else { bytes };
        (reads && bytes > 0.0).then_some(bytes)
    }

    /// The file system fills new blocks with zeros before the bytes are stored, so that what is written is written twice.
    pub fn zeroes(&self) -> bool {
        self.grows && self.write_share > 0.0 && self.path.key == PathKey::DaxPread
    }

    /// Operations in flight at most.
    pub fn in_flight(&self) -> f64 {
        let depth = if self.path.key.is_blocking() { 1 } else { self.depth };
        f64::from(self.threads) * f64::from(depth)
    }

    /// Operations that a thread hands over at once, once so many of its own have ended: its batch. Calls that block, rates and
    /// pauses hand over one at a time.
    pub fn bunch(&self) -> f64 {
        let singly = self.path.key.is_blocking() || self.rate_per_s.is_some() || self.think_ns > 0.0;
        if singly { 1.0 } else { f64::from(self.batch.max(1)) }
    }

    /// Refuses nonsense.
    ///
    /// # Errors
    /// [`TwinError::Field`] that names the first field found wrong.
    pub fn validate(&self) -> Result<(), TwinError> {
        let wrong = |field: &str, seen: f64, fix: &str| {
            Err(TwinError::field(format!("stream {}: {field}", self.name), seen, fix))
        };
        if !(0.0..=1.0).contains(&self.write_share) {
            return wrong("write_share", self.write_share, "use a share between 0 and 1");
        }
        if !(1.0..=(1u64 << 30) as f64).contains(&self.size_bytes) {
            return wrong("size_bytes", self.size_bytes, "use 1 byte to 1 GiB");
        }
        if !(1..=4096).contains(&self.threads) {
            return wrong("threads", f64::from(self.threads), "use 1 to 4096 threads");
        }
        if !(1..=16_384).contains(&self.depth) || !(1..=self.depth).contains(&self.batch) {
            return wrong("depth", f64::from(self.depth), "use 1 to 16384 in flight, and a batch of at most that");
        }
        if self.rate_per_s.is_some_and(|rate| !(rate > 0.0 && rate.is_finite())) {
            return wrong("rate_per_s", self.rate_per_s.unwrap_or(0.0), "use a rate above 0, or none");
        }
        let lengths = [self.think_ns, self.working_set_bytes, self.duration_s, self.warmup_s, self.path.poll_sleep_ns];
        if let Some(seen) = lengths.into_iter().find(|value| !(*value >= 0.0 && value.is_finite())) {
            return wrong("think_ns, working_set_bytes, duration_s, warmup_s or poll_sleep_ns", seen, "use 0 or more");
        }
        Ok(())
    }
}
