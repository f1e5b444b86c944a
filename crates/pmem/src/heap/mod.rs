//! Which blocks are free: what persistent memory says, and what only this process knows.
//!
//! In persistent memory a chunk's head says what the chunk holds, and its bitmap which of its blocks are allocated. Both
//! change only inside transactions (or under the caller's own log), so they are right after any crash. This process
//! keeps a mask per chunk beside them: a bit is taken while its block is allocated, reserved by somebody who has not
//! committed yet, or freed and possibly still read. The mask dies with the process, and so do reservations and waits:
//! a crash leaks nothing.

mod chunks;
mod head;
mod slab;

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

pub(crate) use head::Head;

use self::{chunks::Chunks, slab::Slab};
use crate::{class::Class, class::SIZES, error::PmemError, geometry::Geometry, log::Change, medium::Medium};

/// A block that a caller holds: taken in the mask, whatever its bitmap says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Taken {
    pub(crate) at: u64,
    pub(crate) kind: BlockKind,
}

impl Taken {
    pub(crate) fn is_large(&self) -> bool {
        matches!(self.kind, BlockKind::Large(_))
    }
}

/// What a block is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BlockKind {
    /// One of a chunk's equal blocks.
    Small(Class),
    /// That many whole chunks.
    Large(u64),
}

impl BlockKind {
    pub(crate) fn of(bytes: u64) -> Self {
        Class::of(bytes).map_or_else(|| Self::Large(bytes.div_ceil(crate::CHUNK_BYTES)), Self::Small)
    }
}

/// Chunks of one class.
#[derive(Debug, Default)]
struct Members {
    /// They have a free block.
    open: Vec<u64>,
    /// Nobody has looked at their bitmaps since the pool was opened.
    unread: Vec<u64>,
}

/// The free space of a pool.
#[derive(Debug)]
pub(crate) struct Heap {
    geometry: Geometry,
    classes: [Mutex<Members>; SIZES.len()],
    chunks: Mutex<Chunks>,
    slabs: Box<[OnceLock<Box<Slab>>]>,
}

impl Heap {
    /// Reads the heads: a word per 64 KiB. Bitmaps are read when they are first needed.
    ///
    /// # Errors
    /// Where a head says what cannot be.
    pub(crate) fn open(medium: &impl Medium, geometry: Geometry) -> Result<Self, PmemError> {
        let mut members: [Members; SIZES.len()] = std::array::from_fn(|_| Members::default());
        let mut chunks = Chunks::default();
        let mut chunk = 0;
        while chunk < geometry.chunks {
            let head = Head::read(medium, &geometry, chunk)?;
            match head {
                Head::Free => chunks.give(chunk, 1),
                Head::Slab(class) => members[class.index()].unread.push(chunk),
                Head::Large(_) => {}
            }
            chunk += head.chunks();
        }
        // The first ones are taken first, so that a pool fills from its start.
        members.iter_mut().for_each(|members| members.unread.reverse());
        Ok(Self {
            geometry,
            classes: members.map(Mutex::new),
            chunks: Mutex::new(chunks),
            slabs: (0..geometry.chunks).map(|_| OnceLock::new()).collect(),
        })
    }

    /// Reserves up to `most` blocks of a class; none where no chunk is left.
    pub(crate) fn take_small(&self, medium: &impl Medium, class: Class, most: usize, into: &mut Vec<u64>) {
        let mut members = self.class(class);
        while into.len() < most {
            let Some(chunk) = self.open_chunk(medium, class, &mut members) else { return };
            let slab = self.slab(medium, chunk);
            let base = self.geometry.chunk(chunk);
            slab.take(class.blocks(), most - into.len(), |index| into.push(base + index * class.bytes()));
            if slab.is_full(class.blocks()) {
                slab.set_listed(false);
                members.open.pop();
            }
        }
    }

    /// Reserves one block of whole chunks.
    pub(crate) fn take_large(&self, chunks: u64) -> Option<u64> {
        let first = lock(&self.chunks).take(chunks)?;
        Some(self.geometry.chunk(first))
    }

