//! Whether a record can be believed, and why not.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How far a record can be trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Status {
    /// Nothing was found against it.
    Valid,
    /// Something was found that may have bent it.
    Suspect,
    /// It does not measure what was asked for.
    Invalid,
}

/// What a reason does to the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Severity {
    /// Worth knowing; the verdict stays.
    Note,
    /// Makes a valid record suspect.
    Suspect,
    /// Makes a record invalid.
    Invalid,
}

/// What was found. Each has a page under `docs/verdicts/`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReasonCode {
    /// Reads that should have come from the device came from the page cache.
    PageCacheServed,
    /// Reads that should have come from the page cache came from the device.
    CacheNotWarm,
    /// A layer beneath the target is memory, or took writes into memory.
    MemoryBeneath,
    /// Extents that were never written, or were trimmed, were read.
    UnwrittenExtents,
    /// The mean number of operations in flight stayed below the depth asked for.
    DepthNotReached,
    /// The rate asked for was not reached.
    RateNotReached,
    /// Operations that were due in the window never ended.
    OperationsMissing,
    /// Operations started later than their schedule through the generator's own fault.
    GeneratorLate,
    /// The generator, not the target, set the pace.
    GeneratorBound,
    /// The window never became steady.
    NotSteady,
    /// The window was steady and then dropped.
    SteadinessLost,
    /// The window was too short for what is reported.
    WindowTooShort,
    /// The data could be compressed or deduplicated by the device.
    CompressibleData,
    /// Repeats of one cell spread more than 15 %.
    NoisyMachine,
    /// The clock frequency changed, or the CPU was throttled.
    FrequencyChanged,
    /// A limit that somebody has set was met.
    LimitMet,
    /// A device became hot.
    DeviceHot,
    /// What this machine's CPU time costs moved while it was taken for virtual time.
    CostsUnsteady,
    /// Other processes took CPU time that the run's threads waited for.
    CpuTaken,
    /// Hardware counters ran in the window and slowed what they counted.
    CountingBends,
    /// Hardware counters and CPU time do not tell of the same work.
    CountersDisagree,
    /// The data set fits into a cache that it should exceed.
    FileSmallerThanCaches,
    /// Somebody else used the device.
    ForeignLoad,
    /// The kernel's counter shows other bytes than were asked for.
    DeviceBytesDiffer,
    /// Operations failed.
    Errors,
    /// Nothing shows that flushes that were asked for reached a device.
    FlushNotSeen,
    /// The target was swapped, cut or written to by somebody else while it was measured.
    TargetChanged,
    /// The process stood still: it was stopped, frozen, or the machine was paused.
    ProcessStopped,
    /// Data read back was not the data written.
    DataCorrupt,
    /// A check of what was done failed: a consistency condition, an answer, a structure's invariant.
    CheckFailed,
    /// The clock disagreed with the kernel's clock.
    ClockUnreliable,
    /// The classes' windows did not coincide.
    WindowsDiffer,
    /// The run was interrupted; what was finished is kept.
    Interrupted,
    /// The figures describe stand-in hardware, not a device.
    EmulatedTarget,
    /// A twin computed the figures; no device was measured.
    ModelledTarget,
    /// A twin was asked outside of what it was calibrated for.
    Extrapolated,
    /// The two engines of a twin give figures that are further apart than their bands together.
    EnginesDiffer,
    /// A mount that plays a drive answered later than the drive would have.
    PlayedLate,
}

/// One thing found, with evidence and remedy.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Reason {
    /// What was found.
    pub code: ReasonCode,
    /// What it does to the verdict.
    pub severity: Severity,
    /// The class concerned; none where it concerns the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// What was seen: one sentence with figures.
    pub evidence: String,
    /// What to do about it: one sentence.
    pub fix: String,
    /// The figures of the evidence, by name with unit (`device_bytes`, `asked_bytes`).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub numbers: BTreeMap<String, f64>,
}

/// The verdict on a record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Verdict {
    /// The worst that the reasons give.
    pub status: Status,
    /// All that was found, gravest first.
    pub reasons: Vec<Reason>,
}

impl Verdict {
    /// The verdict that follows from `reasons`; reasons are sorted, gravest first.
    pub fn from_reasons(mut reasons: Vec<Reason>) -> Self {
        reasons.sort_by(|a, b| b.severity.cmp(&a.severity).then(a.code.cmp(&b.code)));
        let status = match reasons.first().map(|reason| reason.severity) {
            Some(Severity::Invalid) => Status::Invalid,
            Some(Severity::Suspect) => Status::Suspect,
            Some(Severity::Note) | None => Status::Valid,
        };
        Self { status, reasons }
    }
}
