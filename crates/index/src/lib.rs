//! Persistent indexes: FPTree, BzTree and Dash on persistent memory, a B+-tree and a hash table on a drive.
//!
//! All stand behind [`Index`], so that one runner, one set of workloads and one set of tests serve them. None of those is
//! here: what measures stands above.

pub mod bztree;
pub mod dash;
mod error;
mod factory;
pub mod fptree;
mod in_pool;
mod index;
mod kind;
mod mix;
mod open;
mod patience;
pub mod pmwcas;
mod setup;
mod sizes;
pub mod ssd;

pub use error::IndexError;
pub use factory::{About, Factory, Opened};
pub use in_pool::{Delayed, Held, InPool, Plain, PoolIndex, Wrap};
pub use index::{Index, KEY_BYTES_AT_MOST, Moved, Session, Visit};
pub use kind::Kind;
pub use mix::mix;
pub use open::{OnFactory, is_there, with_factory, with_factory_on};
pub use setup::{AsIf, Inserts, Setup};
pub use sizes::{Sizes, Span, VALUE_BYTES_AT_MOST};
