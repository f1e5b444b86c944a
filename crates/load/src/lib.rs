//! Loads: classes of I/O as pure streams, and the executor that drives real paths with them.

mod arrivals;
pub mod baseline;
mod check;
pub mod clock;
pub mod compress;
pub mod counters;
mod distribution;
pub mod environment;
mod error;
pub mod generator;
mod journal;
mod run;
mod seat;
mod series;
pub mod steady;
mod tally;
pub mod verdict;
mod verify;
mod worker;

pub use arrivals::{Schedule, total_rate};
pub use error::LoadError;
pub use run::{Watch, run, target_facts};
pub use verify::{DatasetDurability, Durability, verify};
