//! The mount table.

use std::{
    io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use super::{DeviceNumber, System};

/// A line of `/proc/self/mountinfo`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Its number.
    pub id: u64,
    /// Number of its device; the major is 0 where no one device stands behind it.
    pub device: DeviceNumber,
    /// What part of the file system is mounted (not `/` for a bind mount of a folder, or a subvolume).
    pub root: PathBuf,
    /// Where.
    pub point: PathBuf,
    /// Options of the mount and of the file system.
    pub options: String,
    /// Type (`ext4`).
    pub kind: String,
    /// Source, as it was given.
    pub source: String,
}

impl Mount {
    /// Reads a line; none where it is not one.
    pub fn parse(line: &str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let mut fields = before.split(' ');
        let id = fields.next()?.parse().ok()?;
        let device = DeviceNumber::parse(fields.nth(1)?)?;
        let root = unescape(fields.next()?).into();
        let point = unescape(fields.next()?).into();
        let own = fields.next()?;
        let mut fields = after.split(' ');
        let kind = fields.next()?.to_owned();
        let source = unescape(fields.next()?);
        let options = join_options(own, fields.next().unwrap_or_default());
        Some(Self { id, device, root, point, options, kind, source })
    }

    /// The folder that takes an overlay's writes.
    pub(super) fn overlay_upper(&self) -> Option<PathBuf> {
        if self.kind != "overlay" {
            return None;
        }
        let option = self.options.split(',').find_map(|option| option.strip_prefix("upperdir="))?;
        Some(unescape(option).into())
    }
}

fn join_options(own: &str, of_file_system: &str) -> String {
    let rest = of_file_system.split(',').filter(|option| !own.split(',').any(|known| known == *option));
    own.split(',').chain(rest).filter(|option| !option.is_empty()).collect::<Vec<_>>().join(",")
}

/// Undoes the kernel's octal escapes of blanks, tabs, newlines and backslashes.
pub(crate) fn unescape(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, tail)) = rest.split_first() {
        let octal = tail.get(..3).filter(|digits| first == b'\\' && digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        if let Some(digits) = octal {
            bytes.push(digits.iter().fold(0u8, |value, digit| (value << 3) | (digit - b'0')));
            rest = &tail[3..];
        } else {
            bytes.push(first);
            rest = tail;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// All mounts that this process sees, in the order in which they were made.
///
/// # Errors
/// Where the mount table cannot be read.
pub fn mounts(system: &System) -> io::Result<Vec<Mount>> {
    let table = std::fs::read(system.proc.join("self/mountinfo"))?;
    Ok(String::from_utf8_lossy(&table).lines().filter_map(Mount::parse).collect())
}

/// The mount that a canonical path lies on.
pub(super) fn mount_of(system: &System, path: &Path) -> io::Result<Option<Mount>> {
    let all = mounts(system)?;
    if let Some(id) = mount_id(path) {
        if let Some(mount) = all.iter().find(|mount| mount.id == id) {
            return Ok(Some(mount.clone()));
        }
    }
    Ok(deepest(&all, path, DeviceNumber(path.metadata()?.dev())).cloned())
}

/// The kernel's own answer; none before Linux 5.8.
fn mount_id(path: &Path) -> Option<u64> {
    use rustix::fs::{AtFlags, CWD, StatxFlags, statx};
    let facts = statx(CWD, path, AtFlags::empty(), StatxFlags::MNT_ID).ok()?;
    StatxFlags::from_bits_retain(facts.stx_mask).contains(StatxFlags::MNT_ID).then_some(facts.stx_mnt_id)
}

/// The deepest mount point above a path, the last one made where several lie on each other; one whose device is the
/// path's own goes first.
fn deepest<'a>(all: &'a [Mount], path: &Path, device: DeviceNumber) -> Option<&'a Mount> {
    let above = || all.iter().enumerate().filter(|(_, mount)| path.starts_with(&mount.point));
    let depth = |(order, mount): &(usize, &Mount)| (mount.point.components().count(), *order);
    let same = above().filter(|(_, mount)| mount.device == device).max_by_key(depth);
    same.or_else(|| above().max_by_key(depth)).map(|(_, mount)| mount)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_with_escapes_and_optional_fields_is_read() {
        let line = r"36 35 98:0 /mnt1 /mnt\0402\134x rw,noatime master:1 propagate_from:2 - ext3 /dev/root\040x rw,errors=continue";
        let mount = Mount::parse(line).unwrap();
        assert_eq!(mount.id, 36);
        assert_eq!((mount.device.major(), mount.device.minor()), (98, 0));
        assert_eq!(mount.root, Path::new("/mnt1"));
        assert_eq!(mount.point, Path::new(r"/mnt 2\x"));
        assert_eq!(mount.kind, "ext3");
        assert_eq!(mount.source, "/dev/root x");
        assert_eq!(mount.options, "rw,noatime,errors=continue");
    }

    #[test]
    fn a_broken_line_is_no_mount() {
        for line in ["", "36 35 98:0 /", "x y z - ext4 a b", "36 35 98 / / rw - ext4 a rw"] {
            assert_eq!(Mount::parse(line), None, "{line}");
        }
    }

    #[test]
    fn the_deepest_and_last_mount_wins() {
        let lines = [
            "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
            "2 1 8:2 / /data rw - xfs /dev/sda2 rw",
            "3 1 8:3 / /data rw - xfs /dev/sda3 rw",
            "4 1 0:50 /sub /database rw - btrfs /dev/sdb rw",
        ];
        let all: Vec<_> = lines.iter().filter_map(|line| Mount::parse(line)).collect();
        let id = |path: &str, device: &str| {
            deepest(&all, Path::new(path), DeviceNumber::parse(device).unwrap()).map(|mount| mount.id)
        };
        assert_eq!(id("/data/x", "8:3"), Some(3));
        assert_eq!(id("/data/x", "8:2"), Some(2), "the device decides between mounts on one point");
        assert_eq!(id("/database/x", "0:61"), Some(4), "a subvolume has a number that no line has");
        assert_eq!(id("/home", "8:1"), Some(1), "/data is not above /database, nor above /home");
    }

    #[test]
    fn the_folder_that_takes_an_overlays_writes_is_found() {
        let line = r"5 1 0:60 / / rw - overlay overlay rw,lowerdir=/l1:/l2,upperdir=/var/up\040per,workdir=/w";
        assert_eq!(Mount::parse(line).unwrap().overlay_upper(), Some("/var/up per".into()));
    }
}
