//! Twins: calibrated models of devices and arrays that serve as targets.
//!
//! One document of parameters drives two engines. [`solve`] answers in closed form, thousands of what-ifs a second; the
//! discrete-event engine plays a load in virtual time and leaves a record like a measured run. Both see the same
//! [`Target`] and [`Host`], and must agree where both apply.

pub mod analytic;
pub mod array;
pub mod block;
mod cached;
pub mod des;
pub mod device_load;
pub mod document;
mod error;
pub mod host;
pub mod machine;
pub mod memory;
mod play;
mod question;
pub mod reason;
pub mod simulated;
mod solution;
mod solve;
pub mod stations;
mod stream;

pub use assay_instruments::Watch;
pub use document::{Band, Bounds, Device, Driven, Host, Parameter, ParameterKind, PathCost, PathKey, Target, Twin};
pub use error::TwinError;
pub use play::{Budget, admit, play, play_within, streams_of};
pub use question::{Answer, Answers, Question, Questions};
pub use solution::{BandWidths, BoundBy, Percentile, Solution, StreamSolution, TimeShares, Utilisation};
pub use solve::solve;
pub use stream::{Stream, StreamPath};

/// Version of the documents of this crate. A reader refuses any other.
pub const TWIN_VERSION: u32 = assay_libtwin::VERSION;
