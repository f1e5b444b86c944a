//! What targets lie on, what is in the page cache, and where the bytes of a file are.

use std::{
    fs::{self, File},
    os::unix::fs::FileExt,
    path::Path,
};

use crate::support::{Loop, Machine, Mounted, disk_folder, memory_folder, run};
use assay_path::{
    extents,
    facts::{self, Block, DeviceNumber},
    residency, space,
};
use assay_record::Array;
use rustix::fs::{FallocateFlags, fallocate};

#[test]
fn leaves_are_found_through_partitions_dm_and_md() {
    let machine = Machine::new();
    machine.device("pci/nvme0n1", "259:0");
    machine.partition("pci/nvme0n1/nvme0n1p3", "259:3");
    machine.device("pci/nvme1n1", "259:8");
    machine.device("virtual/md0", "9:0");
    machine.device("virtual/dm-0", "252:0");
    machine.device("virtual/dm-1", "252:1");
    machine.built_on("virtual/md0", "pci/nvme0n1/nvme0n1p3");
    machine.built_on("virtual/md0", "pci/nvme1n1");
    machine.built_on("virtual/dm-0", "virtual/md0");
    machine.built_on("virtual/dm-1", "virtual/dm-0");
    let system = machine.system();
    let top = Block::find(&system, DeviceNumber::new(252, 1)).unwrap();
    let leaves: Vec<_> = top.leaves(&system).into_iter().map(|leaf| leaf.name).collect();
    assert_eq!(leaves, ["nvme0n1", "nvme1n1"]);
    assert_eq!(top.facts(&system).members, leaves);
    let part = Block::find(&system, DeviceNumber::new(259, 3)).unwrap();
    assert_eq!(part.whole().name, "nvme0n1");
    assert_eq!(part.whole().facts(&system).members, ["nvme0n1"]);
}

#[test]
fn an_array_says_its_level_and_what_it_lacks() {
    let machine = Machine::new();
    machine.device("virtual/md0", "9:0");
    let system = machine.system();
    let array = || Block::find(&system, DeviceNumber::new(9, 0)).unwrap().facts(&system).array;
    assert_eq!(array(), None);
    let set = |name: &str, text: &str| machine.file(&format!("sys/devices/virtual/md0/md/{name}"), text);
    set("level", "raid5\n");
    set("chunk_size", "65536\n");
    set("raid_disks", "4\n");
    set("degraded", "1\n");
    set("sync_action", "recover\n");
    let (level, sync) = ("raid5".to_owned(), "recover".to_owned());
    assert_eq!(array(), Some(Array { level, chunk_bytes: 65_536, devices: 4, missing: 1, sync }));
}

#[test]
fn facts_of_a_device_are_read_from_its_files() {
    let machine = Machine::new();
    machine.device("pci/nvme0n1", "259:0");
    let set = |name: &str, text: &str| machine.file(&format!("sys/devices/pci/nvme0n1/{name}"), text);
    set("device/model", "SOLID 9000   \n");
    set("device/serial", "  S123\n");
    set("device/firmware_rev", "2B\n");
    set("device/numa_node", "1\n");
    set("device/device/current_link_speed", "16.0 GT/s PCIe\n");
    set("device/device/current_link_width", "4\n");
    set("queue/scheduler", "[none] mq-deadline\n");
    set("queue/write_cache", "write back\n");
    set("queue/logical_block_size", "512\n");
    set("queue/physical_block_size", "4096\n");
    set("queue/rotational", "0\n");
    set("queue/nr_requests", "1023\n");
    set("queue/max_sectors_kb", "256\n");
    let system = machine.system();
    let facts = Block::named(&system, "nvme0n1").unwrap().facts(&system);
    assert_eq!((facts.model.as_str(), facts.serial.as_str(), facts.firmware.as_str()), ("SOLID 9000", "S123", "2B"));
    assert_eq!((facts.logical_block_bytes, facts.physical_block_bytes, facts.bytes), (512, 4096, 1 << 30));
    assert_eq!((facts.scheduler.as_str(), facts.write_cache.as_str()), ("none", "write back"));
    assert_eq!((facts.numa_node, facts.link.as_str()), (1, "16.0 GT/s PCIe x4"));
    assert_eq!((facts.nr_requests, facts.max_sectors_kb, facts.rotational), (1023, 256, false));
}

