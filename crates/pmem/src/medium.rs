//! What persistent memory is changed through.

use std::sync::atomic::{AtomicU64, Ordering};

/// Bytes of a cache line: what a flush writes back.
pub const LINE_BYTES: usize = 64;
/// Bytes that the media of the modules read and write at once.
pub const MEDIA_BLOCK_BYTES: usize = 256;

/// Persistent memory, by offsets from its start. Stores reach it some time; what was flushed has reached it once a
/// fence has followed; an aligned word of 8 bytes reaches it whole.
///
/// Offsets are checked: one outside of the medium panics and touches nothing.
///
/// # Safety
/// `bytes()` bytes at `start()` can be read and written for as long as the value lives, `start()` is a multiple of
/// 4096, and neither ever changes.
pub unsafe trait Medium: Send + Sync + 'static {
    /// Address of the first byte.
    fn start(&self) -> *mut u8;

    /// Bytes of it.
    fn bytes(&self) -> usize;

    /// Stand-in hardware: figures got on it are emulated.
    fn emulated(&self) -> bool;

    /// Stores an aligned word; what was stored before is visible to those who see it.
    #[track_caller]
    fn store(&self, at: u64, value: u64);

    /// Replaces an aligned word if it is `current`.
    ///
    /// # Errors
    /// The word that was found instead.
    #[track_caller]
    fn compare_exchange(&self, at: u64, current: u64, new: u64) -> Result<u64, u64>;

    /// Sets bits of an aligned word; the word before.
    #[track_caller]
    fn set_bits(&self, at: u64, bits: u64) -> u64;

    /// Clears bits of an aligned word; the word before.
    #[track_caller]
    fn clear_bits(&self, at: u64, bits: u64) -> u64;

    /// Stores bytes in ascending order, whole words where they are aligned.
    #[track_caller]
    fn write(&self, at: u64, bytes: &[u8]);

    /// Stores bytes around the caches, in no order: the next fence makes them durable, no flush is needed.
    #[track_caller]
    fn stream(&self, at: u64, bytes: &[u8]);

    /// Begins to write back every cache line of a range; [`Medium::fence`] completes it.
    #[track_caller]
    fn flush(&self, at: u64, length: usize);

    /// What this thread flushed and streamed is durable.
    #[track_caller]
    fn fence(&self);

    /// Says that a range was or will be read by pointer, to media that count or check.
    #[inline(always)]
    #[track_caller]
    fn reads(&self, _at: u64, _length: usize) {}

    /// Flush and fence of one range.
    #[inline(always)]
    #[track_caller]
    fn persist(&self, at: u64, length: usize) {
        self.flush(at, length);
        self.fence();
    }

    /// Stores a word and makes it durable: the point at which an operation has happened.
    #[inline(always)]
    #[track_caller]
    fn publish(&self, at: u64, value: u64) {
        self.store(at, value);
        self.persist(at, 8);
    }

    /// Loads an aligned word; what was stored before it was is visible.
    #[inline(always)]
    #[track_caller]
    fn load(&self, at: u64) -> u64 {
        self.reads(at, 8);
        self.word(at).load(Ordering::Acquire)
    }

    /// An aligned word, to be read. Changes must go through the medium.
    #[inline(always)]
    #[track_caller]
    fn word(&self, at: u64) -> &AtomicU64 {
        assert!(at % 8 == 0, "{at:#x} is no multiple of 8");
        // SAFETY: aligned and inside the medium, whose words are only ever changed atomically or under the owner's rules.
        unsafe { &*self.at(at, 8).cast::<AtomicU64>() }
    }

    /// Address of a range.
    #[inline(always)]
    #[track_caller]
    fn at(&self, at: u64, length: usize) -> *mut u8 {
        let inside =
            usize::try_from(at).ok().and_then(|at| at.checked_add(length)).is_some_and(|end| end <= self.bytes());
        if !inside {
            outside(at, length, self.bytes());
        }
        // SAFETY: inside the medium.
        unsafe { self.start().add(at as usize) }
    }

    /// Copies a range out, word by word, so that a concurrent change tears no word.
    #[inline]
    #[track_caller]
    fn read(&self, at: u64, into: &mut [u8]) {
        self.reads(at, into.len());
        let from = self.at(at, into.len());
        // SAFETY: both ranges are in bounds; they are apart, as `into` is borrowed alone.
        unsafe { copy_words(into.as_mut_ptr(), from, into.len(), from) }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn outside(at: u64, length: usize, bytes: usize) -> ! {
    panic!("{length} bytes at {at:#x} are outside of a pool of {bytes:#x} bytes: a damaged offset was followed");
}

/// Copies in ascending order; whole words at once where `aligned_by`, which is one of the two sides, is aligned.
///
/// # Safety
/// Both ranges hold `length` bytes and are apart. Words of the side that others can see are only changed atomically.
#[inline(always)]
pub(crate) unsafe fn copy_words(to: *mut u8, from: *const u8, length: usize, aligned_by: *const u8) {
    let head = aligned_by.align_offset(8).min(length);
    let words = (length - head) / 8;
    // SAFETY: head, words and tail follow each other inside both ranges. The shared side is aligned in the middle part,
    // where volatile accesses of whole words keep the compiler from splitting them.
    unsafe {
        for byte in 0..head {
            to.add(byte).write_volatile(from.add(byte).read_volatile());
        }
        for word in 0..words {
            let at = head + word * 8;
            if aligned_by == from {
                let value = from.add(at).cast::<u64>().read_volatile();
                to.add(at).cast::<u64>().write_unaligned(value);
            } else {
                let value = from.add(at).cast::<u64>().read_unaligned();
                to.add(at).cast::<u64>().write_volatile(value);
            }
        }
        for byte in head + words * 8..length {
            to.add(byte).write_volatile(from.add(byte).read_volatile());
        }
    }
}
