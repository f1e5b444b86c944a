//! Data sets are what they are said to be, are used again, and leave nothing behind.

mod devices;
mod memory;
use std::{
    fs::{self, File},
    os::unix::fs::{FileExt, MetadataExt},
    path::Path,
    sync::atomic::{AtomicBool, Ordering},
};

use crate::support::{Loop, Mounted, class, dataset, disk_folder, job, memory_folder, prepared, run, target};
use assay_path::{
    PathError, SegmentKind, guard,
    prepare::{Prepared, PreparedDataset, plan, prepare, refusals},
    stamp,
};
use assay_record::{Content, Job, Layout, Operation, PathKind, Placement, TargetKind};
use proptest::prelude::*;
use rustix::fs::{FallocateFlags, fallocate};

const MIB: u64 = 1 << 20;

fn folder_job(folder: &Path, bytes: u64) -> Job {
    let read = class("d", PathKind::Pread, Operation::Read, 4096);
    job(target(TargetKind::Folder, &[folder]), vec![dataset("d", bytes)], vec![read])
}

fn content(dataset: &PreparedDataset, file: usize, member: usize) -> Vec<u8> {
    let segment = &dataset.files[file][member];
    let mut bytes = vec![0; segment.bytes as usize];
    File::open(&segment.path).unwrap().read_exact_at(&mut bytes, segment.base).unwrap();
    bytes
}

fn interrupt_never(job: &Job) -> Result<Prepared, PathError> {
    prepared(job).map(|(prepared, _)| prepared)
}

#[test]
fn a_written_data_set_is_random_fully_written_and_removed() {
    let folder = disk_folder();
    let ready = interrupt_never(&folder_job(folder.path(), 9 * MIB + 4096)).unwrap();
    let set = &ready.datasets[0];
    let bytes = content(set, 0, 0);
    let mut blocks: Vec<_> = bytes.chunks(4096).collect();
    let count = blocks.len();
    blocks.sort_unstable();
    blocks.dedup();
    assert_eq!(blocks.len(), count, "two blocks are equal");
    let extents = set.extents.unwrap();
    assert_eq!((extents.holes, extents.unwritten), (0, 0));
    assert_eq!(extents.written, 9 * MIB + 4096);
    assert!(!set.writable && !set.emulated && set.stripe_bytes == 4096);
    drop(ready);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn files_of_odd_length_are_written_to_their_last_byte() {
    let folder = disk_folder();
    let mut job = folder_job(folder.path(), 4 * MIB + 777);
    job.datasets[0].placement = Placement::Bound;
    let ready = interrupt_never(&job).unwrap();
    let bytes = content(&ready.datasets[0], 0, 0);
    assert!(bytes[bytes.len() - 64..].iter().any(|&byte| byte != 0));
    assert_eq!(ready.datasets[0].files[0][0].path.metadata().unwrap().len(), 4 * MIB + 777);
}

#[test]
fn a_later_run_uses_the_same_files_again() {
    let folder = disk_folder();
    let mut job = folder_job(folder.path(), 2 * MIB);
    job.keep_scratch = true;
    assert_eq!(plan(&job).unwrap().bytes_to_prepare, 2 * MIB);
    let (first, worked) = prepared(&job).unwrap();
    assert!(worked);
    let (path, before) = (first.datasets[0].files[0][0].path.clone(), content(&first.datasets[0], 0, 0));
    drop(first);
    assert_eq!(plan(&job).unwrap().bytes_to_prepare, 0);
    let (second, worked) = prepared(&job).unwrap();
    assert!(!worked, "it was written again");
    assert_eq!(content(&second.datasets[0], 0, 0), before);
    drop(second);
    job.datasets[0].content = Content::Zero;
    let (third, worked) = prepared(&job).unwrap();
    assert!(
        worked && content(&third.datasets[0], 0, 0).iter().all(|&byte| byte == 0),
        "other content is prepared anew"
    );
    drop(third);
    job.keep_scratch = false;
    drop(interrupt_never(&job).unwrap());
    assert!(!path.exists() && fs::read_dir(folder.path()).unwrap().count() == 0);
}

#[test]
fn a_class_may_have_written_to_a_file_that_is_used_again_but_nobody_may_have_replaced_it() {
    let folder = disk_folder();
    let mut job = folder_job(folder.path(), MIB);
    job.keep_scratch = true;
    let path = interrupt_never(&job).unwrap().datasets[0].files[0][0].path.clone();
    File::options().write(true).open(&path).unwrap().write_all_at(&[7; 8192], 4096).unwrap();
    assert!(!prepared(&job).unwrap().1);
    fs::rename(&path, folder.path().join("old")).unwrap();
    fs::copy(folder.path().join("old"), &path).unwrap();
    assert!(prepared(&job).unwrap().1, "another file of the same name was taken for the prepared one");
}

#[test]
fn reads_of_unwritten_extents_are_found() {
    let folder = disk_folder();
    let mut job = folder_job(folder.path(), 4 * MIB);
    job.keep_scratch = true;
    let ready = interrupt_never(&job).unwrap();
    let set = ready.datasets[0].clone();
    let path = set.files[0][0].path.clone();
    let file = File::options().write(true).open(&path).unwrap();
    fallocate(&file, FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE, MIB, 64 << 10).unwrap();
    let seen = set.survey().unwrap().unwrap();
    assert_eq!((seen.holes, seen.unwritten), (64 << 10, 0), "a hole");
    fallocate(&file, FallocateFlags::KEEP_SIZE, MIB, 64 << 10).unwrap();
    let seen = set.survey().unwrap().unwrap();
    if seen.supported {
        assert_eq!((seen.holes, seen.unwritten), (0, 64 << 10), "space that was allocated and never written");
    }
    drop(ready);
    let (again, worked) = prepared(&job).unwrap();
    let seen = again.datasets[0].extents.unwrap();
    assert!(worked && seen.holes == 0 && seen.unwritten == 0, "prepared again");
}

#[test]
fn preallocated_space_is_there_and_was_never_written() {
    let folder = disk_folder();
    let mut job = folder_job(folder.path(), 2 * MIB);
    job.datasets[0].layout = Layout::Preallocated;
    let ready = interrupt_never(&job).unwrap();
    let seen = ready.datasets[0].extents.unwrap();
    if !seen.supported {
        return eprintln!("skipped: this file system does not show extents");
    }
    assert_eq!((seen.unwritten, seen.written), (2 * MIB, 0));
}

#[test]
fn a_growing_file_is_left_to_the_path_and_counted_in_the_plan() {
    let folder = disk_folder();
    let mut job = folder_job(folder.path(), 2 * MIB);
    job.datasets[0].layout = Layout::Grow;
    let facts = plan(&job).unwrap();
    assert_eq!((facts.bytes_to_prepare, facts.bytes_free_needed), (0, 2 * MIB));
    let ready = interrupt_never(&job).unwrap();
    let path = ready.datasets[0].files[0][0].path.clone();
    assert!(!path.exists());
    fs::write(&path, b"log").unwrap();
    drop(ready);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "what a path made in its place is removed as well");
}

