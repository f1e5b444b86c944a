//! The logs of a database: none, one, or several that threads share out among themselves.
//!
//! Commit numbers are one dense sequence whatever their number. With one log a commit is acknowledged when its record is
//! durable; with several, when the records of all commits up to it are, each in its log: what it has read may be in any of
//! them. So a recovery may leave out everything from the first commit on that is missing, and nothing of that was promised.

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst},
};

use super::{Log, Written};
use crate::error::{Failure, Result};

/// Logs that a database has at most.
pub const LOGS_AT_MOST: usize = 16;
/// Bits of a position in a record's end.
const POSITION: u32 = 56;

/// A record's end: which log, and where in it. Of the first log it is the position itself.
pub fn end_in(log: usize, position: u64) -> u64 {
    (log as u64) << POSITION | position
}

/// Log and position of a record's end.
pub fn log_of(end: u64) -> (usize, u64) {
    ((end >> POSITION) as usize, end & ((1 << POSITION) - 1))
}

/// How far each log is durable.
#[derive(Clone, Copy, Debug)]
pub struct Reach([u64; LOGS_AT_MOST]);

impl Reach {
    /// Of one log, or where there is none and nothing is waited for.
    pub fn of_one(end: u64) -> Self {
        let mut reach = [0; LOGS_AT_MOST];
        reach[0] = end;
        Self(reach)
    }

    /// Whether the record that ends there is durable.
    #[inline]
    pub fn covers(&self, end: u64) -> bool {
        let (log, position) = log_of(end);
        position <= self.0[log % LOGS_AT_MOST]
    }
}

/// All logs of an open database.
#[derive(Debug, Default)]
pub struct Logs {
    logs: Vec<Arc<Log>>,
    acknowledged: Arc<AtomicU64>,
    next: AtomicUsize,
}

impl Logs {
    /// Makes logs of what was made without knowing of others.
    pub fn of(logs: Vec<Log>) -> Self {
        let acknowledged = Arc::default();
        let several = logs.len() > 1;
        let shared = |log: Log| Arc::new(if several { log.telling(Arc::clone(&acknowledged)) } else { log });
        Self { logs: logs.into_iter().map(shared).collect(), acknowledged, next: AtomicUsize::new(0) }
    }

    /// No log.
    pub fn none() -> Self {
        Self::default()
    }

    /// One of them, if there is any.
    #[inline]
    pub fn get(&self, index: usize) -> Option<&Arc<Log>> {
        self.logs.get(index)
    }

    /// All of them.
    pub fn iter(&self) -> std::slice::Iter<'_, Arc<Log>> {
        self.logs.iter()
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.logs.len()
    }

    /// There is more than one.
    #[inline]
    pub fn are_several(&self) -> bool {
        self.logs.len() > 1
    }

    /// The log of the next thread.
    pub fn deal(&self) -> usize {
        self.next.fetch_add(1, SeqCst) % self.logs.len().max(1)
    }

    /// How far each is durable.
    pub fn reach(&self) -> Reach {
        let mut reach = [u64::MAX; LOGS_AT_MOST];
        self.logs.iter().zip(&mut reach).for_each(|(log, reach)| *reach = log.durable());
        Reach(reach)
    }

    /// All commits up to this one are durable in all logs: the marks of several say so from now on.
    pub fn acknowledge(&self, commit: u64) {
        if self.are_several() && self.acknowledged.load(SeqCst) < commit {
            self.acknowledged.fetch_max(commit, SeqCst);
        }
    }

    /// Share of the area that a recovery would have to read, of the fullest.
    pub fn fullness(&self) -> f64 {
        self.logs.iter().map(|log| log.fullness()).fold(0.0, f64::max)
    }

    /// What was written so far, to all of them.
    pub fn written(&self) -> Written {
        let mut all = Written::default();
        for one in self.logs.iter().map(|log| log.written()) {
            (all.bytes, all.batches, all.flushes) =
                (all.bytes + one.bytes, all.batches + one.batches, all.flushes + one.flushes);
        }
        all
    }

    /// Whether all of them still work.
    ///
    /// # Errors
    /// As [`Log::check`].
    #[inline]
    pub fn check(&self) -> Result<()> {
        self.logs.iter().try_for_each(|log| log.check())
    }

    /// Says that none of them works any longer.
    pub fn stop(&self, failure: &Failure) {
        self.logs.iter().for_each(|log| log.stop(failure.clone()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_says_log_and_position_and_of_the_first_log_it_is_the_position() {
        assert_eq!(end_in(0, 77), 77);
        for (log, position) in [(0, 1), (1, 0), (15, (1 << POSITION) - 1)] {
            assert_eq!(log_of(end_in(log, position)), (log, position));
        }
        let mut reach = [0; LOGS_AT_MOST];
        (reach[0], reach[2]) = (10, 20);
        let covers = |log, position| Reach(reach).covers(end_in(log, position));
        assert!(covers(0, 10) && covers(2, 20) && !covers(0, 11) && !covers(2, 21) && !covers(1, 1));
    }

    #[test]
    fn a_database_without_logs_waits_for_none() {
        let logs = Logs::none();
        assert!(logs.reach().covers(0) && logs.reach().covers(1 << 40) && logs.get(0).is_none());
        assert!(logs.check().is_ok() && logs.fullness() == 0.0 && logs.deal() == 0);
    }
}
