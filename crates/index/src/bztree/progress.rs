//! How a structural change ended.

/// What came of a structural change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    /// It happened.
    Done,
    /// Others changed something: look again.
    Again,
    /// No descriptor is free: let go of the guard first.
    Busy,
}