#[test]
fn pages_are_spread_over_members_and_stamps_know_their_place() {
    let folders = [disk_folder(), disk_folder(), disk_folder()];
    let members: Vec<_> = folders.iter().map(|folder| folder.path()).collect();
    let mut set = dataset("d", 16 * 8192);
    set.content = Content::Stamped;
    set.files = 2;
    let classes =
        vec![class("d", PathKind::Pread, Operation::Write, 8192), class("d", PathKind::Pread, Operation::Read, 4096)];
    let ready = interrupt_never(&job(target(TargetKind::Folder, &members), vec![set], classes)).unwrap();
    let set = &ready.datasets[0];
    assert_eq!((set.stripe_bytes, set.stamp_bytes, set.writable), (8192, 4096, true));
    let sizes: Vec<_> = set.files[1].iter().map(|segment| segment.bytes / 8192).collect();
    assert_eq!(sizes, [6, 5, 5]);
    for file in 0..2 {
        assert_eq!(set.file_ids[file], stamp::file_id("d", file as u32));
        for page in 0..16 {
            let bytes = content(set, file, page % 3);
            let at = page / 3 * 8192;
            for half in [0, 4096] {
                let block = &bytes[at + half..at + half + 4096];
                let generation = stamp::verify_in(block, set.file_ids[file], (page * 8192 + half) as u64);
                assert_eq!(generation, Ok(0), "file {file} page {page} half {half}");
            }
        }
    }
}

#[test]
fn a_bound_file_lies_on_one_member_as_a_whole() {
    let folders = [disk_folder(), disk_folder()];
    let members: Vec<_> = folders.iter().map(|folder| folder.path()).collect();
    let mut set = dataset("log", MIB);
    set.placement = Placement::Bound;
    set.files = 3;
    let ready = interrupt_never(&job(target(TargetKind::Folder, &members), vec![set], Vec::new())).unwrap();
    for (file, segments) in ready.datasets[0].files.iter().enumerate() {
        let canonical = folders[file % 2].path().canonicalize().unwrap();
        assert!(segments.len() == 1 && segments[0].path.starts_with(canonical) && segments[0].bytes == MIB);
    }
}

