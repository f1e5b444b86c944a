//! Devices in use are recognised, whatever hides their use.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::Path,
};

use crate::support::{Loop, Machine, Mounted, Swapped, disk_folder, run, target};
use assay_path::{
    PathError,
    facts::{Block, DeviceNumber},
    guard::{self, admit, in_use, uses},
};
use assay_record::{Target, TargetKind};

const IMAGE: u64 = 64 << 20;

fn reasons(device: &Path) -> String {
    let found = in_use(device).unwrap();
    assert!(found.iter().all(|use_| !use_.reason.is_empty() && !use_.fix.is_empty()), "{found:?}");
    found.into_iter().map(|use_| use_.reason).collect::<Vec<_>>().join("; ")
}

fn assert_seen(device: &Path, what: &str) {
    let seen = reasons(device);
    assert!(seen.contains(what), "{} is in use, {what:?} was not seen: {seen:?}", device.display());
}

#[track_caller]
fn assert_free(device: &Path) {
    assert_eq!(reasons(device), "", "{}", device.display());
}

/// A partition table with one partition, made known to the kernel.
fn with_partition(device: &Loop) -> Option<std::path::PathBuf> {
    device.put(446, &[0, 0, 0, 0, 0x83, 0, 0, 0, 0, 8, 0, 0, 0, 0, 1, 0]);
    device.put(510, &[0x55, 0xAA]);
    run("partx", &["--add", device.text()])?;
    let part = Path::new("/dev").join(format!("{}p1", device.name()));
    part.exists().then_some(part)
}

#[test]
fn a_mount_check_is_not_fooled_by_symlink_partition_lvm_md_zfs_or_swap() {
    kernel_tables_of_a_made_up_machine();
    let folder = disk_folder();
    let Some(device) = Loop::new(folder.path(), "free", IMAGE) else { return };
    assert_free(&device.device);
    drop(device);
    mounted_behind_a_symlink(folder.path());
    mounted_partition(folder.path());
    bind_mount_after_umount(folder.path());
    swap_on_device_and_in_a_file(folder.path());
    loop_device_on_top(folder.path());
    signatures_by_tools(folder.path());
    signatures_by_bytes(folder.path());
}

fn mounted_behind_a_symlink(folder: &Path) {
    let Some(device) = Loop::new(folder, "mounted", IMAGE) else { return };
    run("mkfs.ext4", &["-q", device.text()]).expect("mkfs.ext4");
    let (first, second) = (folder.join("by-id"), folder.join("by-path"));
    symlink(&device.device, &first).unwrap();
    symlink(&first, &second).unwrap();
    let Some(_mount) = Mounted::new(&[device.text()], &folder.join("at mount")) else { return };
    assert_seen(&second, "it is mounted at");
    assert_seen(&second, "exclusive use");
    assert_seen(&second, "ext2, ext3 or ext4");
}

fn mounted_partition(folder: &Path) {
    let Some(device) = Loop::new(folder, "parts", IMAGE) else { return };
    let Some(part) = with_partition(&device) else {
        return eprintln!("skipped: partitions of loop devices cannot be made here");
    };
    assert_seen(&device.device, "it has partitions");
    assert_seen(&device.device, "a DOS partition table");
    assert_free(&part);
    run("mkfs.ext4", &["-q", part.to_str().unwrap()]).expect("mkfs.ext4");
    assert_seen(&device.device, "its partition");
    let Some(_mount) = Mounted::new(&[part.to_str().unwrap()], &folder.join("part")) else { return };
    let name = format!("its partition {}p1 is mounted at", device.name());
    assert_seen(&device.device, &name);
    assert_seen(&part, "it is mounted at");
}

fn bind_mount_after_umount(folder: &Path) {
    let Some(device) = Loop::new(folder, "bound", IMAGE) else { return };
    run("mkfs.ext4", &["-q", device.text()]).expect("mkfs.ext4");
    let Some(first) = Mounted::new(&[device.text()], &folder.join("first")) else { return };
    fs::create_dir(folder.join("first/sub")).unwrap();
    let sub = folder.join("first/sub");
    let Some(_bind) = Mounted::new(&["--bind", sub.to_str().unwrap()], &folder.join("second")) else { return };
    drop(first);
    assert_seen(&device.device, "it is mounted at");
    assert_seen(&device.device, "/second");
}

