//! What a block device says of its volatile cache, and whether its flushes can be counted.

use std::fs;

use super::roots::Roots;

/// The write cache of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteCache {
    /// The kernel sends flushes (`queue/write_cache` is `write back`); none where it does not say.
    pub flushed: Option<bool>,
    /// The device itself says that it has a volatile cache; none where it does not say.
    pub volatile: Option<bool>,
    /// The kernel counts its flush requests: it has request queues (`mq`), which devices made of others have not.
    pub counted: bool,
    /// Writes can carry their durability themselves (FUA), which no counter shows.
    pub writes_through: bool,
}

impl WriteCache {
    /// Of a device by its kernel name; everything is unknown where there is no such device.
    pub fn of(device: &str, roots: &Roots) -> Self {
        if device.is_empty() || device.contains('/') || device.starts_with('.') {
            return Self::default();
        }
        let folder = roots.sys.join("block").join(device);
        let text = |name: &str| fs::read_to_string(folder.join(name)).ok().map(|text| text.trim().to_owned());
        Self {
            flushed: text("queue/write_cache").map(|mode| mode == "write back"),
            // A loop device flushes its file; virtio and SCSI disks tell what the host or the drive said.
            volatile: if folder.join("loop").is_dir() {
                Some(true)
            } else {
                text("cache_type").or_else(|| scsi(&folder)).map(|kind| kind.starts_with("write back"))
            },
            counted: folder.join("mq").is_dir(),
            writes_through: text("queue/fua").is_some_and(|fua| fua == "1"),
        }
    }

    /// The device has a volatile cache and the kernel was told to send it no flushes.
    pub fn declared_away(&self) -> bool {
        self.flushed == Some(false) && self.volatile == Some(true)
    }
}

/// What a SCSI disk says of its cache.
fn scsi(folder: &std::path::Path) -> Option<String> {
    let disks = fs::read_dir(folder.join("device/scsi_disk")).ok()?;
    disks.flatten().find_map(|disk| fs::read_to_string(disk.path().join("cache_type")).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(files: &[(&str, &str)]) -> WriteCache {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for (name, text) in files {
            let path = folder.path().join("block/sda").join(name);
            fs::create_dir_all(path.parent().expect("a parent")).expect("made");
            fs::write(path, text).expect("written");
        }
        WriteCache::of("sda", &Roots { sys: folder.path().to_owned(), ..Roots::default() })
    }

    #[test]
    fn a_cache_that_was_declared_away_is_known_by_what_the_device_says() {
        let disk = device(&[("queue/write_cache", "write back\n"), ("mq/0/cpu_list", "0"), ("queue/fua", "0\n")]);
        assert_eq!(disk, WriteCache { flushed: Some(true), volatile: None, counted: true, writes_through: false });
        let virtio = device(&[("queue/write_cache", "write through\n"), ("cache_type", "write back\n")]);
        assert!(virtio.declared_away());
        let scsi = [("queue/write_cache", "write through\n"), ("device/scsi_disk/0:0:0:0/cache_type", "write back\n")];
        assert!(device(&scsi).declared_away());
        let looped = device(&[("queue/write_cache", "write through\n"), ("loop/dio", "1\n")]);
        assert!(looped.declared_away());
    }

    #[test]
    fn a_drive_without_a_volatile_cache_and_one_that_says_nothing_are_no_liars() {
        let protected = device(&[("queue/write_cache", "write through\n"), ("cache_type", "write through\n")]);
        assert!(!protected.declared_away());
        assert!(!device(&[("queue/write_cache", "write through\n")]).declared_away());
        assert_eq!(WriteCache::of("../sda", &Roots::default()), WriteCache::default());
    }
}
