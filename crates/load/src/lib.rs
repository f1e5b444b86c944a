//! Loads: classes of I/O as pure streams, and the executor that drives real paths with them.

mod arrivals;
mod error;
pub mod generator;
mod tally;

pub use arrivals::{Schedule, total_rate};
pub use error::LoadError;
