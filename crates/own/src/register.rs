//! The register: a note for each thing that this user's Assay made, in the user's own state folder.

use std::{
    env,
    fs::{File, OpenOptions},
    io::Read,
    os::unix::fs::OpenOptionsExt,
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use rustix::fs::{FlockOperation, flock};

use crate::{
    Result,
    base::{self, Base},
    error::{OwnError, failed},
    note::{Content, Head, Note, NoteKind},
};

/// Attempts to take a lock; bytes of a token; bytes of the name of a note.
const ATTEMPTS: u64 = 5;
const TOKEN_BYTES: usize = 32;
const NAME_BYTES: usize = 12;

/// The folder of notes, reached safely.
#[derive(Debug)]
pub(crate) struct Register {
    base: Base,
}

/// A note that was found, with what it says.
#[derive(Debug)]
pub(crate) struct Entry {
    pub note: Note,
    pub content: Content,
    /// Its owner lives; otherwise this process has its lock now.
    pub alive: bool,
}

impl Register {
    /// That of this user: below `$XDG_STATE_HOME`, else `~/.local/state`.
    pub fn open() -> Result<Self> {
        Ok(Self { base: base::private(&state_folder()?.join("assay/made"))? })
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        self.base.path()
    }

    /// A note of what is about to be made at a path, locked.
    pub fn begin(&self, kind: NoteKind, path: PathBuf, others: Vec<u32>) -> Result<(Note, Head)> {
        let head = Head { kind, path, token: random(TOKEN_BYTES)?, others };
        let at = self.base.path().join(format!("{}.note", random(NAME_BYTES)?));
        // Nobody looks at notes before this one is locked.
        let _calm = self.calm()?;
        let file = OpenOptions::new().read(true).append(true).create_new(true).mode(0o600).open(&at);
        let file = file.map_err(failed("making", &at))?;
        flock(&file, FlockOperation::NonBlockingLockExclusive).map_err(failed("locking", &at))?;
        Ok((Note::begin(at, file, &head)?, head))
    }

    /// Notes whose path the caller wants, each locked if its owner is gone.
    pub fn entries(&self, wanted: impl Fn(&Head) -> bool) -> Result<Vec<Entry>> {
        let _calm = self.calm()?;
        let mut found = Vec::new();
        for entry in std::fs::read_dir(self.path()).map_err(failed("reading", self.path()))? {
            let path = entry.map_err(failed("reading", self.path()))?.path();
            if path.extension().is_some_and(|end| end == "note") {
                found.extend(look(path)?.filter(|entry| wanted(&entry.content.head)));
            }
        }
        found.sort_by(|a, b| a.content.head.path.cmp(&b.content.head.path));
        Ok(found)
    }

    /// The note of a path. Several stand there after kills between a note and what it tells of: the one that was made
    /// counts. Whoever only looks has its lock for a moment, so one refusal is no proof of a living owner.
    pub fn entry(&self, path: &Path) -> Result<Option<Entry>> {
        let mut attempt = 0;
        loop {
            let mut found = self.entries(|head| head.path == path)?;
            found.sort_by_key(|entry| entry.content.made.is_some());
            match found.pop() {
                Some(entry) if entry.alive && attempt < ATTEMPTS => {
                    attempt += 1;
                    thread::sleep(Duration::from_millis(attempt * 5));
                }
                other => return Ok(other),
            }
        }
    }

    /// While it is held nobody begins a note or looks for one.
    fn calm(&self) -> Result<File> {
        let path = self.path().join("lock");
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(failed("opening", &path))?;
        flock(&file, FlockOperation::LockExclusive).map_err(failed("locking", &path))?;
        Ok(file)
    }
}

fn look(path: PathBuf) -> Result<Option<Entry>> {
    let file = match OpenOptions::new().read(true).append(true).open(&path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("opening", &path)(error)),
    };
    let mut note = Note::of(path, file);
    let alive = !note.lock();
    match note.read()? {
        Some(content) => Ok(Some(Entry { note, content, alive })),
        // Killed before it said anything: nothing was made yet.
        None if !alive => note.remove().map(|()| None),
        None => Ok(None),
    }
}

pub(crate) fn state_folder() -> Result<PathBuf> {
    let named = |name: &str| env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    if let Some(folder) = named("XDG_STATE_HOME") {
        return Ok(folder);
    }
    named("HOME").map(|home| home.join(".local/state")).ok_or_else(|| {
        let reason = "this user has no home (HOME) in which to note what Assay makes";
        OwnError::refused(Path::new("the state folder"), reason, "name a folder of your own in XDG_STATE_HOME")
    })
}

/// Random bytes, as hexadecimal digits.
pub(crate) fn random(bytes: usize) -> Result<String> {
    let source = Path::new("/dev/urandom");
    let mut room = vec![0u8; bytes];
    File::open(source).and_then(|mut file| file.read_exact(&mut room)).map_err(failed("reading", source))?;
    Ok(room.iter().map(|byte| format!("{byte:02x}")).collect())
}
