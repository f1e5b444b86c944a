//! What a path writes is what is read back, and a class that reads changes nothing.

use std::path::Path;

use crate::ground::{BLOCK, Ground, available, durabilities, random, request};
use assay_path::{OpenParameters, Opened, PathError};
use assay_record::{Advice, DurabilityKind, Layout, PathKind, PathSpec, PollMode, Reach};
use proptest::prelude::*;

const FILE_BYTES: u64 = 256 << 10;
const BLOCKS: u64 = FILE_BYTES / BLOCK as u64;

/// One write and its place in the arena, in blocks.
fn writes() -> impl Strategy<Value = Vec<(u64, u32, usize)>> {
    let write = (0..BLOCKS).prop_flat_map(|block| (Just(block), 1..=(BLOCKS - block).min(8) as u32, 0_usize..100));
    prop::collection::vec(write, 1..20)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 5, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn every_path_reads_back_what_it_wrote(seed in any::<u64>(), writes in writes()) {
        round_trip(Ground::new(1, FILE_BYTES), seed, &writes)?;
    }

    #[test]
    fn every_path_reads_back_what_it_wrote_in_memory(seed in any::<u64>(), writes in writes()) {
        let folder = Path::new("/dev/shm");
        if folder.is_dir() {
            round_trip(Ground::in_folder(folder, 1, FILE_BYTES), seed, &writes)?;
        } else {
            eprintln!("skipped: there is no /dev/shm here");
        }
    }
}

fn round_trip(mut ground: Ground, seed: u64, writes: &[(u64, u32, usize)]) -> Result<(), TestCaseError> {
    ground.arena.fill_random(seed);
    for (name, spec) in available(&ground) {
        for kind in durabilities(spec.kind) {
            check_writes(&ground, &spec, *kind, writes)
                .map_err(|error| TestCaseError::fail(format!("{name} {kind:?} seed={seed}: {error}")))?;
        }
    }
    Ok(())
}

fn check_writes(
    ground: &Ground,
    spec: &PathSpec,
    kind: DurabilityKind,
    writes: &[(u64, u32, usize)],
) -> Result<(), String> {
    let mut wanted = ground.content(0);
    let mut path = ground.open(spec, kind, true).map_err(|error| error.to_string())?;
    for (block, blocks, memory) in writes {
        let (offset, length, memory) = (block * u64::from(BLOCK), blocks * BLOCK, memory * BLOCK as usize);
        path.operate(request(true, offset, length, memory)).map_err(|error| format!("write: {error}"))?;
        path.flush(0).map_err(|error| format!("flush: {error}"))?;
        let range = offset as usize..offset as usize + length as usize;
        wanted[range].copy_from_slice(&ground.memory(memory, length as usize));
    }
    drop(path);
    if ground.content(0) != wanted {
        return Err("the file does not hold what was written".to_owned());
    }
    check_reads(ground, spec, writes, &wanted)
}

/// Reads into a part of the arena that no write used.
fn check_reads(ground: &Ground, spec: &PathSpec, writes: &[(u64, u32, usize)], wanted: &[u8]) -> Result<(), String> {
    let mut path = ground.open(spec, DurabilityKind::None, false).map_err(|error| error.to_string())?;
    let memory = 128 * BLOCK as usize;
    for (block, blocks, _) in writes {
        let (offset, length) = (block * u64::from(BLOCK), blocks * BLOCK);
        path.operate(request(false, offset, length, memory)).map_err(|error| format!("read: {error}"))?;
        let range = offset as usize..offset as usize + length as usize;
        if ground.memory(memory, length as usize) != wanted[range] {
            return Err(format!("{length} bytes at {offset} were read back differently"));
        }
    }
    Ok(())
}

