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
    let stand = if names.len() == 1 { "stands" } else { "stand" };
    let evidence = format!("{} {stand} in for a device: the code is real, the hardware is not", names.join(" and "));
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

    fn only(found: Option<Reason>) -> (ReasonCode, Severity, String, Vec<(String, f64)>) {
        let found = found.expect("a reason");
        assert!(found.fix.len() > 20 && found.class.is_none());
        (found.code, found.severity, found.evidence, found.numbers.into_iter().collect())
    }

    fn numbers(of: &[(&str, f64)]) -> Vec<(String, f64)> {
        of.iter().map(|&(name, value)| (name.to_owned(), value)).collect()
    }

    #[test]
    fn failures_are_told_by_part_and_among_all_operations() {
        let parts = [WorkPart { empty: 4, ..part(986, 6) }, part(0, 4), part(7, 0)];
        let found = only(failures(&parts[..2]));
        let evidence = "10 of 1000 operations failed (6 insert, 4 insert)".to_owned();
        let told = numbers(&[("failed", 10.0), ("failed_share", 0.01)]);
        assert_eq!(found, (ReasonCode::Errors, Severity::Invalid, evidence, told));
        let (_, severity, evidence, _) = only(failures(&parts));
        assert_eq!(severity, Severity::Suspect);
        assert_eq!(
            evidence, "10 of 1007 operations failed (6 insert, 4 insert)",
            "a part without failures is not named"
        );
        assert_eq!(failures(&[part(10, 0)]), None);
    }

    #[test]
    fn what_never_ended_is_told_among_all_parts() {
        let overdue = |completed, missing, waited_s| Some(Overdue { completed, missing, waited_s });
        let parts = [
            WorkPart { overdue: overdue(10, 3, 1.5), empty: 5, ..part(900, 0) },
            WorkPart { overdue: overdue(20, 2, 2.5), ..part(60, 0) },
        ];
        let (code, severity, evidence, told) = only(operations_missing(&parts));
        assert_eq!((code, severity), (ReasonCode::OperationsMissing, Severity::Suspect));
        assert!(
            evidence.starts_with("5 operations, 0.5 % of all that were due, had not ended 2.50 s after"),
            "{evidence}"
        );
        assert_eq!(told, numbers(&[("missing_operations", 5.0), ("missing_share", 0.005), ("waited_s", 2.5)]));
    }

    #[test]
    fn checks_and_stand_ins_are_told_in_words() {
        let failed = only(check_failed(&[check(true), check(false), check(false)]));
        let evidence = "2 of 3 checks failed, first consistency-1: the sums differ by 3".to_owned();
        assert_eq!(failed, (ReasonCode::CheckFailed, Severity::Invalid, evidence, numbers(&[("failed", 2.0)])));
        let target = |role: &str, emulated| WorkTarget { role: role.to_owned(), target: "memory".to_owned(), emulated };
        let found = only(emulated(&[target("data", true), target("log", true), target("temp", false)]));
        let evidence = "memory (data) and memory (log) stand in for a device: the code is real, the hardware is not";
        assert_eq!(found, (ReasonCode::EmulatedTarget, Severity::Note, evidence.to_owned(), Vec::new()));
        assert_eq!((check_failed(&[check(true)]), emulated(&[target("data", false)])), (None, None));
    }
}
