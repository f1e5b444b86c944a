//! What Assay made, and the only room that removes it.
//!
//! What was made is known by a register in this user's own state folder, never by a file that lies where others can write.
//! Folders are reached by descriptors, step by step from the root, and nothing is followed out of them. Whether whoever
//! made something lives is known by a lock that the kernel lets go of, not by the number of a process.

mod base;
mod beneath;
mod clean;
mod error;
mod files;
mod folder;
mod identity;
mod inhabited;
mod lease;
mod mounted;
mod note;
mod people;
mod register;
mod room;
mod serve;
mod tree;

pub use base::Base;
pub use clean::{Cleaned, FoundMark, clean, list};
pub use error::OwnError;
pub use files::Files;
pub use folder::{Folder, MARKER, Plan};
pub use lease::Lease;
pub use mounted::{MOUNTED_AS, Mounted, mount_state};
pub use note::Owner;
pub use room::Room;
pub use serve::serve;

/// What calls of this crate return.
pub type Result<T> = std::result::Result<T, OwnError>;
