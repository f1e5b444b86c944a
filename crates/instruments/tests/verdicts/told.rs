//! What a reason says.

use super::*;

/// A reason of this code says just this and has just these figures.
#[track_caller]
pub fn told(verdict: &Verdict, code: ReasonCode, evidence: &str, numbers: &[(&str, f64)]) {
    let found = verdict.reasons.iter().find(|reason| reason.code == code && reason.evidence == evidence);
    let found = found.unwrap_or_else(|| panic!("not said: {evidence}\n{:#?}", verdict.reasons));
    let names: Vec<&str> = found.numbers.keys().map(String::as_str).collect();
    let mut wanted: Vec<&str> = numbers.iter().map(|&(name, _)| name).collect();
    wanted.sort_unstable();
    assert_eq!(names, wanted, "{evidence}");
    for &(name, value) in numbers {
        let seen = found.numbers[name];
        assert!((seen - value).abs() <= 1e-9 * value.abs(), "{name} is {seen} and not {value}: {evidence}");
    }
}
