//! What the kernel says about the use of a device.

use std::{
    collections::BTreeSet,
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::Path,
};

use super::{
    InUse,
    family::{Family, name_above},
    swap::swaps,
};
use crate::facts::{Block, DeviceNumber, Mount, System, device_number, mounts};

/// Every use of a block device that the kernel records: mounts, swap, partitions, whatever is built on it, and whether
/// the system itself lies on it.
///
/// # Errors
/// Where the kernel's tables cannot be read.
pub fn uses(system: &System, block: &Block) -> io::Result<Vec<InUse>> {
    let family = Family::of(system, block);
    let table = mounts(system)?;
    let mut found = mounted(&family, &table);
    found.extend(in_btrfs(system, &family));
    found.extend(swapped_to(system, &family)?);
    found.extend(partitioned(block));
    found.extend(built_on(&family));
    found.extend(of_the_system(system, block, &table));
    Ok(found)
}

fn mounted(family: &Family, table: &[Mount]) -> Vec<InUse> {
    let describe = |mount: &Mount| {
        let words = family.words(device_of(mount)?)?;
        let point = mount.point.display();
        Some(InUse::new(format!("{words} is mounted at {point}"), format!("umount {point}, if nobody needs it")))
    };
    table.iter().filter_map(describe).collect()
}

/// Number of the mounted device; by its source where the file system has a number of its own (btrfs).
fn device_of(mount: &Mount) -> Option<DeviceNumber> {
    if mount.device.major() != 0 {
        return Some(mount.device);
    }
    let facts = Path::new(&mount.source).metadata().ok()?;
    facts.file_type().is_block_device().then(|| DeviceNumber(facts.rdev()))
}

/// A btrfs of several devices names only one of them in the mount table.
fn in_btrfs(system: &System, family: &Family) -> Vec<InUse> {
    let root = system.sys.join("fs/btrfs");
    let mut found = Vec::new();
    for id in crate::facts::names(&root) {
        for device in crate::facts::btrfs_devices(system, &id) {
            let fix = "umount that file system, if nobody needs it";
            let words = family.words(device.number);
            found.extend(words.map(|words| InUse::new(format!("{words} belongs to the mounted btrfs {id}"), fix)));
        }
    }
    found
}

fn swapped_to(system: &System, family: &Family) -> io::Result<Vec<InUse>> {
    let mut found = Vec::new();
    for swap in swaps(system)? {
        let Some(words) = swap.device(system).and_then(|number| family.words(number)) else { continue };
        let path = swap.path.display();
        let how =
            if swap.file { format!("{words} holds the swap file {path}") } else { format!("{words} is swapped to") };
        found.push(InUse::new(how, format!("swapoff {path}, if the machine can do without it")));
    }
    Ok(found)
}

fn partitioned(block: &Block) -> Option<InUse> {
    let names: Vec<_> = block.partitions().into_iter().map(|part| part.name).collect();
    if names.is_empty() {
        return None;
    }
    let fix = "name one of them that is free, or remove the partition table if nothing on it is needed";
    Some(InUse::new(format!("it has partitions: {}", names.join(", ")), fix))
}

fn built_on(family: &Family) -> Vec<InUse> {
    family.above().map(|above| InUse::new(format!("{} is built on it", what_above(above)), how_to_end(above))).collect()
}

fn what_above(block: &Block) -> String {
    let uuid = block.attribute("dm/uuid");
    let kind = match uuid.split('-').next() {
        Some("LVM") => "the LVM volume",
        Some("CRYPT") => "the encrypted device",
        Some("mpath") => "the multipath device",
        _ if block.name.starts_with("md") => "the md array",
        _ if block.name.starts_with("bcache") => "the cache device",
        _ if block.backing_file().is_some() => "the loop device",
        _ => "the device",
    };
    format!("{kind} {}", name_above(block))
}

fn how_to_end(block: &Block) -> String {
    let (name, mapped) = (&block.name, block.attribute("dm/name"));
    let uuid = block.attribute("dm/uuid");
    match uuid.split('-').next() {
        Some("LVM") => format!("lvchange --activate n /dev/mapper/{mapped}, if nobody needs it"),
        Some("CRYPT") => format!("cryptsetup close {mapped}, if nobody needs it"),
        _ if !mapped.is_empty() => format!("dmsetup remove {mapped}, if nobody needs it"),
        _ if name.starts_with("md") => format!("mdadm --stop /dev/{name}, if nobody needs it"),
        _ if block.backing_file().is_some() => format!("losetup --detach /dev/{name}, if nobody needs it"),
        _ => format!("end the use of /dev/{name}, if nobody needs it"),
    }
}

/// The disk that the system runs from is never written to, not even a free partition of it.
fn of_the_system(system: &System, block: &Block, table: &[Mount]) -> Option<InUse> {
    let mut chain = BTreeSet::new();
    for point in ["/", "/usr", "/boot", "/boot/efi", "/var", "/home"] {
        let mount = table.iter().rev().find(|mount| mount.point == Path::new(point));
        let root = mount.and_then(|mount| device_of(mount).or_else(|| device_number(system, &mount.point)));
        if let Some(block) = root.and_then(|number| Block::find(system, number)) {
            add_chain(system, &block, &mut chain);
        }
    }
    let on_system = chain.contains(&block.number) || chain.contains(&block.whole().number);
    let fix = "name a device that the system does not run from";
    on_system.then(|| InUse::new("the system runs from this disk", fix))
}

fn add_chain(system: &System, block: &Block, into: &mut BTreeSet<DeviceNumber>) {
    let mut waiting = vec![block.clone()];
    while let Some(block) = waiting.pop() {
        if into.insert(block.number) {
            waiting.push(block.whole());
            waiting.extend(block.beneath(system));
        }
    }
}

#[cfg(test)]
mod tests;
