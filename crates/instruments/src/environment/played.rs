//! Whether a program plays this machine, so that nothing timed on it says anything about hardware.

use std::{ffi::OsStr, sync::OnceLock};

use assay_record::Provenance;

use crate::counters::counters_played;

/// Set inside of such a machine (`assay lab` does).
const VARIABLE: &str = "ASSAY_LAB";

/// A program plays this machine, its drives and its memory, or its counters.
pub fn played() -> bool {
    static PLAYED: OnceLock<bool> = OnceLock::new();
    *PLAYED.get_or_init(|| says_so(std::env::var_os(VARIABLE).as_deref()) || counters_played())
}

/// Provenance of what is observed here on the hardware as it is: measured, on a played machine emulated.
pub fn own_provenance() -> Provenance {
    if played() { Provenance::Emulated } else { Provenance::Measured }
}

fn says_so(value: Option<&OsStr>) -> bool {
    value.is_some_and(|value| !value.is_empty() && value != "0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_variable_that_says_so_makes_a_played_machine() {
        assert!(says_so(Some(OsStr::new("1"))));
        assert!(!says_so(Some(OsStr::new("0"))) && !says_so(Some(OsStr::new(""))) && !says_so(None));
    }
}
