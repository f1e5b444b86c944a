//! Schemas and completions: generated from the types and the arguments, so that they cannot lie.

use std::process::ExitCode;

use assay_record::{Event, Job, Record, WorkRecord};
use assay_twin::Questions;
use assayer::{Failure, output};
use clap::CommandFactory;
use schemars::schema_for;

use super::elsewhere;
use crate::{Arguments, Document};

/// Prints a JSON Schema.
pub fn schema(document: Document) -> Result<ExitCode, Failure> {
    let schema = match document {
        Document::Job => schema_for!(Job),
        Document::Event => schema_for!(Event),
        Document::Record => schema_for!(Record),
        Document::Work => schema_for!(WorkRecord),
        Document::Index => return elsewhere::hand_over("schema", &["index".into()]),
        Document::Engine => return elsewhere::hand_over("schema", &["engine".into()]),
        Document::Tpcc => return elsewhere::hand_over("schema", &["tpcc".into()]),
        Document::Soak => return elsewhere::hand_over("schema", &["soak".into()]),
        Document::Twin => schema_for!(Questions),
    };
    output::document(&schema)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints a completion script.
pub fn completion(shell: clap_complete::Shell) -> Result<ExitCode, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Arguments::command(), "assayer", &mut script);
    output::text(&script)?;
    Ok(ExitCode::SUCCESS)
}
