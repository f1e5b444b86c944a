//! Which class the kernel helpers worked for.

use super::{
    io::IoBytes,
    process::ProcessUse,
    task::{HelperKind, HelperUse},
};

/// The threads of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClassThreads {
    /// Ids of its threads.
    pub tids: Vec<i32>,
    /// They use `io_uring`: only then can a helper have worked for them.
    pub uses_ring: bool,
}

/// What helpers used for a class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct HelperTotals {
    /// CPU seconds of workers (`iou-wrk`).
    pub worker_s: f64,
    /// CPU seconds of submission pollers (`iou-sqp`).
    pub poller_s: f64,
    /// CPU seconds of helpers that ended, or whose owner could not be told: this class's share of them.
    pub shared_s: f64,
    /// Device bytes.
    pub io: IoBytes,
}

impl HelperTotals {
    /// CPU seconds of all of them.
    pub fn cpu_s(&self) -> f64 {
        self.worker_s + self.poller_s + self.shared_s
    }

    fn add(&mut self, helper: &HelperUse) {
        match helper.helper.kind {
            HelperKind::Worker => self.worker_s += helper.cpu_s,
            HelperKind::SubmissionPoller => self.poller_s += helper.cpu_s,
        }
        self.io = self.io.plus(helper.io.unwrap_or_default());
    }
}

/// Gives the helpers' work to the classes, one result per class. A helper goes to the class of its owner. What is left
/// (helpers that ended; helpers whose name counts in another PID namespace, as in a container) goes to the classes that
/// use `io_uring`: to the only one, or to each by its share of what is known, or in equal parts where nothing is known.
pub fn attribute(used: &ProcessUse, classes: &[ClassThreads]) -> Vec<HelperTotals> {
    let mut totals = vec![HelperTotals::default(); classes.len()];
    let mut rest_s = used.ended_helpers_s();
    let mut rest_io = used.unattributed_io.unwrap_or_default();
    for helper in &used.helpers {
        let class = classes.iter().position(|class| class.tids.contains(&helper.helper.owner));
        match class.filter(|_| helper.owner.is_some()) {
            Some(class) => totals[class].add(helper),
            None => {
                rest_s += helper.cpu_s;
                rest_io = rest_io.plus(helper.io.unwrap_or_default());
            }
        }
    }
    share_out(rest_s, rest_io, classes, &mut totals);
    totals
}

fn share_out(rest_s: f64, rest_io: IoBytes, classes: &[ClassThreads], totals: &mut [HelperTotals]) {
    let known: f64 = totals.iter().map(HelperTotals::cpu_s).sum();
    let rings = classes.iter().filter(|class| class.uses_ring).count();
    for (class, total) in classes.iter().zip(totals) {
        if !class.uses_ring {
            continue;
        }
        let share = if known > 0.0 { total.cpu_s() / known } else { 1.0 / rings as f64 };
        total.shared_s += rest_s * share;
        let part = |bytes: u64| (bytes as f64 * share) as u64;
        total.io = total.io.plus(IoBytes {
            read: part(rest_io.read),
            written: part(rest_io.written),
            cancelled: part(rest_io.cancelled),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::task::Helper;

    fn helper(owner: i32, alive: bool, cpu_s: f64) -> HelperUse {
        HelperUse {
            tid: 1000 + owner,
            helper: Helper { kind: HelperKind::Worker, owner },
            owner: alive.then_some(owner),
            cpu_s,
            io: Some(IoBytes { read: 4096, written: 0, cancelled: 0 }),
        }
    }

    fn class(tids: &[i32], uses_ring: bool) -> ClassThreads {
        ClassThreads { tids: tids.to_vec(), uses_ring }
    }

    #[test]
    fn a_helper_goes_to_its_owners_class() {
        let used = ProcessUse { helpers: vec![helper(2, true, 0.5), helper(3, true, 0.25)], ..ProcessUse::default() };
        let totals = attribute(&used, &[class(&[1, 2], true), class(&[3], true), class(&[4], false)]);
        assert_eq!((totals[0].worker_s, totals[1].worker_s, totals[2].cpu_s()), (0.5, 0.25, 0.0));
        assert_eq!(totals[0].io.read, 4096);
    }

    #[test]
    fn what_nobody_owns_goes_to_the_classes_with_rings_by_what_is_known() {
        let used = ProcessUse {
            helpers: vec![helper(1, true, 3.0), helper(2, true, 1.0), helper(77, false, 2.0)],
            unattributed_s: 2.0,
            ..ProcessUse::default()
        };
        let totals = attribute(&used, &[class(&[1], true), class(&[2], true), class(&[3], false)]);
        assert_eq!((totals[0].shared_s, totals[1].shared_s, totals[2].shared_s), (3.0, 1.0, 0.0));
        let sum: f64 = totals.iter().map(HelperTotals::cpu_s).sum();
        assert!((sum - 8.0).abs() < 1e-9);
    }

    #[test]
    fn without_a_ring_nothing_is_given_and_reading_errors_are_dropped() {
        let used = ProcessUse { unattributed_s: 0.001, ..ProcessUse::default() };
        assert_eq!(attribute(&used, &[class(&[1], true)])[0].cpu_s(), 0.0);
        let used = ProcessUse { unattributed_s: 1.0, ..ProcessUse::default() };
        assert_eq!(attribute(&used, &[class(&[1], false)])[0].cpu_s(), 0.0);
        let halves = attribute(&used, &[class(&[1], true), class(&[2], true)]);
        assert_eq!((halves[0].shared_s, halves[1].shared_s), (0.5, 0.5));
    }
}
