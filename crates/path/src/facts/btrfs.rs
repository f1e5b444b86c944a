//! Members of a btrfs: its mount names only one of them.

use super::{Block, System, names};

/// Kernel names of the simple devices beneath the mounted btrfs that a whole device belongs to; none where it belongs to
/// no btrfs.
pub fn btrfs_members(system: &System, whole: &Block) -> Option<Vec<String>> {
    let root = system.sys.join("fs/btrfs");
    let all = names(&root).into_iter().map(|id| devices(system, &id));
    let mine = all.into_iter().find(|devices| devices.iter().any(|device| device.whole() == *whole))?;
    let mut names: Vec<_> = mine.iter().flat_map(|device| device.leaves(system)).map(|leaf| leaf.name).collect();
    names.sort_unstable();
    names.dedup();
    Some(names)
}

/// Devices of the btrfs with this id.
pub(crate) fn devices(system: &System, id: &str) -> Vec<Block> {
    let folder = system.sys.join("fs/btrfs").join(id).join("devices");
    names(&folder).iter().filter_map(|name| Block::named(system, name)).collect()
}
