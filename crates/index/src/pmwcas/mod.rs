//! A compare-and-swap of several words of persistent memory: all change or none, for every thread and after any crash.
//!
//! # Words
//!
//! ```text
//! 63 62 61 60 ......................................... 0
//!  0  0  d  value of 61 bits                               d: perhaps not durable yet: flush before use
//!  1  0  0  sequence 45 | descriptor 16                    an operation owns the word
//!  0  1  0  attempt 32 | helper 10 | entry 3 | descriptor 16   it is about to own it
//! ```
//!
//! Users have the lower 61 bits of a word.
//!
//! # Descriptors
//!
//! ```text
//! 0    sequence 45 | 0 6 | blocks 4 | words 3.. | dirty 1 | status 2: free, undecided, succeeded, failed
//! 8    up to 4 entries of 24 bytes in ascending order of their addresses: address, old, new
//! 128  up to 6 blocks of 16 bytes: offset and fate, sequence 32 and length 32
//! ```
//!
//! # Protocol
//!
//! 1. The owner writes the descriptor, its status last, flushes it and fences: it is durable, and so is all that the
//!    owner flushed before, such as the content of new blocks. New blocks are marked as allocated, and a fence makes
//!    that durable before anybody can see them, and free them again.
//! 2. Word by word, in ascending order, a helper (the owner is one) replaces the old value by a *conditional* pointer
//!    that names the helper and its attempt, looks whether the operation is still undecided, and only then makes the
//!    pointer one to the descriptor (RDCSS). A helper that slept through the operation's end so takes its late pointer
//!    back, whatever value the word has come back to. A word that another operation owns has that operation completed
//!    first: it only waits for words of higher addresses, so nobody waits for one who waits for him.
//! 3. All words own: they are flushed, a fence, and the status becomes *succeeded*, dirty. A word with another value:
//!    the status becomes *failed*.
//! 4. The success is flushed and fenced before anybody acts on it: at this fence the operation has happened.
//! 5. Pointers are replaced by new values (or old ones), which are flushed. New values need no dirty bit: until they are
//!    durable the descriptor stays and says the same.
//! 6. The owner frees blocks, fences, and, where there are blocks, makes the descriptor free, durably, before anybody
//!    can have a block again. The descriptor is used again when nobody who is pinned now is pinned any more.
//!
//! Readers help nobody: a word that an undecided operation owns has its old value; a success is made durable and gives
//! the new one. An operation on a single word without blocks is a plain compare-and-swap with a dirty bit
//! ([`Worker::cas`]).
//!
//! Recovery looks at each descriptor once: a word that holds a pointer to it gets the new value where it succeeded, else
//! the old one; what a success replaced is freed, what an operation without success would have linked is given back;
//! fence; descriptors become free. All of this may happen twice.

mod descriptor;
mod protocol;
mod recovery;
mod table;
#[cfg(test)]
mod tests;
mod word;
mod worker;

pub use descriptor::{Block, Fate, MOST_BLOCKS, MOST_CHANGES, WordChange};
pub use protocol::settle;
pub use table::{DescriptorTable, area_bytes};
pub use word::{CONTROL, DIRTY};
pub use worker::{CasOutcome, Worker};
