use std::{fs, io::ErrorKind};

use rustix::fs::FileType;

use super::{
    super::tests::support::{Machine, node, told},
    *,
};

const SYSTEM: &str = "the system runs from this disk";

fn found(machine: &Machine, number: &str) -> Vec<InUse> {
    let system = machine.system();
    uses(&system, &Block::find(&system, DeviceNumber::parse(number).unwrap()).unwrap()).unwrap()
}

fn reasons(machine: &Machine, number: &str) -> Vec<String> {
    found(machine, number).into_iter().map(|one| one.reason).collect()
}

/// Reasons other than that it has partitions.
fn of_others(machine: &Machine, number: &str) -> Vec<String> {
    let mut found = reasons(machine, number);
    found.retain(|reason| !reason.starts_with("it has partitions"));
    found
}

fn mounted_at(machine: &Machine, mounts: &[(&str, &str, &str)]) {
    let line = |(number, (device, point, source)): (usize, &(&str, &str, &str))| {
        format!("{} 1 {device} / {point} rw - ext4 {source} rw\n", number + 20)
    };
    machine.file("proc/self/mountinfo", &mounts.iter().enumerate().map(line).collect::<String>());
}

#[test]
fn a_device_without_any_use_has_none() {
    assert_eq!(found(&Machine::of_three_disks(), "8:16"), []);
}

#[test]
fn a_mount_of_a_device_its_partition_its_whole_or_what_is_built_on_it_is_a_use() {
    let machine = Machine::of_three_disks();
    machine.device("virtual/md0", "9:0");
    machine.partition("virtual/md0/md0p1", "9:1");
    machine.device("virtual/dm-0", "252:0");
    machine.file("sys/devices/virtual/dm-0/dm/name", "vg-data\n");
    machine.built_on("virtual/md0", "pci/sdb");
    machine.built_on("virtual/dm-0", "virtual/md0");
    let on_sda = [("8:1", "/one", "a"), ("8:2", r"/two\040words", "a"), ("8:0", "/all", "a")];
    mounted_at(&machine, &on_sda);
    assert_eq!(
        told(&found(&machine, "8:0")[..1]),
        [("its partition sda1 is mounted at /one", "umount /one, if nobody needs it")]
    );
    let sda = [
        "its partition sda1 is mounted at /one",
        "its partition sda2 is mounted at /two words",
        "it is mounted at /all",
    ];
    assert_eq!(of_others(&machine, "8:0"), sda);
    let sda1 = ["it is mounted at /one", "sda, of which it is a partition, is mounted at /all"];
    assert_eq!(of_others(&machine, "8:1"), sda1, "its sister's mount is none of its own");
    assert_eq!(of_others(&machine, "8:32"), [] as [&str; 0]);
    mounted_at(&machine, &[("9:1", "/array", "a"), ("252:0", "/data", "a")]);
    let sdb = [
        "md0p1, which is built on it, is mounted at /array",
        "dm-0 (vg-data), which is built on it, is mounted at /data",
        "the md array md0 is built on it",
        "the md array md0p1 is built on it",
        "the device dm-0 (vg-data) is built on it",
    ];
    assert_eq!(of_others(&machine, "8:16"), sdb);
    assert_eq!(of_others(&machine, "8:32"), [] as [&str; 0]);
}

/// btrfs and others give their mounts a number of their own; the source names a device then.
#[test]
fn a_mount_without_a_device_number_is_known_by_its_source() {
    let machine = Machine::of_three_disks();
    let folder = tempfile::tempdir().unwrap();
    let (block, character) = (folder.path().join("block"), folder.path().join("character"));
    if !node(&block, FileType::BlockDevice, 8, 16) || !node(&character, FileType::CharacterDevice, 8, 32) {
        return;
    }
    let (block, character) = (block.to_str().unwrap(), character.to_str().unwrap());
    mounted_at(&machine, &[("0:40", "/b", block), ("0:41", "/c", character), ("0:42", "/d", "tmpfs")]);
    assert_eq!(reasons(&machine, "8:16"), ["it is mounted at /b"]);
    assert_eq!(reasons(&machine, "8:32"), [] as [&str; 0], "it is no block device");
    mounted_at(&machine, &[("8:32", "/b", block)]);
    assert_eq!(reasons(&machine, "8:16"), [] as [&str; 0], "the number goes before the source");
    assert_eq!(reasons(&machine, "8:32"), ["it is mounted at /b"]);
}