#[test]
fn two_members_in_one_folder_share_its_scratch_folder() {
    let folder = disk_folder();
    let members = target(TargetKind::Folder, &[folder.path(), folder.path()]);
    let ready = interrupt_never(&job(members, vec![dataset("d", 2 * MIB)], Vec::new())).unwrap();
    let segments = &ready.datasets[0].files[0];
    assert!(segments.len() == 2 && segments[0].path != segments[1].path);
}

#[test]
fn a_disk_that_fills_up_in_the_middle_is_named_and_everything_made_is_removed() {
    let folder = disk_folder();
    let Some(device) = Loop::new(folder.path(), "image", 64 * MIB) else { return };
    run("mkfs.ext4", &["-q", device.text()]).expect("mkfs.ext4");
    let Some(mount) = Mounted::new(&[device.text()], &folder.path().join("small")) else { return };
    fs::write(mount.0.join("theirs"), b"precious").unwrap();
    let mut job = folder_job(&mount.0, 16 * MIB);
    job.datasets.push(dataset("e", 16 * MIB));
    job.keep_scratch = true;
    let ballast = mount.0.join("ballast");
    let mut fill = |_: &str, _: f64, _: String| {
        let file = File::options().create(true).append(true).open(&ballast).unwrap();
        while fallocate(&file, FallocateFlags::empty(), file.metadata().unwrap().len(), MIB).is_ok() {}
    };
    let error = prepare(&job, &mut fill, &AtomicBool::new(false)).unwrap_err();
    let PathError::Io { source, .. } = &error else { panic!("{error}") };
    assert_eq!(source.raw_os_error(), Some(libc::ENOSPC), "{error}");
    assert!(error.fix().contains("free space") && error.exit_code() == 1, "{}", error.fix());
    assert!(!mount.0.join("assay-scratch").exists());
    assert_eq!(fs::read(mount.0.join("theirs")).unwrap(), b"precious");
}

