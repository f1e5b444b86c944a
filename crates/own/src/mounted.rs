//! Folders that a program of this user's Assay has mounted: noted as long as it lives, taken off where it was killed.

use std::{
    ffi::{CString, OsString},
    io,
    os::unix::ffi::{OsStrExt, OsStringExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::{
    Result,
    base::{self, Base},
    error::{OwnError, failed},
    identity::Facts,
    note::{Note, NoteKind},
    people,
    register::{Entry, Register, state_folder},
};

/// What the kernel calls a mount of ours.
pub const MOUNTED_AS: &str = "assay-mount";

/// A folder that is mounted, or about to be.
#[derive(Debug)]
pub struct Mounted {
    path: PathBuf,
    note: Note,
}

impl Mounted {
    /// Notes that a folder will be mounted. A dead mount of ours that is still there is taken off first.
    ///
    /// # Errors
    /// Where the folder is another user's, others may exchange it, or it is mounted already.
    pub fn begin(at: &Path) -> Result<Self> {
        let named = std::path::absolute(at).map_err(failed("looking at", at))?;
        let parent = named.parent().unwrap_or(Path::new("/"));
        let parent = parent.canonicalize().map_err(failed("looking at", parent))?;
        let path = named.file_name().map_or_else(|| parent.clone(), |name| parent.join(name));
        let register = Register::open()?;
        for entry in register.entries(|head| head.kind == NoteKind::Mount && head.path == path)? {
            if entry.alive {
                let fix = format!("umount {} first, or name another folder", path.display());
                return Err(OwnError::refused(&path, "Assay plays a drive there already", fix));
            }
            take_off(entry)?;
        }
        let facts = Facts::of(Base::open(&path)?).map_err(failed("looking at", &path))?;
        if facts.uid != people::me() {
            let reason = format!("it belongs to {}", people::name_of(facts.uid));
            return Err(OwnError::refused(&path, reason, "name a folder of your own"));
        }
        let path = path.canonicalize().map_err(failed("looking at", &path))?;
        let (note, _) = register.begin(NoteKind::Mount, path.clone(), Vec::new())?;
        Ok(Self { path, note })
    }

    /// Where, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// It is not mounted any more.
    ///
    /// # Errors
    /// Where the note cannot be removed.
    pub fn end(self) -> Result<()> {
        self.note.remove()
    }
}

/// The file in which a mount says what it has played: one for each folder, in this user's state folder.
///
/// # Errors
/// Where that folder cannot be made.
pub fn mount_state(at: &Path) -> Result<PathBuf> {
    let folder = base::private(&state_folder()?.join("assay/mounts"))?;
    // FNV-1a: the name need only differ, and the file says itself whose it is.
    let hash = at
        .as_os_str()
        .as_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3));
    Ok(folder.path().join(format!("{hash:016x}.json")))
}

/// Takes off what killed programs of this user's Assay have left mounted below a folder.
pub(crate) fn take_off_beneath(folder: &Path) -> Result<()> {
    let entries = Register::open()?.entries(|head| head.kind == NoteKind::Mount && head.path.starts_with(folder))?;
    entries.into_iter().filter(|entry| !entry.alive).try_for_each(|entry| take_off(entry).map(drop))
}

/// Takes off a mount whose program is gone, and forgets it; false where it was not mounted any more.
pub(crate) fn take_off(entry: Entry) -> Result<bool> {
    let path = entry.content.head.path.clone();
    let there = is_mounted(&path)?;
    if there {
        detach(&path)?;
    }
    let state = mount_state(&path)?;
    match std::fs::remove_file(&state) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(failed("removing", &state)(error)),
        _ => entry.note.remove()?,
    }
    Ok(there)
}

/// Whether a mount of ours is there. Its program is gone: nothing is asked of the folder itself.
fn is_mounted(path: &Path) -> Result<bool> {
    let table = Path::new("/proc/self/mountinfo");
    let text = std::fs::read(table).map_err(failed("reading", table))?;
    Ok(text.split(|byte| *byte == b'\n').any(|line| {
        let words: Vec<&[u8]> = line.split(|byte| *byte == b' ').collect();
        let source = words.iter().position(|word| *word == b"-").and_then(|dash| words.get(dash + 2));
        source.is_some_and(|source| *source == MOUNTED_AS.as_bytes())
            && words.get(4).is_some_and(|at| unescaped(at).as_os_str() == path.as_os_str())
    }))
}

/// As the kernel writes paths: a blank is `\040`.
fn unescaped(word: &[u8]) -> OsString {
    let (mut out, mut rest) = (Vec::new(), word);
    while let Some((first, after)) = rest.split_first() {
        let code = after.get(..3).filter(|_| *first == b'\\').and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 8).ok()) {
            Some(byte) => (out.push(byte), rest = &after[3..]).1,
            None => (out.push(*first), rest = after).1,
        }
    }
    OsString::from_vec(out)
}

fn detach(path: &Path) -> Result<()> {
    let named = CString::new(path.as_os_str().as_bytes())
        .map_err(|_| OwnError::refused(path, "its name holds a zero", "name another folder"))?;
    // SAFETY: the name ends with a zero and outlives the call.
    if unsafe { libc::umount2(named.as_ptr(), libc::MNT_DETACH | libc::UMOUNT_NOFOLLOW) } == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    let helped = || {
        let mut helper = Command::new("fusermount3");
        helper.args(["-u", "-z", "--"]).arg(path).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        helper.status().is_ok_and(|status| status.success())
    };
    if error.raw_os_error() == Some(libc::EPERM) && helped() { Ok(()) } else { Err(failed("unmounting", path)(error)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_paths_are_read() {
        assert_eq!(unescaped(br"/mnt/a\040b\134c"), OsString::from(r"/mnt/a b\c"));
        assert_eq!(unescaped(b"/mnt/plain"), OsString::from("/mnt/plain"));
    }
}
