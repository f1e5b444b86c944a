use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    thread,
    time::Duration,
};

use rustix::fs::FileType;

use super::{
    super::tests::support::{Loop, image, node, refusal, run},
    *,
};

const EXCLUSIVE: &str = "the kernel says that it is in exclusive use";

fn target(kind: TargetKind, members: &[&Path]) -> Target {
    let members = members.iter().map(|path| path.display().to_string()).collect();
    Target { id: "t".into(), kind, members, serials: Vec::new(), yes_destroy: false, twin: None }
}

/// A target of one device, confirmed.
fn named_twice(device: &Loop) -> Target {
    let serial = device.backing.display().to_string();
    Target { serials: vec![serial], yes_destroy: true, ..target(TargetKind::BlockDevice, &[&device.device]) }
}

#[test]
fn reasons_are_joined_and_what_to_do_is_said_once() {
    let one = |reason: &str, fix: &str| InUse::new(reason, fix);
    free(Path::new("/dev/a"), &[]).unwrap();
    let found = [one("it is one", "do this"), one("it is two", "do this"), one("it is three", "do that")];
    let (reason, fix) = refusal(free(Path::new("/dev/a"), &found));
    assert_eq!((reason.as_str(), fix.as_str()), ("it is one; it is two; it is three", "do this; do that"));
}

#[test]
fn a_device_is_confirmed_by_its_own_serial_number_and_the_word_that_it_may_be_destroyed() {
    let confirmed = |yes: bool, serials: &[&str], index: usize, identity: &str| {
        let serials = serials.iter().map(ToString::to_string).collect();
        let named = Target { serials, yes_destroy: yes, ..target(TargetKind::BlockDevice, &[]) };
        confirmed(&named, index, Path::new("/dev/a"), identity)
    };
    for (serials, index) in [(&["S1"][..], 0), (&[" S1\n"], 0), (&["S0", "S1"], 1)] {
        confirmed(true, serials, index, "S1").unwrap();
    }
    let not_said = "its content would be destroyed, and that was not confirmed";
    let cases: [(bool, &[&str], usize, &str, &str); 7] = [
        (false, &["S1"], 0, "S1", not_said),
        (false, &[], 0, "S1", not_said),
        (true, &[], 0, "S1", "no serial number was given to confirm it"),
        (true, &["S1"], 1, "S1", "no serial number was given to confirm it"),
        (true, &["S1", "S0"], 1, "S1", "its serial number is S1, not S0"),
        (true, &["S"], 0, "S1", "its serial number is S1, not S"),
        (true, &[""], 0, "", "its serial number is , not "),
    ];
    for (yes, serials, index, identity, expected) in cases {
        let (reason, fix) = refusal(confirmed(yes, serials, index, identity));
        assert_eq!(reason, expected);
        assert_eq!(fix, format!("if its content may be destroyed, add --serial {identity} --yes-destroy"));
    }
}

#[test]
fn a_node_that_was_replaced_meanwhile_is_refused() {
    let null = File::open("/dev/null").unwrap();
    same_device(Path::new("/dev/null"), &null, DeviceNumber::new(1, 3)).unwrap();
    let (reason, fix) = refusal(same_device(Path::new("/dev/null"), &null, DeviceNumber::new(1, 5)));
    assert_eq!(reason, "its node was replaced meanwhile");
    assert_eq!(fix, "run it again when nobody changes device nodes");
}

