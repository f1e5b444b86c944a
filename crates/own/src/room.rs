//! A control group that bounds what this process and the kernel's cache of its files may take together.
//!
//! What is read through the kernel's page cache has as much cache as the machine has memory. The kernel charges pages of
//! files to the group that first touched them, so a group of its own makes a cache of any size.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    Result,
    error::{OwnError, failed},
};

const PREFIX: &str = "assay-room-";

/// A group that this process is in. Dropped, the process goes back to where it was, and the group is removed.
#[derive(Debug)]
pub struct Room {
    group: PathBuf,
    home: PathBuf,
    limit: &'static str,
    bytes: u64,
}

impl Room {
    /// Makes a group that holds so many bytes at most, and moves this process there.
    ///
    /// # Errors
    /// Where this user may not, or the kernel has no such groups.
    pub fn enter(bytes: u64) -> Result<Self> {
        let own = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
        let mut seen = "the kernel has no memory control groups here".to_owned();
        for (home, parent, limit) in homes(&own, &mounts) {
            match Self::make(&home, &parent, limit, bytes) {
                Ok(room) => return Ok(room),
                Err(error) => seen = error.to_string(),
            }
        }
        let reason = format!("the kernel's page cache cannot be bounded: {seen}");
        let fix = "run it as root where memory control groups are mounted, or leave the size of the cache out";
        Err(OwnError::NotPossible { reason, fix: fix.to_owned() })
    }

    /// Where the group is.
    pub fn group(&self) -> &Path {
        &self.group
    }

    /// What it may hold, bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The kernel's name of the limit.
    pub fn setting(&self) -> &'static str {
        self.limit
    }

    fn make(home: &Path, parent: &Path, limit: &'static str, bytes: u64) -> Result<Self> {
        sweep(parent);
        let group = parent.join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&group).map_err(failed("making", &group))?;
        let room = Self { group, home: home.to_owned(), limit, bytes };
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
    fs::write(file, text).map_err(failed("writing", file))
}

/// Groups of processes that are gone.
fn sweep(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let owner = entry.file_name().to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if owner.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Where this process is, where a group can be made, and the file that limits it: version 1 of control groups, then 2.
fn homes(own: &str, mounts: &str) -> Vec<(PathBuf, PathBuf, &'static str)> {
    let mut found = Vec::new();
    for line in own.lines() {
        let mut parts = line.splitn(3, ':');
        let (Some(number), Some(controllers), Some(path)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        if controllers.split(',').any(|one| one == "memory") {
            let home = mounted(mounts, "cgroup", "memory").map(|root| inside(&root, path));
            found.extend(home.map(|home| (home.clone(), home, "memory.limit_in_bytes")));
        } else if number == "0" {
            let home = mounted(mounts, "cgroup2", "").map(|root| inside(&root, path));
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

#[cfg(test)]
mod tests {
    use super::*;

    const TWO: &str = "31 25 0:27 / ROOT rw - cgroup2 cgroup2 rw\n";

    fn found(own: &str, mounts: &str) -> Vec<(PathBuf, PathBuf, &'static str)> {
        homes(own, mounts)
    }

    #[test]
    fn of_version_2_the_group_lies_beside_the_one_that_holds_this_process() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::create_dir_all(folder.path().join("user/session")).expect("made");
        let mounts = TWO.replace("ROOT", folder.path().to_str().expect("a name"));
        let at = |name: &str| folder.path().join(name);
        assert_eq!(found("0::/user/session\n", &mounts), [(at("user/session"), at("user"), "memory.max")]);
        assert_eq!(found("0::/\n", &mounts), [(at(""), at(""), "memory.max")]);
        // In a container the mount is the group.
        assert_eq!(found("0::/somewhere/else\n", &mounts)[0].0, at(""));
    }

    #[test]
    fn of_version_1_it_lies_within() {
        let mounts = "30 25 0:26 / /nowhere/memory rw - cgroup cgroup rw,memory\n";
        let own = "4:memory:/\n0::/\n";
        let at = PathBuf::from("/nowhere/memory");
        assert_eq!(found(own, mounts), [(at.clone(), at, "memory.limit_in_bytes")]);
        assert!(found("", "").is_empty() && found("nonsense", "nonsense").is_empty());
    }

    #[test]
    fn a_group_that_cannot_be_made_is_told_and_leaves_nothing() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let home = folder.path().join("gone");
        assert!(Room::make(&home, &home, "memory.max", 1 << 30).is_err());
        assert!(fs::read_dir(folder.path()).expect("read").next().is_none());
    }
}
