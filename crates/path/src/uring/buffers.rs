//! The arena as registered buffers: the kernel pins its pages once instead of at every direct operation.

use std::io;

const PAGE_SHIFT: u32 = 12;

/// How an arena is cut into registered buffers: all of one length, a power of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pieces {
    shift: u32,
}

impl Pieces {
    /// 1 GiB each: the kernel takes no longer ones.
    pub const LARGEST: Self = Self { shift: 30 };

    /// Pieces of at most this many pages. A driver that counts the pages of the whole registered buffer against what one
    /// command may have refuses every command on a longer one (NVMe passthrough does, at least up to Linux 6.11).
    pub fn of_pages(pages: u64) -> Self {
        let shift = PAGE_SHIFT + pages.max(1).ilog2();
        Self { shift: shift.min(Self::LARGEST.shift) }
    }

    fn bytes(self) -> usize {
        1 << self.shift
    }

    /// The buffers that cover an arena, to register.
    pub fn cover(self, start: *mut u8, bytes: usize) -> Vec<libc::iovec> {
        (0..bytes)
            .step_by(self.bytes())
            .map(|offset| libc::iovec {
                iov_base: start.wrapping_add(offset).cast(),
                iov_len: self.bytes().min(bytes - offset),
            })
            .collect()
    }

    /// The registered buffer that holds all of `length` bytes at `memory` of the arena; none where they cross two of
    /// them.
    #[inline(always)]
    pub fn holding(self, memory: usize, length: u32) -> Option<u16> {
        let first = memory >> self.shift;
        let last = (memory + (length as usize).saturating_sub(1)) >> self.shift;
        (first == last).then_some(first as u16)
    }

    /// Registers an arena with a ring.
    pub fn register(self, submitter: &io_uring::Submitter<'_>, arena: (*mut u8, usize)) -> io::Result<()> {
        let pieces = self.cover(arena.0, arena.1);
        // SAFETY: the arena is mapped and outlives the path.
        unsafe { submitter.register_buffers(&pieces) }
    }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    const GIB: usize = 1 << 30;

    #[test]
    fn an_arena_is_covered_without_gap() {
        let bytes = 2 * GIB + 4096;
        let pieces = Pieces::LARGEST.cover(ptr::null_mut(), bytes);
        let lengths: Vec<_> = pieces.iter().map(|piece| piece.iov_len).collect();
        assert_eq!(lengths, [GIB, GIB, 4096]);
        assert_eq!(pieces[2].iov_base as usize, 2 * GIB);
    }

    #[test]
    fn a_buffer_across_two_pieces_is_in_none() {
        let holding = |memory, length| Pieces::LARGEST.holding(memory, length);
        assert_eq!(holding(0, 4096), Some(0));
        assert_eq!(holding(GIB, 4096), Some(1));
        assert_eq!(holding(GIB - 4096, 4096), Some(0));
        assert_eq!(holding(GIB - 4095, 4096), None);
    }

    #[test]
    fn registered_buffers_of_commands_have_no_more_pages_than_a_command() {
        assert_eq!(Pieces::of_pages(127).bytes(), 256 << 10);
        assert_eq!(Pieces::of_pages(128).bytes(), 512 << 10);
        assert_eq!(Pieces::of_pages(1).bytes(), 4096);
        assert_eq!(Pieces::of_pages(0).bytes(), 4096);
        assert_eq!(Pieces::of_pages(u64::from(u32::MAX)), Pieces::LARGEST);
        assert_eq!(Pieces::of_pages(127).cover(ptr::null_mut(), 1 << 20).len(), 4);
        assert_eq!(Pieces::of_pages(127).holding(768 << 10, 256 << 10), Some(3));
    }
}
