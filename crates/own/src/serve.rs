//! The room for other programs: requests as lines of JSON go in, answers come out. When the requests end, however the
//! program that sent them ended, what was made and is not to be kept is removed.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, Write},
    path::{Path, PathBuf},
    thread,
    time::Duration,
};

use serde::{Deserialize, Serialize};

use crate::{
    OwnError, Result,
    folder::{Folder, Plan},
    inhabited::is_inhabited,
    register::random,
};

/// Attempts at the end, a tenth of a second apart: a server that ends with its owner takes a moment.
const ATTEMPTS: u32 = 100;
const NAME_BYTES: usize = 8;

#[derive(Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum Request {
    /// A new folder with all that will be in it.
    Make {
        folder: PathBuf,
        prefix: String,
        /// A user who may have files in it.
        other: Option<u32>,
        /// Nobody else may measure in `folder` meanwhile.
        lease: bool,
    },
    /// One of them goes, or a folder inside of it.
    Remove { path: PathBuf, inside: Option<String> },
    /// It stays when the requests end; `assay clean` removes it.
    Keep { path: PathBuf },
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "snake_case")]
enum RemovalAnswer {
    Path(PathBuf),
    Refused { reason: String, fix: String },
}

/// Answers requests until they end.
///
/// # Errors
/// Where what was made cannot be removed in the end.
pub fn serve(requests: impl BufRead, mut answers: impl Write) -> Result<()> {
    let mut made = BTreeMap::new();
    for line in requests.lines() {
        let Ok(line) = line else { break };
        let answer = serde_json::from_str(&line).map_err(io::Error::from).map_err(|source| OwnError::Io {
            action: "reading",
            path: PathBuf::from("a request"),
            source,
        });
        let answer = match answer.and_then(|request| answer_one(request, &mut made)) {
            Ok(path) => RemovalAnswer::Path(path),
            Err(error) => RemovalAnswer::Refused { reason: error.to_string(), fix: error.fix() },
        };
        let mut text = serde_json::to_vec(&answer).unwrap_or_default();
        text.push(b'\n');
        if answers.write_all(&text).and_then(|()| answers.flush()).is_err() {
            break;
        }
    }
    made.into_values().filter(|kept: &Made| !kept.keep).try_for_each(|mut made| removed_at_last(&mut made.folder))
}

#[derive(Debug)]
struct Made {
    folder: Folder,
    keep: bool,
}

fn answer_one(request: Request, made: &mut BTreeMap<PathBuf, Made>) -> Result<PathBuf> {
    match request {
        Request::Make { folder, prefix, other, lease } => {
            let plan = Plan { whole: true, others: other.into_iter().collect(), lease };
            let mut folder = Folder::make(&folder, &format!("{prefix}{}", random(NAME_BYTES)?), &plan)?;
            // Removed below, with what cannot be told of here; a panic leaves it to `clean`.
            folder.keep(true);
            let path = folder.path().to_owned();
            made.insert(path.clone(), Made { folder, keep: false });
            Ok(path)
        }
        Request::Remove { path, inside: Some(inside) } => {
            known(&path, made)?.folder.remove_inside(&inside)?;
            Ok(path.join(inside))
        }
        Request::Remove { path, inside: None } => {
            known(&path, made)?.folder.remove_all()?;
            made.remove(&path);
            Ok(path)
        }
        Request::Keep { path } => {
            known(&path, made)?.keep = true;
            Ok(path)
        }
    }
}

fn known<'a>(path: &Path, made: &'a mut BTreeMap<PathBuf, Made>) -> Result<&'a mut Made> {
    let unknown = || OwnError::refused(path, "it was not made here", "name a folder that was made by this caller");
    made.get_mut(path).ok_or_else(unknown)
}

/// A server that ends with its owner gives back what lies elsewhere, shared memory say, as long as it finds its files.
fn removed_at_last(folder: &mut Folder) -> Result<()> {
    for _ in 1..ATTEMPTS {
        if !is_inhabited(folder.path()) && folder.remove_all().is_ok() {
            return Ok(());
        }
        thread::sleep(Duration::from_millis(100));
    }
    folder.remove_all().map(|_| ())
}
