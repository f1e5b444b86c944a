//! Whether CPU time that was taken here for virtual time cost the same from first to last.
//!
//! A turn costs what turns took on this machine when that was learnt. Where the machine's pace moved meanwhile, or other
//! processes shared its caches, it would have learnt another figure at another time.

use assay_instruments::{
    clock::Clock,
    counters::FrequencyProbe,
    verdict::{FREQUENCY_CHANGE, PROBE_SPREAD},
    work::{Done, WorkWatch},
};
use assay_record::{Provenance, Reason, ReasonCode, Severity};

/// Watches this machine while a play runs on it.
pub struct Steady {
    watch: WorkWatch,
    clock: Clock,
    before: FrequencyProbe,
}

impl Steady {
    /// From here on it is watched.
    pub fn begin() -> Self {
        let clock = Clock::new();
        Self { before: FrequencyProbe::run(&clock), watch: WorkWatch::open(clock, &[]), clock }
    }

    /// What was found against the costs that were learnt meanwhile.
    pub fn judge(self) -> Option<Reason> {
        let after = FrequencyProbe::run(&self.clock);
        let window = self.watch.close(&Done::operations(1, Provenance::Measured));
        let beside = window.reasons.iter().filter(|reason| {
            matches!(reason.code, ReasonCode::CpuTaken | ReasonCode::FrequencyChanged | ReasonCode::ClockUnreliable)
        });
        let mut found: Vec<String> = beside.map(|reason| reason.evidence.clone()).collect();
        found.extend(unsteady(&self.before, &after));
        (!found.is_empty()).then(|| reason(&found, &self.before, &after))
    }
}

/// What a loop of known length says of the machine's pace.
fn unsteady(before: &FrequencyProbe, after: &FrequencyProbe) -> Option<String> {
    let (spread, change) = (before.spread.max(after.spread), before.change_to(after));
    let moved = spread > PROBE_SPREAD || change.abs() >= FREQUENCY_CHANGE;
    moved.then(|| {
        let (spread, change) = (spread * 100.0, change * 100.0);
        format!("a loop of known length spread by {spread:.0} %, and took another time afterwards by {change:+.0} %")
    })
}

fn reason(found: &[String], before: &FrequencyProbe, after: &FrequencyProbe) -> Reason {
    let numbers =
        [("spread_before", before.spread), ("spread_after", after.spread), ("change", before.change_to(after))];
    Reason {
        code: ReasonCode::CostsUnsteady,
        severity: Severity::Suspect,
        class: None,
        evidence: format!("what turns cost was learnt on a machine that was not steady: {}", found.join("; ")),
        fix: "learn it anew on a quiet machine (--turn learn), or say what a turn costs (--turn 2us)".to_owned(),
        numbers: numbers.map(|(name, value)| (name.to_owned(), value)).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_that_moved_or_blurred_is_unsteady() {
        let probe = |hz, spread| FrequencyProbe { hz, spread };
        assert_eq!(unsteady(&probe(2e9, 0.01), &probe(2.05e9, 0.02)), None);
        assert!(unsteady(&probe(2e9, 0.01), &probe(1.6e9, 0.01)).is_some());
        assert!(unsteady(&probe(2e9, 0.01), &probe(2e9, 0.2)).is_some());
    }
}
