//! Benchmarks of what stands above I/O: indexes and the storage engine, on a drive, in persistent memory, or on twins.

pub mod engine;
mod error;
pub mod index;

pub use error::WorkError;
