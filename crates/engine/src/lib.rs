//! The storage engine: transactions, log and recovery on the B+-tree and the buffer manager.

mod durability;
mod error;
mod hash;
pub mod log;
mod row;
mod sequence;
mod slots;

pub use durability::Durability;
pub use error::{EngineError, Result};
