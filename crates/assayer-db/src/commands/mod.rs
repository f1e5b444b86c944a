//! One file per command.

pub mod index;
pub mod run;
pub mod schema;
pub mod soak;
