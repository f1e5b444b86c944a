//! What the machine swaps to.

use std::{
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

use crate::facts::{Block, DeviceNumber, System, device_number, unescape};

/// An entry of `/proc/swaps`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Swap {
    pub(super) path: PathBuf,
    /// It is a file on a file system.
    pub(super) file: bool,
}

impl Swap {
    fn parse(line: &str) -> Option<Self> {
        let mut words = line.split_ascii_whitespace();
        let path = unescape(words.next()?).into();
        let file = words.find(|word| ["file", "partition"].contains(word))? == "file";
        Some(Self { path, file })
    }

    /// The device that is swapped to, or that holds the swap file.
    pub(super) fn device(&self, system: &System) -> Option<DeviceNumber> {
        let by_node = self.path.metadata().ok().and_then(|facts| {
            if facts.file_type().is_block_device() {
                return Some(DeviceNumber(facts.rdev()));
            }
            if self.file { device_number(system, &self.path) } else { None }
        });
        by_node.or_else(|| self.by_name(system))
    }

    /// A node that is not there (a container, a fake tree): the name that the kernel gave it is what is left.
    fn by_name(&self, system: &System) -> Option<DeviceNumber> {
        let name = self.path.file_name()?.to_string_lossy().into_owned();
        let known = Block::named(system, &name).or_else(|| mapped(system, &name))?;
        (!self.file).then_some(known.number)
    }
}

fn mapped(system: &System, name: &str) -> Option<Block> {
    Block::all(system).into_iter().find(|block| block.attribute("dm/name") == name)
}

/// Everything that is swapped to.
pub(super) fn swaps(system: &System) -> io::Result<Vec<Swap>> {
    match std::fs::read_to_string(system.proc.join("swaps")) {
        Ok(table) => Ok(table.lines().skip(1).filter_map(Swap::parse).collect()),
        // A kernel without swap has no such file.
        Err(error) if error.kind() == io::ErrorKind::NotFound && Path::new(&system.proc).exists() => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_blanks_and_deleted_files_are_read() {
        let partition = Swap::parse("/dev/dm-1                               partition\t65532\t\t0\t\t-2").unwrap();
        assert_eq!(partition, Swap { path: "/dev/dm-1".into(), file: false });
        let file = Swap::parse(r"/var/swap\040file file 1024 0 -3").unwrap();
        assert_eq!(file, Swap { path: "/var/swap file".into(), file: true });
        let deleted = Swap::parse(r"/var/swap\040(deleted) file 1024 0 -3").unwrap();
        assert!(deleted.file);
    }
}
