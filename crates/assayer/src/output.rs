//! Standard output: JSON and nothing else.

use std::io::{self, Write};

use serde::Serialize;

use crate::Failure;

/// Writes one value as one line, and flushes it, so that a killed run leaves a valid prefix.
///
/// # Errors
/// [`Failure`] where nobody reads any more or the disk is full.
pub fn line<T: Serialize>(value: &T) -> Result<(), Failure> {
    let mut out = serde_json::to_vec(value).map_err(|error| broken(error.into()))?;
    out.push(b'\n');
    text(&out)
}

/// Writes one value as an indented document.
///
/// # Errors
/// As [`line`].
pub fn document<T: Serialize>(value: &T) -> Result<(), Failure> {
    let mut out = serde_json::to_vec_pretty(value).map_err(|error| broken(error.into()))?;
    out.push(b'\n');
    text(&out)
}

/// Writes bytes as they are, in one call where the pipe takes them.
///
/// # Errors
/// As [`line`].
pub fn text(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(bytes).and_then(|()| out.flush()).map_err(broken)
}

fn broken(error: io::Error) -> Failure {
    Failure::new(
        format!("standard output cannot be written: {error}"),
        "free space where it goes, or keep its reader running",
    )
}
