//! A node: a slotted page whose keys lack the prefix that its fences share.
//!
//! ```text
//!  32  level     u16  0 for a leaf
//!  34  count     u16  slots
//!  36  prefix    u16  bytes that all keys share, which are the lower fence's first
//!  38  flags     u16  1: there is an upper fence
//!  40  heap      u32  first byte of the heap, which grows down from the end of the page
//!  44  dead      u32  bytes of the heap that nothing refers to
//!  48  upper     u64  inner: the child for keys from the last separator on
//!  56  lower fence: offset u16, bytes u16; upper fence: offset u16, bytes u16
//!  64  updates   u16, slow u16, last slot u16: for splits under contention, and where keys ascend
//!  70  skip      u16  bytes behind the prefix that all keys share by chance
//!  72  slots, 8 bytes each: bytes of the key u16, offset u16, head u32
//! heap: leaf entries: value's bytes u16, key, value; inner entries: child u64, key; fences
//! ```
//!
//! A node has keys from its lower fence on and below its upper fence. Slots are ordered by key; the head is the key's
//! first four bytes behind the prefix and what is skipped, so that most comparisons touch the slots alone. Where a key
//! comes that does not share what is skipped, less is skipped from then on. Separators in inner nodes are as short as can
//! be; the child of a separator has the keys below it.
//!
//! A value whose length has the top bit set lies in pages of its own: its bytes u32, first page u64.

mod build;
mod view;
mod write;

pub(crate) use build::Builder;
pub(crate) use view::{Found, Value, View};
pub(crate) use write::NodeMut;

use assay_buffer::HEADER_BYTES;

const LEVEL: usize = HEADER_BYTES;
const COUNT: usize = 34;
const PREFIX: usize = 36;
const FLAGS: usize = 38;
const HEAP: usize = 40;
const DEAD: usize = 44;
const UPPER: usize = 48;
const LOWER_FENCE: usize = 56;
const UPPER_FENCE: usize = 60;
const UPDATES: usize = 64;
const SLOW: usize = 66;
const LAST: usize = 68;
const SKIP: usize = 70;
const SLOTS: usize = 72;
const SLOT: usize = 8;

/// Marks a value that lies in pages of its own.
const ELSEWHERE: u16 = 0x8000;
/// Bytes of what refers to it.
const REFERENCE: usize = 12;

/// Bytes of a head.
const HEAD_BYTES: usize = 4;

/// First four bytes of a key, as a number that orders as they do.
#[inline(always)]
fn head(key: &[u8]) -> u32 {
    if let Some(first) = key.first_chunk::<4>() {
        return u32::from_be_bytes(*first);
    }
    // Three at most: cheaper one by one than by a call.
    key.iter().zip([24, 16, 8]).fold(0, |word, (&byte, shift)| word | u32::from(byte) << shift)
}

/// Bytes that two keys share at their beginning.
pub(crate) fn shared(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}

/// The shortest key that is above `left` and not above `right`.
pub(crate) fn separator<'a>(left: &[u8], right: &'a [u8]) -> &'a [u8] {
    &right[..(shared(left, right) + 1).min(right.len())]
}
