//! Documents that come in.

use std::{fs, io::Read, path::Path};

use crate::Failure;

/// Largest job that is read, bytes.
pub const JOB_BYTES_AT_MOST: u64 = 16 << 20;

/// Reads a document of at most `bytes_at_most`; `-` is standard input. `what` names it in a refusal.
///
/// # Errors
/// [`Failure`] with exit code 2 where it cannot be read.
pub fn read(path: &Path, what: &str, bytes_at_most: u64) -> Result<String, Failure> {
    let mut text = String::new();
    let read = if path == Path::new("-") {
        std::io::stdin().take(bytes_at_most).read_to_string(&mut text)
    } else {
        fs::File::open(path).and_then(|file| file.take(bytes_at_most).read_to_string(&mut text))
    };
    read.map_err(|error| Failure {
        reason: format!("the {what} {} cannot be read: {error}", path.display()),
        fix: "name a readable JSON document, or - for standard input".to_owned(),
        exit_code: 2,
    })?;
    Ok(text)
}
