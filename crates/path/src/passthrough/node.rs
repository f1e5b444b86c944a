//! From a block device to the character device that takes commands for the same namespace.

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::command::Namespace;

/// Bytes of a sector, in which sysfs counts whatever the logical block is.
const SECTOR_BYTES: u64 = 512;
/// Where the kernel does not say how many pieces of memory a command may have: as few as any drive takes.
const FEWEST_SEGMENTS: u64 = 32;

/// Where the commands for a block device go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DeviceNode {
    /// Name of the character device (`ng0n1`).
    pub generic: String,
    /// The namespace.
    pub namespace: Namespace,
    /// First byte of the block device in the namespace: not 0 for a partition.
    pub base: u64,
    /// Length of the block device, bytes.
    pub bytes: u64,
    /// Pieces of memory that one command may have.
    pub segments_at_most: u64,
}

/// Why a block device takes no commands: what was seen, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Why {
    pub reason: String,
    pub fix: String,
}

impl DeviceNode {
    /// Looks a block device up in sysfs, mounted at `sysfs`.
    pub fn find(sysfs: &Path, device: &Path) -> Result<Self, Why> {
        let device = fs::canonicalize(device).unwrap_or_else(|_| device.to_owned());
        let name = device.file_name().and_then(|name| name.to_str()).unwrap_or_default().to_owned();
        let entry = sysfs.join("class/block").join(&name);
        let entry = fs::canonicalize(&entry).map_err(|_| unknown(&device))?;
        let bytes = number(&entry.join("size")).ok_or_else(|| unknown(&device))? * SECTOR_BYTES;
        if !entry.join("partition").exists() {
            return Self::of_whole(sysfs, &entry, 0, bytes);
        }
        let start = number(&entry.join("start")).ok_or_else(|| unknown(&device))? * SECTOR_BYTES;
        let whole = entry.parent().ok_or_else(|| unknown(&device))?;
        Self::of_whole(sysfs, whole, start, bytes)
    }

    fn of_whole(sysfs: &Path, whole: &Path, base: u64, bytes: u64) -> Result<Self, Why> {
        let name = whole.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let generic = generic_name(name).ok_or_else(|| not_nvme(name))?;
        if !sysfs.join("class/nvme-generic").join(&generic).exists() {
            return Err(Why {
                reason: format!("there is no character device {generic} for {name}"),
                fix: "use Linux 5.13 or newer, which makes one for each namespace".to_owned(),
            });
        }
        let segments_at_most = number(&whole.join("queue/max_segments")).unwrap_or(FEWEST_SEGMENTS);
        Ok(Self { namespace: namespace(whole, name)?, generic, base, bytes, segments_at_most })
    }

    /// The character device's node.
    pub fn path(&self) -> PathBuf {
        Path::new("/dev").join(&self.generic)
    }
}

fn namespace(whole: &Path, name: &str) -> Result<Namespace, Why> {
    if number(&whole.join("metadata_bytes")).is_some_and(|bytes| bytes > 0) {
        return Err(Why {
            reason: format!("{name} is formatted with metadata behind each block"),
            fix: "format the namespace without metadata, or use another path".to_owned(),
        });
    }
    let block = number(&whole.join("queue/logical_block_size")).filter(|block| block.is_power_of_two());
    let id = number(&whole.join("nsid")).and_then(|id| u32::try_from(id).ok());
    match (id, block) {
        (Some(id), Some(block)) => Ok(Namespace { id, block_shift: block.trailing_zeros() }),
        _ => Err(Why {
            reason: format!("sysfs says neither namespace id nor block size of {name}"),
            fix: "look whether /sys is mounted in this container".to_owned(),
        }),
    }
}

/// `nvme0n1` has `ng0n1`; anything else has none.
fn generic_name(block: &str) -> Option<String> {
    let rest = block.strip_prefix("nvme")?;
    let (controller, namespace) = rest.split_once('n')?;
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (digits(controller) && digits(namespace)).then(|| format!("ng{rest}"))
}

