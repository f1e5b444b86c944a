//! Scratch folders: made, taken over, found after a kill, and removed without touching anything else.

mod targets_support;

use std::{
    fs,
    io::{BufRead, BufReader},
    os::unix::fs::{PermissionsExt, symlink},
    path::Path,
    process::{Child, Command, Stdio},
};

use assay_path::{PathError, Scratch};
use targets_support::disk_folder;

const FOLDER: &str = "ASSAY_TEST_SCRATCH_FOLDER";

/// Not a test of its own: the process that the tests below start and kill.
#[test]
fn child_holds_a_scratch_folder() {
    let Ok(folder) = std::env::var(FOLDER) else { return };
    let mut scratch = Scratch::open(Path::new(&folder), "s").unwrap();
    let path = scratch.claim("wal.0.0.data").unwrap();
    fs::write(path, vec![1; 10_000]).unwrap();
    eprintln!("holding");
    std::thread::sleep(std::time::Duration::from_secs(60));
}

struct Holder(Child);

impl Holder {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "child_holds_a_scratch_folder", "--nocapture"])
            .env(FOLDER, folder)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let holding = lines.map_while(Result::ok).any(|line| line.contains("holding"));
        assert!(holding, "the child ended before it held the folder");
        Self(child)
    }

    fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_folder_is_made_for_its_owner_alone_and_removed() {
    let folder = disk_folder();
    let mut scratch = Scratch::open(folder.path(), "s").unwrap();
    let path = scratch.path().to_owned();
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
    fs::write(scratch.claim("a.0.0.data").unwrap(), b"x").unwrap();
    drop(scratch);
    assert!(!path.exists());
}

#[test]
fn a_kept_folder_is_taken_over_with_its_files() {
    let folder = disk_folder();
    let mut scratch = Scratch::open(folder.path(), "s").unwrap();
    let file = scratch.claim("a.0.0.data").unwrap();
    fs::write(&file, b"x").unwrap();
    scratch.keep(true);
    drop(scratch);
    assert!(file.exists());
    let scratch = Scratch::open(folder.path(), "s").unwrap();
    assert!(scratch.lists("a.0.0.data"));
    drop(scratch);
    assert!(!folder.path().join("s").exists());
}

#[test]
fn two_runs_do_not_share_a_folder() {
    let folder = disk_folder();
    let _first = Scratch::open(folder.path(), "s").unwrap();
    let second = Scratch::open(folder.path(), "s").unwrap_err();
    assert!(second.to_string().contains("another run uses it"), "{second}");
}

#[test]
fn a_folder_left_by_a_kill_is_found_and_cleaned_but_not_while_its_owner_lives() {
    let folder = disk_folder();
    let holder = Holder::start(folder.path());
    let alive = Scratch::list(folder.path()).unwrap();
    assert!(alive.len() == 1 && alive[0].alive, "{alive:?}");
    assert_eq!(alive[0].owner.as_ref().unwrap().pid, holder.0.id());
    assert!(Scratch::clean(folder.path()).unwrap()[0].alive);
    assert!(Scratch::open(folder.path(), "s").is_err());
    assert!(folder.path().join("s/wal.0.0.data").exists());
    holder.kill();
    let dead = Scratch::list(folder.path()).unwrap();
    assert!(!dead[0].alive && dead[0].bytes >= 10_000, "{dead:?}");
    let cleaned = Scratch::clean(folder.path()).unwrap();
    assert_eq!(cleaned[0].removed, ["wal.0.0.data"]);
    assert!(!folder.path().join("s").exists());
}

#[test]
fn a_killed_run_is_followed_by_one_that_takes_over() {
    let folder = disk_folder();
    Holder::start(folder.path()).kill();
    let scratch = Scratch::open(folder.path(), "s").unwrap();
    assert!(scratch.lists("wal.0.0.data"));
    drop(scratch);
    assert!(!folder.path().join("s").exists());
}

#[test]
fn files_that_assay_did_not_make_stay() {
    let folder = disk_folder();
    Holder::start(folder.path()).kill();
    fs::write(folder.path().join("s/thesis.0.0.data"), b"years of work").unwrap();
    fs::create_dir(folder.path().join("s/photos")).unwrap();
    let cleaned = Scratch::clean(folder.path()).unwrap();
    assert_eq!(cleaned[0].left, ["photos", "thesis.0.0.data"]);
    assert_eq!(fs::read(folder.path().join("s/thesis.0.0.data")).unwrap(), b"years of work");
    drop(Scratch::open(folder.path(), "s").unwrap());
    assert!(folder.path().join("s/thesis.0.0.data").exists());
}

#[test]
fn a_file_that_is_in_the_way_is_not_overwritten() {
    let folder = disk_folder();
    let mut scratch = Scratch::open(folder.path(), "s").unwrap();
    fs::write(scratch.path().join("a.0.0.data"), b"mine").unwrap();
    let error = scratch.claim("a.0.0.data").unwrap_err();
    assert!(error.to_string().contains("was not made by Assay"), "{error}");
}

#[test]
fn a_claimed_file_that_became_a_link_is_neither_used_nor_followed() {
    let folder = disk_folder();
    let victim = folder.path().join("victim");
    fs::write(&victim, b"precious").unwrap();
    let mut scratch = Scratch::open(folder.path(), "s").unwrap();
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
        let error = Scratch::open(folder.path(), name).unwrap_err();
        assert!(matches!(error, PathError::Refused { .. }) && !error.fix().is_empty(), "{name}: {error}");
    }
    for name in ["", ".", "..", "a/b", "/etc", "a/../b"] {
        assert!(Scratch::open(folder.path(), name).is_err(), "{name:?}");
    }
    assert!(folder.path().join("theirs/file").exists());
    assert!(Scratch::list(folder.path()).unwrap().is_empty());
}

#[test]
fn a_line_that_a_kill_has_torn_hides_no_later_one() {
    let folder = disk_folder();
    let mut scratch = Scratch::open(folder.path(), "s").unwrap();
    scratch.keep(true);
    fs::write(scratch.claim("a.0.0.data").unwrap(), b"x").unwrap();
    drop(scratch);
    let marker = folder.path().join("s").join(assay_path::scratch::MARKER);
    let mut text = fs::read(&marker).unwrap();
    text.extend(b"{\"file\":\"b.0.0");
    fs::write(&marker, text).unwrap();
    let mut scratch = Scratch::open(folder.path(), "s").unwrap();
    scratch.keep(true);
    scratch.claim("c.0.0.data").unwrap();
    drop(scratch);
    let scratch = Scratch::open(folder.path(), "s").unwrap();
    assert!(scratch.lists("a.0.0.data") && scratch.lists("c.0.0.data") && !scratch.lists("b.0.0"));
}

#[test]
fn a_damaged_marker_is_still_ours_and_lists_nothing() {
    let folder = disk_folder();
    let mut scratch = Scratch::open(folder.path(), "s").unwrap();
    scratch.keep(true);
    drop(scratch);
    fs::write(folder.path().join("s").join(assay_path::scratch::MARKER), b"\xFF\xFE{{{").unwrap();
    assert_eq!(Scratch::list(folder.path()).unwrap()[0].owner, None);
    drop(Scratch::open(folder.path(), "s").unwrap());
    assert!(!folder.path().join("s").exists());
}
