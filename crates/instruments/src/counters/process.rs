//! What the whole process used between two moments, and what of it no thread's own account shows.

use std::{collections::BTreeMap, path::PathBuf};

use super::{
    io::IoBytes,
    roots::Roots,
    rusage::Rusage,
    task::{HelperUse, TaskSample, tasks},
    thread::ThreadUse,
};

/// Unattributed CPU below this is the error of readings that are not of one instant.
const UNATTRIBUTED_AT_LEAST_S: f64 = 0.002;

/// Counters of this process.
#[derive(Clone, Debug)]
pub struct ProcessCounters {
    folder: PathBuf,
}

/// All accounts of the process at one moment. Reading it takes some tens of microseconds per thread, so a snapshot's
/// parts are not exactly of the same instant.
#[derive(Clone, Debug)]
pub struct ProcessSnapshot {
    usage: Rusage,
    io: Option<IoBytes>,
    tasks: BTreeMap<i32, TaskSample>,
}

/// What the process used.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ProcessUse {
    /// CPU seconds in user mode, all threads.
    pub user_s: f64,
    /// CPU seconds in the kernel, all threads and helpers.
    pub kernel_s: f64,
    /// Context switches because a thread waited.
    pub voluntary_switches: u64,
    /// Context switches because somebody else got the CPU.
    pub involuntary_switches: u64,
    /// Page faults without I/O.
    pub minor_faults: u64,
    /// Page faults with I/O.
    pub major_faults: u64,
    /// Device bytes of all threads and helpers, ended ones included; none where the kernel does not account.
    pub io: Option<IoBytes>,
    /// Seconds, in sum over threads, in which they could have run and had no CPU; none where the kernel does not account.
    pub waited_s: Option<f64>,
    /// Kernel helpers that live.
    pub helpers: Vec<HelperUse>,
    /// CPU seconds that belong to none of the threads known: those of helpers that ended. Readings are not of one
    /// instant, so values below a millisecond or two mean nothing.
    pub unattributed_s: f64,
    /// Device bytes that belong to none of the threads known; none where the kernel does not account.
    pub unattributed_io: Option<IoBytes>,
}

impl ProcessCounters {
    /// Of the running process.
    pub fn new() -> Self {
        Self { folder: Roots::default().proc.join("self") }
    }

    /// Reads everything. Take the first snapshot when the threads are there, and the last before they end: what a
    /// thread used that ended in between can be subtracted only if it is handed to [`ProcessSnapshot::until`].
    pub fn snapshot(&self) -> ProcessSnapshot {
        // Tasks first at both ends: a thread that works on between the readings adds the same at both.
        let tasks = tasks(&self.folder.join("task"));
        let io = IoBytes::read_from(&self.folder.join("io"));
        ProcessSnapshot { usage: Rusage::of_process(), io, tasks }
    }
}

impl ProcessUse {
    /// CPU seconds of helpers that ended: what is unattributed, where that is more than the error of the readings.
    pub fn ended_helpers_s(&self) -> f64 {
        if self.unattributed_s < UNATTRIBUTED_AT_LEAST_S { 0.0 } else { self.unattributed_s }
    }
}

impl Default for ProcessCounters {
    fn default() -> Self {
        Self::new()
    }
}

impl ProcessSnapshot {
    /// What was used from this snapshot to `later`. `ended` are the accounts of threads that lived at this snapshot and
    /// have ended before `later`.
    pub fn until(&self, later: &Self, ended: &[ThreadUse]) -> ProcessUse {
        let usage = later.usage.since(self.usage);
        let io = later.io.zip(self.io).map(|(after, before)| after.since(before));
        let ended: Vec<_> = ended.iter().filter(|used| !later.tasks.contains_key(&used.tid)).collect();
        ProcessUse {
            user_s: usage.user_s,
            kernel_s: usage.kernel_s,
            voluntary_switches: usage.voluntary_switches,
            involuntary_switches: usage.involuntary_switches,
            minor_faults: usage.minor_faults,
            major_faults: usage.major_faults,
            io,
            waited_s: self.waited_s(later, &ended),
            helpers: self.helpers_until(later),
            unattributed_s: (usage.cpu_s() - self.known_cpu_s(later, &ended)).max(0.0),
            unattributed_io: io.map(|io| io.since(self.known_io(later, &ended))),
        }
    }

