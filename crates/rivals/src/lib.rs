//! Other engines behind Assay's traits, for runs side by side. Each is a feature; none is built by default.
//!
//! [`Engine`] is what this crate asks of each: to be opened in a folder with a cache of a size and a durability. Each is
//! an [`assay_index::Index`] of one table and an [`assay_tpcc::Kv`] of TPC-C's tables.

mod durability;
mod engine;
mod error;
mod factory;
mod list;
#[cfg(feature = "lmdb")]
pub mod lmdb;
mod place;
#[cfg(feature = "redb")]
pub mod redb;
#[cfg(feature = "rocksdb")]
pub mod rocksdb;
mod run;
pub mod serve;
mod soak;
#[cfg(feature = "wiredtiger")]
pub mod wiredtiger;

pub use durability::Durability;
pub use engine::{CACHE_BYTES, Engine, Reach, Settings};
pub use error::{Result, RivalError};
pub use factory::Rival;
pub use list::{Listed, list};
pub use run::{RivalStore, TpccJob, index, tpcc};
pub use soak::{Task, soak};
