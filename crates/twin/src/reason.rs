//! What every modelled record says of itself.

use std::collections::BTreeMap;

use assay_record::{Reason, ReasonCode, Severity};

/// The note that nothing was measured: who computed what, and how far it may be off.
pub fn modelled(class: Option<&str>, evidence: String, numbers: BTreeMap<String, f64>) -> Reason {
    Reason {
        code: ReasonCode::ModelledTarget,
        severity: Severity::Note,
        class: class.map(str::to_owned),
        evidence,
        fix: "read each figure with its band; measure on the device before money is spent on it".to_owned(),
        numbers,
    }
}

/// The twin was asked outside of its box.
pub fn extrapolated(class: Option<&str>, evidence: String, numbers: BTreeMap<String, f64>) -> Reason {
    Reason {
        code: ReasonCode::Extrapolated,
        severity: Severity::Suspect,
        class: class.map(str::to_owned),
        evidence,
        fix: "ask inside of the twin's bounds (assay list twins), or calibrate it there (assay fit)".to_owned(),
        numbers,
    }
}

/// The simulation and the analytic solution of the same load are further apart than their bands together.
pub fn engines_differ(class: Option<&str>, evidence: String, numbers: BTreeMap<String, f64>) -> Reason {
    Reason {
        code: ReasonCode::EnginesDiffer,
        severity: Severity::Suspect,
        class: class.map(str::to_owned),
        evidence,
        fix: "take neither figure for the twin's word: ask with fewer classes at once, or measure on the device"
            .to_owned(),
        numbers,
    }
}
