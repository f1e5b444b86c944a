//! When would a drive answer that is not here? The model of a twin's file as a library for simulators, emulators, engines.
//!
//! No I/O, no clock, no allocation while it plays; the same seed gives the same answers. [`Twin`] is what programs use;
//! what it is made of is what `assay run` plays jobs on twins with.
//!
//! ```
//! use assay_libtwin::{Op, Twin};
//!
//! let file = include_str!("../../../catalog/twins/gp3.toml");
//! let mut twin = Twin::open(file, 1).unwrap();
//! let answered_ns = twin.submit(5_000, Op::Read, 0, 4096);
//! assert!(answered_ns > 5_000 + 100_000);
//! ```

mod describe;
pub mod document;
mod error;
mod player;
pub mod request;
pub mod rules;
pub mod stations;
mod streams;

pub use describe::Description;
pub use error::Error;
pub use player::{Op, Twin};

/// Version of the files of twins. A reader refuses any other.
pub const VERSION: u32 = 1;