#[test]
fn each_device_of_a_mounted_btrfs_belongs_to_it() {
    let machine = Machine::of_three_disks();
    machine.file("sys/fs/btrfs/features/x", "1");
    machine.file("sys/fs/btrfs/uuid-1/devices/sda2/size", "1");
    machine.file("sys/fs/btrfs/uuid-2/devices/sdb/size", "1");
    let fix = "umount that file system, if nobody needs it";
    assert_eq!(told(&found(&machine, "8:16")), [("it belongs to the mounted btrfs uuid-2", fix)]);
    assert_eq!(of_others(&machine, "8:0"), ["its partition sda2 belongs to the mounted btrfs uuid-1"]);
    assert_eq!(of_others(&machine, "8:1"), [] as [&str; 0]);
}

fn swapping(machine: &Machine, lines: &[String]) {
    machine.file("proc/swaps", &format!("Filename Type Size Used Priority\n{}\n", lines.join("\n")));
}

#[test]
fn swap_is_known_by_its_node_or_where_there_is_none_by_its_name() {
    let machine = Machine::of_three_disks();
    machine.device("virtual/dm-0", "252:0");
    machine.file("sys/devices/virtual/dm-0/dm/name", "vg-swap\n");
    machine.built_on("virtual/dm-0", "pci/sdc");
    let fix = "swapoff /nowhere/sdb, if the machine can do without it";
    swapping(&machine, &["/nowhere/sdb partition 1 0 -2".into()]);
    assert_eq!(told(&found(&machine, "8:16")), [("it is swapped to", fix)]);
    assert_eq!(of_others(&machine, "8:0"), [] as [&str; 0]);
    swapping(&machine, &["/nowhere/sdb file 1 0 -2".into()]);
    assert_eq!(reasons(&machine, "8:16"), [] as [&str; 0], "a file that has a device's name");
    swapping(&machine, &["/nowhere/vg-swap partition 1 0 -2".into()]);
    let sdc = ["dm-0 (vg-swap), which is built on it, is swapped to", "the device dm-0 (vg-swap) is built on it"];
    assert_eq!(reasons(&machine, "8:32"), sdc);
    assert_eq!(reasons(&machine, "8:16"), [] as [&str; 0]);
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("node");
    if node(&at, FileType::BlockDevice, 8, 16) {
        swapping(&machine, &[format!("{} partition 1 0 -2", at.display())]);
        assert_eq!(reasons(&machine, "8:16"), ["it is swapped to"]);
    }
}

#[test]
fn a_swap_file_is_a_use_of_the_device_that_holds_it() {
    let machine = Machine::new();
    machine.device("pci/other", "240:0");
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display();
    let number = DeviceNumber(file.path().metadata().unwrap().dev());
    if number.major() == 0 {
        return eprintln!("skipped: files for the time being lie on no device");
    }
    let number = format!("{}:{}", number.major(), number.minor());
    machine.device("pci/holder", &number);
    swapping(&machine, &[format!("{path} file 1 0 -2")]);
    let (reason, fix) =
        (format!("it holds the swap file {path}"), format!("swapoff {path}, if the machine can do without it"));
    assert_eq!(told(&found(&machine, &number)), [(reason.as_str(), fix.as_str())]);
    assert_eq!(reasons(&machine, "240:0"), [] as [&str; 0]);
    swapping(&machine, &[format!("{path} partition 1 0 -2")]);
    assert_eq!(reasons(&machine, &number), [] as [&str; 0], "a partition is no file");
}