    /// Ends a reservation, or the wait after a free: the block can be had again.
    pub(crate) fn release(&self, block: Taken) {
        let Some((chunk, within)) = self.geometry.locate(block.at) else { return };
        match block.kind {
            BlockKind::Large(chunks) => lock(&self.chunks).give(chunk, chunks),
            BlockKind::Small(class) => {
                let mut members = self.class(class);
                let Some(slab) = self.slabs[chunk as usize].get() else { return };
                if slab.release(within / class.bytes()) && !slab.is_listed() {
                    slab.set_listed(true);
                    members.open.push(chunk);
                }
            }
        }
    }

    /// Takes a block in the mask that the bitmap or head knows already, for those who recover by a log of their own.
    pub(crate) fn adopt(&self, medium: &impl Medium, block: Taken) {
        let Some((chunk, within)) = self.geometry.locate(block.at) else { return };
        match block.kind {
            BlockKind::Large(chunks) => lock(&self.chunks).take_at(chunk, chunks),
            BlockKind::Small(class) => {
                // A chunk that is full now leaves its list when somebody looks for a block there.
                let _members = self.class(class);
                self.slab(medium, chunk).take_this(within / class.bytes());
            }
        }
    }

    /// Gives chunks whose blocks are all free back, so that other sizes can have them.
    pub(crate) fn give_back_empty_chunks(&self, medium: &impl Medium) {
        for class in (0..SIZES.len() as u64).filter_map(Class::from_index) {
            let mut members = self.class(class);
            let unread = std::mem::take(&mut members.unread);
            members.open.extend(unread);
            members.open.retain(|&chunk| {
                let slab = self.slab(medium, chunk);
                if slab.is_empty() {
                    medium.publish(self.geometry.head(chunk), 0); // chunk given back
                    lock(&self.chunks).give(chunk, 1);
                }
                let stays = !slab.is_empty() && !slab.is_full(class.blocks());
                slab.set_listed(stays);
                stays
            });
        }
    }

    /// Bytes in chunks that hold nothing.
    pub(crate) fn free_bytes(&self) -> u64 {
        lock(&self.chunks).count() * crate::CHUNK_BYTES
    }

    /// How a block's allocation is recorded.
    pub(crate) fn allocation(&self, block: Taken) -> Change {
        match block.kind {
            BlockKind::Small(class) => {
                let (at, bits) = self.bit(block.at, class);
                Change::Set { at, bits }
            }
            BlockKind::Large(chunks) => Change::Put { at: self.head(block.at), value: Head::Large(chunks).encode() },
        }
    }

    /// How the end of a block's allocation is recorded.
    pub(crate) fn deallocation(&self, block: Taken) -> Change {
        match block.kind {
            BlockKind::Small(class) => {
                let (at, bits) = self.bit(block.at, class);
                Change::Clear { at, bits }
            }
            BlockKind::Large(_) => Change::Put { at: self.head(block.at), value: 0 },
        }
    }

    /// The allocated block that begins at an offset, which is taken in the mask from here on, if it was not yet: whoever
    /// frees it clears its bit, and a mask that is read after that would give it out before its readers are gone.
    ///
    /// # Errors
    /// Where none does.
    pub(crate) fn allocated(&self, medium: &impl Medium, at: u64) -> Result<Taken, PmemError> {
        let refuse = |why| Err(PmemError::BadFree { at, why });
        let Some((chunk, within)) = self.geometry.locate(at) else { return refuse("it lies outside of the chunks") };
        match Head::read(medium, &self.geometry, chunk)? {
            Head::Free => refuse("nothing is allocated there"),
            Head::Large(chunks) if within == 0 => Ok(Taken { at, kind: BlockKind::Large(chunks) }),
            Head::Slab(class) if within % class.bytes() == 0 && within / class.bytes() < class.blocks() => {
                let (word, bit) = self.bit(at, class);
                if medium.load(word) & bit == 0 {
                    return refuse("it is free already");
                }
                self.slab(medium, chunk);
                Ok(Taken { at, kind: BlockKind::Small(class) })
            }
            _ => refuse("no block begins there"),
        }
    }

