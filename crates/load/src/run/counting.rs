//! When the hardware counters of a run run: in the judged window, in a window of their own after it, or never.

use std::{
    sync::{Condvar, Mutex, PoisonError},
    time::Duration,
};

use assay_instruments::{clock::Clock, counters::Cost};
use assay_record::{Cache, Class, Counted, CountedBy, CpuCounting, Job, PathKind, Stop};

use crate::baseline::counting_cost;

/// A counting window takes this share of the judged one, but not less than the shortest and not more than the longest.
const OF_WINDOW: f64 = 0.25;
const SHORTEST_S: f64 = 0.1;
const LONGEST_S: f64 = 1.0;
/// Operations of a class that a counting window needs to stand for the judged one.
const OPERATIONS_AT_LEAST: u64 = 30;
/// Nobody waits longer for a decision that never comes.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a run counts.
#[derive(Clone, Debug)]
pub struct Counting {
    /// By what.
    pub by: CountedBy,
    /// Why so.
    pub why: String,
    /// Length of the counting window where there is one, s.
    pub window_s: f64,
    /// What counting costs here; none where nothing can be counted, or nothing was to be.
    pub cost: Option<Cost>,
}

impl Counting {
    /// Decides for a job, and learns what counting costs where counters may run.
    pub fn plan(job: &Job, clock: Clock) -> Self {
        let window_s = (job.window.measure_s * OF_WINDOW).clamp(SHORTEST_S, LONGEST_S);
        let cost = if job.counting == CpuCounting::Accounts { None } else { counting_cost(clock) };
        let (by, why) = choose(job, cost.as_ref());
        Self { by, why, window_s, cost }
    }

    /// Counters run in the judged window.
    pub fn in_window(&self) -> bool {
        self.by == CountedBy::InWindow
    }

    /// Seconds of a window of its own; none where there is none, or where the judged one ended otherwise than planned.
    pub fn own_window_s(&self, stop: Stop) -> Option<f64> {
        let complete = matches!(stop, Stop::Limit | Stop::Steady);
        (self.by == CountedBy::OwnWindow && complete).then_some(self.window_s)
    }

    /// How a class was counted, for the record; `apart` are its operations in a window of its own.
    pub fn counted(&self, apart: Option<u64>, measured_s: f64) -> Counted {
        let counted = |by, why: &str, window_s, operations| Counted { by, why: why.to_owned(), window_s, operations };
        match (self.by, apart) {
            (CountedBy::OwnWindow, Some(operations)) => {
                counted(CountedBy::OwnWindow, &self.why, Some(self.window_s), Some(operations))
            }
            (CountedBy::OwnWindow, None) => {
                let why = format!("the window in which counters were to run has no {OPERATIONS_AT_LEAST} operations");
                counted(CountedBy::Accounts, &why, None, None)
            }
            (CountedBy::InWindow, _) => counted(CountedBy::InWindow, &self.why, Some(measured_s), None),
            (CountedBy::Accounts, _) => counted(CountedBy::Accounts, &self.why, None, None),
        }
    }

    /// A counting window with so many operations tells something.
    pub fn suffices(operations: u64) -> bool {
        operations >= OPERATIONS_AT_LEAST
    }
}

fn choose(job: &Job, cost: Option<&Cost>) -> (CountedBy, String) {
    let wanted = job.counting;
    let Some(cost) = cost else {
        let why = match wanted {
            CpuCounting::Accounts => "the job asks for the kernel's accounts",
            _ => "the kernel gives no hardware performance counter to this process",
        };
        return (CountedBy::Accounts, why.to_owned());
    };
    let waits = job.classes.iter().any(may_wait);
    match wanted {
        CpuCounting::InWindow => (CountedBy::InWindow, "the job asks for it".to_owned()),
        CpuCounting::Auto if !cost.bends(waits) => (CountedBy::InWindow, costs(cost, "too little to bend anything")),
        _ => match another_regime(job) {
            Some(why) => (CountedBy::Accounts, why.to_owned()),
            None if wanted == CpuCounting::OwnWindow => (CountedBy::OwnWindow, "the job asks for it".to_owned()),
            None => (CountedBy::OwnWindow, costs(cost, "which would bend the judged window")),
        },
    }
}

fn costs(cost: &Cost, judgement: &str) -> String {
    format!(
        "counters add {:.2} us to a context switch of {:.2} us and {:.1} ns to an operation of {:.1} ns on the null \
         path, {judgement}",
        cost.switch_added_ns / 1e3,
        cost.switch_plain_ns / 1e3,
        cost.null_added_ns,
        cost.null_plain_ns
    )
}

/// Its threads may be taken off their CPUs by waiting in the kernel.
fn may_wait(class: &Class) -> bool {
    !matches!(class.path.kind, PathKind::Null | PathKind::Pmem | PathKind::NvmePolled)
}

