//! Data sets on devices whose content may be destroyed.

use super::*;

fn device_job(device: &Loop, sizes: &[u64]) -> Job {
    let mut members = target(TargetKind::BlockDevice, &[&device.device]);
    members.yes_destroy = true;
    members.serials = vec![guard::serial(&device.device).unwrap()];
    let sets = sizes.iter().enumerate().map(|(index, &bytes)| dataset(&format!("d{index}"), bytes)).collect();
    job(members, sets, vec![class("d0", PathKind::Pread, Operation::Write, 4096)])
}

#[test]
fn a_device_is_carved_into_ranges_that_do_not_touch() {
    let folder = disk_folder();
    let Some(device) = Loop::new(folder.path(), "image", 32 * MIB) else { return };
    let mut job = device_job(&device, &[3 * MIB + 4096, 5 * MIB]);
    job.datasets[0].files = 2;
    let ready = interrupt_never(&job).unwrap();
    let mut ranges: Vec<_> = ready.datasets.iter().flat_map(|set| set.files.iter().flatten()).collect();
    ranges.sort_by_key(|segment| segment.base);
    assert!(ranges.iter().all(|segment| segment.base % MIB == 0 && segment.kind == SegmentKind::BlockDevice));
    assert!(ranges.windows(2).all(|pair| pair[0].base + pair[0].bytes <= pair[1].base));
    assert_eq!(ready.datasets[0].extents, None);
    let first = content(&ready.datasets[0], 1, 0);
    drop(ready);
    let (again, _) = prepared(&job).unwrap();
    assert_eq!(content(&again.datasets[0], 1, 0), first, "random bytes that are there are not written once more");
    drop(again);
    let error = interrupt_never(&device_job(&device, &[30 * MIB, 3 * MIB])).unwrap_err();
    assert!(error.to_string().contains("does not fit"), "{error}");
}

#[test]
fn a_device_of_zeros_is_filled_with_random_bytes() {
    let folder = disk_folder();
    let Some(device) = Loop::new(folder.path(), "image", 16 * MIB) else { return };
    let ready = interrupt_never(&device_job(&device, &[8 * MIB])).unwrap();
    let bytes = content(&ready.datasets[0], 0, 0);
    assert!(bytes.chunks(4096).all(|block| block.iter().filter(|&&byte| byte == 0).count() < 64));
}

#[test]
fn a_device_that_was_not_confirmed_is_not_written_to() {
    let folder = disk_folder();
    let Some(device) = Loop::new(folder.path(), "image", 16 * MIB) else { return };
    let mut job = device_job(&device, &[8 * MIB]);
    job.targets[0].yes_destroy = false;
    assert!(matches!(interrupt_never(&job), Err(PathError::Refused { .. })));
    assert_eq!(fs::metadata(&device.backing).unwrap().blocks(), 0, "something was written");
}
