//! Standard output: JSON and nothing else.

use std::io::{self, Write};

use serde::Serialize;

use crate::error::Failure;

/// Writes one value as one line, and flushes it, so that a killed run leaves a valid prefix.
///
/// # Errors
/// [`Failure`] where nobody reads any more or the disk is full.
pub fn line<T: Serialize>(value: &T) -> Result<(), Failure> {
    let write = || -> io::Result<()> {
        let mut text = serde_json::to_vec(value)?;
        text.push(b'\n');
        let mut out = io::stdout().lock();
        out.write_all(&text)?;
        out.flush()
    };
    write().map_err(broken)
}

/// Writes one value as an indented document.
///
/// # Errors
/// As [`line`].
pub fn document<T: Serialize>(value: &T) -> Result<(), Failure> {
    let write = || -> io::Result<()> {
        let mut text = serde_json::to_vec_pretty(value)?;
        text.push(b'\n');
        let mut out = io::stdout().lock();
        out.write_all(&text)?;
        out.flush()
    };
    write().map_err(broken)
}

fn broken(error: io::Error) -> Failure {
    Failure::new(
        format!("standard output cannot be written: {error}"),
        "free space where it goes, or keep its reader running",
    )
}