#[test]
fn a_serial_number_is_found_wherever_a_driver_puts_it() {
    let machine = Machine::new();
    let system = machine.system();
    for (index, (place, text, wanted)) in [
        ("device/serial", "NVME1\n", "NVME1"),
        ("serial", "virtio1\n", "virtio1"),
        ("device/vpd_pg80", "\0\x7F\0\x05SCSI1", "SCSI1"),
        ("wwid", "eui.0025\n", "eui.0025"),
        ("loop/backing_file", "/images/a\n", "/images/a"),
        ("unrelated", "x", "1073741824-bytes"),
    ]
    .into_iter()
    .enumerate()
    {
        machine.device(&format!("pci/d{index}"), &format!("8:{index}"));
        machine.file(&format!("sys/devices/pci/d{index}/{place}"), text);
        let block = Block::named(&system, &format!("d{index}")).unwrap();
        assert_eq!(block.identity(&system), wanted, "{place}");
    }
    machine.file("run/udev/data/b8:5", "E:ID_MODEL=x\nE:ID_SERIAL_SHORT=UDEV1\nE:ID_SERIAL=long\n");
    assert_eq!(Block::named(&system, "d5").unwrap().identity(&system), "UDEV1");
}

#[test]
fn a_file_system_in_memory_has_a_kind_and_no_device() {
    let Some(folder) = memory_folder() else { return };
    let facts = facts::file_system(folder.path()).unwrap();
    assert_eq!(facts.kind, "tmpfs");
    assert!(facts.total_bytes > 0 && facts.free_bytes <= facts.total_bytes && facts.block_bytes > 0);
    assert!(folder.path().starts_with(&facts.mount_point));
    assert_eq!(facts::block_device(folder.path()), None);
}

#[test]
fn a_mount_is_traced_to_its_loop_device_and_that_to_the_disk() {
    let folder = disk_folder();
    let Some(device) = Loop::new(folder.path(), "image", 64 << 20) else { return };
    run("mkfs.ext4", &["-q", device.text()]).expect("mkfs.ext4");
    let Some(mount) = Mounted::new(&[device.text()], &folder.path().join("a mount")) else { return };
    let found = facts::file_system(&mount.0).unwrap();
    assert_eq!(found.kind, "ext4");
    assert_eq!(Path::new(&found.mount_point), mount.0.canonicalize().unwrap());
    let seen = facts::block_device(&mount.0).unwrap();
    assert_eq!((seen.name.clone(), seen.bytes), (device.name(), 64 << 20));
    assert_eq!(seen.serial, device.backing.display().to_string());
    let disk = facts::block_device(folder.path());
    let wanted = disk.map_or(vec![device.name()], |disk| disk.members);
    assert_eq!(seen.members, wanted, "through the loop device to what its file lies on");
    assert_eq!(facts::block_device(&device.device).unwrap().name, seen.name, "by its node");
}

#[test]
fn a_btrfs_has_a_number_of_its_own_and_is_traced_by_its_source() {
    let folder = disk_folder();
    let Some(device) = Loop::new(folder.path(), "image", 256 << 20) else { return };
    if run("mkfs.btrfs", &["-q", device.text()]).is_none() {
        return eprintln!("skipped: mkfs.btrfs is not there");
    }
    let Some(mount) = Mounted::new(&[device.text()], &folder.path().join("b")) else { return };
    assert_eq!(facts::block_device(&mount.0).unwrap().name, device.name());
}

