//! The window of a run of an index, an engine or a database: what surrounded it, and what its record says of that.
//!
//! Those who run such work count operations and latencies themselves. A [`WorkWatch`] samples the process, the devices
//! beneath the targets and the machine at the window's edges, so that every [`assay_record::WorkRecord`] has the same
//! account of CPU and devices, and is judged by the same rules as a run of a load.

mod verdict;
mod watch;

pub use verdict::{check_failed, emulated, failures, operations_missing, work_verdict};
pub use watch::{Done, ServerAccount, WorkPlace, WorkWatch, WorkWindow, work_run};
