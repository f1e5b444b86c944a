//! The arena as registered buffers: the kernel pins its pages once instead of at every direct operation.

use std::io;

/// Length of a registered buffer at most: the kernel takes 1 GiB.
const PIECE_BYTES: usize = 1 << 30;

/// The buffers that cover an arena, to register.
pub(crate) fn pieces(start: *mut u8, bytes: usize) -> Vec<libc::iovec> {
    (0..bytes)
        .step_by(PIECE_BYTES)
        .map(|offset| libc::iovec {
            iov_base: start.wrapping_add(offset).cast(),
            iov_len: PIECE_BYTES.min(bytes - offset),
        })
        .collect()
}

/// The registered buffer that holds all of `length` bytes at `memory` of the arena; none where they cross two of them.
#[inline(always)]
pub(crate) fn piece_of(memory: usize, length: u32) -> Option<u16> {
    let first = memory / PIECE_BYTES;
    let last = (memory + (length as usize).saturating_sub(1)) / PIECE_BYTES;
    (first == last).then_some(first as u16)
}

/// Registers an arena with a ring.
pub(crate) fn register(submitter: &io_uring::Submitter<'_>, arena: (*mut u8, usize)) -> io::Result<()> {
    let pieces = pieces(arena.0, arena.1);
    // SAFETY: the arena is mapped and outlives the path.
    unsafe { submitter.register_buffers(&pieces) }
}

#[cfg(test)]
mod tests {
    use std::ptr;

    use super::*;

    #[test]
    fn an_arena_is_covered_without_gap() {
        let bytes = 2 * PIECE_BYTES + 4096;
        let pieces = pieces(ptr::null_mut(), bytes);
        let lengths: Vec<_> = pieces.iter().map(|piece| piece.iov_len).collect();
        assert_eq!(lengths, [PIECE_BYTES, PIECE_BYTES, 4096]);
        assert_eq!(pieces[2].iov_base as usize, 2 * PIECE_BYTES);
    }

    #[test]
    fn a_buffer_across_two_pieces_is_in_none() {
        assert_eq!(piece_of(0, 4096), Some(0));
        assert_eq!(piece_of(PIECE_BYTES, 4096), Some(1));
        assert_eq!(piece_of(PIECE_BYTES - 4096, 4096), Some(0));
        assert_eq!(piece_of(PIECE_BYTES - 4095, 4096), None);
    }
}
