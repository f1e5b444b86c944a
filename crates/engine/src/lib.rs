//! The storage engine: transactions, log and recovery on the B+-tree and the buffer manager.

mod announced;
mod background;
mod commit;
pub mod core;
mod crew;
mod database;
mod durability;
mod error;
pub mod files;
pub mod forest;
mod hash;
pub mod kv;
mod locks;
pub mod log;
mod making;
mod note;
mod parts;
mod recovery;
mod row;
pub mod run;
mod scan;
mod sequence;
mod session;
mod sieve;
mod slots;
mod tier;
pub mod trees;
mod versions;
mod writes;

pub use crew::Crew;
pub use database::{Database, Disks, Options, Recovered};
pub use durability::Durability;
pub use error::{EngineError, Result};
pub use session::{Session, Tally, Ticket};
pub use tier::Modules;
