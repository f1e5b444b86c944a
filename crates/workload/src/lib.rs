//! The driver of all measured work: threads, the gate that they wait at, the window that they are measured in, and their
//! end. What a thread does in it is the business of a kind of work, which implements [`Work`].

mod driver;
mod error;
mod gate;
pub mod pin;
mod window;

pub use driver::{Work, drive, in_parallel, in_parallel_under};
pub use error::{WorkloadError, said};
pub use gate::{Gate, Milestone, Worker};
pub use window::{AtEdges, Observe, WindowPlan};
