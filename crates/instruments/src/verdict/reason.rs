//! Building a reason.

use assay_record::{Reason, ReasonCode, Severity};

/// A reason that concerns the whole run.
pub(super) fn of_run(code: ReasonCode, severity: Severity, evidence: String, fix: &str) -> Reason {
    Reason { code, severity, class: None, evidence, fix: fix.to_owned(), numbers: Default::default() }
}

/// A reason that concerns a class.
pub(super) fn of_class(class: &str, code: ReasonCode, severity: Severity, evidence: String, fix: &str) -> Reason {
    Reason { class: Some(class.to_owned()), ..of_run(code, severity, evidence, fix) }
}

/// Adds the figures of the evidence.
pub(super) fn with(mut reason: Reason, numbers: &[(&str, f64)]) -> Reason {
    // JSON has no infinity; a figure that cannot be written is left out.
    let finite = numbers.iter().filter(|(_, value)| value.is_finite());
    reason.numbers = finite.map(|&(name, value)| (name.to_owned(), value)).collect();
    reason
}

/// Suspect from one bound on, invalid from another; none below both.
pub(super) fn graded(value: f64, suspect: f64, invalid: f64) -> Option<Severity> {
    match value {
        x if x >= invalid => Some(Severity::Invalid),
        x if x >= suspect => Some(Severity::Suspect),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_belongs_to_what_lies_above_it() {
        let found = [0.049, 0.05, 0.19, 0.2, f64::NAN].map(|value| graded(value, 0.05, 0.2));
        let (suspect, invalid) = (Some(Severity::Suspect), Some(Severity::Invalid));
        assert_eq!(found, [None, suspect, suspect, invalid, None]);
    }

    #[test]
    fn what_json_cannot_write_is_left_out() {
        let reason = of_class("read", ReasonCode::Errors, Severity::Note, "seen".to_owned(), "mend");
        let reason = with(reason, &[("a", 1.5), ("b", f64::NAN), ("c", f64::INFINITY)]);
        assert_eq!(reason.numbers.into_iter().collect::<Vec<_>>(), [("a".to_owned(), 1.5)]);
        assert_eq!((reason.class.as_deref(), reason.code), (Some("read"), ReasonCode::Errors));
        assert_eq!((reason.severity, &*reason.evidence, &*reason.fix), (Severity::Note, "seen", "mend"));
    }
}
