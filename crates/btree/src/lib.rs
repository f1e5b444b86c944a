//! The B+-tree on the buffer manager.
//!
//! [`Tree`] is a few numbers; its pages are the pool's. Threads work on one tree through a worker each. Keys are ordered
//! as bytes. What is promised:
//!
//! - Each operation on one key is linearizable. A scan sees each page as it was at some moment; entries come in order and
//!   each at most once.
//! - What one [`assay_buffer::Writing`] covers is in a checkpoint as a whole or not at all, splits and merges included.
//! - Readers take no latch and write nothing. Writers latch the leaf; splits and merges a parent and its children.
//! - Where a page is missing the operation begins anew after it was read, so any number may be under way as tasks.

mod error;
mod node;
mod tree;

pub use error::TreeError;
pub use tree::{Approach, Change, Decide, Entries, Facts, Finger, Glance, LANES, Range, Scratch, Tree, When};
