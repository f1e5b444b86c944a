//! What killed runs left: found by the register, removed where its owner is gone, and what is not known is told of.

use std::{
    path::{Path, PathBuf},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use rustix::fs::OFlags;
use serde::Serialize;

use crate::{
    Result,
    base::Base,
    beneath,
    error::{OwnError, failed, quoted},
    files::Files,
    folder::{Folder, MARKER},
    identity::Facts,
    mounted,
    note::{NoteKind, Owner},
    people,
    register::{Entry, Register},
    tree,
};

/// Markers of versions that kept no register.
const EARLIER: [&str; 4] = [".assay-scratch.json", ".assay-dbms.json", ".assay-rival", ".assay-rivals.json"];
/// What names begin with that Assay gives.
const NAMES: [&str; 8] = [
    "assay-mount-",
    "assay-scratch",
    "assay-dbms-",
    "assay-pg-",
    "assay-soak-",
    "assay-rival",
    "assay-index-",
    "assay-verify-",
];
/// Notes of folders that nobody has seen for so long are forgotten.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(30 * 24 * 3600);

/// Something that a run made, and that is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FoundMark {
    /// Where.
    pub path: PathBuf,
    /// Who used it last.
    pub owner: Option<Owner>,
    /// Its owner lives and uses it.
    pub alive: bool,
    /// Bytes that its files occupy.
    pub bytes: u64,
}

/// What became of something that was to be cleaned.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Cleaned {
    /// Where.
    pub path: PathBuf,
    /// Listed files that were removed.
    pub removed: Vec<String>,
    /// What is not ours and stays, with its folder.
    pub left: Vec<String>,
    /// Its owner lives: nothing was touched.
    pub alive: bool,
    /// Why it stays.
    pub refused: Option<String>,
    /// What to do about that.
    pub fix: Option<String>,
    /// The register knows it: this user's Assay made it.
    pub known: bool,
    /// It was a mount whose program was killed: it was taken off, and its files stay.
    pub mount: bool,
}

/// What this user's Assay made directly inside a folder, with names that begin so.
///
/// # Errors
/// Where the folder or the register cannot be read.
pub fn list(folder: &Path, named: &str) -> Result<Vec<FoundMark>> {
    let (path, entries) = known(folder, named)?;
    let mut found = Vec::new();
    for entry in entries {
        let (at, owner, alive) = (entry.content.head.path.clone(), entry.content.owner.clone(), entry.alive);
        if entry.content.head.kind == NoteKind::Mount || at.symlink_metadata().is_err() {
            continue;
        }
        let is_folder = entry.content.head.kind != NoteKind::Files;
        let bytes = match Base::open(&path) {
            Ok(base) if !alive && is_folder => match Folder::found(base, entry) {
                Ok(Some(folder)) => folder.bytes(),
                Ok(None) => continue,
                Err(_) => 0,
            },
            _ => 0,
        };
        found.push(FoundMark { path: at, owner, alive, bytes });
    }
    Ok(found)
}

/// Removes what this user's Assay made directly inside a folder, with names that begin so, and whose
/// owners are gone. Tells of what looks like it and
/// is not known, and stays.
///
/// # Errors
/// Where the folder or the register cannot be read.
pub fn clean(folder: &Path, named: &str) -> Result<Vec<Cleaned>> {
    let (path, entries) = known(folder, named)?;
    let mut cleaned = Vec::new();
    for entry in entries {
        let at = entry.content.head.path.clone();
        match clean_one(&path, entry) {
            Ok(None) => {}
            Ok(Some(one)) => cleaned.push(one),
            Err(error) => {
                let (reason, fix) = (Some(error.to_string()), Some(error.fix()));
                cleaned.push(Cleaned { refused: reason, fix, ..Cleaned::of(at) });
            }
        }
    }
    let told = |path: &Path| cleaned.iter().any(|one| one.path == path);
    let strange: Vec<_> =
        strangers(&path)?.into_iter().filter(|one| !told(&one.path) && begins(&one.path, named)).collect();
    cleaned.extend(strange);
    Ok(cleaned)
}

impl Cleaned {
    fn of(path: PathBuf) -> Self {
        let (removed, left) = (Vec::new(), Vec::new());
        Self { path, removed, left, alive: false, refused: None, fix: None, known: true, mount: false }
    }
}

