//! Data sets in memory: volatile, persistent, and in huge pages.

use super::*;

#[test]
fn memory_and_null_need_no_place() {
    let mut set = dataset("d", 3 * MIB);
    set.files = 2;
    let pmem = class("d", PathKind::Pmem, Operation::Read, 64);
    let ready = interrupt_never(&job(target(TargetKind::Memory, &[]), vec![set.clone()], vec![pmem])).unwrap();
    assert!(!ready.datasets[0].emulated && ready.datasets[0].files.len() == 2);
    assert_eq!(ready.datasets[0].files[0][0].kind, SegmentKind::Memory);
    let ready = interrupt_never(&job(target(TargetKind::Null, &[]), vec![set], Vec::new())).unwrap();
    assert_eq!(ready.datasets[0].files[1][0].kind, SegmentKind::Null);
    assert_eq!(ready.datasets[0].files[1][0].bytes, 3 * MIB);
}

#[test]
fn persistent_memory_is_emulated_in_memory_and_refused_on_a_disk_before_anything_is_written() {
    let folder = disk_folder();
    let mut job = folder_job(folder.path(), 64 * MIB);
    job.classes = vec![class("d", PathKind::Pmem, Operation::Read, 256)];
    let mut worked = false;
    let error = prepare(&job, &mut |_, _, _| worked = true, &AtomicBool::new(false)).unwrap_err();
    assert!(matches!(error, PathError::Unavailable { .. }) && error.exit_code() == 4, "{error}");
    assert!(!worked && fs::read_dir(folder.path()).unwrap().count() == 0);
    let Some(memory) = memory_folder() else { return };
    for layout in [Layout::Written, Layout::Grow, Layout::Preallocated] {
        let mut job = folder_job(memory.path(), MIB);
        job.datasets[0].layout = layout;
        job.classes = vec![class("d", PathKind::Pmem, Operation::Write, 256)];
        let ready = interrupt_never(&job).unwrap();
        assert!(ready.datasets[0].emulated && ready.datasets[0].device_names.is_empty(), "{layout:?}");
    }
}

#[test]
fn a_huge_page_file_system_holds_data_sets_as_well() {
    let folder = disk_folder();
    let options = ["-t", "hugetlbfs", "-o", "pagesize=2M", "none"];
    let Some(mount) = Mounted::new(&options, &folder.path().join("huge")) else { return };
    let mut job = folder_job(&mount.0, 3 * MIB);
    job.classes = vec![class("d", PathKind::Pmem, Operation::Write, 4096)];
    match interrupt_never(&job) {
        Ok(ready) => {
            let set = &ready.datasets[0];
            assert!(set.emulated && content(set, 0, 0).chunks(4096).all(|block| block.iter().any(|&byte| byte != 0)));
            drop(ready);
            assert_eq!(fs::read_dir(&mount.0).unwrap().count(), 0);
        }
        Err(error) => {
            eprintln!("skipped: too few huge pages are reserved ({error})");
            assert_eq!(fs::read_dir(&mount.0).unwrap().count(), 0, "something was left");
        }
    }
}
