//! A sync of a mapping writes the pages that were written, and no others.

use std::{
    fs::File,
    os::{fd::AsRawFd, unix::fs::FileExt},
};

use crate::ground::{BLOCK, Ground};
use assay_path::{Blocking, Mmap, OpenParameters, mmap::DirtyRange};
use assay_record::{Durability, DurabilityKind, PathKind, PathSpec};

const SYS_CACHESTAT: libc::c_long = 451;

/// `struct cachestat`.
#[repr(C)]
#[derive(Debug, Default)]
struct CacheStat {
    cached: u64,
    dirty: u64,
    writeback: u64,
    evicted: u64,
    recently_evicted: u64,
}

/// Dirty pages of a file in the page cache; none where the kernel does not tell (before 6.5).
fn dirty_pages(file: &File) -> Option<u64> {
    let range = [0_u64, 0];
    let mut stat = CacheStat::default();
    // SAFETY: both structures are valid and outlive the call.
    let answer = unsafe { libc::syscall(SYS_CACHESTAT, file.as_raw_fd(), range.as_ptr(), &raw mut stat, 0) };
    (answer == 0).then_some(stat.dirty)
}

fn mapped<'a>(ground: &'a Ground, spec: &'a PathSpec, every: u32) -> OpenParameters<'a> {
    OpenParameters {
        durability: Durability { kind: DurabilityKind::Msync, every },
        ..ground.parameters(spec, DurabilityKind::Msync, true)
    }
}

/// Writes a file anew in single pages. A file system with large folios would otherwise keep what one call wrote in one
/// folio, and write that back as a whole.
fn in_single_pages(ground: &Ground) {
    let file = File::create(&ground.segments[0].path).unwrap();
    for page in 0..ground.segments[0].bytes / 4096 {
        file.write_all_at(&[page as u8; 4096], page * 4096).unwrap();
    }
    file.sync_all().unwrap();
}

/// The regression "a sync that flushes the whole mapping where one page was meant": another writer's dirty pages of
/// the same file must stay dirty.
#[test]
fn mmap_sync_touches_only_the_page_written() {
    let ground = Ground::new(1, 1 << 20);
    in_single_pages(&ground);
    let spec = PathSpec::plain(PathKind::Mmap);
    let mut path = Mmap::open(&mapped(&ground, &spec, 1)).unwrap();
    let file = File::open(&ground.segments[0].path).unwrap();
    let mut other = Mmap::open(&ground.parameters(&spec, DurabilityKind::None, true)).unwrap();

    for page in 0..64 {
        other.write(0, page * 8192, BLOCK, 0).unwrap();
    }
    path.write(0, 4096 * 129 + 100, 64, 0).unwrap();
    assert_eq!(path.dirty_ranges(), [DirtyRange { segment: 0, start: 4096 * 129, end: 4096 * 130 }]);
    let before = dirty_pages(&file);
    let calls = path.system_calls();
    path.flush().unwrap();
    assert_eq!(path.system_calls() - calls, 1, "one page is one call");
    assert!(path.dirty_ranges().is_empty());

    let after = dirty_pages(&file);
    let (Some(before), Some(after)) = (before, after) else {
        eprintln!("skipped: this kernel does not count dirty pages of a file (cachestat)");
        return;
    };
    // The kernel itself may write some back meanwhile; a sync of the whole mapping leaves none.
    assert!(before <= 65 && after >= 60, "{before} pages were dirty, {after} still are");
    assert!(after < before, "the page written is clean now");
}

#[test]
fn mmap_sync_of_a_batch_names_each_page_once_and_in_order() {
    let ground = Ground::new(2, 1 << 20);
    let spec = PathSpec::plain(PathKind::Mmap);
    let mut path = Mmap::open(&mapped(&ground, &spec, 8)).unwrap();
    for (segment, page) in [(1, 9), (0, 5), (0, 200), (0, 4), (0, 5), (1, 9), (0, 6)] {
        path.write(segment, page * 4096 + 8, 16, 0).unwrap();
    }
    let range = |segment, first: u64, end: u64| DirtyRange { segment, start: first * 4096, end: end * 4096 };
    assert_eq!(path.dirty_ranges(), [range(0, 4, 7), range(0, 200, 201), range(1, 9, 10)]);
    let calls = path.system_calls();
    path.flush().unwrap();
    assert_eq!(path.system_calls() - calls, 3, "one call for each range");
    path.flush().unwrap();
    assert_eq!(path.system_calls() - calls, 3, "nothing is dirty any more");
}

#[test]
fn mmap_sync_starts_at_a_page_where_a_segment_does_not() {
    let mut ground = Ground::new(1, 1 << 20);
    ground.segments[0].base = 1000;
    ground.segments[0].bytes = 100_000;
    let spec = PathSpec::plain(PathKind::Mmap);
    let mut path = Mmap::open(&mapped(&ground, &spec, 1)).unwrap();
    path.write(0, 4096 - 1000 - 1, 2, 0).unwrap();
    assert_eq!(path.dirty_ranges(), [DirtyRange { segment: 0, start: 0, end: 8192 }]);
    path.flush().unwrap();
    assert_eq!(ground.content(0)[4095..4097], ground.memory(0, 2));
}

#[test]
fn mmap_syncs_early_where_more_is_dirty_than_it_can_remember() {
    let ground = Ground::new(1, 1 << 20);
    let spec = PathSpec::plain(PathKind::Mmap);
    let mut path = Mmap::open(&mapped(&ground, &spec, 1)).unwrap();
    for page in 0..128 {
        path.write(0, page * 8192, 16, 0).unwrap();
    }
    assert!(path.system_calls() > 0, "the list was too short for 128 pages");
    path.flush().unwrap();
    assert_eq!(path.system_calls(), 128, "no page was synced twice, and none was left out");
}