/// Notes of what was made in a folder. Those of folders that are long gone are forgotten.
fn known(folder: &Path, named: &str) -> Result<(PathBuf, Vec<Entry>)> {
    let path = folder.canonicalize().map_err(failed("reading", folder))?;
    let register = Register::open()?;
    let mut entries = Vec::new();
    for entry in register.entries(|head| head.path.parent() == Some(&path) || is_lost(&head.path))? {
        let old =
            |owner: &Owner| UNIX_EPOCH + Duration::from_secs(owner.created_at) + FORGOTTEN_AFTER < SystemTime::now();
        if entry.content.head.path.parent() == Some(&path) {
            if begins(&entry.content.head.path, named) {
                entries.push(entry);
            }
        } else if !entry.alive && entry.content.owner.as_ref().is_some_and(old) {
            entry.note.remove()?;
        }
    }
    Ok((path, entries))
}

fn begins(path: &Path, named: &str) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(named.as_bytes()))
}

fn is_lost(path: &Path) -> bool {
    path.parent().is_none_or(|folder| !folder.exists())
}

fn clean_one(folder: &Path, entry: Entry) -> Result<Option<Cleaned>> {
    let mut cleaned = Cleaned::of(entry.content.head.path.clone());
    if entry.alive {
        cleaned.alive = true;
        return Ok(Some(cleaned));
    }
    if entry.content.head.kind == NoteKind::Mount {
        return Ok(mounted::take_off(entry)?.then_some(Cleaned { mount: true, ..cleaned }));
    }
    if cleaned.path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return entry.note.remove().map(|()| None);
    }
    let base = Base::open(folder)?;
    if entry.content.head.kind == NoteKind::Files {
        let Some(mut files) = Files::opened(base, entry)? else { return Ok(None) };
        files.remove_made()?;
        files.end()?;
        return Ok(Some(cleaned));
    }
    let Some(mut found) = Folder::found(base, entry)? else { return Ok(None) };
    (cleaned.removed, cleaned.left) = found.remove_all()?;
    if cleaned.left.is_empty() {
        // What was being made in it went with it.
        let inside = Register::open()?.entries(|head| head.path.starts_with(&cleaned.path))?;
        inside.into_iter().filter(|entry| !entry.alive).try_for_each(|entry| entry.note.remove())?;
    }
    Ok(Some(cleaned))
}

/// What looks like something of Assay's and is not in the register: another user's, or an earlier version's.
fn strangers(folder: &Path) -> Result<Vec<Cleaned>> {
    let open = std::fs::File::open(folder).map_err(failed("opening", folder))?;
    let mut found = Vec::new();
    for name in tree::names(std::os::fd::AsFd::as_fd(&open), folder)? {
        let name = tree::to_path(&name);
        let Ok(facts) = Facts::at(&open, &name) else { continue };
        let text = name.to_string_lossy();
        let looks = if facts.is_folder() {
            NAMES.iter().any(|start| text.starts_with(start)) || is_marked(&open, &name)
        } else {
            text.starts_with("engine-data") && text.ends_with(".making")
        };
        if looks {
            found.push(stranger(&folder.join(&name), &facts));
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(found)
}

fn is_marked(folder: &std::fs::File, name: &Path) -> bool {
    let inside = beneath::open(folder, name, OFlags::PATH | OFlags::DIRECTORY, false);
    inside.is_ok_and(|inside| EARLIER.iter().chain(&[MARKER]).any(|marker| Facts::at(&inside, marker).is_ok()))
}

fn stranger(path: &Path, facts: &Facts) -> Cleaned {
    let ours = facts.uid == people::me();
    let whose = if ours { "this user".to_owned() } else { people::name_of(facts.uid) };
    let reason = format!("it belongs to {whose}, and the register of this user's Assay does not know it");
    let by_hand = format!("if nothing uses it and it is yours, remove it by hand: rm -r -- {}", quoted(path));
    let fix = if ours { by_hand } else { format!("let {whose} clean it") };
    let error = OwnError::refused(path, reason, fix);
    let (refused, fix) = (Some(error.to_string()), Some(error.fix()));
    Cleaned { refused, fix, known: false, ..Cleaned::of(path.to_owned()) }
}
