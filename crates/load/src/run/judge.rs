//! temporary
use super::{
    observe::Surroundings,
    result::{Finished, Part},
};
use assay_record::*;
pub fn reasons(
    _a: &Surroundings,
    _f: &Finished<'_>,
    _p: &[Part<'_>],
    _c: &[ClassResult],
    _w: &WindowOutcome,
    _d: &[DeviceCounters],
) -> Vec<Reason> {
    Vec::new()
}
