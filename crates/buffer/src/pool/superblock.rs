//! Two copies of what a pool begins with, written in turn: the one with the higher epoch that is whole is valid.
//!
//! ```text
//!    0  magic      8 bytes "ASSAYBUF"
//!    8  version    u32
//!   12  page       u32  bytes of a page
//!   16  epoch      u64  number of the checkpoint
//!   24  slots      u64  slots of the disk that may be used
//!   32  pages      u64  numbers that a page may have: 1 to this, less one
//!   40  limit      u64  all pages in use have smaller numbers
//!   48  owner      u32  how many bytes the owner has
//!   64  the owner's bytes, 512 bytes
//!  576  places of the map's root pages, 436 words
//! 4092  checksum   u32  CRC-32C of all before
//! ```

use super::header::{PageSlot, field};
use crate::BufferError;

/// Bytes of a copy.
pub(crate) const BYTES: usize = 4096;
/// Where the second copy lies.
pub(crate) const SECOND: u64 = 64 << 10;
/// Where slots begin.
pub(crate) const SLOTS_AT: u64 = 128 << 10;
/// Bytes that the owner has at most.
pub const OWNER_BYTES: usize = 512;
/// Root pages at most.
pub(crate) const ROOTS: usize = 436;
/// What this program reads and writes.
pub(crate) const VERSION: u32 = 2;

const MAGIC: &[u8; 8] = b"ASSAYBUF";
const OWNER_AT: usize = 64;
const ROOTS_AT: usize = OWNER_AT + OWNER_BYTES;

/// What a copy says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Superblock {
    pub page_bytes: u32,
    pub epoch: u64,
    pub slots: u64,
    pub pages: u64,
    pub limit: u64,
    pub owner_bytes: Vec<u8>,
    pub roots: Vec<PageSlot>,
    /// Which copy it is: 0 or 1.
    pub copy: u8,
}

impl Superblock {
    /// Offset of this copy.
    pub fn offset(&self) -> u64 {
        u64::from(self.copy) * SECOND
    }

    pub fn write(&self, into: &mut [u8]) {
        into[..BYTES].fill(0);
        into[..8].copy_from_slice(MAGIC);
        into[8..12].copy_from_slice(&VERSION.to_le_bytes());
        into[12..16].copy_from_slice(&self.page_bytes.to_le_bytes());
        for (at, value) in [(16, self.epoch), (24, self.slots), (32, self.pages), (40, self.limit)] {
            into[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        into[48..52].copy_from_slice(&(self.owner_bytes.len() as u32).to_le_bytes());
        into[OWNER_AT..OWNER_AT + self.owner_bytes.len()].copy_from_slice(&self.owner_bytes);
        for (index, root) in self.roots.iter().enumerate() {
            let at = ROOTS_AT + index * 8;
            into[at..at + 8].copy_from_slice(&root.0.to_le_bytes());
        }
        let checksum = crc32c::crc32c(&into[..BYTES - 4]);
        into[BYTES - 4..BYTES].copy_from_slice(&checksum.to_le_bytes());
    }

    fn read(from: &[u8], copy: u8) -> Self {
        let word = |at: usize| field(from, at);
        let owner_bytes = (word(48) as u32 as usize).min(OWNER_BYTES);
        let roots = (0..ROOTS).map(|index| PageSlot(word(ROOTS_AT + index * 8)));
        Self {
            page_bytes: (word(8) >> 32) as u32,
            epoch: word(16),
            slots: word(24),
            pages: word(32),
            limit: word(40),
            owner_bytes: from[OWNER_AT..OWNER_AT + owner_bytes].to_vec(),
            roots: roots.take_while(|&place| place != PageSlot::NOWHERE).collect(),
            copy,
        }
    }

    /// The valid one of two copies.
    pub fn choose(name: &str, first: &[u8], second: &[u8]) -> Result<Self, BufferError> {
        let copies = [(0, first), (1, second)];
        let known: Vec<_> = copies.into_iter().filter(|(_, copy)| copy[..8] == *MAGIC).collect();
        if known.is_empty() {
            return Err(nothing_here(name, first));
        }
        let whole = known.into_iter().filter(|(_, copy)| is_whole(copy));
        let newest = whole.max_by_key(|(_, copy)| field(copy, 16));
        let Some((copy, newest)) = newest else {
            return Err(BufferError::Damaged {
                disk: name.to_owned(),
                what: "the checksums of both copies of its first block are wrong".to_owned(),
            });
        };
        let version = field(newest, 8) as u32;
        if version != VERSION {
            let what = format!("{name} has version {version}, and this program reads version {VERSION}");
            return Err(BufferError::foreign(what, "use the program that made it, or make it anew"));
        }
        Ok(Self::read(newest, copy))
    }
}

fn is_whole(copy: &[u8]) -> bool {
    crc32c::crc32c(&copy[..BYTES - 4]).to_le_bytes() == copy[BYTES - 4..BYTES]
}

fn nothing_here(name: &str, first: &[u8]) -> BufferError {
    let seen = if first.iter().all(|&byte| byte == 0) {
        "only zeros are there".to_owned()
    } else {
        format!("it begins with {:02x?}", &first[..8])
    };
    BufferError::foreign(format!("no pool is on {name}: {seen}"), "name what was made as one, or make one")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(epoch: u64, copy: u8) -> (Superblock, Vec<u8>) {
        let (owner_bytes, roots) = (b"owner".to_vec(), vec![PageSlot::new(3, 4), PageSlot::new(9, 1)]);
        let block = Superblock { page_bytes: 8192, epoch, slots: 77, pages: 66, limit: 5, owner_bytes, roots, copy };
        let mut bytes = vec![0; BYTES];
        block.write(&mut bytes);
        (block, bytes)
    }

    #[test]
    fn the_newest_whole_copy_is_chosen() {
        let ((old, first), (new, mut second)) = (block(4, 0), block(5, 1));
        assert_eq!((old.offset(), new.offset()), (0, SECOND));
        assert_eq!(Superblock::choose("d", &first, &second).unwrap(), new);
        second[700] ^= 1;
        assert_eq!(Superblock::choose("d", &first, &second).unwrap(), old);
        let torn = [&first[..512], &vec![0; BYTES - 512]].concat();
        assert!(Superblock::choose("d", &torn, &second).unwrap_err().to_string().contains("checksums of both"));
    }

    #[test]
    fn another_version_and_other_content_are_named() {
        let (_, mut bytes) = block(4, 0);
        bytes[8] = 9;
        let checksum = crc32c::crc32c(&bytes[..BYTES - 4]);
        bytes[BYTES - 4..].copy_from_slice(&checksum.to_le_bytes());
        let error = Superblock::choose("d", &bytes, &[0; BYTES]).unwrap_err().to_string();
        assert!(error.contains("version 9") && error.contains("version 2"), "{error}");
        let error = Superblock::choose("d", &[0; BYTES], &[0; BYTES]).unwrap_err().to_string();
        assert!(error.contains("only zeros"), "{error}");
        assert!(Superblock::choose("d", &[1; BYTES], &[0; BYTES]).unwrap_err().to_string().contains("begins with"));
    }
}
