//! Paths make the system calls that they count, and no more than they need; depth is real.

use crate::ground::{BLOCK, Ground, request};
use assay_path::{Blocking, Completion, Libaio, Mmap, OpenParameters, Pread, Queued, Uring, Wait};
use assay_record::{DurabilityKind, PathKind, PathSpec, PollMode};

const DEPTH: u32 = 32;
const FOREVER: Wait = Wait { at_least: DEPTH, timeout_ns: u64::MAX };

fn deep<'a>(ground: &'a Ground, spec: &'a PathSpec, kind: DurabilityKind) -> OpenParameters<'a> {
    OpenParameters { depth: DEPTH, batch: DEPTH, ..ground.parameters(spec, kind, true) }
}

fn push_all(path: &mut impl Queued, write: bool) {
    for slot in 0..DEPTH {
        let at = u64::from(slot * BLOCK);
        path.push(assay_path::Request { slot, ..request(write, at, BLOCK, at as usize) });
    }
}

fn reap_all(path: &mut impl Queued) -> Vec<Completion> {
    let mut into = Vec::with_capacity(DEPTH as usize);
    while into.len() < DEPTH as usize {
        path.submit_and_reap(FOREVER, &mut into).unwrap();
    }
    into.sort_unstable_by_key(|completion| completion.slot);
    into
}

fn assert_whole(done: &[Completion]) {
    let wanted: Vec<_> = (0..DEPTH).map(|slot| Completion { slot, result: BLOCK as i32 }).collect();
    assert_eq!(done, wanted);
}

#[test]
fn a_blocking_operation_is_one_call_and_a_flush_one_for_each_file_written() {
    let ground = Ground::new(3, 256 << 10);
    let spec = PathSpec::plain(PathKind::Pread);
    let mut path = Pread::open(&ground.parameters(&spec, DurabilityKind::Fdatasync, true)).unwrap();
    assert_eq!(path.system_calls(), 0);
    for index in 0..10 {
        path.read(index % 3, 4096, BLOCK, 0).unwrap();
    }
    assert_eq!(path.system_calls(), 10);
    path.flush().unwrap();
    assert_eq!(path.system_calls(), 10, "nothing was written");
    path.write(0, 0, BLOCK, 0).unwrap();
    path.write(2, 0, BLOCK, 0).unwrap();
    path.write(2, 4096, BLOCK, 0).unwrap();
    path.flush().unwrap();
    assert_eq!(path.system_calls(), 15, "three writes and a flush of two files");
    path.flush().unwrap();
    assert_eq!(path.system_calls(), 15, "everything is flushed");
}

#[test]
fn writes_that_are_durable_by_themselves_are_not_flushed() {
    let ground = Ground::new(1, 256 << 10);
    let spec = PathSpec::plain(PathKind::Pread);
    for kind in [DurabilityKind::None, DurabilityKind::ODsync, DurabilityKind::RwfDsync] {
        let mut path = Pread::open(&ground.parameters(&spec, kind, true)).unwrap();
        path.write(0, 0, BLOCK, 0).unwrap();
        path.flush().unwrap();
        assert_eq!(path.system_calls(), 1, "{kind:?}");
    }
}

#[test]
fn a_mapping_makes_no_calls_to_read_or_write() {
    let ground = Ground::new(1, 256 << 10);
    let spec = PathSpec::plain(PathKind::Mmap);
    let mut path = Mmap::open(&ground.parameters(&spec, DurabilityKind::Msync, true)).unwrap();
    path.read(0, 0, BLOCK, 0).unwrap();
    path.write(0, 8192, BLOCK, 0).unwrap();
    assert_eq!(path.system_calls(), 0);
    path.flush().unwrap();
    assert_eq!(path.system_calls(), 1);
}

#[test]
fn a_batch_on_io_uring_is_one_call_to_submit_and_wait() {
    let ground = Ground::new(1, 256 << 10);
    for (direct, fixed) in [(false, false), (true, false), (true, true)] {
        let spec = PathSpec { direct, fixed, ..PathSpec::plain(PathKind::IoUring) };
        let Ok(mut path) = Uring::open(&deep(&ground, &spec, DurabilityKind::None)) else {
            eprintln!("skipped: no io_uring here (direct={direct} fixed={fixed})");
            continue;
        };
        push_all(&mut path, false);
        assert_eq!((path.in_flight(), path.system_calls()), (DEPTH, 0));
        assert_whole(&reap_all(&mut path));
        assert_eq!((path.in_flight(), path.system_calls()), (0, 1), "direct={direct} fixed={fixed}");
    }
}

#[test]
fn cached_completions_of_io_uring_are_reaped_without_a_call() {
    let ground = Ground::new(1, 256 << 10);
    let _ = ground.content(0);
    let spec = PathSpec::plain(PathKind::IoUring);
    let Ok(mut path) = Uring::open(&deep(&ground, &spec, DurabilityKind::None)) else {
        eprintln!("skipped: no io_uring here");
        return;
    };
    push_all(&mut path, false);
    assert_eq!(path.submit().unwrap(), DEPTH);
    let mut into = Vec::with_capacity(DEPTH as usize);
    let looked = path.reap(Wait { at_least: 0, timeout_ns: 0 }, &mut into).unwrap();
    assert_eq!((looked, path.system_calls()), (DEPTH, 1), "a read of the page cache is done when submit returns");
}