fn swap_on_device_and_in_a_file(folder: &Path) {
    let Some(device) = Loop::new(folder, "swap", IMAGE) else { return };
    run("mkswap", &[device.text()]).expect("mkswap");
    assert_seen(&device.device, "a signature of swap");
    if let Some(_swap) = Swapped::on(&device.device) {
        assert_seen(&device.device, "it is swapped to");
    }
    let Some(holder) = Loop::new(folder, "swapfile", IMAGE) else { return };
    run("mkfs.ext4", &["-q", holder.text()]).expect("mkfs.ext4");
    let Some(_mount) = Mounted::new(&[holder.text()], &folder.join("swaps")) else { return };
    let file = folder.join("swaps/a swap file");
    fs::write(&file, vec![0; 8 << 20]).unwrap();
    run("chmod", &["600", file.to_str().unwrap()]).unwrap();
    run("mkswap", &[file.to_str().unwrap()]).expect("mkswap");
    let Some(_swap) = Swapped::on(&file) else { return };
    assert_seen(&holder.device, "it holds the swap file");
}

fn loop_device_on_top(folder: &Path) {
    let Some(below) = Loop::new(folder, "below", IMAGE) else { return };
    let Some(above) = Loop::over(&below.device) else { return };
    assert_seen(&below.device, &format!("the loop device {} is built on it", above.name()));
    assert_free(&above.device);
    let Some(top) = Loop::over(&above.device) else { return };
    assert_seen(&below.device, &format!("the loop device {} is built on it", top.name()));
}

fn signatures_by_tools(folder: &Path) {
    let tools: [(&str, &[&str], u64, &str); 4] = [
        ("mkfs.xfs", &["-q", "-f"], 512 << 20, "xfs"),
        ("mkfs.btrfs", &["-q", "-f"], 256 << 20, "btrfs"),
        ("mkfs.ext4", &["-q"], IMAGE, "ext2, ext3 or ext4"),
        ("mkswap", &[], IMAGE, "swap"),
    ];
    for (tool, options, bytes, name) in tools {
        let Some(device) = Loop::new(folder, tool, bytes) else { return };
        if run(tool, &[options, &[device.text()]].concat()).is_none() {
            eprintln!("skipped: {tool} is not there");
            continue;
        }
        assert_seen(&device.device, &format!("a signature of {name}"));
        run("wipefs", &["--all", device.text()]).expect("wipefs");
        assert_free(&device.device);
    }
}

fn signatures_by_bytes(folder: &Path) {
    let lvm = {
        let mut label = b"LABELONE".to_vec();
        label.resize(24, 0);
        label.extend(b"LVM2 001");
        label
    };
    let md: &[u8] = &[0xFC, 0x4E, 0x2B, 0xA9];
    let uberblock: &[u8] = &[0x0C, 0xB1, 0xBA, 0, 0, 0, 0, 0];
    let cases: [(&str, u64, &[u8]); 9] = [
        ("an LVM physical volume", 512, &lvm),
        ("md RAID 1.1", 0, md),
        ("md RAID 1.2", 4096, md),
        ("md RAID 1.0", IMAGE - 8192, md),
        ("md RAID 0.90", IMAGE - 65_536, md),
        ("a member of a ZFS pool", (128 << 10) + 1024, uberblock),
        ("a member of a ZFS pool", IMAGE - (256 << 10) + (128 << 10), uberblock),
        ("LUKS", 0, b"LUKS\xBA\xBE"),
        ("GPT (its copy)", IMAGE - 512, b"EFI PART"),
    ];
    for (index, (name, at, bytes)) in cases.into_iter().enumerate() {
        let Some(device) = Loop::new(folder, &format!("bytes{index}"), IMAGE) else { return };
        device.put(at, bytes);
        assert_seen(&device.device, name);
    }
}