#[test]
fn a_thing_is_known_by_its_number_or_its_inode_whatever_its_path() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "").unwrap();
    fs::write(at("other"), "").unwrap();
    fs::hard_link(at("file"), at("hard link")).unwrap();
    symlink(at("file"), at("link")).unwrap();
    let facts = at("file").metadata().unwrap();
    for name in ["file", "hard link", "link"] {
        assert_eq!(thing(&at(name)), Some((facts.dev(), facts.ino())));
    }
    assert_ne!(thing(&at("other")), thing(&at("file")));
    assert_eq!(thing(Path::new("/dev/null")), Some((DeviceNumber::new(1, 3).0, 0)));
    assert_eq!(thing(folder.path()), None, "folders may be shared");
    assert_eq!(thing(&at("missing")), None);
    if node(&at("block"), FileType::BlockDevice, 8, 16) {
        assert_eq!(thing(&at("block")), Some((DeviceNumber::new(8, 16).0, 0)));
    }
}

#[test]
fn a_file_or_device_is_a_member_once_and_a_folder_as_often_as_one_likes() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::write(at("file"), "").unwrap();
    fs::write(at("other"), "").unwrap();
    symlink(at("file"), at("link")).unwrap();
    let twice = |kind: TargetKind, members: &[&Path]| no_member_twice(&target(kind, members));
    twice(TargetKind::File, &[&at("file"), &at("other")]).unwrap();
    twice(TargetKind::Folder, &[folder.path(), folder.path()]).unwrap();
    twice(TargetKind::File, &[&at("missing"), &at("missing"), &at("file")]).unwrap();
    for members in [[&*at("file"), &*at("link")], [Path::new("/dev/null"), Path::new("/dev/null")]] {
        let (reason, fix) = refusal(twice(TargetKind::File, &members));
        assert_eq!((reason.as_str(), fix.as_str()), ("it is named twice in one target", "name every device once"));
    }
    refusal(admit(&target(TargetKind::File, &[&at("file"), &at("link")]), false));
}

#[test]
fn memory_and_twins_have_no_members_and_all_else_has() {
    for kind in [TargetKind::Memory, TargetKind::Null, TargetKind::Twin] {
        assert!(admit(&target(kind, &[Path::new("/dev/null")]), true).unwrap().members.is_empty());
    }
    for kind in [TargetKind::Folder, TargetKind::File, TargetKind::BlockDevice, TargetKind::DeviceDax] {
        let (reason, fix) = refusal(admit(&target(kind, &[]), false));
        assert_eq!((reason.as_str(), fix.as_str()), ("this target has no members", "name at least one path with --on"));
    }
}

#[test]
fn a_path_is_given_from_the_root_on() {
    let relative = Path::new("dev/null");
    let (reason, fix) = refusal(admit(&target(TargetKind::Folder, &[relative]), false));
    assert_eq!((reason.as_str(), fix.as_str()), ("its path is not absolute", "give the path from the root on"));
    assert_eq!(absolute(Path::new("/dev/null")).unwrap(), Path::new("/dev/null"));
}

#[test]
fn a_folder_is_taken_to_read_and_to_write_and_nothing_else_is_taken_for_one() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().canonicalize().unwrap();
    fs::write(at.join("file"), "12345").unwrap();
    symlink(&at, at.join("link")).unwrap();
    for (path, writes) in [(at.clone(), true), (at.clone(), false), (at.join("link"), true)] {
        let found = admit(&target(TargetKind::Folder, &[&path]), writes).unwrap().members.remove(0);
        assert_eq!((found.path.as_path(), found.kind, found.bytes), (at.as_path(), SegmentKind::File, 0));
        assert!(found.block.is_none() && found.hold.is_none());
    }
    for other in [&*at.join("file"), Path::new("/dev/null")] {
        assert_eq!(refusal(admit(&target(TargetKind::Folder, &[other]), true)).0, "it is no folder");
    }
    let missing = admit(&target(TargetKind::Folder, &[&at.join("missing")]), true).unwrap_err();
    assert!(matches!(missing, PathError::Io { action: "opening", .. }), "{missing}");
}

