//! Other users of the machine: what they plant, swap and lock removes nothing and is told of.

mod support;

use std::{
    fs,
    os::unix::fs::{PermissionsExt, chown, symlink},
    path::Path,
    process::Command,
    sync::atomic::{AtomicBool, Ordering},
    thread,
};

use assay_own::{Base, Files, Folder, Lease, Plan, clean, list};
use support::{Child, STRANGER, again, as_stranger, disk_folder, is_root, orders, ready_and_wait};
use tempfile::TempDir;

/// A folder that everybody may write to, with the sticky bit or without.
fn shared(mode: u32) -> TempDir {
    let folder = tempfile::Builder::new().prefix("assay-own-").tempdir_in("/tmp").unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(mode)).unwrap();
    folder
}

fn whole() -> Plan {
    Plan { whole: true, ..Plan::default() }
}

#[test]
fn a_folder_that_others_may_write_to_is_refused_unless_it_is_sticky() {
    let folder = shared(0o777);
    let error = Folder::open(folder.path(), "s").unwrap_err();
    assert!(error.to_string().contains("others may write") && error.fix().contains("chmod +t"), "{error}");
    assert!(!folder.path().join("s").exists());
    let inside = folder.path().join("inside");
    fs::create_dir(&inside).unwrap();
    assert!(Folder::open(&inside, "s").is_err(), "one above it counts too");
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o1777)).unwrap();
    drop(Folder::open(folder.path(), "s").unwrap());
}

