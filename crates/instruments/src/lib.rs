//! Instruments: what a run of any kind is timed, counted, surrounded and judged by. Nothing here moves a byte of a target.

pub mod clock;
pub mod compress;
pub mod counters;
pub mod distribution;
pub mod environment;
pub mod heartbeat;
mod identity;
pub mod series;
pub mod steady;
pub mod tally;
pub mod verdict;
mod watch;
pub mod work;

pub use identity::{error_name, rfc3339, run_id};
pub use watch::Watch;
