//! Benchmarks of what stands above I/O: indexes and the storage engine, on a drive, in persistent memory, or on twins.
//!
//! With the feature `jobs`, every kind of job: those, classes of I/O, TPC-C on databases, and stores under kill. Without it
//! no driver of a database is linked.

pub mod engine;
mod error;
pub mod index;
#[cfg(feature = "jobs")]
mod job;
#[cfg(feature = "jobs")]
mod tpcc;

pub use error::WorkError;
#[cfg(feature = "jobs")]
pub use job::{Job, Left};
#[cfg(feature = "jobs")]
pub use tpcc::TpccJob;