#[test]
fn every_device_of_a_btrfs_is_a_member() {
    let machine = Machine::new();
    for (index, name) in ["sda", "sdb", "sdc"].into_iter().enumerate() {
        machine.device(&format!("pci/{name}"), &format!("8:{}", index * 16));
    }
    machine.partition("pci/sdb/sdb1", "8:17");
    machine.file("sys/fs/btrfs/features/x", "");
    machine.file("sys/fs/btrfs/uuid-1/devices/sda/size", "1");
    machine.file("sys/fs/btrfs/uuid-1/devices/sdb1/size", "1");
    let system = machine.system();
    let members = |name| facts::btrfs_members(&system, &Block::named(&system, name).unwrap());
    let both = Some(vec!["sda".to_owned(), "sdb".to_owned()]);
    assert_eq!((members("sda"), members("sdb"), members("sdc")), (both.clone(), both, None));
}

#[test]
fn an_overlay_is_traced_to_the_folder_that_takes_its_writes() {
    let folder = disk_folder();
    for name in ["lower", "upper", "work"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    let at = |name| folder.path().join(name).display().to_string();
    let options = format!("lowerdir={},upperdir={},workdir={}", at("lower"), at("upper"), at("work"));
    let arguments = ["-t", "overlay", "-o", &options, "overlay"];
    let Some(mount) = Mounted::new(&arguments, &folder.path().join("over")) else { return };
    assert_eq!(facts::file_system(&mount.0).unwrap().kind, "overlay");
    assert_eq!(facts::block_device(&mount.0), facts::block_device(folder.path()));
}

#[test]
fn a_file_is_evicted_and_warmed_and_both_are_verified() {
    let folder = disk_folder();
    let path = folder.path().join("a");
    fs::write(&path, vec![1; 4 << 20]).unwrap();
    let file = File::options().read(true).write(true).open(&path).unwrap();
    assert_eq!(residency::resident_bytes(&file).unwrap(), 4 << 20, "just written");
    assert_eq!(residency::evict(&file).unwrap(), 0);
    assert_eq!(residency::resident_bytes(&file).unwrap(), 0);
    assert_eq!(residency::warm_in(&file, 1 << 20, 1 << 20).unwrap(), 1 << 20);
    assert!(residency::resident_bytes(&file).unwrap() < 4 << 20);
    assert_eq!(residency::warm(&file).unwrap(), 4 << 20);
}

#[test]
fn a_file_in_memory_cannot_be_evicted_and_that_is_said() {
    let Some(folder) = memory_folder() else { return };
    let path = folder.path().join("a");
    fs::write(&path, vec![1; 1 << 20]).unwrap();
    assert_eq!(residency::evict(&File::options().read(true).write(true).open(&path).unwrap()).unwrap(), 1 << 20);
}

#[test]
fn written_unwritten_and_holes_are_told_apart() {
    let folder = disk_folder();
    let file = File::options().read(true).write(true).create_new(true).open(folder.path().join("a")).unwrap();
    file.set_len(1 << 20).unwrap();
    file.write_all_at(&[1; 64 << 10], 128 << 10).unwrap();
    fallocate(&file, FallocateFlags::empty(), 512 << 10, 32 << 10).unwrap();
    let seen = extents::survey(&file, 0..1 << 20).unwrap();
    if !seen.supported {
        return eprintln!("skipped: this file system does not show extents");
    }
    let total = 1 << 20;
    assert_eq!((seen.written, seen.unwritten), (64 << 10, 32 << 10));
    assert_eq!(seen.holes, total - (96 << 10));
    let part = extents::survey(&file, 100 << 10..160 << 10).unwrap();
    assert_eq!((part.written, part.holes), (32 << 10, 28 << 10), "a range is cut at its edges");
}

#[test]
fn more_extents_than_fit_one_answer_are_all_counted() {
    let folder = disk_folder();
    let file = File::options().read(true).write(true).create_new(true).open(folder.path().join("a")).unwrap();
    for index in 0..700 {
        file.write_all_at(&[1; 4096], index * 8192).unwrap();
    }
    let seen = extents::survey(&file, 0..700 * 8192).unwrap();
    assert_eq!((seen.written, seen.holes), (700 * 4096, 700 * 4096));
}

#[test]
fn holes_of_a_file_system_without_extents_are_found() {
    let Some(folder) = memory_folder() else { return };
    let file = File::options().read(true).write(true).create_new(true).open(folder.path().join("a")).unwrap();
    file.set_len(1 << 20).unwrap();
    file.write_all_at(&[1; 8192], 64 << 10).unwrap();
    let seen = extents::survey(&file, 0..1 << 20).unwrap();
    assert_eq!((seen.written, seen.holes), (8192, (1 << 20) - 8192));
    assert!(!seen.supported);
}

#[test]
fn space_is_refused_where_too_little_would_stay_free() {
    let folder = disk_folder();
    let Some(mount) = Mounted::new(&["-t", "tmpfs", "-o", "size=10m", "none"], &folder.path().join("t")) else {
        return;
    };
    space::check(&mount.0, 9 << 20, 5.0).unwrap();
    let error = space::check(&mount.0, 10 << 20, 5.0).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("10.0 MiB are needed") && text.contains("5 % must stay free"), "{text}");
}

