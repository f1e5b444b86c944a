//! Dash: hashing in persistent memory, extendible and linear.
//!
//! Both keep records in *segments* of buckets of 256 B, the block of the media. A key belongs to one bucket of its
//! segment, its home, and may lie there, in the next one as a guest, or in a stash bucket at the segment's end; the home
//! keeps fingerprints of two that overflowed, and a count of the others. An insertion takes the emptier of the two,
//! else moves a third record out of the way, else uses the stash, else asks the directory for room: extendible hashing
//! splits the segment, linear hashing splits the segment whose turn it is and chains another stash to this one.
//!
//! Readers take no lock and write nothing: they look at the versions of the two buckets before and after, and whether
//! the directory still leads to the segment. Writers lock buckets. A version counts in its upper bits the openings of the
//! pool (the *stamp*), so a lock that a process left behind is void, and so is everything in a bucket that was last
//! touched before the last crash: who meets such a bucket repairs its segment first. That is all that recovery is.
//!
//! | operation | fences |
//! | --- | --- |
//! | insert, key and value of 8 bytes | 1, see `bucket` on the witness |
//! | insert otherwise | 3: allocation and head change in one transaction |
//! | update of 8 bytes by 8 bytes; remove | 1 |
//! | update or remove of an entry by pointer | 3 |
//! | moving a record out of the way | 2 |
//!
//! Promised after any crash: what a call has returned is there, what it had not returned is there whole or not at all, and
//! no block is lost. A slot is free in persistent memory before it is used again, and what makes a new segment reachable
//! is durable before anybody can use it.

mod bucket;
mod change;
mod check;
mod directory;
mod entry;
mod extendible;
mod find;
mod geometry;
mod hash;
mod image;
mod in_pool;
mod insert;
mod linear;
mod lock;
mod open;
mod quick;
mod quick_change;
mod session;
mod settle;
mod table;

pub use check::Filling;
pub use directory::Directory;
pub use extendible::Extendible;
pub use geometry::DashShape;
pub use in_pool::Tables;
pub use linear::Linear;
pub use session::DashSession;
pub use table::Dash;

/// Dash with extendible hashing.
pub type DashEh<M> = Dash<M, Extendible>;
/// Dash with linear hashing.
pub type DashLh<M> = Dash<M, Linear>;