#[test]
fn a_submitting_kernel_thread_saves_the_calls_to_submit() {
    let ground = Ground::new(1, 256 << 10);
    let spec = PathSpec { direct: true, poll: PollMode::Sqpoll, ..PathSpec::plain(PathKind::IoUring) };
    let Ok(mut path) = Uring::open(&deep(&ground, &spec, DurabilityKind::None)) else {
        eprintln!("skipped: no SQPOLL here");
        return;
    };
    for round in 0..20 {
        push_all(&mut path, round % 2 == 0);
        assert_eq!(path.submit().unwrap(), DEPTH);
        assert_whole(&reap_all(&mut path));
    }
    assert!(path.system_calls() <= 40, "{} calls for 640 operations", path.system_calls());
}

/// The kernel thread frees the entries of a batch only after the first of them may have completed.
#[test]
fn a_submitting_kernel_thread_that_lags_behind_never_finds_the_ring_full() {
    let ground = Ground::new(1, 256 << 10);
    let _ = ground.content(0);
    let spec = PathSpec { poll: PollMode::Sqpoll, ..PathSpec::plain(PathKind::IoUring) };
    for depth in [1, 3] {
        let parameters = OpenParameters { depth, ..ground.parameters(&spec, DurabilityKind::None, false) };
        let Ok(mut path) = Uring::open(&parameters) else {
            eprintln!("skipped: no SQPOLL here");
            return;
        };
        let mut into = Vec::with_capacity(depth as usize);
        let mut free: Vec<u32> = (0..depth).collect();
        for _ in 0..100_000 / depth {
            while let Some(slot) = free.pop() {
                path.push(assay_path::Request { slot, ..request(false, 0, BLOCK, 0) });
            }
            into.clear();
            path.submit_and_reap(Wait { at_least: 1, timeout_ns: u64::MAX }, &mut into).unwrap();
            free.extend(into.iter().map(|completion| completion.slot));
        }
    }
}

#[test]
fn a_batch_on_libaio_is_one_call_to_submit_and_at_most_a_few_to_wait() {
    let ground = Ground::new(1, 256 << 10);
    let spec = PathSpec { direct: true, ..PathSpec::plain(PathKind::Libaio) };
    let mut path = Libaio::open(&deep(&ground, &spec, DurabilityKind::None)).unwrap();
    push_all(&mut path, false);
    assert_eq!(path.submit().unwrap(), DEPTH);
    assert_eq!(path.system_calls(), 1);
    assert_whole(&reap_all(&mut path));
    assert!(path.system_calls() <= 2, "{} calls", path.system_calls());
}

#[test]
fn cached_completions_of_libaio_are_reaped_without_a_call() {
    let ground = Ground::new(1, 256 << 10);
    let spec = PathSpec::plain(PathKind::Libaio);
    let mut path = Libaio::open(&deep(&ground, &spec, DurabilityKind::None)).unwrap();
    push_all(&mut path, true);
    assert_eq!(path.submit().unwrap(), DEPTH);
    assert_whole(&reap_all(&mut path));
    assert_eq!(path.system_calls(), 1, "buffered operations are done when io_submit returns");
}

#[test]
fn a_flush_takes_a_slot_and_ends_with_nothing_moved() {
    let ground = Ground::new(1, 256 << 10);
    for (kind, calls) in [(DurabilityKind::Fdatasync, 2), (DurabilityKind::Fsync, 2), (DurabilityKind::RwfDsync, 1)] {
        let uring = PathSpec::plain(PathKind::IoUring);
        if let Ok(mut path) = Uring::open(&deep(&ground, &uring, kind)) {
            write_and_flush(&mut path);
            assert_eq!(path.system_calls(), calls, "io_uring {kind:?}");
        }
        let libaio = PathSpec::plain(PathKind::Libaio);
        let mut path = Libaio::open(&deep(&ground, &libaio, kind)).unwrap();
        write_and_flush(&mut path);
        assert!(path.system_calls() >= calls, "libaio {kind:?}");
    }
}

fn write_and_flush(path: &mut impl Queued) {
    let mut into = Vec::with_capacity(DEPTH as usize);
    let wait = Wait { at_least: 1, timeout_ns: u64::MAX };
    path.push(request(true, 0, BLOCK, 0));
    assert_eq!(path.submit_and_reap(wait, &mut into).unwrap(), 1);
    into.clear();
    path.push_flush(0, 5);
    while into.is_empty() {
        path.submit_and_reap(wait, &mut into).unwrap();
    }
    assert_eq!(into, [Completion { slot: 5, result: 0 }]);
}

#[test]
fn waiting_with_nothing_in_flight_returns_at_once() {
    let ground = Ground::new(1, 256 << 10);
    let mut into = Vec::with_capacity(4);
    let libaio = PathSpec::plain(PathKind::Libaio);
    let mut path = Libaio::open(&deep(&ground, &libaio, DurabilityKind::None)).unwrap();
    assert_eq!(path.reap(FOREVER, &mut into).unwrap(), 0);
    let uring = PathSpec::plain(PathKind::IoUring);
    if let Ok(mut path) = Uring::open(&deep(&ground, &uring, DurabilityKind::None)) {
        assert_eq!(path.reap(FOREVER, &mut into).unwrap(), 0);
    }
}

#[test]
fn a_path_that_goes_waits_for_what_is_in_flight() {
    let ground = Ground::new(1, 256 << 10);
    let spec = PathSpec { direct: true, ..PathSpec::plain(PathKind::IoUring) };
    for _ in 0..20 {
        let Ok(mut path) = Uring::open(&deep(&ground, &spec, DurabilityKind::None)) else { return };
        push_all(&mut path, true);
        path.submit().unwrap();
        drop(path);
        assert!(ground.content(0)[..128 << 10] == ground.memory(0, 128 << 10), "all 32 writes are there");
    }
}
