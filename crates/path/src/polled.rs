//! `nvme_polled`: the place of a path that drives NVMe queues from user space by polling.
//!
//! Such a path takes the device from the kernel (VFIO), maps its queues and rings its doorbells: no system call, no
//! interrupt, no file system. SPDK does that. It is not available yet: it needs a driver of its own, the IOMMU, huge
//! pages, and a drive that nothing else uses, and it would make the guards of targets blind. Until then the nearest
//! paths are `nvme_passthrough` with `poll = "iopoll"`, and `io_uring` with the same.

use crate::{OpenParameters, PathError};

/// Why the path is not there.
pub const REASON: &str = "driving NVMe queues from user space is not available yet";
/// What comes closest.
pub const FIX: &str = "use nvme_passthrough, or io_uring with direct = true, and poll = \"iopoll\" on either";

/// Refuses to open.
///
/// # Errors
/// Always [`PathError::Unavailable`].
pub fn open(parameters: &OpenParameters<'_>) -> Result<std::convert::Infallible, PathError> {
    Err(parameters.unavailable(REASON.to_owned(), FIX.to_owned()))
}