#[test]
fn a_folder_that_cannot_be_written_is_not_taken_to_write() {
    let folder = tempfile::tempdir().unwrap();
    let point = folder.path().to_str().unwrap();
    if run("mount", &["-t", "tmpfs", "-o", "ro,size=1m", "none", point]).is_none() {
        return eprintln!("skipped: mount is not permitted");
    }
    let (to_read, to_write) =
        ([false, true].map(|writes| admit(&target(TargetKind::Folder, &[folder.path()]), writes))).into();
    run("umount", &[point]);
    to_read.unwrap();
    match to_write {
        Err(PathError::Io { action: "writing to", source, .. }) => {
            assert_eq!(source.raw_os_error(), Some(libc::EROFS));
        }
        other => panic!("{other:?}"),
    }
}

/// Does it as a user who owns nothing, on a thread of its own.
fn as_nobody<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    const NOBODY: u32 = 65_534;
    let become_nobody = || {
        // SAFETY: the call changes who this thread is, and nothing in memory.
        rustix::process::geteuid().is_root()
            && unsafe { libc::syscall(libc::SYS_setresuid, NOBODY, NOBODY, NOBODY) } != 0
    };
    thread::scope(|scope| {
        let thread = scope.spawn(|| {
            assert!(!become_nobody(), "this thread is still root");
            work()
        });
        thread.join().unwrap()
    })
}

#[test]
fn a_folder_is_written_by_one_who_may_write_into_it_and_search_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("folder");
    fs::create_dir(&at).unwrap();
    let permit = |path: &Path, mode: u32| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    permit(folder.path(), 0o755);
    for (mode, writes) in [(0o777, true), (0o666, false), (0o555, false), (0o333, true)] {
        permit(&at, mode);
        let answer = as_nobody(|| admit(&target(TargetKind::Folder, &[&at]), true).map(|_| ()));
        match answer {
            Ok(()) => assert!(writes, "{mode:o}"),
            Err(PathError::Io { action: "writing to", source, .. }) => {
                assert_eq!((writes, source.raw_os_error()), (false, Some(libc::EACCES)), "{mode:o}");
            }
            Err(error) => panic!("{mode:o}: {error}"),
        }
    }
    permit(&at, 0o755);
}

#[test]
fn a_file_is_read_and_never_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().canonicalize().unwrap().join("file");
    fs::write(&file, "12345").unwrap();
    let found = admit(&target(TargetKind::File, &[&file]), false).unwrap().members.remove(0);
    assert_eq!((found.path.as_path(), found.kind, found.bytes), (file.as_path(), SegmentKind::File, 5));
    let (reason, fix) = refusal(admit(&target(TargetKind::File, &[&file]), true));
    assert_eq!(reason, "it is somebody's file and would be written to");
    assert_eq!(fix, "name its folder as target: Assay writes only to files that it made");
    for other in [folder.path(), Path::new("/dev/null")] {
        assert_eq!(refusal(admit(&target(TargetKind::File, &[other]), false)).0, "it is no regular file");
    }
}

#[test]
fn a_member_that_is_not_of_the_targets_kind_is_refused() {
    let file = image();
    for writes in [false, true] {
        let block = admit(&target(TargetKind::BlockDevice, &[file.path()]), writes);
        assert_eq!(refusal(block).0, "it is no block device");
        let dax = admit(&target(TargetKind::DeviceDax, &[Path::new("/dev/null")]), writes);
        assert_eq!(refusal(dax).0, "it is no device-DAX node");
    }
}

#[test]
fn only_the_holds_on_block_devices_are_handed_over() {
    let member = |name: &str, kind: SegmentKind, held: bool| {
        let hold = held.then(|| File::open("/dev/null").unwrap());
        Member { hold, ..Member::plain(name.into(), kind, 0) }
    };
    let (block, dax) = (SegmentKind::BlockDevice, SegmentKind::DeviceDax);
    let mut admitted = Admitted {
        members: vec![member("/dev/a", block, true), member("/dev/b", dax, true), member("/dev/c", block, false)],
    };
    let handed = admitted.release();
    assert_eq!(handed.iter().map(|hold| hold.path.to_str().unwrap()).collect::<Vec<_>>(), ["/dev/a"]);
    assert_eq!(admitted.members.iter().map(|member| member.hold.is_some()).collect::<Vec<_>>(), [false, true, false]);
}