    /// CPU seconds of one task between the snapshots; a task that is new had none before.
    fn task_until<'a>(&'a self, later: &'a Self) -> impl Iterator<Item = (i32, &'a TaskSample, f64, Option<IoBytes>)> {
        later.tasks.iter().map(|(&tid, after)| {
            let before = self.tasks.get(&tid).filter(|before| before.helper == after.helper);
            let cpu_s = (after.cpu_s - before.map_or(0.0, |before| before.cpu_s)).max(0.0);
            let io = after.io.map(|io| io.since(before.and_then(|before| before.io).unwrap_or_default()));
            (tid, after, cpu_s, io)
        })
    }

    fn helpers_until(&self, later: &Self) -> Vec<HelperUse> {
        let owner_of = |tid| later.tasks.get(&tid).filter(|task| task.helper.is_none()).map(|_| tid);
        self.task_until(later)
            .filter_map(|(tid, task, cpu_s, io)| {
                let helper = task.helper?;
                Some(HelperUse { tid, helper, owner: owner_of(helper.owner), cpu_s, io })
            })
            .collect()
    }

    fn known_cpu_s(&self, later: &Self, ended: &[&ThreadUse]) -> f64 {
        let alive: f64 = self.task_until(later).map(|(_, _, cpu_s, _)| cpu_s).sum();
        alive + ended.iter().map(|used| used.user_s + used.kernel_s).sum::<f64>()
    }

    fn waited_s(&self, later: &Self, ended: &[&ThreadUse]) -> Option<f64> {
        let alive = later.tasks.iter().map(|(tid, after)| {
            let before = self.tasks.get(tid).filter(|before| before.helper == after.helper);
            Some((after.waited_s? - before.and_then(|before| before.waited_s).unwrap_or(0.0)).max(0.0))
        });
        let all: Vec<Option<f64>> = alive.chain(ended.iter().map(|used| used.waited_s)).collect();
        // Of a task that has not run yet nothing was counted.
        all.iter().any(Option::is_some).then(|| all.iter().flatten().sum())
    }

    fn known_io(&self, later: &Self, ended: &[&ThreadUse]) -> IoBytes {
        let alive = self.task_until(later).filter_map(|(_, _, _, io)| io).fold(IoBytes::default(), IoBytes::plus);
        ended.iter().fold(alive, |sum, used| {
            sum.plus(IoBytes {
                read: used.read_bytes.unwrap_or(0),
                written: used.written_bytes.unwrap_or(0),
                cancelled: 0,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::task::{Helper, HelperKind};

    fn task(cpu_s: f64, read: u64, helper: Option<Helper>) -> TaskSample {
        TaskSample { helper, cpu_s, waited_s: Some(cpu_s / 2.0), io: Some(IoBytes { read, written: 0, cancelled: 0 }) }
    }

    fn snapshot(cpu_s: f64, read: u64, tasks: &[(i32, TaskSample)]) -> ProcessSnapshot {
        ProcessSnapshot {
            usage: Rusage { kernel_s: cpu_s, ..Rusage::default() },
            io: Some(IoBytes { read, written: 0, cancelled: 0 }),
            tasks: tasks.iter().copied().collect(),
        }
    }

    #[test]
    fn a_living_helper_is_named_with_its_owner_and_an_ended_one_is_what_remains() {
        let worker = Some(Helper { kind: HelperKind::Worker, owner: 10 });
        let stranger = Some(Helper { kind: HelperKind::SubmissionPoller, owner: 99 });
        let before = snapshot(1.0, 100, &[(10, task(1.0, 100, None))]);
        let after = snapshot(
            4.0,
            1000,
            &[(10, task(1.5, 200, None)), (11, task(0.5, 300, worker)), (12, task(0.25, 0, stranger))],
        );
        let used = before.until(&after, &[]);
        assert_eq!(used.helpers.len(), 2);
        assert_eq!((used.helpers[0].owner, used.helpers[0].cpu_s), (Some(10), 0.5));
        assert_eq!(used.helpers[1].owner, None);
        assert!((used.unattributed_s - (3.0 - 0.5 - 0.5 - 0.25)).abs() < 1e-9);
        assert_eq!(used.unattributed_io.expect("accounted").read, 900 - 100 - 300);
    }

    #[test]
    fn a_thread_that_ended_is_not_taken_for_a_helper() {
        let before = snapshot(1.0, 0, &[(10, task(1.0, 0, None)), (11, task(0.0, 0, None))]);
        let after = snapshot(3.0, 0, &[(10, task(1.0, 0, None))]);
        let ended = ThreadUse { user_s: 1.5, kernel_s: 0.5, tid: 11, ..ThreadUse::default() };
        assert_eq!(before.until(&after, std::slice::from_ref(&ended)).unattributed_s, 0.0);
        // The account of a thread that still lives is not subtracted twice.
        let living = ThreadUse { tid: 10, ..ended };
        assert!((before.until(&after, &[living]).unattributed_s - 2.0).abs() < 1e-9);
    }

    #[test]
    fn threads_that_live_and_threads_that_ended_waited_for_cpus() {
        let before = snapshot(1.0, 0, &[(10, task(1.0, 0, None)), (11, task(4.0, 0, None))]);
        let after = snapshot(3.0, 0, &[(10, task(3.0, 0, None))]);
        let ended = ThreadUse { tid: 11, waited_s: Some(0.25), ..ThreadUse::default() };
        assert_eq!(before.until(&after, std::slice::from_ref(&ended)).waited_s, Some(1.25));
        let (mut nothing, mut later) = (before, after);
        nothing.tasks.values_mut().chain(later.tasks.values_mut()).for_each(|task| task.waited_s = None);
        assert_eq!(nothing.until(&later, &[]).waited_s, None);
    }

    #[test]
    fn an_id_that_was_given_to_a_helper_afterwards_starts_from_zero() {
        let worker = Some(Helper { kind: HelperKind::Worker, owner: 10 });
        let before = snapshot(1.0, 0, &[(11, task(5.0, 0, None))]);
        let after = snapshot(2.0, 0, &[(11, task(0.5, 0, worker))]);
        assert_eq!(before.until(&after, &[]).helpers[0].cpu_s, 0.5);
    }

    #[test]
    fn this_process_is_counted() {
        let counters = ProcessCounters::new();
        let before = counters.snapshot();
        let started = Rusage::of_thread();
        let mut x = 1_u64;
        while Rusage::of_thread().since(started).cpu_s() < 0.02 {
            for i in 0..100_000_u64 {
                x = std::hint::black_box(x.wrapping_mul(31).wrapping_add(i));
            }
        }
        let used = before.until(&counters.snapshot(), &[]);
        assert!(used.user_s + used.kernel_s >= 0.019, "{used:?}");
    }
}