#[test]
fn cached_paths_take_any_offset_and_length() {
    let ground = Ground::new(1, FILE_BYTES);
    for (name, spec) in available(&ground).into_iter().filter(|(_, spec)| !spec.direct) {
        let mut path = ground.open(&spec, DurabilityKind::None, true).unwrap();
        for (offset, length, memory) in [(1, 1, 3), (4095, 2, 77), (12_345, 54_321, 1), (FILE_BYTES - 7, 7, 0)] {
            path.operate(request(true, offset, length, memory)).unwrap();
            let range = offset as usize..offset as usize + length as usize;
            assert!(ground.content(0)[range] == ground.memory(memory, length as usize), "{name} at {offset}");
            path.operate(request(false, offset, length, 500_000 + memory)).unwrap();
            let read = ground.memory(500_000 + memory, length as usize);
            assert!(read == ground.memory(memory, length as usize), "{name} at {offset}");
        }
    }
}

#[test]
fn a_class_that_reads_leaves_files_as_they_are() {
    let ground = Ground::new(1, FILE_BYTES);
    let before = ground.content(0);
    for (name, spec) in available(&ground) {
        let mut path = ground.open(&spec, DurabilityKind::None, false).unwrap();
        path.operate(request(false, 0, BLOCK, 0)).unwrap();
        let error = path.operate(request(true, 0, BLOCK, 4096)).expect_err(&name);
        assert_eq!(error.raw_os_error(), Some(libc::EBADF), "{name}: {error}");
        path.flush(0).unwrap();
        assert!(ground.content(0) == before, "{name} changed a file that it was to read");
    }
}

#[test]
fn segments_are_ranges_and_operations_stay_inside() {
    let mut ground = Ground::new(2, FILE_BYTES);
    let content = ground.content(1);
    ground.segments[1].base = 8192;
    ground.segments[1].bytes = 16384;
    for (name, spec) in available(&ground) {
        let mut path = ground.open(&spec, DurabilityKind::None, true).unwrap();
        let mut at = |write, offset, length, memory| {
            path.operate(assay_path::Request { segment: 1, ..request(write, offset, length, memory) })
        };
        at(false, 4096, BLOCK, 0).unwrap();
        assert!(ground.memory(0, 4096) == content[12288..16384], "{name}: offsets count from the segment's base");
        for (write, offset, length, memory) in [
            (true, 16384, BLOCK, 0),
            (true, 12288, 2 * BLOCK, 0),
            (false, u64::MAX - 4095, BLOCK, 0),
            (false, 0, BLOCK, (1 << 20) - 4095),
            (true, 0, BLOCK, usize::MAX - 5),
        ] {
            let error = at(write, offset, length, memory).expect_err(&name);
            assert_eq!(error.raw_os_error(), Some(libc::EINVAL), "{name} {offset} {length} {memory}");
        }
        assert!(ground.content(1) == content, "{name} wrote outside its segment");
    }
}

#[test]
fn the_end_of_a_file_is_an_error_and_a_short_read_is_continued() {
    let mut ground = Ground::new(1, 10_000);
    ground.segments[0].bytes = 1 << 20;
    for (name, spec) in available(&ground).into_iter().filter(|(_, spec)| spec.kind != PathKind::Mmap) {
        let mut path = ground.open(&spec, DurabilityKind::None, false).unwrap();
        path.operate(request(false, 4096, BLOCK, 0)).unwrap();
        for offset in [8192, 65536] {
            let error = path.operate(request(false, offset, BLOCK, 0)).expect_err(&name);
            assert_eq!(error.raw_os_error(), Some(libc::ENODATA), "{name} at {offset}: {error}");
        }
    }
}

#[test]
fn a_growing_file_begins_empty_and_begins_anew() {
    let mut ground = Ground::new(1, 4096);
    ground.segments[0].bytes = 64 << 10;
    let data = random(3, 8192);
    ground.arena.as_mut_slice()[..8192].copy_from_slice(&data);
    for (name, spec) in available(&ground).into_iter().filter(|(_, spec)| spec.kind != PathKind::Mmap) {
        let parameters =
            OpenParameters { layout: Layout::Grow, ..ground.parameters(&spec, DurabilityKind::None, true) };
        let mut path = Opened::open(&parameters).unwrap();
        assert!(ground.content(0).is_empty(), "{name}");
        path.operate(request(true, 0, 8192, 0)).unwrap();
        assert!(ground.content(0) == data, "{name}");
        path.restart(0).unwrap();
        assert!(ground.content(0).is_empty(), "{name}");
        path.operate(request(true, 0, 4096, 4096)).unwrap();
        assert!(ground.content(0) == data[4096..], "{name}");
    }
}

