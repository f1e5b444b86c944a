//! What one thread did in the window.

use assay_index::{IndexError, Moved};
use assay_instruments::counters::ThreadUse;

use super::act::Buffers;
use crate::index::workload::{Operation, Step, Stream, Territory};

/// Failures after which a thread gives up.
const FAILURES_AT_MOST: u64 = 100;

/// Operations of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) succeeded: u64,
    pub(super) empty: u64,
    pub(super) failed: u64,
}

/// What one thread did in the window.
pub(super) struct ThreadOutcome {
    pub(super) counts: [Counts; Operation::COUNT],
    pub(super) territory: Territory,
    /// Seconds from its first operation to its last.
    pub(super) worked_s: f64,
    /// Values that were looked at and were not the key's.
    pub(super) wrong_values: u64,
    pub(super) looked_at: u64,
    pub(super) exhausted: bool,
    pub(super) failure: Option<String>,
    /// Pages that the window moved, where the index lies on a drive.
    pub(super) moved: Option<Moved>,
    pub(super) used: ThreadUse,
}

impl ThreadOutcome {
    pub(super) fn operations(&self) -> u64 {
        self.counts.iter().map(|counts| counts.succeeded + counts.empty + counts.failed).sum()
    }

    pub(super) fn new(territory: Territory) -> Self {
        Self {
            counts: [Counts::default(); Operation::COUNT],
            territory,
            worked_s: 0.0,
            wrong_values: 0,
            looked_at: 0,
            exhausted: false,
            failure: None,
            moved: None,
            used: ThreadUse::default(),
        }
    }

    /// Looks whether a value that was found is the key's.
    #[inline(always)]
    pub(super) fn look_at(&mut self, step: &Step, result: &Result<bool, IndexError>, buffers: &Buffers) {
        if matches!(result, Ok(true)) {
            self.look_at_value(step.operation, || buffers.found_is_good(step.id));
        }
    }

    /// The same of a value that was found.
    #[inline(always)]
    pub(super) fn look_at_value(&mut self, operation: Operation, is_good: impl FnOnce() -> bool) {
        if matches!(operation, Operation::Lookup | Operation::ReadModifyWrite) {
            self.looked_at += 1;
            self.wrong_values += u64::from(!is_good());
        }
    }

    /// Counts an operation; `false` where the thread gives up.
    #[inline(always)]
    pub(super) fn count(&mut self, step: &Step, result: Result<bool, IndexError>, stream: &mut Stream) -> bool {
        let counts = &mut self.counts[step.operation as usize];
        match result {
            Ok(true) => counts.succeeded += 1,
            Ok(false) => counts.empty += 1,
            Err(error) => {
                counts.failed += 1;
                let most = if error.is_full() { 1 } else { FAILURES_AT_MOST };
                let give_up = counts.failed >= most;
                self.failure.get_or_insert_with(|| error.to_string());
                return !give_up;
            }
        }
        match step.operation {
            Operation::Insert => stream.added(),
            Operation::Remove => stream.removed(),
            _ => {}
        }
        true
    }
}
