//! Scratch folders: made, taken over, found after a kill, and removed without touching anything else.

mod support;

use std::{
    fs,
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
};

use assay_own::{Folder, MARKER, OwnError, clean, list};
use support::{Child, disk_folder, orders};

/// Not a test of its own: the process that the tests below start and kill.
#[test]
fn child_holds_a_scratch_folder() {
    let Some(folder) = orders("child_holds_a_scratch_folder") else { return };
    let mut scratch = Folder::open(Path::new(&folder), "s").unwrap();
    fs::write(scratch.claim("wal.0.0.data").unwrap(), vec![1; 10_000]).unwrap();
    support::ready_and_wait();
}

fn holder(folder: &Path) -> Child {
    Child::start("child_holds_a_scratch_folder", folder)
}

#[test]
fn a_folder_is_made_for_its_owner_alone_and_removed() {
    let folder = disk_folder();
    let mut scratch = Folder::open(folder.path(), "s").unwrap();
    let path = scratch.path().to_owned();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    fs::write(scratch.claim("a.0.0.data").unwrap(), b"x").unwrap();
    drop(scratch);
    assert!(!path.exists());
}

#[test]
fn a_kept_folder_is_taken_over_with_its_files() {
    let folder = disk_folder();
    let mut scratch = Folder::open(folder.path(), "s").unwrap();
    let file = scratch.claim("a.0.0.data").unwrap();
    fs::write(&file, b"x").unwrap();
    scratch.keep(true);
    drop(scratch);
    assert!(file.exists());
    let scratch = Folder::open(folder.path(), "s").unwrap();
    assert!(scratch.lists("a.0.0.data"));
    drop(scratch);
    assert!(!folder.path().join("s").exists());
}

#[test]
fn two_runs_do_not_share_a_folder() {
    let folder = disk_folder();
    let _first = Folder::open(folder.path(), "s").unwrap();
    let second = Folder::open(folder.path(), "s").unwrap_err();
    assert!(second.to_string().contains("another run uses it"), "{second}");
}

#[test]
fn a_folder_left_by_a_kill_is_found_and_cleaned_but_not_while_its_owner_lives() {
    let folder = disk_folder();
    let holder = holder(folder.path());
    let alive = list(folder.path(), "").unwrap();
    assert!(alive.len() == 1 && alive[0].alive, "{alive:?}");
    assert_eq!(alive[0].owner.as_ref().unwrap().pid, holder.id());
    assert!(clean(folder.path(), "").unwrap()[0].alive);
    assert!(Folder::open(folder.path(), "s").is_err());
    assert!(folder.path().join("s/wal.0.0.data").exists());
    holder.kill();
    let dead = list(folder.path(), "").unwrap();
    assert!(!dead[0].alive && dead[0].bytes >= 10_000, "{dead:?}");
    let cleaned = clean(folder.path(), "").unwrap();
    assert_eq!(cleaned[0].removed, ["wal.0.0.data"]);
    assert!(!folder.path().join("s").exists());
}

#[test]
fn a_killed_run_is_followed_by_one_that_takes_over() {
    let folder = disk_folder();
    holder(folder.path()).kill();
    let scratch = Folder::open(folder.path(), "s").unwrap();
    assert!(scratch.lists("wal.0.0.data"));
    drop(scratch);
    assert!(!folder.path().join("s").exists());
}

#[test]
fn files_that_assay_did_not_make_stay() {
    let folder = disk_folder();
    holder(folder.path()).kill();
    fs::write(folder.path().join("s/thesis.0.0.data"), b"years of work").unwrap();
    fs::create_dir(folder.path().join("s/photos")).unwrap();
    let cleaned = clean(folder.path(), "").unwrap();
    assert_eq!(cleaned[0].left, ["photos", "thesis.0.0.data"]);
    assert_eq!(fs::read(folder.path().join("s/thesis.0.0.data")).unwrap(), b"years of work");
    drop(Folder::open(folder.path(), "s").unwrap());
    assert!(folder.path().join("s/thesis.0.0.data").exists());
}