#[test]
fn a_growing_mapping_is_all_holes_at_its_full_length() {
    let mut ground = Ground::new(1, 4096);
    ground.segments[0].bytes = 64 << 10;
    let spec = PathSpec::plain(PathKind::Mmap);
    let parameters = OpenParameters { layout: Layout::Grow, ..ground.parameters(&spec, DurabilityKind::Msync, true) };
    let mut path = Opened::open(&parameters).unwrap();
    assert!(ground.content(0) == vec![0; 64 << 10]);
    path.operate(request(true, 8192, BLOCK, 0)).unwrap();
    path.flush(0).unwrap();
    assert!(ground.content(0)[8192..12288] == ground.memory(0, 4096));
    path.restart(0).unwrap();
    assert!(ground.content(0) == vec![0; 64 << 10]);
    path.operate(request(true, 0, BLOCK, 0)).unwrap();
    assert!(ground.content(0)[..4096] == ground.memory(0, 4096));
}

#[test]
fn hints_change_nothing_but_speed() {
    let ground = Ground::new(1, FILE_BYTES);
    let content = ground.content(0);
    for advice in [Advice::Random, Advice::Sequential, Advice::WillNeed] {
        for (name, spec) in available(&ground) {
            let mut path = ground.open(&PathSpec { advice, ..spec }, DurabilityKind::None, false).unwrap();
            path.operate(request(false, 8192, BLOCK, 0)).unwrap();
            assert!(ground.memory(0, 4096) == content[8192..12288], "{name} {advice:?}");
        }
    }
}

#[test]
fn options_that_a_path_lacks_are_refused_in_a_sentence() {
    let ground = Ground::new(1, FILE_BYTES);
    let plain = PathSpec::plain;
    let none = DurabilityKind::None;
    let cases = [
        (PathSpec { fixed: true, ..plain(PathKind::Pread) }, none, "registered"),
        (PathSpec { poll: PollMode::Iopoll, ..plain(PathKind::Libaio) }, none, "polling"),
        (PathSpec { direct: true, ..plain(PathKind::Mmap) }, none, "direct I/O"),
        (PathSpec { advice: Advice::HugePage, ..plain(PathKind::Pread) }, none, "huge pages"),
        (PathSpec { fenced: true, ..plain(PathKind::IoUring) }, none, "fenced"),
        (PathSpec { poll: PollMode::Iopoll, ..plain(PathKind::IoUring) }, none, "needs direct I/O"),
        (plain(PathKind::Pread), DurabilityKind::Msync, "durability by msync"),
        (plain(PathKind::Mmap), DurabilityKind::Fsync, "durability by fsync"),
        (plain(PathKind::NvmePassthrough), none, "not a block device"),
        (plain(PathKind::NvmePolled), none, "not a block device"),
        (PathSpec { poll: PollMode::Sqpoll, ..plain(PathKind::NvmePolled) }, none, "no kernel takes part"),
        (PathSpec { poll_sleep_us: 50, ..plain(PathKind::IoUring) }, none, "no sleep between polls"),
        (PathSpec { reach: Reach::Uio, ..plain(PathKind::Pread) }, none, "no way to a drive"),
    ];
    for (spec, kind, words) in cases {
        let error = ground.open(&spec, kind, true).expect_err(words);
        assert!(matches!(error, PathError::Unavailable { .. }), "{error}");
        assert!(error.to_string().contains(words), "{error} should say {words:?}");
        assert!(!error.fix().is_empty());
        assert_eq!(error.exit_code(), 4);
    }
    let deep = plain(PathKind::Pread);
    let parameters = OpenParameters { depth: 2, ..ground.parameters(&deep, none, false) };
    assert!(Opened::open(&parameters).unwrap_err().to_string().contains("more than one operation"));
}
