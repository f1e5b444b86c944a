//! The bytes of a prepared file.

use assay_record::Content;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

use super::shape::Shape;
use crate::stamp;

/// Bytes that are made and written at once.
pub(super) const CHUNK: u64 = 4 << 20;

/// What a member's part of a file is filled with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Filler<'a> {
    shape: &'a Shape<'a>,
    file: u32,
    member: u64,
}

impl<'a> Filler<'a> {
    pub(super) fn new(shape: &'a Shape<'a>, file: u32, member: u64) -> Self {
        Self { shape, file, member }
    }

    /// Fills a buffer with the bytes from `offset` (a multiple of [`CHUNK`]) of the member's part on.
    pub(super) fn fill(&self, buffer: &mut [u8], offset: u64) {
        match self.shape.dataset.content {
            Content::Zero => buffer.fill(0),
            Content::Random => self.randomize(buffer, offset),
            Content::Stamped => {
                self.randomize(buffer, offset);
                self.stamp(buffer, offset);
            }
        }
    }

    /// A generator of its own for each chunk: no block equals any other, neither here nor in another file.
    fn randomize(&self, buffer: &mut [u8], offset: u64) {
        let own = (u64::from(self.shape.file_id(self.file)) << 32) | (self.member << 24);
        let seed = own.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (offset / CHUNK);
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(buffer);
    }

    fn stamp(&self, buffer: &mut [u8], offset: u64) {
        let size = self.shape.stamp_bytes as usize;
        let id = self.shape.file_id(self.file);
        for (index, block) in buffer.chunks_exact_mut(size).enumerate() {
            let offset = self.shape.offset_in_file(self.member, offset + (index * size) as u64);
            stamp::write_in(block, id, offset, 0);
        }
    }

    /// Bytes of a chunk: a multiple of the stamped block, so that none lies across two chunks.
    pub(super) fn chunk_bytes(&self) -> u64 {
        match self.shape.stamp_bytes {
            0 => CHUNK,
            stamp => (CHUNK / stamp).max(1) * stamp,
        }
    }
}
