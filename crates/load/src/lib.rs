//! Placeholder.

pub mod clock;
pub mod compress;
pub mod counters;
pub mod environment;
pub mod steady;
pub mod verdict;
