//! How a class's bytes travel, and figures that are made of others.

use super::*;

fn class(kind: PathKind, direct: bool, target: TargetKind) -> ClassObservation {
    ClassObservation::new("x", PathSpec { direct, ..PathSpec::plain(kind) }, target)
}

#[test]
fn bytes_travel_by_the_page_cache_or_by_direct_io_or_neither() {
    use PathKind::{IoUring, Libaio, Mmap, Null, NvmePassthrough, Pmem, Pread};
    for (kind, direct, target, buffered, by_direct) in [
        (Pread, false, TargetKind::Folder, true, false),
        (Pread, true, TargetKind::Folder, false, true),
        (Libaio, false, TargetKind::Folder, true, false),
        (Libaio, true, TargetKind::Folder, false, true),
        (IoUring, false, TargetKind::Folder, true, false),
        (IoUring, true, TargetKind::Folder, false, true),
        (Mmap, false, TargetKind::Folder, true, false),
        (Mmap, true, TargetKind::Folder, true, false),
        (Mmap, false, TargetKind::DeviceDax, false, false),
        (Pmem, false, TargetKind::Folder, false, false),
        (Null, true, TargetKind::Folder, false, false),
        (NvmePassthrough, true, TargetKind::Folder, false, false),
    ] {
        let class = class(kind, direct, target);
        assert_eq!((class.buffered(), class.direct()), (buffered, by_direct), "{kind:?} {direct} {target:?}");
    }
}

#[test]
fn memory_and_nothing_are_told_by_path_or_by_target() {
    for (kind, target, memory, null, queued) in [
        (PathKind::Pread, TargetKind::Folder, false, false, false),
        (PathKind::Pmem, TargetKind::Folder, true, false, false),
        (PathKind::Pread, TargetKind::Memory, true, false, false),
        (PathKind::Null, TargetKind::Folder, false, true, false),
        (PathKind::IoUring, TargetKind::Null, false, true, true),
    ] {
        let class = class(kind, false, target);
        assert_eq!((class.memory(), class.null(), class.queued()), (memory, null, queued), "{kind:?} {target:?}");
    }
}

#[test]
fn sums_are_of_both_kinds() {
    let class = ClassObservation { reads: 3, writes: 4, ..class(PathKind::Pread, false, TargetKind::Folder) };
    assert_eq!(class.operations(), 7);
    let used = ProcessUse { user_s: 1.5, kernel_s: 0.25, waited_s: Some(2.0), ..ProcessUse::default() };
    let own = OwnCpu::of(&used);
    assert_eq!(own, OwnCpu { user_s: 1.5, kernel_s: 0.25, waited_s: Some(2.0) });
    assert_eq!(own.cpu_s(), 1.75);
}

#[test]
fn lateness_has_made_no_more_of_a_response_than_passed_outside_of_the_service() {
    let share =
        |late_ns, response_ns, service_ns| Lateness { percentile: 99.0, late_ns, response_ns, service_ns }.share();
    assert_eq!([share(100, 800, 400), share(600, 800, 400), share(100, 800, 900)], [0.125, 0.5, 0.0]);
    assert_eq!(share(0, 0, 0), 0.0);
    assert_eq!([Lateness::percentile(500), Lateness::percentile(40)], [98.0, 75.0]);
}

#[test]
fn the_kernel_accounts_for_no_file_system_with_bytes_of_its_own() {
    for kind in ["ext4", "xfs", "btrfs", "fusex"] {
        assert!(kernel_accounts(PathKind::Libaio, Some(kind)), "{kind}");
    }
    for kind in ["ramfs", "zfs", "9p", "nfs", "cifs", "ceph", "fuse", "fuseblk", "fuse.x"] {
        assert!(!kernel_accounts(PathKind::Mmap, Some(kind)), "{kind}");
    }
    assert!(!kernel_accounts(PathKind::Null, Some("ext4")));
}
