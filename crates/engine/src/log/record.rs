//! Records of the log, to the byte.
//!
//! ```text
//! 0   length, header and padding included, a multiple of 32
//! 4   CRC32C of the log's identity, the length, and all bytes from 8 on
//! 8   position: the record's own place in the endless log
//! 16  commit number; of a mark, one up to which all were durable when it was made: 0 where there is one log alone
//! 24  kind: 1 commit, 2 padding, 3 mark
//! 28  changes
//! 32  changes, one after the other: table (2), kind (1: put, 2: delete), key length (2), value length (4), key, value
//! ```
//!
//! A record starts at a multiple of 32. Since its position is stored in it, nothing that an earlier round of the log, or
//! another log, left at the same place passes for it.

use crate::error::{EngineError, Result};

/// Bytes of a header; records are multiples of it.
pub const HEADER: usize = 32;
const CHANGE_HEADER: usize = 9;

/// What a record is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordKind {
    /// A transaction's changes.
    Commit,
    /// Nothing, up to the next block.
    Padding,
    /// All before it was durable when it was written.
    Mark,
}

impl RecordKind {
    fn from(word: u32) -> Option<Self> {
        [Self::Commit, Self::Padding, Self::Mark].into_iter().find(|kind| *kind as u32 + 1 == word)
    }
}

/// A change of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Change<'a> {
    /// The table.
    pub table: u16,
    /// The row's key.
    pub key: &'a [u8],
    /// The row's new value; none where it was deleted.
    pub value: Option<&'a [u8]>,
}

/// What a header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// Length of the record.
    pub length: usize,
    /// Its position.
    pub position: u64,
    /// Its commit number.
    pub commit: u64,
    /// What it is.
    pub kind: RecordKind,
    /// Its changes.
    pub changes: u32,
}

/// Begins a record.
pub fn begin(into: &mut Vec<u8>) {
    into.clear();
    into.resize(HEADER, 0);
}

/// Adds a change to a record that was begun.
pub fn add(into: &mut Vec<u8>, change: &Change<'_>) {
    let (kind, value) = change.value.map_or((2, &[][..]), |value| (1, value));
    into.extend_from_slice(&change.table.to_le_bytes());
    into.push(kind);
    into.extend_from_slice(&(change.key.len() as u16).to_le_bytes());
    into.extend_from_slice(&(value.len() as u32).to_le_bytes());
    into.extend_from_slice(change.key);
    into.extend_from_slice(value);
}

/// Pads a record to its length, which is known before its position is.
pub fn pad(into: &mut Vec<u8>) {
    into.resize(into.len().next_multiple_of(HEADER), 0);
}

/// Writes the header of a record whose bytes are all there.
pub fn seal(record: &mut [u8], identity: u64, position: u64, commit: u64, kind: RecordKind, changes: u32) {
    let length = record.len() as u32;
    record[0..4].copy_from_slice(&length.to_le_bytes());
    record[8..16].copy_from_slice(&position.to_le_bytes());
    record[16..24].copy_from_slice(&commit.to_le_bytes());
    record[24..28].copy_from_slice(&(kind as u32 + 1).to_le_bytes());
    record[28..32].copy_from_slice(&changes.to_le_bytes());
    let checksum = checksum(identity, record);
    record[4..8].copy_from_slice(&checksum.to_le_bytes());
}

fn checksum(identity: u64, record: &[u8]) -> u32 {
    let mut front = [0; 12];
    front[..8].copy_from_slice(&identity.to_le_bytes());
    front[8..].copy_from_slice(&record[..4]);
    crc32c::crc32c_append(crc32c::crc32c(&front), &record[8..])
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"))
}

/// What a header at `position` says, unchecked against its CRC; none where it cannot be one.
pub fn head(bytes: &[u8], position: u64) -> Option<Head> {
    let bytes = bytes.get(..HEADER)?;
    let length = word(bytes, 0) as usize;
    let head = Head {
        length,
        position: long(bytes, 8),
        commit: long(bytes, 16),
        kind: RecordKind::from(word(bytes, 24))?,
        changes: word(bytes, 28),
    };
    (length >= HEADER && length % HEADER == 0 && head.position == position).then_some(head)
}

/// Whether the bytes of a whole record are what was written.
pub fn is_whole(record: &[u8], identity: u64) -> bool {
    record.len() >= HEADER && word(record, 4) == checksum(identity, record)
}

/// Calls `each` with the changes of a whole record.
///
/// # Errors
/// Where they do not add up, which their CRC says they do; or what `each` says.
pub fn changes(record: &[u8], head: &Head, mut each: impl FnMut(Change<'_>) -> Result<()>) -> Result<()> {
    let mut rest = &record[HEADER..];
    for index in 0..head.changes {
        let (change, after) = split(rest).ok_or_else(|| EngineError::Damaged {
            place: format!("the log record at {}", head.position),
            what: format!("change {index} of {} does not fit into it", head.changes),
        })?;
        each(change)?;
        rest = after;
    }
    Ok(())
}

fn split(bytes: &[u8]) -> Option<(Change<'_>, &[u8])> {
    let (front, rest) = bytes.split_at_checked(CHANGE_HEADER)?;
    let table = u16::from_le_bytes([front[0], front[1]]);
    let (key, rest) = rest.split_at_checked(u16::from_le_bytes([front[3], front[4]]) as usize)?;
    let (value, rest) = rest.split_at_checked(word(front, 5) as usize)?;
    match front[2] {
        1 => Some((Change { table, key, value: Some(value) }, rest)),
        2 if value.is_empty() => Some((Change { table, key, value: None }, rest)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
