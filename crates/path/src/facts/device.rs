//! Block devices as sysfs shows them: partitions, holders, members, facts.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use assay_record::{Array, BlockDevice};

use super::{
    System,
    system::{names, text},
};

/// Number of a device, as `st_rdev` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceNumber(pub u64);

impl DeviceNumber {
    /// Made of its halves.
    pub fn new(major: u32, minor: u32) -> Self {
        Self(rustix::fs::makedev(major, minor))
    }

    /// Reads `8:1`.
    pub fn parse(text: &str) -> Option<Self> {
        let (major, minor) = text.trim().split_once(':')?;
        Some(Self::new(major.parse().ok()?, minor.parse().ok()?))
    }

    /// Major half.
    pub fn major(self) -> u32 {
        rustix::fs::major(self.0)
    }

    /// Minor half.
    pub fn minor(self) -> u32 {
        rustix::fs::minor(self.0)
    }
}

/// A block device or a partition.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Block {
    /// Kernel name.
    pub name: String,
    /// Number.
    pub number: DeviceNumber,
    /// Its folder in sysfs.
    folder: PathBuf,
}

impl Block {
    /// The device with this number.
    pub fn find(system: &System, number: DeviceNumber) -> Option<Self> {
        let link = system.sys.join(format!("dev/block/{}:{}", number.major(), number.minor()));
        Self::at(&link.canonicalize().ok()?)
    }

    /// The device with this kernel name.
    pub fn named(system: &System, name: &str) -> Option<Self> {
        Self::at(&system.sys.join("class/block").join(name).canonicalize().ok()?)
    }

    fn at(folder: &Path) -> Option<Self> {
        let number = DeviceNumber::parse(&text(&folder.join("dev")))?;
        Some(Self { name: folder.file_name()?.to_string_lossy().into_owned(), number, folder: folder.to_owned() })
    }

    /// All block devices of the machine, without partitions.
    pub fn all(system: &System) -> Vec<Self> {
        names(&system.sys.join("class/block"))
            .iter()
            .filter_map(|name| Self::named(system, name))
            .filter(|block| !block.is_partition())
            .collect()
    }

    /// It is a part of another.
    pub fn is_partition(&self) -> bool {
        self.folder.join("partition").exists()
    }

    /// The device that a partition is part of, else the device itself.
    pub fn whole(&self) -> Self {
        let parent = if self.is_partition() { self.folder.parent().and_then(Self::at) } else { None };
        parent.unwrap_or_else(|| self.clone())
    }

    /// Its partitions.
    pub fn partitions(&self) -> Vec<Self> {
        names(&self.folder)
            .iter()
            .map(|name| self.folder.join(name))
            .filter(|folder| folder.join("partition").exists())
            .filter_map(|folder| Self::at(&folder))
            .collect()
    }

    /// Devices made on top of it, as the kernel records them (dm, LVM, md, bcache).
    pub fn holders(&self) -> Vec<Self> {
        self.linked("holders")
    }

    /// Devices that it is made of, as the kernel records them.
    pub fn made_of(&self) -> Vec<Self> {
        self.linked("slaves")
    }

    fn linked(&self, what: &str) -> Vec<Self> {
        let folder = self.folder.join(what);
        names(&folder).iter().filter_map(|name| Self::at(&folder.join(name).canonicalize().ok()?)).collect()
    }

    /// Text of one of its files in sysfs, empty where there is none.
    pub fn attribute(&self, name: &str) -> String {
        text(&self.folder.join(name))
    }

    /// File or device behind a loop device.
    pub fn backing_file(&self) -> Option<String> {
        Some(self.attribute("loop/backing_file")).filter(|file| !file.is_empty())
    }

    /// The simple devices at the bottom: through partitions, dm, md and loop devices. Itself where it is simple.
    pub fn leaves(&self, system: &System) -> BTreeSet<Self> {
        let mut leaves = BTreeSet::new();
        self.collect_leaves(system, &mut leaves, 0);
        leaves
    }

    fn collect_leaves(&self, system: &System, into: &mut BTreeSet<Self>, depth: u32) {
        let whole = self.whole();
        let beneath = whole.beneath(system);
        if beneath.is_empty() || depth > 16 {
            into.insert(whole);
            return;
        }
        for member in beneath {
            member.collect_leaves(system, into, depth + 1);
        }
    }

    /// What it directly lies on: members of dm and md, or the device that a loop device's file lies on.
    pub(crate) fn beneath(&self, system: &System) -> Vec<Self> {
        let made_of = self.made_of();
        if !made_of.is_empty() {
            return made_of;
        }
        let backing = self.backing_file().and_then(|file| super::device_number(system, Path::new(&file)));
        backing.and_then(|number| Self::find(system, number)).into_iter().collect()
    }