    /// The allocated blocks of a chunk, if they are of that class: by its bitmap, not by the mask.
    pub(crate) fn allocated_in(&self, medium: &impl Medium, class: Class, chunk: u64, visit: &mut impl FnMut(u64)) {
        if !matches!(Head::read(medium, &self.geometry, chunk), Ok(Head::Slab(there)) if there == class) {
            return;
        }
        let (base, bitmap) = (self.geometry.chunk(chunk), self.geometry.bitmap(chunk));
        for word in 0..class.blocks().div_ceil(64) {
            let mut left = medium.load(bitmap + word * 8);
            while left != 0 {
                let index = word * 64 + u64::from(left.trailing_zeros());
                if index < class.blocks() {
                    visit(base + index * class.bytes());
                }
                left &= left - 1;
            }
        }
    }

    /// Whether a block of this kind can begin there, allocated or not.
    ///
    /// # Errors
    /// Where it cannot.
    pub(crate) fn check_place(&self, medium: &impl Medium, block: Taken) -> Result<(), PmemError> {
        let refuse = |why| Err(PmemError::BadFree { at: block.at, why });
        let Some((chunk, within)) = self.geometry.locate(block.at) else {
            return refuse("it lies outside of the chunks");
        };
        match (block.kind, Head::read(medium, &self.geometry, chunk)?) {
            (BlockKind::Small(class), Head::Slab(there)) if class == there => {
                let good = within % class.bytes() == 0 && within / class.bytes() < class.blocks();
                // As in `allocated`: the mask is read before the bit changes.
                self.slab(medium, chunk);
                if good { Ok(()) } else { refuse("no block begins there") }
            }
            (BlockKind::Large(chunks), Head::Large(there)) if chunks == there && within == 0 => Ok(()),
            (BlockKind::Large(chunks), Head::Free) if within == 0 && chunk + chunks <= self.geometry.chunks => Ok(()),
            _ => refuse("its chunk holds blocks of another size"),
        }
    }

    /// A chunk of a class that has a free block, read or made if need be.
    fn open_chunk(&self, medium: &impl Medium, class: Class, members: &mut Members) -> Option<u64> {
        loop {
            if let Some(&chunk) = members.open.last() {
                return Some(chunk);
            }
            if let Some(chunk) = members.unread.pop() {
                let slab = self.slab(medium, chunk);
                slab.set_listed(!slab.is_full(class.blocks()));
                if slab.is_listed() {
                    members.open.push(chunk);
                }
                continue;
            }
            let chunk = lock(&self.chunks).take(1)?;
            // Its bitmap is empty: blocks are freed before their chunk is. A block of it is linked only by a later fence,
            // but other threads may take blocks of it and fence before this thread does.
            medium.publish(self.geometry.head(chunk), Head::Slab(class).encode()); // chunk made
            self.slab(medium, chunk).set_listed(true);
            members.open.push(chunk);
        }
    }

    fn slab(&self, medium: &impl Medium, chunk: u64) -> &Slab {
        self.slabs[chunk as usize].get_or_init(|| Slab::read(medium, self.geometry.bitmap(chunk)))
    }

    fn bit(&self, at: u64, class: Class) -> (u64, u64) {
        let (chunk, within) = self.geometry.locate(at).expect("a taken block lies in a chunk");
        let index = within / class.bytes();
        (self.geometry.bitmap(chunk) + index / 64 * 8, 1 << (index % 64))
    }

    fn head(&self, at: u64) -> u64 {
        let (chunk, _) = self.geometry.locate(at).expect("a taken block lies in a chunk");
        self.geometry.head(chunk)
    }

    fn class(&self, class: Class) -> MutexGuard<'_, Members> {
        lock(&self.classes[class.index()])
    }
}

/// What these locks guard is only a view of persistent memory and is right between any two calls.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
