//! Memory that disks read into and write from.

use assay_path::Arena;

use crate::BufferError;

/// A mapping that several threads and the kernel work on. Who may touch which bytes when is its users' business: it hands
/// out addresses only.
#[derive(Debug)]
pub struct Memory {
    arena: Arena,
}

// SAFETY: a shared reference gives an address and a length, never bytes; those who use the address answer for it.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps `bytes`, rounded up to 4 KiB, zeroed, with huge pages where the kernel has them.
    ///
    /// # Errors
    /// Where there is not that much memory.
    pub fn new(bytes: usize) -> Result<Self, BufferError> {
        let arena = Arena::new(bytes).map_err(|source| BufferError::Memory { bytes, source })?;
        Ok(Self { arena })
    }

    /// Length, bytes.
    pub fn bytes(&self) -> usize {
        self.arena.len()
    }

    /// Its first byte, a multiple of 4 KiB.
    #[inline(always)]
    pub fn start(&self) -> *mut u8 {
        self.arena.start()
    }

    /// Its arena, for a path.
    pub(crate) fn arena(&self) -> &Arena {
        &self.arena
    }
}