/// The kernel here may have no dm and no md, so its tables are made up: what is read from them is what is tested.
fn kernel_tables_of_a_made_up_machine() {
    let machine = Machine::of_three_disks();
    machine.device("virtual/md0", "9:0");
    machine.device("virtual/dm-0", "252:0");
    machine.device("virtual/dm-1", "252:1");
    machine.built_on("virtual/md0", "pci/sda/sda2");
    machine.built_on("virtual/md0", "pci/sdb");
    machine.built_on("virtual/dm-0", "virtual/md0");
    machine.built_on("virtual/dm-1", "pci/sdc");
    machine.file("sys/devices/virtual/dm-0/dm/name", "vg-data\n");
    machine.file("sys/devices/virtual/dm-0/dm/uuid", "LVM-abc\n");
    machine.file("sys/devices/virtual/dm-1/dm/name", "secret\n");
    machine.file("sys/devices/virtual/dm-1/dm/uuid", "CRYPT-LUKS2-abc\n");
    let mounts = "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n21 20 252:0 / /data rw - xfs /dev/mapper/vg-data rw\n";
    machine.file("proc/self/mountinfo", mounts);
    machine.file("proc/swaps", "Filename Type Size Used Priority\n/dev/nowhere/dm-1 partition 1 0 -2\n");
    let seen = |number: &str| {
        let system = machine.system();
        let block = Block::find(&system, DeviceNumber::parse(number).unwrap()).unwrap();
        uses(&system, &block).unwrap().into_iter().map(|use_| use_.reason).collect::<Vec<_>>()
    };
    let sdb = seen("8:16").join("; ");
    assert!(sdb.contains("dm-0 (vg-data), which is built on it, is mounted at /data"), "through md and LVM: {sdb}");
    assert!(sdb.contains("the md array md0 is built on it") && sdb.contains("the LVM volume dm-0"), "{sdb}");
    let sda2 = seen("8:2").join("; ");
    assert!(sda2.contains("the md array md0") && sda2.contains("the system runs from this disk"), "{sda2}");
    assert!(!sda2.contains("is mounted at /;"), "its sister's mount is not its own: {sda2}");
    let sda = seen("8:0").join("; ");
    assert!(sda.contains("its partition sda1 is mounted at /") && sda.contains("sda1, sda2"), "{sda}");
    let sdc = seen("8:32").join("; ");
    assert!(sdc.contains("is swapped to") && sdc.contains("the encrypted device dm-1 (secret)"), "{sdc}");
}

#[test]
fn a_btrfs_of_several_devices_counts_for_each_of_them() {
    let machine = Machine::new();
    machine.device("pci/sda", "8:0");
    machine.device("pci/sdb", "8:16");
    machine.file("proc/self/mountinfo", "30 1 0:40 / /b rw - btrfs /dev/nowhere/sda rw\n");
    machine.file("sys/fs/btrfs/uuid-1/devices/sda/size", "1");
    machine.file("sys/fs/btrfs/uuid-1/devices/sdb/size", "1");
    let block = Block::find(&machine.system(), DeviceNumber::new(8, 16)).unwrap();
    let found = uses(&machine.system(), &block).unwrap();
    assert!(found.iter().any(|use_| use_.reason.contains("mounted btrfs uuid-1")), "{found:?}");
}

#[test]
fn the_disk_of_the_system_is_in_use() {
    let Some(number) = assay_path::facts::device_number(&Default::default(), Path::new("/")) else {
        return eprintln!("skipped: the root file system has no block device");
    };
    let Some(block) = Block::find(&Default::default(), number) else {
        return eprintln!("skipped: sysfs does not show the device of the root file system");
    };
    let found = uses(&Default::default(), &block).unwrap();
    let seen: Vec<_> = found.iter().map(|use_| use_.reason.as_str()).collect();
    assert!(seen.iter().any(|reason| reason.contains("is mounted at /")), "{seen:?}");
    assert!(seen.contains(&"the system runs from this disk"), "{seen:?}");
}

fn device_target(device: &Loop) -> Target {
    target(TargetKind::BlockDevice, &[&device.device])
}

fn refusal(target: &Target) -> (String, String) {
    match admit(target, true) {
        Err(error @ PathError::Refused { .. }) => (error.to_string(), error.fix()),
        other => panic!("it was not refused: {other:?}"),
    }
}

#[test]
fn a_device_is_written_to_only_when_it_was_named_twice_and_confirmed() {
    let folder = disk_folder();
    let Some(device) = Loop::new(folder.path(), "image", IMAGE) else { return };
    let mut target = device_target(&device);
    let (reason, fix) = refusal(&target);
    assert!(reason.contains("not confirmed"), "{reason}");
    assert!(fix.contains("--serial") && fix.contains("--yes-destroy"), "{fix}");
    target.yes_destroy = true;
    assert!(refusal(&target).0.contains("no serial number was given"));
    target.serials = vec!["someone-else".into()];
    assert!(refusal(&target).0.contains("not someone-else"));
    target.serials = vec![guard::serial(&device.device).unwrap()];
    assert_eq!(target.serials[0], device.backing.display().to_string());
    let admitted = admit(&target, true).unwrap();
    assert_eq!(admitted.members[0].bytes, IMAGE);
}

