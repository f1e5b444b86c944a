//! Files as disks, by every path: what was written is read, flushes end, bad requests are refused.

use std::{collections::HashSet, path::PathBuf, sync::Arc};

use assay_buffer::{
    BufferError,
    disk::{Access, Action, Completion, Disk, DiskRequest, Drive, Memory, NONE, ONE, TrimRange, carry_out},
};
use assay_record::PathKind;

const PATHS: [PathKind; 3] = [PathKind::IoUring, PathKind::Libaio, PathKind::Pread];

fn files(folder: &tempfile::TempDir, count: usize) -> Vec<PathBuf> {
    (0..count).map(|index| folder.path().join(format!("part-{index}"))).collect()
}

fn access(path: PathKind) -> Access {
    Access { path, stripe_unit_bytes: 64 << 10, ..Access::default() }
}

fn fill(memory: &Memory, at: usize, bytes: usize, value: u8) {
    assert!(at + bytes <= memory.bytes());
    // SAFETY: inside the memory, and no request is in flight on it.
    unsafe { std::ptr::write_bytes(memory.start().add(at), value, bytes) };
}

fn byte(memory: &Memory, at: usize) -> u8 {
    assert!(at < memory.bytes());
    // SAFETY: inside the memory, and no request is in flight on it.
    unsafe { memory.start().add(at).read() }
}

fn do_one(disk: &dyn Disk, memory: &Arc<Memory>, request: DiskRequest) -> Result<(), BufferError> {
    let mut queue = disk.queue(4, memory)?;
    // SAFETY: nothing else works on the memory.
    unsafe { carry_out(&mut *queue, disk, request) }
}

fn request(action: Action, offset: u64, memory: usize, bytes: u32, token: u64) -> DiskRequest {
    DiskRequest { action, offset, memory, bytes, token }
}

#[test]
fn what_was_written_is_read_by_every_path_from_one_file_and_from_three() {
    for path in PATHS {
        for members in [1, 3] {
            let folder = tempfile::tempdir().unwrap();
            let drive = Drive::create(&files(&folder, members), 4 << 20, access(path)).unwrap();
            assert!(drive.bytes() >= 4 << 20);
            let memory = Arc::new(Memory::new(2 << 20).unwrap());
            let mut queue = drive.queue(8, &memory).unwrap();
            let mut done = Vec::new();
            // Thirty writes of 36 KiB at a depth of eight, many across the borders of units.
            for index in 0..30_u64 {
                fill(&memory, index as usize * 36_864, 36_864, index as u8 + 1);
                let request = request(Action::Write, index * 40_960, index as usize * 36_864, 36_864, index);
                // SAFETY: the memory is left alone until all is reaped.
                unsafe { queue.push(request) };
            }
            while queue.in_flight() > 0 {
                queue.reap(ONE, &mut done).unwrap();
            }
            assert_eq!(done.iter().map(|done| done.token).collect::<HashSet<_>>(), (0..30).collect());
            assert!(done.iter().all(|done| done.result.is_ok()), "{done:?}");
            // SAFETY: a flush has no memory.
            unsafe { carry_out(&mut *queue, &drive, DiskRequest::flush(7)).unwrap() };
            drop(queue);
            drop(drive);
            let drive = Drive::open(&files(&folder, members), access(path)).unwrap();
            for index in 0..30_u64 {
                do_one(&drive, &memory, request(Action::Read, index * 40_960, 1 << 20, 40_960, 0)).unwrap();
                assert_eq!(byte(&memory, 1 << 20), index as u8 + 1, "{path:?} {members}");
                assert_eq!(byte(&memory, (1 << 20) + 36_863), index as u8 + 1);
                assert_eq!(byte(&memory, (1 << 20) + 36_864), 0, "what was not written reads as zeros");
            }
        }
    }
}

#[test]
fn a_request_outside_of_the_disk_or_the_memory_is_refused_and_touches_nothing() {
    for path in PATHS {
        let folder = tempfile::tempdir().unwrap();
        let drive = Drive::create(&files(&folder, 2), 1 << 20, access(path)).unwrap();
        let memory = Arc::new(Memory::new(1 << 16).unwrap());
        for (offset, at, bytes) in [(drive.bytes(), 0, 4096), (u64::MAX - 4095, 0, 4096), (0, 1 << 16, 4096), (0, 0, 0)]
        {
            let answer = do_one(&drive, &memory, request(Action::Write, offset, at, bytes, 1));
            assert!(matches!(answer, Err(BufferError::Io { .. })), "{path:?} {offset} {at} {bytes}: {answer:?}");
        }
    }
}

#[test]
fn completions_come_once_and_reaping_nothing_does_not_wait() {
    for path in PATHS {
        let folder = tempfile::tempdir().unwrap();
        let drive = Drive::create(&files(&folder, 1), 1 << 20, access(path)).unwrap();
        let memory = Arc::new(Memory::new(1 << 16).unwrap());
        let mut queue = drive.queue(2, &memory).unwrap();
        let mut done: Vec<Completion> = Vec::new();
        queue.reap(NONE, &mut done).unwrap();
        queue.reap(ONE, &mut done).unwrap();
        assert!(done.is_empty());
        for token in 0..10 {
            // SAFETY: each read has memory of its own.
            unsafe { queue.push(request(Action::Read, 0, token as usize * 4096, 4096, token)) };
        }
        while queue.in_flight() > 0 {
            queue.reap(ONE, &mut done).unwrap();
        }
        assert_eq!(done.len(), 10);
    }
}

#[test]
fn a_file_is_made_once_and_held_by_one() {
    let folder = tempfile::tempdir().unwrap();
    let paths = files(&folder, 2);
    let drive = Drive::create(&paths, 1 << 20, Access::default()).unwrap();
    let second = Drive::open(&paths, Access::default());
    assert!(matches!(second, Err(BufferError::InUse { .. })), "{second:?}");
    drop(drive);
    assert!(Drive::create(&paths, 1 << 20, Access::default()).is_err());
    assert!(Drive::open(&paths, Access::default()).is_ok(), "a refused creation left the files alone");
    std::fs::remove_file(&paths[0]).unwrap();
    let missing = Drive::open(&paths, Access::default()).unwrap_err();
    assert!(missing.to_string().contains("part-0"), "{missing}");
    assert!(Drive::create(&paths, 1 << 20, Access::default()).is_err());
    assert!(!paths[0].exists(), "what a refused creation had made is removed again");
    assert!(paths[1].exists());
}

#[test]
fn ranges_of_a_trim_come_back_from_their_list() {
    let ranges = [(0, 4096), (1 << 40, u32::MAX), (u64::MAX, 0)].map(|(offset, bytes)| TrimRange { offset, bytes });
    let list: Vec<u8> = ranges.into_iter().flat_map(TrimRange::to_bytes).collect();
    assert_eq!(list.len(), 3 * TrimRange::SIZE);
    assert_eq!(TrimRange::all(&list).collect::<Vec<_>>(), ranges);
}