#[test]
fn too_little_space_is_refused_before_anything_is_written() {
    let folder = disk_folder();
    let mut job = folder_job(folder.path(), 1 << 50);
    job.datasets[0].files = 4;
    let error = interrupt_never(&job).unwrap_err();
    assert!(
        matches!(error, PathError::Refused { .. })
            && error.to_string().contains("4.0 PiB") | error.to_string().contains("4096.0 TiB"),
        "{error}"
    );
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_would_be_refused_is_known_without_touching_anything() {
    let folder = disk_folder();
    let mut job = folder_job(folder.path(), MIB);
    assert!(refusals(&job).is_empty());
    job.datasets[0].bytes = 1 << 50;
    let mut other = target(TargetKind::Folder, &[&folder.path().join("nothing")]);
    other.id = "u".into();
    job.targets.push(other);
    let mut set = dataset("e", MIB);
    set.target = "u".into();
    job.datasets.push(set);
    let seen: Vec<_> = refusals(&job).iter().map(PathError::fix).collect();
    assert!(seen.len() == 2 && seen[0].contains("does not exist") && seen[1].contains("free space"), "{seen:?}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_interrupt_stops_and_removes() {
    let folder = disk_folder();
    let stop = AtomicBool::new(false);
    let job = folder_job(folder.path(), 256 * MIB);
    let mut interrupt = |_: &str, done: f64, _: String| {
        assert!(done < 1.0, "it was written to the end");
        stop.store(true, Ordering::Relaxed);
    };
    let error = prepare(&job, &mut interrupt, &stop).unwrap_err();
    assert_eq!(error.exit_code(), 3, "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn stamps_that_a_killed_run_may_have_torn_are_prepared_again() {
    let folder = disk_folder();
    let mut job = folder_job(folder.path(), MIB);
    job.keep_scratch = true;
    job.datasets[0].content = Content::Stamped;
    job.classes = vec![class("d", PathKind::Pread, Operation::Write, 4096)];
    job.checks.data = true;
    drop(interrupt_never(&job).unwrap());
    assert!(!prepared(&job).unwrap().1, "an orderly end leaves good stamps");
    let killed = interrupt_never(&job).unwrap();
    let ledger = killed.datasets[0].files[0][0].path.with_file_name("ledger.json");
    let while_writing = fs::read(&ledger).unwrap();
    drop(killed);
    fs::write(&ledger, while_writing).unwrap();
    assert!(prepared(&job).unwrap().1);
}

#[test]
fn stamps_are_prepared_again_where_they_were_overwritten_or_would_hide_a_loss() {
    let folder = disk_folder();
    let mut job = folder_job(folder.path(), MIB);
    job.keep_scratch = true;
    job.datasets[0].content = Content::Stamped;
    job.classes = vec![class("d", PathKind::Pread, Operation::Write, 4096)];
    drop(interrupt_never(&job).unwrap());
    assert!(prepared(&job).unwrap().1, "a class wrote without stamps");
    job.checks.data = true;
    drop(interrupt_never(&job).unwrap());
    assert!(!prepared(&job).unwrap().1);
    job.checks.acknowledgements = Some("journal".into());
    assert!(prepared(&job).unwrap().1, "generations of an earlier run would pass for those of this one");
    job.classes[0].operation = Operation::Read;
    job.checks.acknowledgements = None;
    assert!(!prepared(&job).unwrap().1);
}

#[test]
fn a_file_is_used_as_it_is_and_must_be_long_enough() {
    let folder = disk_folder();
    let file = folder.path().join("theirs");
    fs::write(&file, vec![3; MIB as usize]).unwrap();
    let before = file.metadata().unwrap().mtime_nsec();
    let mut job = folder_job(folder.path(), MIB);
    job.targets = vec![target(TargetKind::File, &[&file])];
    assert!(interrupt_never(&job).unwrap_err().fix().contains("as-found"));
    job.datasets[0].layout = Layout::AsFound;
    let ready = interrupt_never(&job).unwrap();
    assert_eq!(ready.datasets[0].files[0][0].kind, SegmentKind::File);
    drop(ready);
    assert!(file.exists() && file.metadata().unwrap().mtime_nsec() == before);
    job.datasets[0].bytes = 2 * MIB;
    assert!(interrupt_never(&job).unwrap_err().to_string().contains("does not fit"));
    job.datasets[0].bytes = MIB;
    job.classes[0].operation = Operation::Write;
    assert!(matches!(interrupt_never(&job), Err(PathError::Refused { .. })));
}

#[test]
fn data_sets_that_cannot_be_are_refused() {
    let folder = disk_folder();
    let good = folder_job(folder.path(), MIB);
    type Spoil = fn(&mut Job);
    let spoil: [(&str, Spoil); 7] = [
        ("do not reach all 2 members", |job| {
            let member = job.targets[0].members[0].clone();
            job.targets[0].members.push(member);
            job.datasets[0].bytes = 4096;
        }),
        ("its name", |job| job.datasets[0].name = "../d".into()),
        ("no target", |job| job.datasets[0].target = "other".into()),
        ("no bytes", |job| job.datasets[0].files = 0),
        ("multiple of the stripe", |job| {
            let member = job.targets[0].members[0].clone();
            job.targets[0].members.push(member);
            job.datasets[0].bytes = MIB + 1;
        }),
        ("cannot carry stamps", |job| {
            job.datasets[0].content = Content::Stamped;
            job.datasets[0].stripe_bytes = 32;
            job.classes.clear();
        }),
        ("no such file", |job| job.datasets[0].layout = Layout::AsFound),
    ];
    for (what, spoil) in spoil {
        let mut job = good.clone();
        spoil(&mut job);
        let error = interrupt_never(&job).unwrap_err();
        assert!(error.to_string().to_lowercase().contains(what), "{what}: {error}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0, "{what}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn every_byte_of_every_shape_has_one_place(
        more_pages in 0u64..40, stripe in prop::sample::select(vec![64u64, 512, 4096]), members in 1usize..5,
        files in 1u32..4, bound in any::<bool>(),
    ) {
        let Some(memory) = memory_folder() else { return Ok(()) };
        let pages = members as u64 + more_pages;
        let folders: Vec<_> = (0..members).map(|index| memory.path().join(index.to_string())).collect();
        folders.iter().for_each(|folder| fs::create_dir(folder).unwrap());
        let paths: Vec<_> = folders.iter().map(|folder| folder.as_path()).collect();
        let mut set = dataset("d", pages * stripe);
        set.content = Content::Stamped;
        set.files = files;
        set.placement = if bound { Placement::Bound } else { Placement::Interleave };
        let read = class("d", PathKind::Pread, Operation::Read, stripe);
        let ready = interrupt_never(&job(target(TargetKind::Folder, &paths), vec![set], vec![read])).unwrap();
        let set = &ready.datasets[0];
        for (file, segments) in set.files.iter().enumerate() {
            prop_assert_eq!(segments.iter().map(|segment| segment.bytes).sum::<u64>(), pages * stripe);
            for page in 0..pages {
                let count = segments.len() as u64;
                let bytes = content(set, file, (page % count) as usize);
                let at = (page / count * stripe) as usize;
                let block = &bytes[at..at + stripe as usize];
                prop_assert_eq!(stamp::verify_in(block, set.file_ids[file], page * stripe), Ok(0));
            }
        }
    }
}
