//! Who watches a run.

use std::sync::atomic::AtomicBool;

use assay_record::Event;

/// Who watches a run.
pub struct Watch<'a> {
    /// Takes its events, but `started`, `finished` and `refused`, which are the caller's.
    pub emit: &'a mut dyn FnMut(Event),
    /// Set from outside to end the window early; what was measured until then is kept.
    pub interrupted: &'a AtomicBool,
}