#[test]
fn a_file_that_is_in_the_way_is_not_overwritten() {
    let folder = disk_folder();
    let mut scratch = Folder::open(folder.path(), "s").unwrap();
    fs::write(scratch.path().join("a.0.0.data"), b"mine").unwrap();
    let error = scratch.claim("a.0.0.data").unwrap_err();
    assert!(error.to_string().contains("was not made by Assay"), "{error}");
}

#[test]
fn a_claimed_file_that_became_a_link_is_neither_used_nor_followed() {
    let folder = disk_folder();
    let victim = folder.path().join("victim");
    fs::write(&victim, b"precious").unwrap();
    let mut scratch = Folder::open(folder.path(), "s").unwrap();
    let path = scratch.claim("a.0.0.data").unwrap();
    symlink(&victim, &path).unwrap();
    assert!(scratch.claim("a.0.0.data").is_err(), "a symbolic link");
    fs::remove_file(&path).unwrap();
    fs::hard_link(&victim, &path).unwrap();
    assert!(scratch.claim("a.0.0.data").is_err(), "a hard link");
    drop(scratch);
    assert_eq!(fs::read(&victim).unwrap(), b"precious");
}

#[test]
fn folders_of_others_and_links_are_refused() {
    let folder = disk_folder();
    fs::create_dir(folder.path().join("theirs")).unwrap();
    fs::write(folder.path().join("theirs/file"), b"x").unwrap();
    symlink(folder.path().join("theirs"), folder.path().join("link")).unwrap();
    fs::write(folder.path().join("plain"), b"x").unwrap();
    for name in ["theirs", "link", "plain"] {
        let error = Folder::open(folder.path(), name).unwrap_err();
        assert!(matches!(error, OwnError::Refused { .. }) && !error.fix().is_empty(), "{name}: {error}");
    }
    for name in ["", ".", "..", "a/b", "/etc", "a/../b"] {
        assert!(Folder::open(folder.path(), name).is_err(), "{name:?}");
    }
    assert!(folder.path().join("theirs/file").exists());
    assert!(list(folder.path(), "").unwrap().is_empty());
}

#[test]
fn a_marker_that_is_not_the_one_that_was_written_is_not_believed() {
    let folder = disk_folder();
    let mut scratch = Folder::open(folder.path(), "s").unwrap();
    scratch.keep(true);
    fs::write(scratch.claim("a.0.0.data").unwrap(), b"x").unwrap();
    drop(scratch);
    let marker = folder.path().join("s").join(MARKER);
    let right = fs::read(&marker).unwrap();
    fs::write(&marker, b"\xFF\xFE{{{").unwrap();
    let error = Folder::open(folder.path(), "s").unwrap_err();
    assert!(error.to_string().contains("its marker is not the one"), "{error}");
    let cleaned = clean(folder.path(), "").unwrap();
    assert!(cleaned[0].refused.is_some() && folder.path().join("s/a.0.0.data").exists(), "{cleaned:?}");
    fs::write(&marker, right).unwrap();
    assert!(clean(folder.path(), "").unwrap()[0].refused.is_none());
    assert!(!folder.path().join("s").exists());
}

#[test]
fn a_folder_made_again_by_hand_is_not_taken_for_the_one_that_was_made() {
    let folder = disk_folder();
    holder(folder.path()).kill();
    let path = folder.path().join("s");
    fs::rename(&path, folder.path().join("elsewhere")).unwrap();
    fs::create_dir(&path).unwrap();
    fs::copy(folder.path().join("elsewhere").join(MARKER), path.join(MARKER)).unwrap();
    fs::write(path.join("wal.0.0.data"), b"mine").unwrap();
    let cleaned = clean(folder.path(), "").unwrap();
    assert!(cleaned.iter().all(|one| !one.known && one.refused.is_some()), "{cleaned:?}");
    assert_eq!(fs::read(path.join("wal.0.0.data")).unwrap(), b"mine");
}
