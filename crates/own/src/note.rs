//! What the register holds of one thing that was made: a file of lines, locked as long as its owner lives.

use std::{
    collections::BTreeSet,
    fs::{self, File},
    io::{self, BufRead, BufReader, Seek, Write},
    path::{Path, PathBuf},
    time::{SystemTime, UNIX_EPOCH},
};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

use crate::{Result, error::failed, identity::Identity};

/// What kind of thing was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum NoteKind {
    /// A folder of which only listed files are removed.
    Listed,
    /// A folder that goes with all that it holds.
    Whole,
    /// Files in a folder of the user's, with a mark beside them.
    Files,
    /// A folder that is mounted.
    Mount,
}

/// Who made something, or took it over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Version of the program.
    pub version: String,
    /// Process, as it was numbered where it ran.
    pub pid: u32,
    /// Its command line, as far as it fits.
    pub command: String,
    /// Seconds since 1970.
    pub created_at: u64,
}

/// The first line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Head {
    pub kind: NoteKind,
    /// Where it is, without links: a folder that was made, or the mark beside files.
    pub path: PathBuf,
    /// Stands in the marker too, and nobody else can read it in either place.
    pub token: String,
    /// Users besides this one who may have files in it.
    pub others: Vec<u32>,
}

/// A later line.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum NoteLine {
    Head(Head),
    Owner(Owner),
    /// It was made. `bare`: its file system takes no writes, so that the marker is empty.
    Made {
        identity: Identity,
        bare: bool,
    },
    /// A file of a folder that lists its files: about to be made.
    Name(String),
    /// A file beside a mark: made.
    Beside {
        path: PathBuf,
        identity: Identity,
    },
    Forgotten(PathBuf),
}

/// What the lines say together.
#[derive(Clone, Debug)]
pub(crate) struct Content {
    pub head: Head,
    pub owner: Option<Owner>,
    pub made: Option<(Identity, bool)>,
    pub names: BTreeSet<String>,
    pub beside: Vec<(PathBuf, Identity)>,
}

/// A file of the register.
#[derive(Debug)]
pub(crate) struct Note {
    path: PathBuf,
    file: File,
}

impl Note {
    /// A new note, in its file, which is locked already.
    pub fn begin(path: PathBuf, file: File, head: &Head) -> Result<Self> {
        let mut note = Self { path, file };
        note.put(&NoteLine::Head(head.clone()))?;
        note.put(&NoteLine::Owner(Owner::this()))?;
        Ok(note)
    }

    pub fn of(path: PathBuf, file: File) -> Self {
        Self { path, file }
    }

    /// Takes the lock; false where its owner lives.
    pub fn lock(&self) -> bool {
        flock(&self.file, FlockOperation::NonBlockingLockExclusive).is_ok()
    }

    pub fn own(&mut self) -> Result<()> {
        self.put(&NoteLine::Owner(Owner::this()))
    }

    pub fn made(&mut self, identity: Identity, bare: bool) -> Result<()> {
        self.put(&NoteLine::Made { identity, bare })
    }

    pub fn name(&mut self, name: &str) -> Result<()> {
        self.put(&NoteLine::Name(name.to_owned()))
    }

    pub fn beside(&mut self, path: &Path, identity: Identity) -> Result<()> {
        self.put(&NoteLine::Beside { path: path.to_owned(), identity })
    }

    pub fn forget(&mut self, path: &Path) -> Result<()> {
        self.put(&NoteLine::Forgotten(path.to_owned()))
    }

    fn put(&mut self, line: &NoteLine) -> Result<()> {
        // A line that a kill has torn must not swallow the next one.
        let mut text = vec![b'\n'];
        let written = serde_json::to_vec(line).map_err(io::Error::from).and_then(|line| {
            text.extend(line);
            text.push(b'\n');
            self.file.write_all(&text)?;
            self.file.sync_data()
        });
        written.map_err(failed("writing", &self.path))
    }

    /// What it says; none where it ends before its first line does.
    pub fn read(&mut self) -> Result<Option<Content>> {
        let mut content: Option<Content> = None;
        self.file.rewind().map_err(failed("reading", &self.path))?;
        for line in BufReader::new(&self.file).split(b'\n') {
            let line = line.map_err(failed("reading", &self.path))?;
            match (serde_json::from_slice(&line), &mut content) {
                (Ok(NoteLine::Head(head)), None) => content = Some(Content::new(head)),
                (Ok(line), Some(content)) => content.add(line),
                _ => {}
            }
        }
        Ok(content)
    }

    /// What it told of is gone.
    pub fn remove(self) -> Result<()> {
        // It lies in a folder of this user's alone, reached by a path that nobody else can exchange.
        match fs::remove_file(&self.path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(failed("removing", &self.path)(error)),
            _ => Ok(()),
        }
    }
}

impl Drop for Note {
    fn drop(&mut self) {
        // Closing alone would leave the lock to a process that was forked meanwhile and has not yet begun its program.
        let _ = flock(&self.file, FlockOperation::Unlock);
    }
}

impl Content {
    fn new(head: Head) -> Self {
        Self { head, owner: None, made: None, names: BTreeSet::new(), beside: Vec::new() }
    }

    fn add(&mut self, line: NoteLine) {
        match line {
            NoteLine::Head(_) => {}
            NoteLine::Owner(owner) => self.owner = Some(owner),
            NoteLine::Made { identity, bare } => self.made = Some((identity, bare)),
            NoteLine::Name(name) => _ = self.names.insert(name),
            NoteLine::Beside { path, identity } => self.beside.push((path, identity)),
            NoteLine::Forgotten(path) => self.beside.retain(|(other, _)| *other != path),
        }
    }
}

impl Owner {
    pub(crate) fn this() -> Self {
        let created_at = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        let pid = std::process::id();
        Self { version: env!("CARGO_PKG_VERSION").to_owned(), pid, command: command_of(pid), created_at }
    }
}

/// The name of a process, as far as the kernel tells; its arguments stay where they are.
pub(crate) fn command_of(pid: u32) -> String {
    fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default().trim().to_owned()
}
