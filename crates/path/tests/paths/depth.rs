//! A depth of 32 has 32 operations at the device at once.

use std::{fs, os::unix::fs::MetadataExt, path::PathBuf};

use crate::ground::{Ground, request};
use assay_path::{Completion, Libaio, OpenParameters, Queued, Request, Uring, Wait};
use assay_record::{DurabilityKind, PathKind, PathSpec};

const DEPTH: u32 = 32;
const LENGTH: u32 = 32 << 10;
const ROUNDS: usize = 200;

/// The kernel's list of requests in flight at the device under the ground; none where there is no such device.
fn in_flight_file(ground: &Ground) -> Option<PathBuf> {
    let device = fs::metadata(ground.folder.path()).ok()?.dev();
    let (major, minor) = (libc::major(device), libc::minor(device));
    let file = PathBuf::from(format!("/sys/dev/block/{major}:{minor}/inflight"));
    file.exists().then_some(file)
}

/// Reads in flight at the device, everybody's.
fn reads_in_flight(file: &PathBuf) -> u32 {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.split_whitespace().next().and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// The most reads that were seen at the device while a full queue had been submitted and nothing was reaped.
fn deepest(path: &mut impl Queued, file: &PathBuf) -> u32 {
    let mut into: Vec<Completion> = Vec::with_capacity(DEPTH as usize);
    let mut deepest = 0;
    for round in 0..ROUNDS as u64 {
        for slot in 0..DEPTH {
            let offset = (round * 37 + u64::from(slot) * 11) % 512 * u64::from(LENGTH);
            path.push(Request { slot, ..request(false, offset, LENGTH, (slot * LENGTH) as usize) });
        }
        assert_eq!(path.submit().unwrap(), DEPTH, "the kernel takes all of them");
        deepest = deepest.max(reads_in_flight(file));
        into.clear();
        while into.len() < DEPTH as usize {
            path.reap(Wait { at_least: DEPTH, timeout_ns: u64::MAX }, &mut into).unwrap();
        }
        assert!(into.iter().all(|completion| completion.result == LENGTH as i32));
    }
    deepest
}

fn check(name: &str, path: &mut impl Queued, ground: &Ground) {
    let Some(file) = in_flight_file(ground) else {
        eprintln!("skipped: the folder of this test is on no block device that counts requests in flight");
        return;
    };
    let deepest = deepest(path, &file);
    // A fast device has ended some before the count is read: half of them at once is still no accident.
    assert!(deepest > DEPTH / 2, "{name}: at most {deepest} of {DEPTH} reads were at the device at once");
}

#[test]
fn a_queue_of_32_is_at_the_device_at_once() {
    let ground = Ground::new(1, 512 * u64::from(LENGTH));
    let uring = PathSpec { direct: true, ..PathSpec::plain(PathKind::IoUring) };
    let parameters =
        |spec| OpenParameters { depth: DEPTH, batch: DEPTH, ..ground.parameters(spec, DurabilityKind::None, false) };
    match Uring::open(&parameters(&uring)) {
        Ok(mut path) => check("io_uring", &mut path, &ground),
        Err(error) => eprintln!("skipped: {error}"),
    }
    let libaio = PathSpec { direct: true, ..PathSpec::plain(PathKind::Libaio) };
    match Libaio::open(&parameters(&libaio)) {
        Ok(mut path) => check("libaio", &mut path, &ground),
        Err(error) => eprintln!("skipped: {error}"),
    }
}
