//! Loads: classes of I/O as pure streams, and the executor that drives real paths with them.

mod arrivals;
pub mod baseline;
mod check;
pub mod clock;
pub mod compress;
pub mod counters;
pub mod distribution;
pub mod environment;
mod error;
pub mod generator;
pub mod heartbeat;
mod journal;
pub mod overdue;
mod run;
pub mod seat;
pub mod series;
pub mod steady;
pub mod tally;
pub mod verdict;
mod verify;
pub mod work;
mod worker;

pub use arrivals::{Schedule, total_rate};
pub use error::LoadError;
pub use run::{Watch, objective, prepare, rfc3339, run, run_id, target_facts};
pub use verify::{DatasetDurability, Durability, verify};
