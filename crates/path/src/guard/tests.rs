pub(super) mod support;

use std::os::unix::fs::{FileExt, symlink};

use rustix::fs::FileType;

use self::support::{Loop, Machine, image, node, refusal, told};
use super::*;

const NO_BLOCK_DEVICE: &str = "it is no block device";
const NO_DAX: &str = "it is no device-DAX node";
const UNKNOWN: &str = "the kernel does not show it in sysfs";

#[test]
fn a_character_device_is_asked_as_device_dax_and_all_else_as_a_block_device() {
    let file = image();
    for (path, reason) in [(Path::new("/dev/null"), NO_DAX), (file.path(), NO_BLOCK_DEVICE)] {
        assert_eq!(refusal(in_use(path)).0, reason);
        assert_eq!(refusal(serial(path)).0, reason);
    }
    let missing = in_use(Path::new("/nowhere/sda")).unwrap_err();
    assert!(matches!(missing, PathError::Io { action: "resolving", .. }), "{missing}");
}

#[test]
fn what_to_name_in_its_place_is_said_of_what_is_no_block_device() {
    let namespace = "name the namespace's block device, /dev/nvme0n1; its commands go through ng0n1";
    assert_eq!(block_device_of(Path::new("/dev/ng0n1")), namespace);
    assert_eq!(block_device_of(Path::new("/dev/dax0.0")), "give it the kind device-dax: it is a device-DAX node");
    assert_eq!(block_device_of(Path::new("/tmp/x")), "name a block device, or use a folder as target");
}

#[test]
fn a_node_is_traced_through_links_to_its_device_and_one_that_sysfs_does_not_show_is_refused() {
    let (machine, folder) = (Machine::of_three_disks(), tempfile::tempdir().unwrap());
    let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
    let made = node(&at("sdb"), FileType::BlockDevice, 8, 16) && node(&at("other"), FileType::BlockDevice, 8, 48);
    if !made {
        return;
    }
    symlink(at("sdb"), at("link")).unwrap();
    let found = Node::resolve(&machine.system(), &at("link")).unwrap();
    assert_eq!((found.path, found.block.name.as_str()), (at("sdb"), "sdb"));
    let (reason, fix) = refusal(Node::resolve(&machine.system(), &at("other")));
    assert_eq!((reason.as_str(), fix.as_str()), (UNKNOWN, "run where /sys shows the host's devices"));
}

#[test]
fn the_kernels_refusal_is_told_with_who_to_ask_or_what_to_permit() {
    let told_of = |code: i32| {
        let found = refused_by_kernel(Path::new("/dev/sdb"), &io::Error::from_raw_os_error(code));
        (found.reason, found.fix)
    };
    let fix = "find its user with lsblk /dev/sdb and fuser -v /dev/sdb, and end that use";
    assert_eq!(told_of(libc::EBUSY), ("the kernel says that it is in exclusive use".into(), fix.into()));
    let (reason, fix) = told_of(libc::EACCES);
    let begin = "it cannot be opened for exclusive use: Permission denied";
    assert!(reason.starts_with(begin), "{reason}");
    assert_eq!(fix, "make /dev/sdb writable for this user");
}

/// A made-up machine whose disk sdd has two partitions; files stand for their nodes, which have the number 0.
fn of_files() -> (Machine, Node) {
    let machine = Machine::new();
    machine.device("pci/sdd", "8:48");
    machine.partition("pci/sdd/sdd1", "0:0");
    machine.partition("pci/sdd/sdd2", "8:50");
    for name in ["sdd", "sdd1", "sdd2"] {
        let node = File::create(machine.system().dev.join(name)).unwrap();
        node.set_len(4 << 20).unwrap();
    }
    let block = Block::find(&machine.system(), DeviceNumber::new(8, 48)).unwrap();
    let node = Node { path: machine.system().dev.join("sdd"), block };
    (machine, node)
}

/// What this table sees, without what `blkid` may see.
fn by_table(found: &[InUse]) -> Vec<(&str, &str)> {
    told(found).into_iter().filter(|(reason, _)| !reason.ends_with("(blkid)")).collect()
}

#[test]
fn signatures_on_a_device_and_on_its_partitions_are_uses() {
    let (machine, node) = of_files();
    let system = machine.system();
    let write = |name: &str, at: u64, magic: &[u8]| {
        File::options().write(true).open(system.dev.join(name)).unwrap().write_all_at(magic, at).unwrap();
    };
    assert_eq!(on_media(&system, &node).unwrap(), []);
    write("sdd2", 4086, b"S1SUSPEND");
    assert_eq!(on_media(&system, &node).unwrap(), [], "a node of another number is none of its partitions");
    write("sdd1", 4086, b"S1SUSPEND");
    let at = system.dev.join("sdd1").display().to_string();
    let fix = format!("if nothing on it is needed: wipefs --all {at}; otherwise name another device");
    let found = on_media(&system, &node).unwrap();
    let reason = "its partition sdd1 carries a signature of a suspended system";
    assert_eq!(by_table(&found), [(reason, fix.as_str())]);
    write("sdd", 4086, b"S2SUSPEND");
    let found = on_media(&system, &node).unwrap();
    let reasons: Vec<_> = by_table(&found).into_iter().map(|(reason, _)| reason).collect();
    assert_eq!(reasons, ["it carries a signature of a suspended system", reason]);
}

#[test]
fn a_kind_that_is_seen_twice_is_told_once_and_all_in_order() {
    let image = image();
    for (at, magic) in [(16_374, b"SWAPSPACE2"), (8182, b"SWAPSPACE2"), (4086, b"LINHIB0001")] {
        image.as_file().write_all_at(magic, at).unwrap();
    }
    let found = signatures_at(image.path(), "it").unwrap();
    let reasons: Vec<_> = by_table(&found).into_iter().map(|(reason, _)| reason).collect();
    assert_eq!(reasons, ["it carries a signature of a suspended system", "it carries a signature of swap"]);
}

#[test]
fn a_device_is_free_until_something_is_on_it_or_holds_it() {
    let image = image();
    let Some(device) = Loop::over(image.path()) else { return };
    assert_eq!(in_use(&device.device).unwrap(), []);
    assert_eq!(serial(&device.device).unwrap(), device.backing.display().to_string());
    let hold = open_exclusive(&device.device).unwrap();
    let (held, at) = (in_use(&device.device).unwrap(), device.text());
    let fix = format!("find its user with lsblk {at} and fuser -v {at}, and end that use");
    assert_eq!(told(&held), [("the kernel says that it is in exclusive use", fix.as_str())]);
    drop(hold);
    let above = Loop::over(&device.device).unwrap();
    let found = in_use(&device.device).unwrap();
    assert_eq!(told(&found)[0].0, format!("the loop device {} is built on it", above.name()));
    drop(above);
    device.put(4086, b"ULSUSPEND");
    let found = in_use(&device.device).unwrap();
    assert_eq!(by_table(&found)[0].0, "it carries a signature of a suspended system");
}
