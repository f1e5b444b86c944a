//! One file per command.

pub mod engine;
pub mod index;
pub mod schema;
pub mod soak;
pub mod tpcc;
