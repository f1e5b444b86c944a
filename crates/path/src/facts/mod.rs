//! What a target lies on: its file system and its block device, with everything beneath.

mod btrfs;
mod device;
mod layers;
mod mapper;
mod mounts;
mod system;

use std::{
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
};

use assay_record::{BlockDevice, FileSystem};

pub use btrfs::btrfs_members;
pub(crate) use btrfs::devices as btrfs_devices;
pub use device::{Block, DeviceNumber};
pub use layers::{effects_of_file_system, layers, layers_of_device};
pub(crate) use mounts::unescape;
pub use mounts::{Mount, mounts};
pub use system::System;
pub(crate) use system::names;

/// The file system that a path lies on.
///
/// # Errors
/// Where the path does not exist or the mount table cannot be read.
pub fn file_system(path: &Path) -> io::Result<FileSystem> {
    let at = path.canonicalize()?;
    let space = rustix::fs::statvfs(&at)?;
    let mount = mounts::mount_of(&System::default(), &at)?;
    let (kind, mount_point, options) =
        mount.map(|mount| (mount.kind, mount.point.display().to_string(), mount.options)).unwrap_or_default();
    Ok(FileSystem {
        kind,
        mount_point,
        options,
        block_bytes: space.f_bsize,
        total_bytes: space.f_blocks * space.f_frsize,
        free_bytes: space.f_bavail * space.f_frsize,
    })
}

/// The block device that a path lies on, or that it is: the whole device, whatever partition was named.
///
/// None for file systems that have no device (tmpfs, network file systems).
pub fn block_device(path: &Path) -> Option<BlockDevice> {
    let system = System::default();
    let whole = Block::find(&system, device_number(&system, path)?)?.whole();
    let mut facts = whole.facts(&system);
    facts.members = btrfs_members(&system, &whole).unwrap_or(facts.members);
    Some(facts)
}

/// Whether the device that a path lies on, or that it is, has queues that can be polled; none where there is no such
/// device or sysfs does not show it.
pub(crate) fn has_poll_queues(path: &Path) -> Option<bool> {
    let system = System::default();
    Some(Block::find(&system, device_number(&system, path)?)?.whole().has_poll_queues())
}

/// Number of the block device that a path lies on (or that it is), before it is traced to the whole device.
pub fn device_number(system: &System, path: &Path) -> Option<DeviceNumber> {
    let facts = path.metadata().ok()?;
    if facts.file_type().is_block_device() {
        return Some(DeviceNumber(facts.rdev()));
    }
    let number = DeviceNumber(facts.dev());
    if number.major() != 0 { Some(number) } else { behind_anonymous(system, path) }
}

/// Btrfs, overlay and others have numbers that stand for no device; their mount says what they are made of.
fn behind_anonymous(system: &System, path: &Path) -> Option<DeviceNumber> {
    let mount = mounts::mount_of(system, &path.canonicalize().ok()?).ok()??;
    if let Some(upper) = mount.overlay_upper() {
        return device_number(system, &upper);
    }
    let source = Path::new(&mount.source).metadata().ok()?;
    source.file_type().is_block_device().then(|| DeviceNumber(source.rdev()))
}

/// What offset and length of a mapping of a device-DAX node are multiples of, bytes; 2 MiB where the kernel does not say.
pub(crate) fn dax_alignment(rdev: u64) -> u64 {
    let number = DeviceNumber(rdev);
    let file = format!("/sys/dev/char/{}:{}/align", number.major(), number.minor());
    let read = std::fs::read_to_string(file).ok().and_then(|text| text.trim().parse().ok());
    read.filter(|&bytes: &u64| bytes != 0).unwrap_or(2 << 20)
}
