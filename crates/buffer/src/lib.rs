//! The buffer manager: pages, latches, replacement, asynchronous I/O over any path.

pub mod disk;
mod error;

pub use error::BufferError;
