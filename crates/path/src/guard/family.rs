//! All devices whose use is a use of one device: its partitions, what is built on top of them, and what it is part of.

use std::{
    collections::BTreeMap,
    fs::File,
    os::{
        fd::AsRawFd,
        unix::fs::{FileTypeExt, MetadataExt},
    },
    path::Path,
};

use crate::facts::{Block, DeviceNumber, System};

/// How a relative is called in a sentence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// The device itself.
    Itself,
    /// A partition of it.
    Partition,
    /// The device that it is a partition of.
    Whole,
    /// Built on top.
    Above,
}

/// A device and its relatives.
#[derive(Debug)]
pub(super) struct Family {
    pub(super) members: BTreeMap<DeviceNumber, (Block, Relation)>,
}

impl Family {
    pub(super) fn of(system: &System, block: &Block) -> Self {
        let mut family = Self { members: BTreeMap::new() };
        family.add(block.clone(), Relation::Itself);
        for part in block.partitions() {
            family.add(part, Relation::Partition);
        }
        family.add(block.whole(), Relation::Whole);
        let loops = loops(system);
        while family.add_layer(&loops) {}
        family
    }

    fn add(&mut self, block: Block, relation: Relation) -> bool {
        let fresh = !self.members.contains_key(&block.number);
        self.members.entry(block.number).or_insert((block, relation));
        fresh
    }

    /// What is built on the whole device reaches into each partition of it; what is built on a sister does not.
    fn add_layer(&mut self, loops: &[(Block, DeviceNumber)]) -> bool {
        let mut above = Vec::new();
        for (block, relation) in self.members.values() {
            above.extend(block.holders());
            above.extend(loops.iter().filter(|(_, on)| *on == block.number).map(|(above, _)| above.clone()));
            if *relation == Relation::Above {
                above.extend(block.partitions());
            }
        }
        above.into_iter().filter(|block| self.add(block.clone(), Relation::Above)).count() != 0
    }

    /// The member with this number, in words.
    pub(super) fn words(&self, number: DeviceNumber) -> Option<String> {
        let (block, relation) = self.members.get(&number)?;
        Some(match relation {
            Relation::Itself => "it".to_owned(),
            Relation::Partition => format!("its partition {}", block.name),
            Relation::Whole => format!("{}, of which it is a partition,", block.name),
            Relation::Above => format!("{}, which is built on it,", name_above(block)),
        })
    }

    /// What is built on it.
    pub(super) fn above(&self) -> impl Iterator<Item = &Block> {
        self.members.values().filter(|(_, relation)| *relation == Relation::Above).map(|(block, _)| block)
    }
}

/// `dm-0` alone tells nobody much.
pub(super) fn name_above(block: &Block) -> String {
    let mapped = block.attribute("dm/name");
    if mapped.is_empty() { block.name.clone() } else { format!("{} ({mapped})", block.name) }
}

/// Loop devices on block devices; the kernel does not list them as holders, nor does it hold their device exclusively.
fn loops(system: &System) -> Vec<(Block, DeviceNumber)> {
    let all = Block::all(system).into_iter();
    all.filter_map(|block| beneath_loop(system, &block).map(|number| (block, number))).collect()
}

fn beneath_loop(system: &System, block: &Block) -> Option<DeviceNumber> {
    let file = block.backing_file()?;
    asked_of_loop(&system.dev.join(&block.name), block.number).or_else(|| {
        let facts = Path::new(&file).metadata().ok()?;
        facts.file_type().is_block_device().then(|| DeviceNumber(facts.rdev()))
    })
}

/// `struct loop_info64`, as far as it is needed here; the rest is names and sizes.
#[repr(C)]
struct LoopInfo {
    device: u64,
    inode: u64,
    block_device: u64,
    rest: [u64; 26],
}

/// Asks the loop driver what is beneath: the name in sysfs may belong to another mount namespace.
fn asked_of_loop(node: &Path, number: DeviceNumber) -> Option<DeviceNumber> {
    const LOOP_GET_STATUS64: libc::c_ulong = 0x4C05;
    if node.metadata().ok()?.rdev() != number.0 {
        return None;
    }
    let file = File::open(node).ok()?;
    let mut info = LoopInfo { device: 0, inode: 0, block_device: 0, rest: [0; 26] };
    // SAFETY: the kernel fills a `loop_info64` (232 bytes), which is what `info` has room for.
    let answer = unsafe { libc::ioctl(file.as_raw_fd(), LOOP_GET_STATUS64 as _, &raw mut info) };
    (answer == 0).then(|| decoded(info.block_device))?
}

/// A device number as the loop driver tells it (`huge_encode_dev`): minor, major, minor. 0 stands for none: it is on a file.
fn decoded(told: u64) -> Option<DeviceNumber> {
    let major = (told >> 8) & 0xfff;
    let minor = (told & 0xff) | ((told >> 12) & 0xffff_ff00);
    (told != 0).then(|| DeviceNumber::new(major as u32, minor as u32))
}

const _: () = assert!(size_of::<LoopInfo>() == 232);

#[cfg(test)]
mod tests {
    use super::{
        super::tests::support::{Loop, image},
        *,
    };

    /// Eight bits of the minor number, twelve of the major, and the rest of the minor one.
    #[test]
    fn the_number_beneath_a_loop_device_is_put_together_of_its_three_parts() {
        assert_eq!(decoded(0), None);
        assert_eq!(decoded(0x0000_0815), Some(DeviceNumber::new(8, 0x15)));
        assert_eq!(decoded(0x0123_4567), Some(DeviceNumber::new(0x345, 0x1267)));
        assert_eq!(decoded(0x0abc_de01_0312), Some(DeviceNumber::new(0x103, 0xabcd_e012)));
    }

    #[test]
    fn the_driver_says_what_a_loop_device_lies_on() {
        let image = image();
        let Some(below) = Loop::over(image.path()) else { return };
        let Some(above) = Loop::over(&below.device) else { return };
        let number = |one: &Loop| DeviceNumber(one.device.metadata().unwrap().rdev());
        assert_eq!(asked_of_loop(&above.device, number(&above)), Some(number(&below)));
        assert_eq!(asked_of_loop(&above.device, number(&below)), None, "a node of another device");
        assert_eq!(asked_of_loop(&below.device, number(&below)), None, "it lies on a file");
        let null = Path::new("/dev/null");
        assert_eq!(asked_of_loop(null, DeviceNumber(null.metadata().unwrap().rdev())), None, "it is no loop device");
    }
}
