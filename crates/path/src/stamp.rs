//! Stamps that tell of every block what it is: blocks that were torn, lost, misplaced or changed are found by reading.
//!
//! A stamped block begins with a header and carries a tag in each further 64 bytes that depends on the header, so that
//! two writes of the same block differ everywhere. A checksum covers all of it. What lies between is left as it is.
//!
//! ```text
//! 0   magic       8 bytes
//! 8   offset      8 bytes, little endian: where in its file the block belongs
//! 16  generation  8 bytes, little endian: 0 when prepared, counted up by writers
//! 24  file        4 bytes, little endian: see [`file_id`]
//! 28  length      4 bytes, little endian: of the whole block
//! 32  checksum    4 bytes, little endian: CRC-32C of everything but itself
//! ```

use thiserror::Error;

/// The smallest block that can be stamped, bytes.
pub const SMALLEST: usize = 64;

const MAGIC: u64 = u64::from_le_bytes(*b"AssayBlk");
const LINE: usize = 64;
const CHECKSUM: std::ops::Range<usize> = 32..36;

/// What is wrong with a block.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum StampFault {
    /// It was never written, or was trimmed.
    #[error("the block is all zeros: it was never written, or its writing was lost")]
    Zeros,
    /// It is somebody else's.
    #[error("the block carries no stamp (it begins with {seen:#018x})")]
    NoStamp {
        /// Its first eight bytes.
        seen: u64,
    },
    /// Parts of it come from different writes.
    #[error("the block is torn: its header says generation {generation}, from byte {from} on it is of another write")]
    Torn {
        /// Generation in the header.
        generation: u64,
        /// First byte of another write.
        from: usize,
    },
    /// Bytes of it changed.
    #[error("the block of generation {generation} has checksum {seen:#010x} where {wanted:#010x} stands in its header")]
    Changed {
        /// Generation in the header.
        generation: u64,
        /// Checksum computed.
        seen: u32,
        /// Checksum in the header.
        wanted: u32,
    },
    /// A good block in the wrong place.
    #[error(
        "the block of file {seen_file:#010x}, offset {seen_offset}, length {seen_length}, generation {generation} lies where another belongs"
    )]
    Misplaced {
        /// Its file.
        seen_file: u32,
        /// Its offset, bytes.
        seen_offset: u64,
        /// Its length, bytes.
        seen_length: u32,
        /// Its generation.
        generation: u64,
    },
}

/// Number that stands for a file of a data set in its stamps.
pub fn file_id(dataset: &str, file: u32) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(dataset.as_bytes()), &file.to_le_bytes())
}

/// Stamps a block of file 0. See [`write_in`].
///
/// # Panics
/// Where the block is shorter than [`SMALLEST`].
#[inline]
pub fn write(block: &mut [u8], offset: u64, generation: u64) {
    write_in(block, 0, offset, generation);
}

/// Stamps a block that belongs at `offset` bytes of a file.
///
/// # Panics
/// Where the block is shorter than [`SMALLEST`].
#[inline]
pub fn write_in(block: &mut [u8], file: u32, offset: u64, generation: u64) {
    assert!(block.len() >= SMALLEST, "a block of {} bytes has no room for a stamp", block.len());
    block[0..8].copy_from_slice(&MAGIC.to_le_bytes());
    block[8..16].copy_from_slice(&offset.to_le_bytes());
    block[16..24].copy_from_slice(&generation.to_le_bytes());
    block[24..28].copy_from_slice(&file.to_le_bytes());
    let length = length_of(block);
    block[28..32].copy_from_slice(&length.to_le_bytes());
    for line in 1..block.len() / LINE {
        let tag = tag(file, offset, generation, line);
        block[line * LINE..line * LINE + 8].copy_from_slice(&tag.to_le_bytes());
    }
    let sum = checksum(block);
    block[CHECKSUM].copy_from_slice(&sum.to_le_bytes());
}

/// Checks a block of file 0. See [`verify_in`].
///
/// # Errors
/// What is wrong with it.
#[inline]
pub fn verify(block: &[u8], offset: u64) -> Result<u64, StampFault> {
    verify_in(block, 0, offset)
}

/// Checks a block that belongs at `offset` bytes of a file, and returns its generation: one that is older than the last
/// write to this place is a lost write.
///
/// # Errors
/// What is wrong with it.
#[inline]
pub fn verify_in(block: &[u8], file: u32, offset: u64) -> Result<u64, StampFault> {
    if block.len() < SMALLEST || u64_at(block, 0) != MAGIC {
        return Err(unstamped(block));
    }
    let (generation, wanted, seen) = (u64_at(block, 16), u32_at(block, CHECKSUM.start), checksum(block));
    if wanted != seen {
        return Err(damaged(block, generation, seen, wanted));
    }
    let (seen_file, seen_offset, seen_length) = (u32_at(block, 24), u64_at(block, 8), u32_at(block, 28));
    if (seen_file, seen_offset, seen_length) != (file, offset, length_of(block)) {
        return Err(StampFault::Misplaced { seen_file, seen_offset, seen_length, generation });
    }
    Ok(generation)
}

/// Parts of a block that are known apart: every [`SMALLEST`] bytes, and what is left belongs to the last.
pub fn parts(block: &[u8]) -> usize {
    block.len() / LINE
}

/// Whether a part of a block, the `part`-th of [`parts`], is of the write with this generation. A part in the middle of
/// which a write was cut off can be of either.
///
/// # Panics
/// Where the block has no such part.
pub fn part_is_of(block: &[u8], part: usize, file: u32, offset: u64, generation: u64) -> bool {
    if part > 0 {
        return u64_at(block, part * LINE) == tag(file, offset, generation, part);
    }
    let place = (u64_at(block, 0), u64_at(block, 8), u32_at(block, 24));
    place == (MAGIC, offset, file) && u64_at(block, 16) == generation
}

#[cold]
fn unstamped(block: &[u8]) -> StampFault {
    if block.iter().all(|&byte| byte == 0) {
        return StampFault::Zeros;
    }
    let mut first = [0; 8];
    first[..block.len().min(8)].copy_from_slice(&block[..block.len().min(8)]);
    StampFault::NoStamp { seen: u64::from_le_bytes(first) }
}

#[cold]
fn damaged(block: &[u8], generation: u64, seen: u32, wanted: u32) -> StampFault {
    let (file, offset) = (u32_at(block, 24), u64_at(block, 8));
    let foreign =
        (1..block.len() / LINE).find(|&line| u64_at(block, line * LINE) != tag(file, offset, generation, line));
    match foreign {
        Some(line) => StampFault::Torn { generation, from: line * LINE },
        None => StampFault::Changed { generation, seen, wanted },
    }
}

fn length_of(block: &[u8]) -> u32 {
    u32::try_from(block.len()).unwrap_or(u32::MAX)
}

fn checksum(block: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&block[..CHECKSUM.start]), &block[CHECKSUM.end..])
}

/// Differs between any two writes and between any two lines (the finaliser of SplitMix64).
fn tag(file: u32, offset: u64, generation: u64, line: usize) -> u64 {
    let mut mixed = offset.rotate_left(32) ^ generation ^ (u64::from(file) << 20) ^ (line as u64).rotate_right(8);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

fn u64_at(block: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(block[at..at + 8].try_into().expect("eight bytes"))
}

fn u32_at(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(block[at..at + 4].try_into().expect("four bytes"))
}
