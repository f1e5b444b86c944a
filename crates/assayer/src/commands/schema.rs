//! Schemas and completions: generated from the types and the arguments, so that they cannot lie.

use std::process::ExitCode;

use assay_engine::run::job::EngineJob;
use assay_index::IndexJob;
use assay_record::{Event, Job, Record, WorkRecord};
use assay_soak::SoakJob;
use assay_twin::Questions;
use clap::CommandFactory;
use schemars::schema_for;

use super::tpcc::TpccJob;
use crate::{Arguments, Document, error::Failure, output};

/// Prints a JSON Schema.
pub fn schema(document: Document) -> Result<ExitCode, Failure> {
    let schema = match document {
        Document::Job => schema_for!(Job),
        Document::Event => schema_for!(Event),
        Document::Record => schema_for!(Record),
        Document::Work => schema_for!(WorkRecord),
        Document::Index => schema_for!(IndexJob),
        Document::Engine => schema_for!(EngineJob),
        Document::Tpcc => schema_for!(TpccJob),
        Document::Soak => schema_for!(SoakJob),
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
