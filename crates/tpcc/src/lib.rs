//! TPC-C: five transactions over a store, their driver and their checks. Each database that it
//! knows is a feature.
//!
//! What is measured follows the TPC's specification in schema, data, mix and checks, but is not audited: its figures are
//! *TPC-C-like* and cannot be compared with published results.

mod about;
pub mod check;
pub mod driver;
mod edges;
pub mod error;
pub mod input;
pub mod key;
pub mod kind;
pub mod kv;
mod kvstore;
pub mod memory;
pub mod null;
pub mod order;
pub mod population;
pub mod random;
mod record;
pub mod row;
pub mod rows;
pub mod run;
pub mod scale;
pub mod server;
pub mod side_by_side;
#[cfg(feature = "sql")]
pub mod sql;
pub mod store;
pub mod tally;
mod terminal;
pub mod text;
pub mod transaction;

pub use error::{Result, TpccError};
pub use kv::{Kv, KvSession, KvTerminalWork};
pub use kvstore::KvStore;
pub use scale::Scale;
pub use store::{Session, Store, TerminalWork};
