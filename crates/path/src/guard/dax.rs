//! Use of device-DAX nodes. The kernel knows no exclusive use of them, so processes that map one are looked for.

use std::{
    fs::{File, Metadata},
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, flock};

use super::{InUse, failed, refused};
use crate::{
    PathError,
    facts::{DeviceNumber, System},
};

/// A device-DAX node, traced to its folder in sysfs.
#[derive(Debug)]
pub(super) struct DaxNode {
    pub(super) path: PathBuf,
    pub(super) bytes: u64,
    number: DeviceNumber,
    folder: PathBuf,
}

impl DaxNode {
    pub(super) fn resolve(system: &System, device: &Path) -> Result<Self, PathError> {
        let path = device.canonicalize().map_err(|source| failed("resolving", device, source))?;
        let facts = path.metadata().map_err(|source| failed("looking at", device, source))?;
        let none =
            || refused(device, "it is no device-DAX node", "name a node such as /dev/dax0.0 (ndctl list --devices)");
        if !facts.file_type().is_char_device() {
            return Err(none());
        }
        let number = DeviceNumber(facts.rdev());
        let link = system.sys.join(format!("dev/char/{}:{}", number.major(), number.minor()));
        let folder = link.canonicalize().map_err(|_| none())?;
        let subsystem = folder.join("subsystem").canonicalize().map_err(|_| none())?;
        if subsystem.file_name().is_none_or(|name| name != "dax") {
            return Err(none());
        }
        let bytes = std::fs::read_to_string(folder.join("size")).ok().and_then(|text| text.trim().parse().ok());
        Ok(Self { path, bytes: bytes.ok_or_else(none)?, number, folder })
    }

    /// UUID of its namespace, else its kernel name.
    pub(super) fn identity(&self) -> String {
        let uuid = self.folder.ancestors().take(4).map(|folder| folder.join("uuid"));
        let uuid = uuid.filter_map(|file| std::fs::read_to_string(file).ok()).map(|text| text.trim().to_owned());
        let name = || self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        uuid.into_iter().find(|text| !text.is_empty()).unwrap_or_else(name)
    }

    /// Holds the node against other runs of Assay.
    pub(super) fn hold(&self) -> Result<File, PathError> {
        let opened = File::options().read(true).write(true).open(&self.path);
        let file = opened.map_err(|source| failed("opening", &self.path, source))?;
        let busy = |_| refused(&self.path, "another run uses it", "wait until that run has ended");
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(busy)?;
        Ok(file)
    }

    /// Processes that have mapped it.
    pub(super) fn uses(&self, system: &System) -> Vec<InUse> {
        let own = std::process::id().to_string();
        let pids = crate::facts::names(&system.proc);
        let pids = pids.iter().filter(|pid| pid.bytes().all(|byte| byte.is_ascii_digit()) && **pid != own);
        let maps = |pid: &&String| maps(&system.proc.join(pid), &self.path, self.number);
        pids.filter(maps).map(|pid| InUse::new(format!("process {pid} has it mapped"), "end that process")).collect()
    }
}

/// Whether a process has a device mapped, by this node or by another one: those are told by what the mappings stand for.
///
/// Only root may follow them; for all others the name has to do. The kernel maps device-DAX for sharing alone.
fn maps(process: &Path, node: &Path, number: DeviceNumber) -> bool {
    let table = std::fs::read_to_string(process.join("maps")).unwrap_or_default();
    let same = |facts: Metadata| facts.file_type().is_char_device() && facts.rdev() == number.0;
    let stands_for = |range: &str| process.join("map_files").join(range).metadata().is_ok_and(same);
    table.lines().any(|line| {
        let mut words = line.split_ascii_whitespace();
        let (range, access) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        line.ends_with(&*node.to_string_lossy()) || (access.ends_with('s') && stands_for(range))
    })
}

#[cfg(test)]
mod tests;