/// Why a window after the judged one would tell of something else.
fn another_regime(job: &Job) -> Option<&'static str> {
    let buffered = |class: &Class| match class.path.kind {
        PathKind::Mmap => true,
        PathKind::Pread | PathKind::Libaio | PathKind::IoUring => !class.path.direct,
        _ => false,
    };
    if job.cache == Cache::Cold && job.classes.iter().any(buffered) {
        return Some("a window after the judged one would find the page cache warm");
    }
    (job.window.bytes_at_most > 0).then_some("the job limits its bytes: there is no room for a window of its own")
}

/// Until when workers count after the judged window: decided once, by the hand that closed it.
#[derive(Debug, Default)]
pub struct Afterwards {
    until: Mutex<Option<Option<u64>>>,
    decided: Condvar,
}

impl Afterwards {
    /// Tells the workers: an instant in ticks, or none where nothing is counted.
    pub fn decide(&self, until: Option<u64>) {
        *self.until.lock().unwrap_or_else(PoisonError::into_inner) = Some(until);
        self.decided.notify_all();
    }

    /// Waits for the decision.
    pub fn await_decision(&self) -> Option<u64> {
        let until = self.until.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.decided.wait_timeout_while(until, PATIENCE, |until| until.is_none());
        let (until, _) = waited.unwrap_or_else(PoisonError::into_inner);
        until.flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEAR: Cost =
        Cost { switch_plain_ns: 1_700.0, switch_added_ns: 27_000.0, null_plain_ns: 60.0, null_added_ns: 0.0 };
    const CHEAP: Cost = Cost { switch_added_ns: 5.0, ..DEAR };

    fn job(path: &str, more: &str) -> Job {
        let document = format!(
            r#"{{"version": 1, "name": "counting", "targets": [{{"id": "here", "kind": "folder", "members": ["/tmp"]}}],
            "datasets": [{{"name": "d", "target": "here", "bytes": 1048576}}],
            "classes": [{{"name": "c", "dataset": "d", "path": {path}, "operation": {{"kind": "read"}},
            "pattern": {{"kind": "uniform"}}, "size": 4096}}], "window": {{"measure_s": 2.0}} {more}}}"#
        );
        Job::parse(&document).expect("a job")
    }

    const DIRECT: &str = r#"{"kind": "pread", "direct": true}"#;
    const BUFFERED: &str = r#"{"kind": "pread"}"#;

    #[test]
    fn dear_counters_have_a_window_of_their_own_where_operations_wait() {
        assert_eq!(choose(&job(DIRECT, ""), Some(&DEAR)).0, CountedBy::OwnWindow);
        assert_eq!(choose(&job(DIRECT, ""), Some(&CHEAP)).0, CountedBy::InWindow);
        assert_eq!(choose(&job(DIRECT, ""), None).0, CountedBy::Accounts);
        assert_eq!(choose(&job(r#"{"kind": "null"}"#, ""), Some(&DEAR)).0, CountedBy::InWindow);
    }

    #[test]
    fn who_insists_gets_what_he_asks_for() {
        let asked = |word: &str| job(DIRECT, &format!(r#", "counting": "{word}""#));
        assert_eq!(choose(&asked("in-window"), Some(&DEAR)).0, CountedBy::InWindow);
        assert_eq!(choose(&asked("own-window"), Some(&CHEAP)).0, CountedBy::OwnWindow);
        assert_eq!(Counting::plan(&asked("accounts"), Clock::new()).cost, None);
    }

    #[test]
    fn a_window_that_would_tell_of_something_else_is_not_opened() {
        let cold = |path| job(path, r#", "cache": "cold""#);
        assert_eq!(choose(&cold(BUFFERED), Some(&DEAR)).0, CountedBy::Accounts);
        assert_eq!(choose(&cold(DIRECT), Some(&DEAR)).0, CountedBy::OwnWindow);
        let mut limited = job(DIRECT, "");
        limited.window.bytes_at_most = 4096;
        assert_eq!(choose(&limited, Some(&DEAR)).0, CountedBy::Accounts);
    }

    #[test]
    fn what_was_cut_short_is_not_counted_afterwards() {
        let counting = Counting { by: CountedBy::OwnWindow, why: String::new(), window_s: 0.5, cost: Some(DEAR) };
        assert_eq!(counting.own_window_s(Stop::Limit), Some(0.5));
        assert_eq!(counting.own_window_s(Stop::Interrupted), None);
        assert_eq!(counting.counted(None, 2.0).by, CountedBy::Accounts);
        assert_eq!(counting.counted(Some(1000), 2.0).operations, Some(1000));
    }
}
