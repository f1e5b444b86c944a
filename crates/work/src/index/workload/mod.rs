//! What is done to an index: which operations, on which keys, with which values.

mod distribution;
mod entry;
mod name;
mod stream;

pub use distribution::{Distribution, Picker};
pub use entry::{Entries, MISSING};
pub use name::{Mix, Operation, WorkloadName};
pub use stream::{Step, Stream, Territory};
