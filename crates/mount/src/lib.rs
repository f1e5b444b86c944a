//! A folder that answers as a drive that is not here: reads, writes and flushes end at the moment at which a model says.

mod awake;
pub mod clock;
pub mod drive;
pub mod error;
pub mod extents;
pub mod job;
pub mod lateness;
pub mod player;
pub mod session;
pub mod state;
pub mod twin;

mod below;
mod file_system;
mod hold;
mod node;
mod open;
mod probe;
mod stage;
mod volatile;
pub mod way;
