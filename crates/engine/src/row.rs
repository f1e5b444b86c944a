//! How a row lies in its tree: when it was committed, and its value.
//!
//! ```text
//! 0   commit number, little-endian; its top bit says that the row was deleted
//! 8   value
//! ```

/// Bytes before the value.
pub const ROW_HEADER: usize = 8;
/// The row was deleted; it stays for as long as a snapshot may ask when.
const DELETED: u64 = 1 << 63;

/// When a row was committed and whether that deleted it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Number of the commit.
    pub commit: u64,
    /// It deleted the row.
    pub deleted: bool,
}

impl Stamp {
    /// As it is stored.
    #[inline]
    pub fn to_bytes(self) -> [u8; ROW_HEADER] {
        (self.commit | if self.deleted { DELETED } else { 0 }).to_le_bytes()
    }

    /// Stamp and value of a stored row; none where it is too short to be one.
    #[inline]
    pub fn split(row: &[u8]) -> Option<(Self, &[u8])> {
        let (head, value) = row.split_first_chunk::<ROW_HEADER>()?;
        let word = u64::from_le_bytes(*head);
        Some((Self { commit: word & !DELETED, deleted: word & DELETED != 0 }, value))
    }
}