#[test]
fn a_device_that_is_named_twice_by_a_link_is_not_said_to_be_in_use() {
    let folder = disk_folder();
    let Some(device) = Loop::new(folder.path(), "image", IMAGE) else { return };
    let link = folder.path().join("link");
    symlink(&device.device, &link).unwrap();
    let serial = guard::serial(&device.device).unwrap();
    let mut target = target(TargetKind::BlockDevice, &[&device.device, &link]);
    (target.yes_destroy, target.serials) = (true, vec![serial; 2]);
    let (reason, _) = refusal(&target);
    assert!(reason.contains("it is named twice in one target") && !reason.contains("exclusive"), "{reason}");
    assert!(matches!(admit(&target, false), Err(PathError::Refused { .. })), "to read as well");
}

#[test]
fn an_admitted_device_is_held_against_mounts_and_other_runs() {
    let folder = disk_folder();
    let Some(device) = Loop::new(folder.path(), "image", IMAGE) else { return };
    let mut target = device_target(&device);
    target.yes_destroy = true;
    target.serials = vec![guard::serial(&device.device).unwrap()];
    let admitted = admit(&target, true).unwrap();
    assert!(refusal(&target).0.contains("exclusive use"));
    assert!(Mounted::new(&[device.text()], &folder.path().join("m")).is_none(), "mounted a device that is held");
    drop(admitted);
    admit(&target, true).unwrap();
}

#[test]
fn reading_a_device_in_use_is_allowed_and_writing_is_not() {
    let folder = disk_folder();
    let Some(device) = Loop::new(folder.path(), "image", IMAGE) else { return };
    run("mkfs.ext4", &["-q", device.text()]).expect("mkfs.ext4");
    let mut target = device_target(&device);
    admit(&target, false).unwrap();
    target.yes_destroy = true;
    target.serials = vec![guard::serial(&device.device).unwrap()];
    let (reason, fix) = refusal(&target);
    assert!(reason.contains("signature of ext2, ext3 or ext4") && fix.contains("wipefs"), "{reason} {fix}");
}

#[test]
fn a_read_only_device_is_refused() {
    let folder = disk_folder();
    let Some(device) = Loop::new(folder.path(), "image", IMAGE) else { return };
    run("blockdev", &["--setro", device.text()]).expect("blockdev");
    let mut target = device_target(&device);
    target.yes_destroy = true;
    target.serials = vec![guard::serial(&device.device).unwrap()];
    let (reason, _) = refusal(&target);
    assert!(reason.contains("read-only"), "{reason}");
}

#[test]
fn what_is_not_what_it_is_called_is_refused() {
    let folder = disk_folder();
    let file = folder.path().join("file");
    File::create(&file).unwrap();
    for (kind, path) in [
        (TargetKind::BlockDevice, &*file),
        (TargetKind::DeviceDax, &*file),
        (TargetKind::DeviceDax, Path::new("/dev/null")),
        (TargetKind::Folder, &*file),
        (TargetKind::File, folder.path()),
        (TargetKind::File, &*file),
    ] {
        refusal(&target(kind, &[path]));
    }
    admit(&target(TargetKind::File, &[&file]), false).unwrap();
    admit(&target(TargetKind::Folder, &[folder.path()]), true).unwrap();
    let twice = target(TargetKind::File, &[&file, &file]);
    fs::write(&file, b"x").unwrap();
    assert!(matches!(admit(&twice, false), Err(PathError::Refused { .. })));
    let relative = target(TargetKind::Folder, &[Path::new("src")]);
    assert!(matches!(admit(&relative, false), Err(PathError::Refused { .. })));
    let missing = admit(&target(TargetKind::Folder, &[&folder.path().join("nothing")]), true).unwrap_err();
    assert!(missing.fix().contains("does not exist"), "{}", missing.fix());
}

#[test]
fn a_read_only_file_system_is_named() {
    let folder = disk_folder();
    let options = ["-t", "tmpfs", "-o", "ro,size=1m", "none"];
    let Some(mount) = Mounted::new(&options, &folder.path().join("ro")) else { return };
    let error = admit(&target(TargetKind::Folder, &[&mount.0]), true).unwrap_err();
    assert!(error.fix().contains("read-only file system"), "{error}: {}", error.fix());
    admit(&target(TargetKind::Folder, &[&mount.0]), false).unwrap();
}
