//! The buffer manager: pages, latches, replacement, asynchronous I/O over any path.
//!
//! [`disk`] is what lies beneath, [`Pool`] what is shared, [`Worker`] what a thread works through. `docs/buffer.md` has the
//! protocol, the layout and what it costs.

mod counters;
pub mod disk;
mod error;
mod pool;
pub mod stage;
mod worker;

pub use counters::Counters;
pub use error::BufferError;
pub use pool::{
    Config, FRAMES_AT_LEAST, Grouping, Lower, OWNER_BYTES, PageId, Placement, Pool, Tier,
    atomics::{Zeroed, ZeroedArray},
    header::HEADER_BYTES,
};
pub use worker::{Attempt, Exclusive, Optimistic, Outside, Racy, Shared, Stop, Worker, Writing};
