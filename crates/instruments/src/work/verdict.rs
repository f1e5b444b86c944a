//! What is found against the work itself.

use assay_record::{Overdue, Reason, ReasonCode, Severity, Verdict, WorkCheck, WorkPart, WorkTarget};

use crate::verdict::{ERRORS_INVALID, missing};

/// The verdict on a work record: what was found against its window, its checks, its failures and its targets.
pub fn work_verdict(window: Vec<Reason>, checks: &[WorkCheck], parts: &[WorkPart], targets: &[WorkTarget]) -> Verdict {
    let own = [check_failed(checks), failures(parts), operations_missing(parts), emulated(targets)];
    Verdict::from_reasons(window.into_iter().chain(own.into_iter().flatten()).collect())
}

/// A check did not hold.
pub fn check_failed(checks: &[WorkCheck]) -> Option<Reason> {
    let failed: Vec<&WorkCheck> = checks.iter().filter(|check| !check.passed).collect();
    let first = failed.first()?;
    let evidence =
        format!("{} of {} checks failed, first {}: {}", failed.len(), checks.len(), first.name, first.evidence);
    let fix = "repeat it on another target: where it fails there too, the program is wrong; else look at this target's \
        durability and at the kernel's log";
    Some(reason(ReasonCode::CheckFailed, Severity::Invalid, evidence, fix, &[("failed", failed.len() as f64)]))
}

/// Operations failed.
pub fn failures(parts: &[WorkPart]) -> Option<Reason> {
    let failed: u64 = parts.iter().map(|part| part.failed).sum();
    if failed == 0 {
        return None;
    }
    let all = failed + parts.iter().map(|part| part.succeeded + part.empty).sum::<u64>();
    let share = failed as f64 / all as f64;
    let kinds: Vec<String> =
        parts.iter().filter(|part| part.failed > 0).map(|part| format!("{} {}", part.failed, part.name)).collect();
    let evidence = format!("{failed} of {all} operations failed ({})", kinds.join(", "));
    let severity = if share >= ERRORS_INVALID { Severity::Invalid } else { Severity::Suspect };
    let fix = "look at the messages of the run and at dmesg, mend what is broken, and run it again";
    Some(reason(ReasonCode::Errors, severity, evidence, fix, &[("failed", failed as f64), ("failed_share", share)]))
}

/// Operations that were due never ended.
pub fn operations_missing(parts: &[WorkPart]) -> Option<Reason> {
    let all = parts.iter().map(|part| part.succeeded + part.empty).sum();
    let overdue = parts.iter().filter_map(|part| part.overdue);
    let sum = overdue.fold(Overdue::default(), |sum, one| Overdue {
        completed: sum.completed + one.completed,
        missing: sum.missing + one.missing,
        waited_s: sum.waited_s.max(one.waited_s),
    });
    missing(all, &sum)
}

/// A target is stand-in hardware.
pub fn emulated(targets: &[WorkTarget]) -> Option<Reason> {
    let names: Vec<String> = targets
        .iter()
        .filter(|target| target.emulated)
        .map(|target| format!("{} ({})", target.target, target.role))
        .collect();
    if names.is_empty() {
        return None;
    }
    let evidence = format!("{} stands in for a device: the code is real, the hardware is not", names.join(" and "));
    let fix = "measure on the device itself; use these figures for the cost of the software only";
    Some(reason(ReasonCode::EmulatedTarget, Severity::Note, evidence, fix, &[]))
}

fn reason(code: ReasonCode, severity: Severity, evidence: String, fix: &str, numbers: &[(&str, f64)]) -> Reason {
    let numbers = numbers.iter().map(|&(name, value)| (name.to_owned(), value)).collect();
    Reason { code, severity, class: None, evidence, fix: fix.to_owned(), numbers }
}

#[cfg(test)]
mod tests {
    use assay_record::Status;

    use super::*;

    fn part(succeeded: u64, failed: u64) -> WorkPart {
        WorkPart {
            name: "insert".to_owned(),
            succeeded,
            empty: 0,
            failed,
            service: None,
            response: None,
            overdue: None,
            figures: Default::default(),
            facts: Default::default(),
        }
    }

    fn check(passed: bool) -> WorkCheck {
        WorkCheck { name: "consistency-1".to_owned(), passed, evidence: "the sums differ by 3".to_owned() }
    }

    #[test]
    fn a_failed_check_makes_the_record_invalid() {
        let verdict = work_verdict(Vec::new(), &[check(true), check(false)], &[part(10, 0)], &[]);
        assert_eq!(verdict.status, Status::Invalid);
        assert_eq!(verdict.reasons[0].code, ReasonCode::CheckFailed);
        assert!(verdict.reasons[0].evidence.contains("1 of 2") && verdict.reasons[0].evidence.contains("differ by 3"));
    }

    #[test]
    fn failures_are_suspect_and_many_of_them_invalid() {
        assert_eq!(work_verdict(Vec::new(), &[], &[part(1000, 1)], &[]).status, Status::Suspect);
        assert_eq!(work_verdict(Vec::new(), &[], &[part(99, 1)], &[]).status, Status::Invalid);
        assert_eq!(work_verdict(Vec::new(), &[check(true)], &[part(99, 0)], &[]).status, Status::Valid);
    }

    #[test]
    fn what_never_ended_is_suspect_from_the_first_one_and_what_ended_late_is_not() {
        let part = |completed, missing| {
            let overdue = Some(Overdue { completed, missing, waited_s: 1.5 });
            WorkPart { overdue, ..part(90, 0) }
        };
        assert_eq!(work_verdict(Vec::new(), &[], &[part(10, 0)], &[]).status, Status::Valid);
        let verdict = work_verdict(Vec::new(), &[], &[part(9, 1), part(10, 0)], &[]);
        assert_eq!((verdict.status, verdict.reasons[0].code), (Status::Suspect, ReasonCode::OperationsMissing));
        let numbers = &verdict.reasons[0].numbers;
        assert_eq!((numbers["missing_operations"], numbers["missing_share"], numbers["waited_s"]), (1.0, 0.005, 1.5));
    }

    #[test]
    fn a_stand_in_is_named() {
        let target = WorkTarget { role: "data".to_owned(), target: "a folder in memory".to_owned(), emulated: true };
        let verdict = work_verdict(Vec::new(), &[], &[], &[target]);
        assert_eq!((verdict.status, verdict.reasons[0].code), (Status::Valid, ReasonCode::EmulatedTarget));
    }
}