fn number(file: &Path) -> Option<u64> {
    fs::read_to_string(file).ok()?.trim().parse().ok()
}

fn unknown(device: &Path) -> Why {
    Why {
        reason: format!("{} is no block device that sysfs knows", device.display()),
        fix: "name an NVMe namespace such as /dev/nvme0n1".to_owned(),
    }
}

fn not_nvme(name: &str) -> Why {
    Why {
        reason: format!("{name} is not an NVMe namespace"),
        fix: "name an NVMe namespace such as /dev/nvme0n1, or use another path".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A sysfs of one controller with one namespace and one partition.
    fn sysfs() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        let whole = root.path().join("devices/pci0/nvme/nvme0/nvme0n1");
        write(&whole, "size", "2000");
        write(&whole, "nsid", "7");
        write(&whole, "queue/logical_block_size", "4096");
        let part = whole.join("nvme0n1p2");
        write(&part, "partition", "2");
        write(&part, "start", "800");
        write(&part, "size", "1000");
        let block = root.path().join("class/block");
        fs::create_dir_all(&block).unwrap();
        symlink(&whole, block.join("nvme0n1")).unwrap();
        symlink(&part, block.join("nvme0n1p2")).unwrap();
        write(&root.path().join("devices/virtual/sda"), "size", "10");
        symlink(root.path().join("devices/virtual/sda"), block.join("sda")).unwrap();
        fs::create_dir_all(root.path().join("class/nvme-generic/ng0n1")).unwrap();
        root
    }

    fn write(folder: &Path, name: &str, text: &str) {
        let file = folder.join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, format!("{text}\n")).unwrap();
    }

    #[test]
    fn a_namespace_has_its_character_device() {
        let root = sysfs();
        let node = DeviceNode::find(root.path(), Path::new("/dev/nvme0n1")).unwrap();
        assert_eq!((node.base, node.bytes), (0, 2000 * 512));
        assert_eq!(node.namespace, Namespace { id: 7, block_shift: 12 });
        assert_eq!(node.path(), Path::new("/dev/ng0n1"));
    }

    #[test]
    fn a_partition_starts_inside_its_namespace() {
        let root = sysfs();
        let node = DeviceNode::find(root.path(), Path::new("/dev/nvme0n1p2")).unwrap();
        assert_eq!((node.generic.as_str(), node.base, node.bytes), ("ng0n1", 800 * 512, 1000 * 512));
    }

    #[test]
    fn other_devices_are_refused_by_name() {
        let root = sysfs();
        assert!(
            DeviceNode::find(root.path(), Path::new("/dev/sda")).unwrap_err().reason.contains("not an NVMe namespace")
        );
        assert!(
            DeviceNode::find(root.path(), Path::new("/dev/nothing")).unwrap_err().reason.contains("no block device")
        );
    }

    #[test]
    fn a_namespace_with_metadata_or_without_a_character_device_is_refused() {
        let root = sysfs();
        let whole = root.path().join("class/block/nvme0n1");
        write(&whole, "metadata_bytes", "8");
        assert!(DeviceNode::find(root.path(), Path::new("/dev/nvme0n1")).unwrap_err().reason.contains("metadata"));
        write(&whole, "metadata_bytes", "0");
        fs::remove_dir(root.path().join("class/nvme-generic/ng0n1")).unwrap();
        assert!(
            DeviceNode::find(root.path(), Path::new("/dev/nvme0n1")).unwrap_err().reason.contains("character device")
        );
    }

    #[test]
    fn names_of_multipath_parts_and_controllers_are_no_namespaces() {
        assert_eq!(generic_name("nvme12n3").as_deref(), Some("ng12n3"));
        assert_eq!(generic_name("nvme0c0n1"), None);
        assert_eq!(generic_name("nvme0"), None);
        assert_eq!(generic_name("nvme0n1p1"), None);
    }
}
