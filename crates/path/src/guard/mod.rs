//! What keeps data safe: nothing is written to a device before all of this has been looked at.
//!
//! Devices are compared by number, never by name: a symbolic link, a bind mount or a second node of the same device
//! changes nothing. Partitions, whatever is built on top, and signatures of file systems and volume managers count as
//! use. The last word has the kernel, which is asked for exclusive use, and that hold is kept for the whole run.

mod admit;
mod dax;
mod family;
mod signature;
mod swap;
#[cfg(test)]
mod tests;
mod uses;

use std::{
    fs::File,
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rustix::{
    fs::{Mode, OFlags, open},
    io::Errno,
};
use serde::Serialize;

use crate::{
    PathError,
    facts::{Block, DeviceNumber, System},
};

use dax::DaxNode;

pub use admit::{Admitted, admit};
pub(crate) use admit::{hold_unused, still_unused};
pub use signature::{Signature, signatures};
pub use uses::uses;

/// One reason why a device must not be written to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct InUse {
    /// What was seen.
    pub reason: String,
    /// What to do.
    pub fix: String,
}

impl InUse {
    fn new(reason: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { reason: reason.into(), fix: fix.into() }
    }
}

/// Every reason why a block device or device-DAX node must not be written to; none where it is free.
///
/// # Errors
/// Where the path is neither, or cannot be looked at: what cannot be checked is not free.
pub fn in_use(device: &Path) -> Result<Vec<InUse>, PathError> {
    let system = System::default();
    if is_character_device(device) {
        return Ok(DaxNode::resolve(&system, device)?.uses(&system));
    }
    let node = Node::resolve(&system, device)?;
    let mut found = uses(&system, &node.block).map_err(|source| failed("checking", device, source))?;
    found.extend(on_media(&system, &node).map_err(|source| failed("reading", device, source))?);
    if let Err(busy) = open_exclusive(&node.path) {
        found.push(refused_by_kernel(&node.path, &busy));
    }
    Ok(found)
}

/// What identifies a block device or device-DAX node to the user: what `--serial` must name.
///
/// # Errors
/// Where the path is neither.
pub fn serial(device: &Path) -> Result<String, PathError> {
    let system = System::default();
    if is_character_device(device) {
        return Ok(DaxNode::resolve(&system, device)?.identity());
    }
    Ok(Node::resolve(&system, device)?.block.identity(&system))
}

fn is_character_device(device: &Path) -> bool {
    device.metadata().is_ok_and(|facts| facts.file_type().is_char_device())
}

/// A device node, traced to the device.
#[derive(Clone, Debug)]
struct Node {
    path: PathBuf,
    block: Block,
}

impl Node {
    fn resolve(system: &System, device: &Path) -> Result<Self, PathError> {
        let path = device.canonicalize().map_err(|source| failed("resolving", device, source))?;
        let facts = path.metadata().map_err(|source| failed("looking at", device, source))?;
        if !facts.file_type().is_block_device() {
            return Err(refused(device, "it is no block device", block_device_of(&path)));
        }
        let block = Block::find(system, DeviceNumber(facts.rdev()));
        let unknown =
            || refused(device, "the kernel does not show it in sysfs", "run where /sys shows the host's devices");
        Ok(Self { path, block: block.ok_or_else(unknown)? })
    }
}

/// What to name in the place of a path that is no block device.
fn block_device_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    if let Some(namespace) = name.strip_prefix("ng") {
        return format!("name the namespace's block device, /dev/nvme{namespace}; its commands go through {name}");
    }
    if name.starts_with("dax") {
        return "give it the kind device-dax: it is a device-DAX node".to_owned();
    }
    "name a block device, or use a folder as target".to_owned()
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> PathError {
    PathError::Io { action, path: path.to_owned(), source }
}

fn refused(path: &Path, reason: impl Into<String>, fix: impl Into<String>) -> PathError {
    PathError::Refused { path: path.to_owned(), reason: reason.into(), fix: fix.into() }
}

/// The kernel gives a block device to one exclusive user only: mounts, swap, dm, md, ZFS and btrfs are such users.
///
/// Programs that only probe a device hold it for moments, so one refusal is asked about again.
fn open_exclusive(node: &Path) -> io::Result<File> {
    const WAITS_MS: [u64; 5] = [0, 5, 10, 15, 20];
    let mut answer = Err(Errno::BUSY);
    for wait in WAITS_MS {
        thread::sleep(Duration::from_millis(wait));
        answer = open(node, OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC, Mode::empty());
        if !matches!(answer, Err(Errno::BUSY)) {
            break;
        }
    }
    Ok(File::from(answer?))
}

fn refused_by_kernel(node: &Path, error: &io::Error) -> InUse {
    let at = node.display();
    if error.raw_os_error() == Some(libc::EBUSY) {
        let fix = format!("find its user with lsblk {at} and fuser -v {at}, and end that use");
        return InUse::new("the kernel says that it is in exclusive use", fix);
    }
    InUse::new(format!("it cannot be opened for exclusive use: {error}"), format!("make {at} writable for this user"))
}

/// Signatures on the device and on its partitions.
fn on_media(system: &System, node: &Node) -> io::Result<Vec<InUse>> {
    let mut found = signatures_at(&node.path, "it")?;
    for part in node.block.partitions() {
        let at = system.dev.join(&part.name);
        if at.metadata().is_ok_and(|facts| facts.rdev() == part.number.0) {
            found.extend(signatures_at(&at, &format!("its partition {}", part.name))?);
        }
    }
    Ok(found)
}

fn signatures_at(node: &Path, what: &str) -> io::Result<Vec<InUse>> {
    let seen = signature::signatures(&File::open(node)?)?;
    let mut names: Vec<_> = seen.into_iter().map(|signature| signature.name.to_owned()).collect();
    names.extend(signature::seen_by_blkid(node));
    names.sort_unstable();
    names.dedup();
    let fix = || format!("if nothing on it is needed: wipefs --all {}; otherwise name another device", node.display());
    Ok(names.into_iter().map(|name| InUse::new(format!("{what} carries a signature of {name}"), fix())).collect())
}
