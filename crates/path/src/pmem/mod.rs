//! Load and store on persistent memory.
//!
//! Reads are vector loads into the arena; writes are stores that the CPU's caches are told to let go of. Which kernels
//! do the copying is decided once, at open, by what the CPU has.

mod durable;
mod isa;
mod kernel;
mod map;
mod path;
mod persister;
#[cfg(target_arch = "x86_64")]
mod x86;

#[cfg(target_arch = "aarch64")]
mod arm;

pub use durable::Store;
pub use isa::{Isa, features};
pub(crate) use map::only_mapped;
pub use map::{Mapping, Region, Support, support};
pub use path::Pmem;
pub use persister::Persister;
