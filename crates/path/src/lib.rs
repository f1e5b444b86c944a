//! How bytes reach a target: one file per path, the targets themselves, and the guards that keep data safe.
//!
//! A path is opened once per thread and is then used by that thread alone. It comes in one of two shapes:
//! [`Blocking`], where a call returns when the operation is done, and [`Queued`], where operations are pushed, submitted
//! and reaped. The measuring loop is compiled for each of them: nothing here is called through a table of functions.

pub mod arena;
mod discard;
pub mod error;
pub mod extents;
pub mod facts;
mod files;
pub mod guard;
mod ledger;
pub mod libaio;
pub mod mmap;
pub mod null;
pub mod open;
pub mod opened;
pub mod passthrough;
pub mod pmem;
pub mod polled;
pub mod pread;
pub mod prepare;
pub mod probe;
pub mod residency;
mod shape;
mod slots;
pub mod space;
pub mod stamp;
pub mod uring;

pub use arena::Arena;
pub use assay_own::{Folder as Scratch, Plan, Room};
pub use error::PathError;
pub use libaio::Libaio;
pub use mmap::Mmap;
pub use null::Null;
pub use open::{Knows, OpenParameters};
pub use opened::Opened;
pub use passthrough::Passthrough;
pub use pmem::Pmem;
pub use polled::Polled;
pub use pread::Pread;
pub use probe::{Probed, probe};
pub use shape::{Blocking, Completion, Queued, Request, Segment, SegmentKind, Wait};
pub use uring::Uring;