    /// Serial number, else another lasting identity; empty where the kernel knows none.
    ///
    /// A loop device's is the path of its backing file. A partition has that of its whole device.
    pub fn serial(&self, system: &System) -> String {
        let whole = self.whole();
        if let Some(file) = whole.backing_file() {
            return file;
        }
        let places = ["device/serial", "serial", "dm/uuid", "md/uuid", "device/uuid", "wwid", "device/wwid"];
        let mut known = places.iter().map(|place| whole.attribute(place)).filter(|text| !text.is_empty());
        let serial = whole.scsi_serial().or_else(|| whole.udev_serial(system)).or_else(|| known.next());
        serial.unwrap_or_default()
    }

    /// What the user types to confirm a device: its serial number, or its size (`1073741824-bytes`) where it has none.
    pub fn identity(&self, system: &System) -> String {
        let serial = self.serial(system);
        if serial.is_empty() { format!("{}-bytes", self.whole().bytes()) } else { serial }
    }

    /// The unit serial number page of a SCSI or SATA device.
    fn scsi_serial(&self) -> Option<String> {
        let page = std::fs::read(self.folder.join("device/vpd_pg80")).ok()?;
        let serial = String::from_utf8_lossy(page.get(4..)?).trim_matches(['\0', ' ']).to_owned();
        (!serial.is_empty()).then_some(serial)
    }

    fn udev_serial(&self, system: &System) -> Option<String> {
        let file = format!("udev/data/b{}:{}", self.number.major(), self.number.minor());
        let data = std::fs::read_to_string(system.run.join(file)).ok()?;
        let find = |key: &str| data.lines().find_map(|line| line.strip_prefix(key)).map(str::to_owned);
        find("E:ID_SERIAL_SHORT=").or_else(|| find("E:ID_SERIAL="))
    }

    /// Size, bytes.
    pub fn bytes(&self) -> u64 {
        self.number_at("size") * 512
    }

    fn number_at(&self, name: &str) -> u64 {
        self.attribute(name).parse().unwrap_or(0)
    }

    /// All that a record keeps about it.
    pub fn facts(&self, system: &System) -> BlockDevice {
        BlockDevice {
            name: self.name.clone(),
            model: self.first_of(&["device/model", "device/name", "dm/name"]),
            serial: self.serial(system),
            firmware: self.first_of(&["device/firmware_rev", "device/rev", "device/fwrev"]),
            bytes: self.bytes(),
            logical_block_bytes: self.number_at("queue/logical_block_size"),
            physical_block_bytes: self.number_at("queue/physical_block_size"),
            scheduler: chosen(&self.attribute("queue/scheduler")),
            write_cache: self.attribute("queue/write_cache"),
            rotational: self.number_at("queue/rotational") == 1,
            numa_node: self.numa_node(),
            io_poll: self.has_poll_queues(),
            dax: self.number_at("queue/dax") == 1,
            link: self.link(),
            nr_requests: u32::try_from(self.number_at("queue/nr_requests")).unwrap_or(u32::MAX),
            max_sectors_kb: u32::try_from(self.number_at("queue/max_sectors_kb")).unwrap_or(u32::MAX),
            members: self.leaves(system).into_iter().map(|leaf| leaf.name).collect(),
            array: self.array(),
        }
    }

    /// What md says of an array.
    fn array(&self) -> Option<Array> {
        let level = Some(self.attribute("md/level")).filter(|level| !level.is_empty())?;
        let count = |name| u32::try_from(self.number_at(name)).unwrap_or(u32::MAX);
        Some(Array {
            level,
            chunk_bytes: self.number_at("md/chunk_size"),
            devices: count("md/raid_disks"),
            missing: count("md/degraded"),
            sync: self.attribute("md/sync_action"),
        })
    }

    fn first_of(&self, places: &[&str]) -> String {
        places.iter().map(|place| self.attribute(place)).find(|text| !text.is_empty()).unwrap_or_default()
    }

    /// The kernel shows 1 where the driver has set up queues that are polled.
    pub(crate) fn has_poll_queues(&self) -> bool {
        self.number_at("queue/io_poll") == 1
    }

    fn numa_node(&self) -> i32 {
        let node = self.first_of(&["device/numa_node", "device/device/numa_node"]);
        node.parse().unwrap_or(-1)
    }

    /// PCIe link of the device or of its controller.
    fn link(&self) -> String {
        for place in ["device", "device/device"] {
            let speed = self.attribute(&format!("{place}/current_link_speed"));
            let width = self.attribute(&format!("{place}/current_link_width"));
            if !speed.is_empty() && !width.is_empty() {
                return format!("{speed} x{width}");
            }
        }
        String::new()
    }
}

/// `[mq-deadline] kyber none` says which one is in use.
fn chosen(schedulers: &str) -> String {
    let inside = schedulers.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
    inside.map_or(schedulers, |(name, _)| name).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scheduler_in_use_stands_in_brackets() {
        assert_eq!(chosen("[none] mq-deadline"), "none");
        assert_eq!(chosen("mq-deadline [kyber] none"), "kyber");
        assert_eq!(chosen("none"), "none");
    }

    #[test]
    fn a_device_number_is_read_and_taken_apart() {
        let number = DeviceNumber::parse("259:65537\n").unwrap();
        assert_eq!((number.major(), number.minor()), (259, 65537));
        assert_eq!(DeviceNumber::parse("8"), None);
    }
}
