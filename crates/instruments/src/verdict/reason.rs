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
