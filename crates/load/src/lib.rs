//! Loads: classes of I/O as pure streams, and the executor that drives real paths with them.

mod arrivals;
pub mod baseline;
mod check;
pub mod clock;
pub mod counters;
mod error;
pub mod generator;
mod journal;
mod seat;
mod tally;
mod worker;

pub use arrivals::{Schedule, total_rate};
pub use error::LoadError;