/// An LVM volume on a degraded RAID 5, on a partition and on a drive that has a write cache: each is asked by itself.
#[test]
fn each_layer_says_what_it_may_do() {
    let machine = Machine::new();
    machine.device("pci/nvme0n1", "259:0");
    machine.device("virtual/md0", "9:0");
    machine.device("virtual/zram0", "251:0");
    machine.built_on("virtual/md0", "pci/nvme0n1");
    let write = |device: &str, file: &str, text: &str| {
        let path = machine.system().sys.join("class/block").join(device).canonicalize().unwrap().join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("nvme0n1", "queue/write_cache", "write back\n");
    write("md0", "md/level", "raid5\n");
    write("md0", "md/sync_action", "recover\n");
    let system = machine.system();
    let named = |name: &str| facts::layers_of_device(&system, &Block::named(&system, name).unwrap());
    let array = named("md0");
    let kinds: Vec<_> = array.iter().map(|layer| layer.kind.as_str()).collect();
    assert_eq!(kinds, ["md", "disk"]);
    assert!(array[0].effects.iter().any(|effect| effect.by.contains("recover") && effect.reads), "{array:?}");
    assert!(array[0].effects.iter().any(|effect| effect.by == "parity" && !effect.reads));
    assert!(array[1].effects.iter().all(|effect| effect.writes && !effect.reads));
    let memory = named("zram0");
    assert_eq!((memory[0].kind.as_str(), memory[0].effects.len()), ("memory", 2));
}

/// A file system on a loop device on a file: the loop device is between the two, whatever disk lies at the bottom.
#[test]
fn a_loop_device_is_a_layer_of_its_own() {
    let folder = disk_folder();
    let Some(device) = Loop::new(folder.path(), "image", 8 << 20) else { return };
    let layers = facts::layers(&facts::System::default(), &device.device);
    assert_eq!((layers[0].name.clone(), layers[0].kind.as_str()), (device.name(), "loop"));
    assert!(layers[0].effects.iter().any(|effect| effect.by.contains("page cache")), "{layers:?}");
    assert_eq!(layers[1].kind, "file-system");
    assert!(layers.len() >= 2);
}

#[test]
fn file_systems_say_what_they_may_do_by_type_and_options() {
    let by = |kind, options| -> Vec<String> {
        facts::effects_of_file_system(kind, options).into_iter().map(|effect| effect.by).collect()
    };
    assert!(by("ext4", "rw,relatime").is_empty());
    assert_eq!(by("btrfs", "rw,compress=zstd:3"), ["compression"]);
    assert!(by("btrfs", "rw,compress=no").is_empty());
    assert_eq!(by("ext4", "rw,data=journal").len(), 1);
    assert_eq!(by("tmpfs", "rw"), ["its files are memory"]);
    assert_eq!(by("fuse.sshfs", "rw").len(), 2);
}