#[test]
fn root_stops_at_a_folder_of_another_user() {
    if !is_root() {
        return;
    }
    let folder = shared(0o755);
    chown(folder.path(), Some(STRANGER), None).unwrap();
    let error = Folder::open(folder.path(), "s").unwrap_err();
    assert!(error.to_string().contains(&format!("user {STRANGER}")), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn what_a_stranger_planted_is_told_of_and_stays() {
    if !is_root() {
        return;
    }
    let folder = shared(0o1777);
    let at = folder.path().display();
    let victim = disk_folder();
    fs::write(victim.path().join("thesis"), b"years").unwrap();
    let list = "{\"file\":\"thesis\"}".to_owned();
    as_stranger(&format!("mkdir {at}/assay-scratch && echo '{list}' > {at}/assay-scratch/.assay-scratch.json"));
    as_stranger(&format!("mkdir {at}/other && echo made > {at}/other/.assay-own"));
    as_stranger(&format!("ln -s {} {at}/assay-dbms-1", victim.path().display()));
    as_stranger(&format!(
        "echo '{{\"file\":\"{}\"}}' > {at}/engine-data.making",
        victim.path().join("thesis").display()
    ));
    let cleaned = clean(folder.path(), "").unwrap();
    let names: Vec<_> = cleaned.iter().map(|one| one.path.file_name().unwrap().to_str().unwrap()).collect();
    assert_eq!(names, ["assay-scratch", "engine-data.making", "other"]);
    assert!(cleaned.iter().all(|one| !one.known && one.refused.as_ref().unwrap().contains("nobody")), "{cleaned:?}");
    assert!(folder.path().join("assay-scratch").exists() && victim.path().join("thesis").exists());
    assert!(Folder::open(folder.path(), "assay-scratch").unwrap_err().to_string().contains("another user"));
}

#[test]
fn a_planted_mark_of_files_is_not_believed() {
    let folder = disk_folder();
    let victim = folder.path().join("victim");
    fs::write(&victim, b"years").unwrap();
    let facts = rustix::fs::statx(
        rustix::fs::CWD,
        &victim,
        rustix::fs::AtFlags::empty(),
        rustix::fs::StatxFlags::BASIC_STATS | rustix::fs::StatxFlags::BTIME,
    )
    .unwrap();
    let born = facts.stx_btime.tv_sec as u64 * 1_000_000_000 + u64::from(facts.stx_btime.tv_nsec);
    let device = libc::makedev(facts.stx_dev_major, facts.stx_dev_minor);
    let line = format!("{{\"file\":{victim:?},\"device\":{device},\"number\":{},\"born_ns\":{born}}}\n", facts.stx_ino);
    let mark = folder.path().join("engine-data.making");
    fs::write(&mark, line).unwrap();
    let error = Files::found(&mark).unwrap_err();
    assert!(error.to_string().contains("is not believed") && error.fix().contains("rm -- "), "{error}");
    assert!(victim.exists() && mark.exists());
}

#[test]
fn files_that_a_killed_process_was_making_are_removed_and_no_others() {
    let folder = disk_folder();
    Child::start("child_makes_files", folder.path()).kill();
    fs::write(folder.path().join("other"), b"x").unwrap();
    // A file that took the place of one that was made is another one.
    fs::remove_file(folder.path().join("log")).unwrap();
    fs::write(folder.path().join("log"), b"mine").unwrap();
    let files = Files::found(&folder.path().join("data.making")).unwrap().unwrap();
    assert!(!folder.path().join("data").exists());
    files.end().unwrap();
    assert!(!folder.path().join("data.making").exists());
    assert_eq!(fs::read(folder.path().join("log")).unwrap(), b"mine");
    assert!(folder.path().join("other").exists());
}

/// Not a test of its own.
#[test]
fn child_makes_files() {
    let Some(folder) = orders("child_makes_files") else { return };
    let folder = Path::new(&folder);
    let mut files = Files::begin(&folder.join("data.making")).unwrap();
    for name in ["data", "log"] {
        let path = folder.join(name);
        let file = fs::File::create(&path).unwrap();
        files.made(&path, &file).unwrap();
    }
    ready_and_wait();
}

#[test]
fn a_folder_that_is_swapped_for_a_link_while_it_is_emptied_is_not_followed() {
    let (folder, victim) = (disk_folder(), disk_folder());
    for index in 0..20 {
        fs::write(victim.path().join(format!("f{index}")), b"years").unwrap();
    }
    let stop = AtomicBool::new(false);
    for _ in 0..30 {
        let mut made = Folder::make(folder.path(), "m", &whole()).unwrap();
        let inner = made.path().join("inner");
        fs::create_dir(&inner).unwrap();
        (0..20).for_each(|index| fs::write(inner.join(format!("f{index}")), b"x").unwrap());
        stop.store(false, Ordering::Relaxed);
        thread::scope(|scope| {
            scope.spawn(|| swap(&inner, victim.path(), &stop));
            let _ = made.remove_inside("inner");
            stop.store(true, Ordering::Relaxed);
        });
        drop(made);
        let _ = clean(folder.path(), "");
    }
    assert_eq!(fs::read_dir(victim.path()).unwrap().count(), 20);
}

fn swap(inner: &Path, victim: &Path, stop: &AtomicBool) {
    let aside = inner.with_file_name("aside");
    while !stop.load(Ordering::Relaxed) {
        if fs::rename(inner, &aside).is_ok() {
            let _ = symlink(victim, inner);
            let _ = fs::remove_file(inner);
            let _ = fs::rename(&aside, inner);
        }
    }
}

#[test]
fn a_folder_with_something_of_another_users_is_left_as_it_is() {
    if !is_root() {
        return;
    }
    let folder = disk_folder();
    let mut made = Folder::make(folder.path(), "m", &whole()).unwrap();
    for name in ["a", "z"] {
        fs::write(made.path().join(name), b"x").unwrap();
    }
    chown(made.path().join("z"), Some(STRANGER), None).unwrap();
    let error = made.remove_all().unwrap_err();
    assert!(error.to_string().contains("m/z") && error.to_string().contains("belongs to"), "{error}");
    assert!(made.path().join("a").exists(), "nothing was removed");
    fs::remove_file(made.path().join("z")).unwrap();
    made.remove_all().unwrap();
    assert!(!folder.path().join("m").exists());
}

#[test]
fn files_of_the_user_for_whom_it_was_made_go_with_it_and_links_are_not_followed() {
    if !is_root() {
        return;
    }
    let (folder, victim) = (disk_folder(), disk_folder());
    fs::write(victim.path().join("thesis"), b"years").unwrap();
    let plan = Plan { whole: true, others: vec![STRANGER], lease: false };
    let mut made = Folder::make(folder.path(), "m", &plan).unwrap();
    let data = made.path().join("data");
    fs::create_dir(&data).unwrap();
    fs::write(data.join("page"), b"x").unwrap();
    symlink(victim.path(), data.join("pg_wal")).unwrap();
    for path in [&data, &data.join("page")] {
        chown(path, Some(STRANGER), None).unwrap();
    }
    made.remove_inside("data").unwrap();
    assert!(!data.exists() && victim.path().join("thesis").exists());
}

#[test]
fn a_mount_inside_of_a_folder_is_not_entered() {
    let folder = disk_folder();
    let mut made = Folder::make(folder.path(), "m", &whole()).unwrap();
    let inner = made.path().join("inner");
    fs::create_dir(&inner).unwrap();
    let mounted = Command::new("mount").args(["-t", "tmpfs", "none"]).arg(&inner).status();
    if !mounted.is_ok_and(|status| status.success()) {
        eprintln!("skipped: nothing can be mounted here");
        return;
    }
    fs::write(inner.join("thesis"), b"years").unwrap();
    let error = made.remove_all();
    let there = inner.join("thesis").exists();
    let _ = Command::new("umount").arg(&inner).status();
    let error = error.unwrap_err();
    assert!(there && error.to_string().contains("another file system is mounted"), "{error}");
    assert!(error.fix().starts_with("umount "), "{}", error.fix());
}

/// Not a test of its own.
#[test]
fn child_measures_in_a_folder() {
    let Some(folder) = orders("child_measures_in_a_folder") else { return };
    let _folder = Folder::open(Path::new(&folder), "s").unwrap();
    ready_and_wait();
}

#[test]
fn a_folder_under_measurement_is_one_runs() {
    let folder = disk_folder();
    let child = Child::start("child_measures_in_a_folder", folder.path());
    let error = Folder::fresh(folder.path(), "other", &Plan::measured()).unwrap_err();
    let who = format!("process {}", child.id());
    assert!(error.to_string().contains(&who) && error.fix().contains("kill -INT"), "{error}");
    child.kill();
    let one = Folder::fresh(folder.path(), "other", &Plan::measured()).unwrap();
    let _two = Folder::fresh(folder.path(), "other", &Plan::measured()).expect("the same run, another part of it");
    drop(one);
}

/// Not a test of its own: looks from where processes have other numbers.
#[test]
fn child_cleans() {
    let Some(folder) = orders("child_cleans") else { return };
    let cleaned = clean(Path::new(&folder), "").unwrap();
    eprintln!("cleaned alive={} pid={}", cleaned[0].alive, std::process::id());
}

#[test]
fn a_run_that_another_namespace_of_processes_does_not_see_is_alive_there_too() {
    let folder = disk_folder();
    let child = Child::start("child_measures_in_a_folder", folder.path());
    let inside = again("child_cleans", folder.path());
    let mut command = Command::new("unshare");
    command.args(["--pid", "--fork", "--mount-proc", "--"]).arg(inside.get_program()).args(inside.get_args());
    command.envs(inside.get_envs().filter_map(|(name, value)| Some((name, value?))));
    let Ok(done) = command.output() else {
        eprintln!("skipped: unshare is not installed");
        return;
    };
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    if !done.status.success() && said.contains("Operation not permitted") {
        eprintln!("skipped: no namespaces may be made here");
        return;
    }
    assert!(said.contains("alive=true pid=1"), "{said}");
    assert!(folder.path().join("s").exists());
    child.kill();
    clean(folder.path(), "").unwrap();
    assert!(!folder.path().join("s").exists());
}

#[test]
fn a_state_folder_of_another_users_is_refused() {
    if !is_root() {
        return;
    }
    let (state, folder) = (shared(0o755), disk_folder());
    chown(state.path(), Some(STRANGER), None).unwrap();
    let done = again("child_with_a_state_folder", folder.path()).env("XDG_STATE_HOME", state.path()).output().unwrap();
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(said.contains("refused") && said.contains("belongs to"), "{said}");
    assert_eq!(fs::read_dir(state.path()).unwrap().count(), 0);
    assert!(list(folder.path(), "").unwrap().is_empty() && !folder.path().join("s").exists());
}

/// Not a test of its own.
#[test]
fn child_with_a_state_folder() {
    let Some(folder) = orders("child_with_a_state_folder") else { return };
    eprintln!("refused: {}", Folder::open(Path::new(&folder), "s").unwrap_err());
}

#[test]
fn who_started_this_process_may_hold_the_folder_for_it() {
    use std::os::fd::AsRawFd;
    let folder = disk_folder();
    let held = fs::File::open(folder.path()).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::NonBlockingLockExclusive).unwrap();
    assert!(Lease::take(&Base::open(folder.path()).unwrap()).is_err(), "another one holds it");
    // SAFETY: the descriptor is open; this lets children have it.
    unsafe { libc::fcntl(held.as_raw_fd(), libc::F_SETFD, 0) };
    let mut command = again("child_measures_in_a_folder", folder.path());
    let child = Child::of({
        command.env("ASSAY_HOLDS", held.as_raw_fd().to_string());
        command
    });
    child.kill();
    clean(folder.path(), "").unwrap();
}
