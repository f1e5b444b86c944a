//! Loads: classes of I/O as pure streams, and the executor that drives real paths with them.

mod arrivals;
pub mod baseline;
mod check;
mod error;
pub mod generator;
mod journal;
pub mod overdue;
mod run;
pub mod seat;
mod verify;
mod worker;

pub use arrivals::{Schedule, total_rate};
pub use error::LoadError;
pub use run::{objective, prepare, run};
pub use verify::{Acknowledged, DatasetDurability, verify};
