//! Probing tells the truth about a place, explains what is missing, and leaves nothing behind.

use std::{fs, path::Path};

use assay_path::{PathError, Probed, probe};
use assay_record::PathKind;

fn found<'a>(all: &'a [Probed], path: PathKind, variant: &str) -> &'a Probed {
    all.iter().find(|probed| probed.path == path && probed.variant == variant).expect("every variant is tried")
}

#[test]
fn every_variant_is_there_or_says_why_not_and_what_helps() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let all = probe(folder.path()).unwrap();
    for probed in &all {
        eprintln!("{probed:?}");
        assert_eq!(probed.available, probed.fix.is_empty(), "{probed:?}");
        assert!(probed.available || !probed.reason.is_empty(), "{probed:?}");
    }
    for path in [PathKind::Pread, PathKind::Mmap, PathKind::Null] {
        assert!(all.iter().any(|probed| probed.path == path && probed.available), "{path:?} works everywhere");
    }
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "the trial file is gone");
}

#[test]
fn what_needs_a_namespace_is_refused_on_a_folder() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let all = probe(folder.path()).unwrap();
    let passthrough = found(&all, PathKind::NvmePassthrough, "direct");
    assert!(passthrough.fix.contains("/dev/nvme0n1"), "{passthrough:?}");
    assert!(!passthrough.reason.contains(".assay-probe"), "the place is named, not the trial's file: {passthrough:?}");
    let polled = found(&all, PathKind::NvmePolled, "polled");
    assert!(polled.fix.contains("/dev/nvme0n1") && !polled.reason.contains(".assay-probe"), "{polled:?}");
}

#[test]
fn a_place_that_is_not_there_is_named() {
    let error = probe(Path::new("/nowhere/at/all")).unwrap_err();
    assert!(matches!(error, PathError::Io { .. }));
    assert!(error.to_string().contains("/nowhere/at/all"), "{error}");
}

#[test]
fn a_file_is_only_read() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let file = folder.path().join("data");
    fs::write(&file, vec![7; 100_000]).unwrap();
    let all = probe(&file).unwrap();
    assert!(found(&all, PathKind::Pread, "buffered").available);
    assert_eq!(fs::read(&file).unwrap(), vec![7; 100_000]);
}

#[test]
fn memory_is_told_apart_from_a_disk() {
    if !Path::new("/dev/shm").is_dir() {
        eprintln!("skipped: there is no /dev/shm here");
        return;
    }
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let all = probe(folder.path()).unwrap();
    let pmem = found(&all, PathKind::Pmem, "load and store");
    assert!(pmem.available && pmem.reason.contains("emulated"), "{pmem:?}");
    let direct = found(&all, PathKind::Pread, "direct");
    assert!(!direct.reason.is_empty(), "direct I/O on tmpfs is refused, or said to bypass nothing: {direct:?}");
}
