//! What-ifs on twins.

use std::{path::Path, process::ExitCode};

use assay_twin::Questions;

use super::read_document;
use crate::{error::Failure, output};

/// Largest document of questions that is read, bytes.
const BYTES_AT_MOST: u64 = 256 << 20;

/// Answers every question of a document and prints the answers.
pub fn predict(path: &Path) -> Result<ExitCode, Failure> {
    let questions = Questions::parse(&read_document(path, "questions", BYTES_AT_MOST)?)?;
    output::document(&questions.answer())?;
    Ok(ExitCode::SUCCESS)
}