#[test]
fn a_kernel_without_swap_has_no_table_of_it_and_any_other_lack_of_a_table_is_an_error() {
    let machine = Machine::of_three_disks();
    let system = machine.system();
    let block = Block::find(&system, DeviceNumber::new(8, 16)).unwrap();
    fs::remove_file(system.proc.join("swaps")).unwrap();
    assert_eq!(uses(&system, &block).unwrap(), []);
    fs::create_dir(system.proc.join("swaps")).unwrap();
    assert_eq!(uses(&system, &block).unwrap_err().kind(), ErrorKind::IsADirectory);
    fs::remove_dir(system.proc.join("swaps")).unwrap();
    fs::remove_file(system.proc.join("self/mountinfo")).unwrap();
    assert_eq!(uses(&system, &block).unwrap_err().kind(), ErrorKind::NotFound);
    let nowhere = System { proc: system.proc.join("nowhere"), ..system.clone() };
    assert_eq!(swaps(&nowhere).unwrap_err().kind(), ErrorKind::NotFound, "where /proc is not there nothing is known");
}

#[test]
fn a_device_with_partitions_is_in_use() {
    let fix = "name one of them that is free, or remove the partition table if nothing on it is needed";
    assert_eq!(told(&found(&Machine::of_three_disks(), "8:0")), [("it has partitions: sda1, sda2", fix)]);
    assert_eq!(found(&Machine::of_three_disks(), "8:1"), []);
}

#[test]
fn what_is_built_on_it_is_called_what_it_is_with_the_command_that_ends_it() {
    // Name, UUID and name in dm, file behind a loop device; what it is called, what ends it.
    let cases = [
        ("dm-0", "LVM-a", "vg-data", "", "the LVM volume dm-0 (vg-data)", "lvchange --activate n /dev/mapper/vg-data"),
        ("dm-0", "CRYPT-LUKS2-a", "secret", "", "the encrypted device dm-0 (secret)", "cryptsetup close secret"),
        ("dm-0", "mpath-a", "mpatha", "", "the multipath device dm-0 (mpatha)", "dmsetup remove mpatha"),
        ("dm-0", "", "linear", "", "the device dm-0 (linear)", "dmsetup remove linear"),
        ("md127", "", "", "", "the md array md127", "mdadm --stop /dev/md127"),
        ("bcache0", "", "", "", "the cache device bcache0", "end the use of /dev/bcache0"),
        ("loop3", "", "", "/an image", "the loop device loop3", "losetup --detach /dev/loop3"),
        ("drbd0", "", "", "", "the device drbd0", "end the use of /dev/drbd0"),
    ];
    for (name, uuid, mapped, backing, called, end) in cases {
        let machine = Machine::of_three_disks();
        let at = format!("virtual/{name}");
        machine.device(&at, "250:0");
        machine.built_on(&at, "pci/sdb");
        for (file, text) in [("dm/uuid", uuid), ("dm/name", mapped), ("loop/backing_file", backing)] {
            machine.file(&format!("sys/devices/{at}/{file}"), text);
        }
        let (reason, fix) = (format!("{called} is built on it"), format!("{end}, if nobody needs it"));
        assert_eq!(told(&found(&machine, "8:16")), [(reason.as_str(), fix.as_str())]);
        assert_eq!(reasons(&machine, "8:32"), [] as [&str; 0]);
    }
}

