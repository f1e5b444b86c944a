//! The journal of a file system: one commit at a time.

/// Who takes part in the commit that is under way, and who waits for the next one.
#[derive(Clone, Debug, Default)]
pub struct OpenCommit {
    /// The first one carries the commit's requests.
    pub(super) members: Vec<u32>,
    pub(super) waiting: Vec<u32>,
}
