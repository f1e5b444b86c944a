//! Use of device-DAX nodes. The kernel knows no exclusive use of them, so processes that map one are looked for.

use std::{
    fs::File,
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
        Ok(Self { path, bytes: bytes.ok_or_else(none)?, folder })
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
        let path = self.path.display().to_string();
        let maps = |pid: &&String| {
            std::fs::read_to_string(system.proc.join(pid).join("maps"))
                .is_ok_and(|maps| maps.lines().any(|line| line.ends_with(&path)))
        };
        pids.filter(maps).map(|pid| InUse::new(format!("process {pid} has it mapped"), "end that process")).collect()
    }
}