#[test]
fn layers_upon_layers_are_seen_and_what_is_built_on_a_disk_is_built_on_its_partitions() {
    let machine = Machine::of_three_disks();
    for number in 0..4 {
        machine.device(&format!("virtual/drbd{number}"), &format!("147:{number}"));
    }
    machine.built_on("virtual/drbd0", "pci/sda");
    for number in 1..4 {
        machine.built_on(&format!("virtual/drbd{number}"), &format!("virtual/drbd{}", number - 1));
    }
    let all: Vec<_> = (0..4).map(|number| format!("the device drbd{number} is built on it")).collect();
    assert_eq!(of_others(&machine, "8:0"), all);
    assert_eq!(of_others(&machine, "8:2"), all);
    assert_eq!(of_others(&machine, "147:2"), all[3..]);
    let sister = Machine::of_three_disks();
    sister.device("virtual/drbd0", "147:0");
    sister.built_on("virtual/drbd0", "pci/sda/sda1");
    assert_eq!(of_others(&sister, "8:0"), all[..1]);
    assert_eq!(of_others(&sister, "8:2"), [] as [&str; 0], "what is built on a sister is not built on it");
}

#[test]
fn a_loop_device_over_a_device_is_built_on_it() {
    let machine = Machine::of_three_disks();
    let folder = tempfile::tempdir().unwrap();
    let (block, character) = (folder.path().join("block"), folder.path().join("character"));
    if !node(&block, FileType::BlockDevice, 8, 16) || !node(&character, FileType::CharacterDevice, 8, 32) {
        return;
    }
    for (number, backing) in [&*block, &*character, Path::new("/nowhere")].into_iter().enumerate() {
        machine.device(&format!("virtual/loop{number}"), &format!("7:{number}"));
        let file = format!("sys/devices/virtual/loop{number}/loop/backing_file");
        machine.file(&file, backing.to_str().unwrap());
    }
    assert_eq!(reasons(&machine, "8:16"), ["the loop device loop0 is built on it"]);
    assert_eq!(reasons(&machine, "8:32"), [] as [&str; 0]);
    assert_eq!(of_others(&machine, "8:0"), [] as [&str; 0]);
}

#[test]
fn the_disk_beneath_a_folder_of_the_system_is_never_free_nor_is_a_free_partition_of_it() {
    for point in ["/", "/usr", "/boot", "/boot/efi", "/var", "/home"] {
        let machine = Machine::of_three_disks();
        mounted_at(&machine, &[("8:1", point, "a")]);
        let mounted = format!("its partition sda1 is mounted at {point}");
        assert_eq!(of_others(&machine, "8:0"), [mounted.as_str(), SYSTEM]);
        let sister = found(&machine, "8:2");
        assert_eq!(told(&sister), [(SYSTEM, "name a device that the system does not run from")], "{point}");
        assert_eq!(reasons(&machine, "8:16"), [] as [&str; 0]);
    }
    let machine = Machine::of_three_disks();
    mounted_at(&machine, &[("8:1", "/srv", "a")]);
    assert_eq!(reasons(&machine, "8:2"), [] as [&str; 0], "a folder that is none of the system's");
}

#[test]
fn of_mounts_on_one_folder_the_last_is_what_the_system_runs_from() {
    let machine = Machine::of_three_disks();
    mounted_at(&machine, &[("8:16", "/", "a"), ("8:1", "/", "a")]);
    assert_eq!(reasons(&machine, "8:2"), [SYSTEM]);
    assert_eq!(reasons(&machine, "8:16"), ["it is mounted at /"]);
}

#[test]
fn the_system_runs_from_all_disks_beneath_its_volumes() {
    let machine = Machine::of_three_disks();
    machine.device("virtual/md0", "9:0");
    machine.device("virtual/dm-0", "252:0");
    machine.built_on("virtual/md0", "pci/sda/sda2");
    machine.built_on("virtual/md0", "pci/sdb");
    machine.built_on("virtual/dm-0", "virtual/md0");
    mounted_at(&machine, &[("252:0", "/", "a")]);
    for (number, runs) in [("8:0", true), ("8:1", true), ("8:2", true), ("8:16", true), ("9:0", true), ("8:32", false)]
    {
        assert_eq!(reasons(&machine, number).iter().any(|reason| reason == SYSTEM), runs, "{number}");
    }
    assert_eq!(reasons(&machine, "8:1"), [SYSTEM]);
}
