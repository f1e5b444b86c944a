//! A control group that bounds what this process and the kernel's cache of its files may take together.
//!
//! An engine that reads through the kernel's page cache has as much cache as the machine has memory, whatever it was
//! told. The kernel charges pages of files to the group that first touched them, so a group of its own makes its cache as
//! large as the others' pools.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::error::{Result, RivalError};

/// A group that this process is in. Dropped, the process goes back to where it was, and the group is removed.
#[derive(Debug)]
pub struct Room {
    group: PathBuf,
    home: PathBuf,
}

impl Room {
    /// Makes a group that holds so many bytes at most, and moves this process there.
    ///
    /// # Errors
    /// Where this user may not, or the kernel has no such groups.
    pub fn enter(bytes: u64) -> Result<Self> {
        let homes = homes();
        let mut seen = "the kernel has no memory control groups here".to_owned();
        for (home, parent, limit) in homes {
            match Self::make(&home, &parent, limit, bytes) {
                Ok(room) => return Ok(room),
                Err(error) => seen = error.to_string(),
            }
        }
        Err(RivalError::NotPossible {
            reason: format!("the kernel's page cache cannot be bounded: {seen}"),
            fix: "run it as root where memory control groups are mounted, or leave the pool's size out".to_owned(),
        })
    }

    fn make(home: &Path, parent: &Path, limit: &str, bytes: u64) -> Result<Self> {
        sweep(parent);
        let group = parent.join(format!("assay-rival-{}", std::process::id()));
        fs::create_dir(&group).map_err(|error| RivalError::io("making", &group, error))?;
        let room = Self { group, home: home.to_owned() };
        put(&room.group.join(limit), &bytes.to_string())?;
        put(&room.group.join("cgroup.procs"), &std::process::id().to_string())?;
        Ok(room)
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // Where it cannot go back, the group stays, empty, until the next run removes it.
        let _ = put(&self.home.join("cgroup.procs"), &std::process::id().to_string());
        let _ = fs::remove_dir(&self.group);
    }
}

fn put(file: &Path, text: &str) -> Result<()> {
    fs::write(file, text).map_err(|error| RivalError::io("writing", file, error))
}

/// Groups of processes that are gone.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let owner = entry.file_name().to_str().and_then(|name| name.strip_prefix("assay-rival-")?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Where this process is, where a group can be made, and the file that limits it: version 1 of control groups, then 2.
fn homes() -> Vec<(PathBuf, PathBuf, &'static str)> {
    let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let mut found = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if controllers.split(',').any(|one| one == "memory") {
            let home = mounted(&mounts, "cgroup", "memory").map(|root| inside(&root, path));
            found.extend(home.map(|home| (home.clone(), home, "memory.limit_in_bytes")));
        } else if number == "0" {
            let home = mounted(&mounts, "cgroup2", "").map(|root| inside(&root, path));
            // A group of version 2 that has processes can have no groups with limits in it: one beside it can be.
            let beside =
                |home: &Path| if path == "/" { home.to_owned() } else { home.parent().unwrap_or(home).to_owned() };
            found.extend(home.map(|home| (home.clone(), beside(&home), "memory.max")));
        }
    }
    found
}

/// A group's folder. Where only a part of the hierarchy is mounted, the mount itself is the group.
fn inside(root: &Path, group: &str) -> PathBuf {
    let path = root.join(group.trim_start_matches('/'));
    if path.is_dir() { path } else { root.to_owned() }
}

/// Where a file system of this type is mounted that has this option.
fn mounted(mounts: &str, kind: &str, option: &str) -> Option<PathBuf> {
    mounts.lines().find_map(|line| {
        let (front, back) = line.split_once(" - ")?;
        let mut back = back.split(' ');
        let right = back.next() == Some(kind);
        let options = back.nth(1).unwrap_or_default();
        let has = option.is_empty() || options.split(',').any(|one| one == option);
        (right && has).then(|| front.split(' ').nth(4).map(PathBuf::from))?
    })
}
