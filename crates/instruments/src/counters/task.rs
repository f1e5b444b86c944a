//! The tasks of this process, kernel helpers among them: `/proc/self/task`.
//!
//! `io_uring` makes kernel threads that belong to the process: `iou-wrk-N` works off what would block for the ring of
//! thread N, `iou-sqp-N` polls its submission queue. No thread's own CPU time contains theirs.

use std::{collections::BTreeMap, fs, path::Path};

use super::io::IoBytes;

/// Kind of a kernel helper thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HelperKind {
    /// `iou-wrk`: does what would have blocked the submitter.
    Worker,
    /// `iou-sqp`: polls a submission queue.
    SubmissionPoller,
}

/// A kernel helper thread of this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Helper {
    /// What it is.
    pub kind: HelperKind,
    /// Thread id in its name: the thread that made the ring, numbered as the machine's first PID namespace does.
    pub owner: i32,
}

/// What a helper used.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HelperUse {
    /// Its id.
    pub tid: i32,
    /// What it is and for whom.
    pub helper: Helper,
    /// Its owner, when that is a living thread of this process.
    pub owner: Option<i32>,
    /// CPU seconds; all of them are kernel time.
    pub cpu_s: f64,
    /// Device bytes that are accounted to it; none where the kernel does not account.
    pub io: Option<IoBytes>,
}

/// A task at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TaskSample {
    /// What it is, when it is a kernel helper.
    pub helper: Option<Helper>,
    /// CPU seconds so far.
    pub cpu_s: f64,
    /// Seconds so far in which it could have run and had no CPU; none where the kernel does not account.
    pub waited_s: Option<f64>,
    /// Device bytes so far.
    pub io: Option<IoBytes>,
}

/// All tasks under a `task` folder. A task that ends while it is read is left out.
pub(super) fn tasks(folder: &Path) -> BTreeMap<i32, TaskSample> {
    let Ok(entries) = fs::read_dir(folder) else { return BTreeMap::new() };
    entries
        .flatten()
        .filter_map(|entry| {
            let tid = entry.file_name().to_str()?.parse().ok()?;
            Some((tid, task(&entry.path())?))
        })
        .collect()
}

fn task(folder: &Path) -> Option<TaskSample> {
    let name = fs::read_to_string(folder.join("comm")).ok()?;
    let schedstat = fs::read_to_string(folder.join("schedstat")).ok();
    Some(TaskSample {
        helper: parse_helper_name(name.trim_end()),
        cpu_s: cpu_s(folder, schedstat.as_deref())?,
        waited_s: schedstat.as_deref().and_then(waited_s),
        io: IoBytes::read_from(&folder.join("io")),
    })
}

/// CPU seconds of a task: to the nanosecond from `schedstat`, else in ticks from `stat`.
fn cpu_s(folder: &Path, schedstat: Option<&str>) -> Option<f64> {
    let precise = schedstat.and_then(parse_schedstat);
    if let Some(ns) = precise {
        return Some(ns as f64 * 1e-9);
    }
    let (user, kernel) = parse_task_stat(&fs::read_to_string(folder.join("stat")).ok()?)?;
    Some((user + kernel) as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// What a task is by its name; none for everything that is not a helper of `io_uring`.
pub fn parse_helper_name(name: &str) -> Option<Helper> {
    let (kind, owner) = if let Some(owner) = name.strip_prefix("iou-wrk-") {
        (HelperKind::Worker, owner)
    } else {
        (HelperKind::SubmissionPoller, name.strip_prefix("iou-sqp-")?)
    };
    Some(Helper { kind, owner: owner.parse().ok().filter(|&tid| tid > 0)? })
}

/// CPU time of a task, ns: the first field of a `schedstat` file.
pub fn parse_schedstat(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().next()?.parse().ok()
}

/// Seconds in which a task could have run and had no CPU, by its `schedstat` file; none where the kernel keeps none: a task
/// that has read its own has run.
pub(super) fn waited_s(text: &str) -> Option<f64> {
    parse_schedstat(text).filter(|&ran| ran > 0).and_then(|_| parse_run_wait(text)).map(|ns| ns as f64 * 1e-9)
}

/// Time in which a task could have run and had no CPU, ns: the second field of a `schedstat` file.
pub fn parse_run_wait(text: &str) -> Option<u64> {
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// User and kernel time of a task, clock ticks: fields 14 and 15 of a `stat` file. The name before them may contain
/// anything, so fields are counted from the last closing bracket.
pub fn parse_task_stat(text: &str) -> Option<(u64, u64)> {
    let fields = text.get(text.rfind(')')? + 1..)?;
    let mut fields = fields.split_ascii_whitespace().skip(11);
    Some((fields.next()?.parse().ok()?, fields.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn helpers_are_known_by_name() {
        let helper = |kind, owner| Some(Helper { kind, owner });
        assert_eq!(parse_helper_name("iou-wrk-8427"), helper(HelperKind::Worker, 8427));
        assert_eq!(parse_helper_name("iou-sqp-1"), helper(HelperKind::SubmissionPoller, 1));
        assert_eq!(parse_helper_name("iou-wrk-"), None);
        assert_eq!(parse_helper_name("iou-wrk--3"), None);
        assert_eq!(parse_helper_name("assayer"), None);
        assert_eq!(parse_helper_name("kworker/0:1"), None);
    }

    #[test]
    fn waiting_for_a_cpu_is_the_second_field_and_unknown_where_nothing_was_counted() {
        assert_eq!(waited_s("2000000000 500000000 17\n"), Some(0.5));
        assert_eq!(waited_s("2000000000\n"), None);
        assert_eq!(waited_s("0 0 0\n"), None);
    }

    #[test]
    fn a_bracket_in_the_name_does_not_shift_the_fields() {
        let text = "8427 (a ) b) S 8400 8427 8427 0 -1 4194560 3456 42001 0 30 17 3 26 13 20 0 1 0 125186";
        assert_eq!(parse_task_stat(text), Some((17, 3)));
        assert_eq!(parse_task_stat("1 (x"), None);
    }

    #[test]
    fn this_process_has_this_thread() {
        let all = tasks(Path::new("/proc/self/task"));
        let tid = rustix::thread::gettid().as_raw_nonzero().get();
        assert!(all.contains_key(&tid), "{all:?}");
        assert!(tasks(Path::new("/nonexistent")).is_empty());
    }

    proptest! {
        #[test]
        fn garbage_does_not_panic(text in "\\PC{0,200}", shaped in "[0-9]{1,6} \\([a-z) (]{0,10}\\)[ 0-9RS-]{0,80}") {
            let _ = (parse_helper_name(&text), parse_schedstat(&text), parse_task_stat(&text), waited_s(&text));
            let _ = (parse_schedstat(&shaped), parse_task_stat(&shaped), waited_s(&shaped));
        }
    }
}
