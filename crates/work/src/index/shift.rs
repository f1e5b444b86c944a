//! What a measured loop looks at.

use assay_instruments::clock::Clock;
use assay_workload::Gate;

use super::{desk::Desk, sampler::Sampler};
use crate::index::{
    job::{IndexJob, Window},
    workload::Stream,
};

/// Operations between two looks at the gate.
pub(super) const BATCH: u32 = 32;

/// What the measured loop looks at.
pub(super) struct Shift<'a> {
    pub(super) job: &'a IndexJob,
    pub(super) clock: Clock,
    pub(super) gate: &'a Gate,
    pub(super) desk: &'a Desk,
}

impl Shift<'_> {
    /// Which of a thread's operations are timed.
    pub(super) fn sampler(&self, stream: &Stream) -> Sampler {
        Sampler::new(self.job.timed_one_in(), self.job.seed ^ stream.territory().thread)
    }

    /// Operations of each thread.
    pub(super) fn quota(&self) -> u64 {
        match self.job.window {
            Window::Operations(all) => all.div_ceil(u64::from(self.job.threads)),
            Window::Seconds(_) => u64::MAX,
        }
    }
}
