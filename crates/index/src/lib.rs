//! Persistent indexes: FPTree, BzTree and Dash on persistent memory, a B+-tree and a hash table on a drive.
//!
//! All stand behind [`Index`], so that one runner, one set of workloads and one set of tests serve them.

pub mod dash;
mod error;
mod index;

pub use error::IndexError;
pub use index::{Index, KEY_BYTES_AT_MOST, Session, Visit};
