//! What a drive is asked, and the time in which it is.

/// Virtual time, picoseconds. 2^64 ps are 213 days.
pub type Picoseconds = u64;

/// Picoseconds of a nanosecond.
pub const PS_PER_NS: f64 = 1e3;
/// Picoseconds of a second.
pub const PS_PER_S: f64 = 1e12;

/// What a request does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Action {
    /// Reads.
    #[default]
    Read,
    /// Writes.
    Write,
    /// Makes all writes that ended before it durable.
    Flush,
    /// Says that nobody needs the bytes any more.
    Trim,
}

/// A request as a drive sees it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// What it does.
    pub action: Action,
    /// Where, bytes from the start of the drive.
    pub offset: u64,
    /// How much, bytes; 0 for a flush.
    pub bytes: u32,
    /// It follows the one before it in the same stream.
    pub sequential: bool,
    /// Of a write: those that are expected to die with it have the same, from 0 on.
    pub group: u8,
}
