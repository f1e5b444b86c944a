//! The storage engine: transactions, log and recovery on the B+-tree and the buffer manager.

pub mod core;
mod durability;
mod error;
mod hash;
mod locks;
pub mod log;
mod row;
mod scan;
mod sequence;
mod session;
mod slots;
pub mod trees;
mod versions;
mod writes;

pub use durability::Durability;
pub use error::{EngineError, Result};
pub use session::{Session, Tally, Ticket};