#[test]
fn a_device_is_written_only_when_confirmed_and_held_while_it_is_admitted() {
    let image = image();
    let Some(device) = Loop::over(image.path()) else { return };
    let unconfirmed = target(TargetKind::BlockDevice, &[&device.device]);
    assert_eq!(refusal(admit(&unconfirmed, true)).0, "its content would be destroyed, and that was not confirmed");
    let found = admit(&unconfirmed, false).unwrap().members.remove(0);
    assert!(found.hold.is_none(), "to read nothing is held");
    let target = named_twice(&device);
    let mut admitted = admit(&target, true).unwrap();
    let found = &admitted.members[0];
    assert_eq!((found.path.as_path(), found.kind, found.bytes), (&*device.device, SegmentKind::BlockDevice, 4 << 20));
    assert_eq!(found.block.as_ref().unwrap().name, device.name());
    assert_eq!(refusal(admit(&target, true)).0, EXCLUSIVE);
    let handed = admitted.release();
    assert_eq!(refusal(admit(&target, true)).0, EXCLUSIVE, "it is held by whom it was handed to");
    drop(handed);
    admit(&target, true).unwrap();
}

#[test]
fn a_device_that_this_user_may_not_open_is_not_taken_to_read() {
    let image = image();
    let Some(device) = Loop::over(image.path()) else { return };
    let to_read = target(TargetKind::BlockDevice, &[&device.device]);
    match as_nobody(|| admit(&to_read, false)) {
        Err(PathError::Io { action: "opening", source, .. }) => {
            assert_eq!(source.raw_os_error(), Some(libc::EACCES));
        }
        other => panic!("{other:?}"),
    }
    admit(&to_read, false).unwrap();
}

#[test]
fn a_device_that_is_used_carries_a_signature_or_is_read_only_is_not_written() {
    let image = image();
    let Some(device) = Loop::over(image.path()) else { return };
    let target = named_twice(&device);
    run("blockdev", &["--setro", device.text()]).unwrap();
    assert_eq!(
        refusal(admit(&target, true)),
        ("it is read-only".into(), "name a device that can be written to".into())
    );
    run("blockdev", &["--setrw", device.text()]).unwrap();
    let above = Loop::over(&device.device).unwrap();
    let reason = refusal(admit(&target, true)).0;
    assert_eq!(reason, format!("the loop device {} is built on it", above.name()));
    drop(above);
    // The kernel takes it off when nobody has it open any more, and others look at all loop devices.
    let gone = (0..500).any(|_| {
        thread::sleep(Duration::from_millis(10));
        admit(&target, true).is_ok()
    });
    assert!(gone, "{:?}", admit(&target, true));
    device.put(4086, b"S1SUSPEND");
    let reason = refusal(admit(&target, true)).0;
    assert!(reason.starts_with("it carries a signature of a suspended system"), "{reason}");
    admit(&target, false).unwrap();
}

#[test]
fn a_device_that_is_taken_from_the_kernel_must_be_unused_and_is_held() {
    let image = image();
    let Some(device) = Loop::over(image.path()) else { return };
    let (system, path) = (System::default(), device.device.as_path());
    let hold = hold_unused(&system, path).unwrap();
    assert_eq!(refusal(hold_unused(&system, path)).0, EXCLUSIVE);
    still_unused(&system, path).unwrap();
    drop(hold);
    device.put(4086, b"S1SUSPEND");
    let signature = "it carries a signature of a suspended system";
    for reason in [refusal(hold_unused(&system, path)).0, refusal(still_unused(&system, path)).0] {
        assert!(reason.starts_with(signature), "{reason}");
    }
}
