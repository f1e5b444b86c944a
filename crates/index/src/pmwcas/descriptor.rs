//! What persistent memory says of an operation.

use assay_pmem::Medium;

/// Words that one operation changes at most.
pub const MOST_CHANGES: usize = 4;
/// Blocks whose fate hangs on one operation at most.
pub const MOST_BLOCKS: usize = 6;
/// Bytes of a descriptor: one block of the media.
pub(super) const DESCRIPTOR_BYTES: u64 = 256;
const ENTRIES_AT: u64 = 8;
const ENTRY_BYTES: u64 = 24;
const BLOCKS_AT: u64 = 128;
const BLOCK_BYTES: u64 = 16;

/// A word and its two values, of 61 bits each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WordChange {
    /// Where it lies.
    pub at: u64,
    /// What it must be.
    pub old: u64,
    /// What it becomes.
    pub new: u64,
}

/// What an operation means for a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Reserved: allocated from here on if the operation succeeds, else given back.
    Taken,
    /// Allocated: freed if the operation succeeds.
    Freed,
}

/// A block whose fate hangs on an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Block {
    /// Where it begins.
    pub at: u64,
    /// Its length, as it was asked for.
    pub bytes: u32,
    /// What becomes of it.
    pub fate: Fate,
}

const FREED: u64 = 1 << 63;

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Status {
    Free,
    Undecided,
    Succeeded,
    Failed,
}

/// The first word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header(pub(super) u64);

const HEADER_DIRTY: u64 = 1 << 2;

impl Header {
    pub(super) fn undecided(sequence: u64, words: usize, blocks: usize) -> Self {
        Self(sequence << 16 | (blocks as u64) << 6 | (words as u64) << 3 | 1)
    }

    #[inline(always)]
    pub(super) fn status(self) -> Status {
        [Status::Free, Status::Undecided, Status::Succeeded, Status::Failed][(self.0 & 3) as usize]
    }

    pub(super) fn with(self, status: Status) -> Self {
        Self(self.0 & !(3 | HEADER_DIRTY) | status as u64)
    }

    pub(super) fn dirty(self) -> Self {
        Self(self.0 | HEADER_DIRTY)
    }

    pub(super) fn clean(self) -> Self {
        Self(self.0 & !HEADER_DIRTY)
    }

    pub(super) fn is_dirty(self) -> bool {
        self.0 & HEADER_DIRTY != 0
    }

    pub(super) fn sequence(self) -> u64 {
        self.0 >> 16
    }

    pub(super) fn words(self) -> usize {
        (self.0 >> 3 & 7) as usize
    }

    pub(super) fn blocks(self) -> usize {
        (self.0 >> 6 & 15) as usize
    }
}

/// A descriptor's place.
#[derive(Debug)]
pub(super) struct Descriptor<'m, M> {
    medium: &'m M,
    pub(super) at: u64,
}

impl<'m, M: Medium> Descriptor<'m, M> {
    pub(super) fn new(medium: &'m M, area: u64, index: u16) -> Self {
        Self { medium, at: area + u64::from(index) * DESCRIPTOR_BYTES }
    }

    #[inline(always)]
    pub(super) fn header(&self) -> Header {
        Header(self.medium.load(self.at))
    }

    pub(super) fn change_header(&self, from: Header, to: Header) -> bool {
        self.medium.compare_exchange(self.at, from.0, to.0).is_ok()
    }

    pub(super) fn change(&self, entry: usize) -> WordChange {
        let at = self.entry_at(entry);
        WordChange { at: self.medium.load(at), old: self.medium.load(at + 8), new: self.medium.load(at + 16) }
    }

    /// The change of a word, if the operation has one.
    pub(super) fn change_of(&self, header: Header, at: u64) -> Option<WordChange> {
        (0..header.words().min(MOST_CHANGES)).map(|entry| self.change(entry)).find(|change| change.at == at)
    }

    /// A block, unless it is left over from an earlier operation.
    pub(super) fn block(&self, header: Header, index: usize) -> Option<Block> {
        let at = self.at + BLOCKS_AT + index as u64 * BLOCK_BYTES;
        let (place, tag) = (self.medium.load(at), self.medium.load(at + 8));
        let fate = if place & FREED == 0 { Fate::Taken } else { Fate::Freed };
        let block = Block { at: place & !FREED, bytes: tag as u32, fate };
        (tag >> 32 == header.sequence() & u64::from(u32::MAX)).then_some(block)
    }

    /// Writes an operation, its header last, and flushes what was written.
    ///
    /// Lines may become durable in any order. A header whose entries are missing does no harm, as no word points to it
    /// before the next fence; blocks carry the sequence, so those of an earlier operation are not taken for its own.
    pub(super) fn write(&self, header: Header, changes: &[WordChange], blocks: &[Block]) {
        for (index, block) in blocks.iter().enumerate() {
            let at = self.at + BLOCKS_AT + index as u64 * BLOCK_BYTES;
            self.medium.store(at, block.at | if block.fate == Fate::Freed { FREED } else { 0 });
            self.medium.store(at + 8, header.sequence() << 32 | u64::from(block.bytes));
        }
        for (entry, change) in changes.iter().enumerate() {
            let at = self.entry_at(entry);
            self.medium.store(at, change.at);
            self.medium.store(at + 8, change.old);
            self.medium.store(at + 16, change.new);
        }
        self.medium.store(self.at, header.0);
        if !blocks.is_empty() {
            self.medium.flush(self.at + BLOCKS_AT, blocks.len() * BLOCK_BYTES as usize); // blocks of a descriptor
        }
        self.medium.flush(self.at, (ENTRIES_AT + changes.len() as u64 * ENTRY_BYTES) as usize); // descriptor
    }

    fn entry_at(&self, entry: usize) -> u64 {
        self.at + ENTRIES_AT + entry as u64 * ENTRY_BYTES
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_keep_their_parts() {
        let header = Header::undecided(77, 4, 6);
        assert_eq!((header.sequence(), header.words(), header.blocks()), (77, 4, 6));
        assert_eq!(header.status(), Status::Undecided);
        let done = header.with(Status::Succeeded).dirty();
        assert!(done.is_dirty() && done.status() == Status::Succeeded && done.clean() != done);
        assert_eq!((done.sequence(), done.words(), done.blocks()), (77, 4, 6));
        assert_eq!(done.with(Status::Free).0 & 7, 0);
    }
}
