//! What is around those who play on a stage ([`assay_buffer::stage`]): a host's cores, twins' stations, and the disks and
//! the memory whose bytes are here and whose time is theirs.
//!
//! The engine and the indexes play on it, so that both take the same drive for as slow.

mod account;
mod cast;
mod disk;
mod medium;
mod pace;
mod port;
mod scene;
mod shelf;
mod steady;
mod store;

pub use account::window;
pub use cast::{Cast, PIECES, PlayLength};
pub use disk::TwinDisk;
pub use medium::TwinMemory;
pub use pace::{SATURATED, cpu_width, spread};
pub use port::{Passed, Port};
pub use scene::{Costs, Doings, Scene, Shared, Station};
pub use shelf::{keep, kept, place, program, quarters};
pub use steady::Steady;
pub use store::Bytes;
