//! Structures in persistent memory: what makes a store durable, a pool that survives any crash, and the recorder that
//! proves it.
//!
//! Everything that changes persistent memory goes through a [`Medium`]. In production that is [`Mapped`], plain
//! instructions on a mapping; [`Metered`] around it counts, and delays where a twin says how long the real thing would
//! take; [`Taped`] around it notes what goes beyond the caches, for a play in virtual time; in tests it is [`crash::Recorder`], which knows what a crash at any moment could leave behind. Code is
//! compiled for the medium that it runs on: nothing here is called through a table of functions.

mod check;
mod claim;
mod class;
pub mod crash;
mod delay;
mod error;
mod geometry;
mod header;
mod heap;
mod lane;
mod log;
mod mapped;
mod medium;
mod meter;
mod near;
mod offset;
mod outwait;
mod pool;
mod pool_file;
mod tape;
mod transaction;

mod sync {
    //! What `claim` is built on; its model test puts loom's in the place of these.
    pub(crate) use std::sync::atomic::{AtomicBool, Ordering};

    /// A cell that is reached through a pointer, as loom's is.
    #[derive(Debug, Default)]
    pub(crate) struct UnsafeCell<T>(std::cell::UnsafeCell<T>);

    impl<T> UnsafeCell<T> {
        pub(crate) fn new(value: T) -> Self {
            Self(std::cell::UnsafeCell::new(value))
        }

        #[inline(always)]
        pub(crate) fn with_mut<R>(&self, action: impl FnOnce(*mut T) -> R) -> R {
            action(self.0.get())
        }
    }
}

pub use check::{Allocation, Usage};
pub use class::{CHUNK_BYTES, block_bytes};
pub use crossbeam_epoch::{Guard, pin};
pub use delay::Delays;
pub use error::PmemError;
pub use geometry::ROOTS;
pub use header::Header;
pub use log::MOST_CHANGES;
pub use mapped::Mapped;
pub use medium::{LINE_BYTES, MEDIA_BLOCK_BYTES, Medium};
pub use meter::{Counts, Metered, counts};
pub use offset::Offset;
pub use outwait::outwait;
pub use pool::{Pool, Shape};
pub use pool_file::{PoolFile, PoolLock};
pub use tape::{Tape, Taped, Touch};
pub use transaction::Transaction;
