//! The words that Assay's parts share: jobs, events, records, figures, verdicts.
//!
//! Types only: nothing here opens a file, reads a clock or knows who serves a load. The JSON Schema under `schema/`
//! is generated from these types and is their only other form.

mod class;
mod counting;
mod dataset;
mod environment;
mod error;
mod event;
mod figure;
mod job;
mod path;
mod pin;
mod record;
mod state;
mod target;
mod validate;
mod verdict;
mod work;

pub use class::{
    Arrivals, Class, Durability, DurabilityKind, Metric, Objective, Operation, Pattern, RateScope, SizeShare, Sizes,
    Think,
};
pub use counting::{Counted, CountedBy, CountingCost, CpuCounting};
pub use dataset::{Content, Dataset, Layout, Placement};
pub use environment::{
    Array, BlockDevice, Cpu, Environment, FileSystem, Layer, LayerDoes, LayerEffect, Memory, SetLimit, TargetFacts,
};
pub use error::JobError;
pub use event::{Event, IntervalSample};
pub use figure::{AtLeast, Band, Distribution, Figure, Method, Provenance, Unit, Widths};
pub use job::{Cache, Checks, Job, Journalling, Window, kind_of};
pub use path::{Advice, PathKind, PathSpec, Persist, PollMode, Reach};
pub use pin::Pin;
pub use record::{
    Baseline, CheckOutcome, ClassResult, CpuUse, DeviceCounters, IntervalPoint, NotMeasured, ObjectiveOutcome, Overdue,
    Record, RunInfo, Stop, WindowOutcome,
};
pub use target::{Target, TargetKind};
pub use validate::{DEPTH_AT_MOST, MEMBERS_AT_MOST, POLL_SLEEP_US_AT_MOST, SIZE_AT_MOST, THREADS_AT_MOST};
pub use verdict::{Reason, ReasonCode, Severity, Status, Verdict};
pub use work::{Subject, WorkCheck, WorkKind, WorkPart, WorkRecord, WorkTarget, Workload};

/// Version of the job and event documents. A reader refuses any other.
pub const FORMAT_VERSION: u32 = 1;
