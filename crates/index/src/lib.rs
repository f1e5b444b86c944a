//! Persistent indexes: FPTree, BzTree and Dash on persistent memory, a B+-tree and a hash table on a drive.
//!
//! All stand behind [`Index`], so that one runner, one set of workloads and one set of tests serve them.

pub mod bztree;
pub mod dash;
mod error;
pub mod fptree;
mod in_pool;
mod index;
mod job;
mod kind;
mod on_twin;
mod open;
mod patience;
pub mod pmwcas;
pub mod run;
mod sizes;
pub mod ssd;
pub mod workload;

pub use error::IndexError;
pub use in_pool::{Delayed, Held, InPool, OnTape, Plain, PoolIndex, Wrap};
pub use index::{Index, KEY_BYTES_AT_MOST, Moved, Session, Visit};
pub use job::{AsIf, BATCH_AT_MOST, IndexJob, JOB_VERSION, Window};
pub use kind::Kind;
pub use on_twin::OnTwin;
pub use open::{OnFactory, is_there, run, with_factory};
pub use sizes::{Sizes, Span, VALUE_BYTES_AT_MOST};
