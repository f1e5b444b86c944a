//! The indexes.

use std::process::ExitCode;

use assay_index::Kind;
use assayer::{Failure, output};
use serde::Serialize;

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    what: &'static str,
    in_persistent_memory: bool,
    ordered: bool,
    /// This program has it.
    there: bool,
}

/// Prints the indexes.
pub fn list() -> Result<ExitCode, Failure> {
    let one = |kind: Kind| Listed {
        name: kind.name(),
        what: kind.describe(),
        in_persistent_memory: kind.in_pmem(),
        ordered: kind.ordered(),
        there: assay_index::is_there(kind),
    };
    let all: Vec<Listed> = Kind::ALL.into_iter().chain(Kind::RIVALS).map(one).collect();
    output::document(&all)?;
    Ok(ExitCode::SUCCESS)
}
