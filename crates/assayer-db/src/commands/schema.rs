//! Schemas: generated from the types, so that they cannot lie.

use std::process::ExitCode;

use assay_soak::SoakJob;
use assay_work::{Job, TpccJob, engine::job::EngineJob, index::IndexJob};
use assayer::{Failure, output};
use schemars::schema_for;

use crate::Document;

/// Prints a JSON Schema.
pub fn schema(document: Document) -> Result<ExitCode, Failure> {
    let schema = match document {
        Document::AnyJob => schema_for!(Job),
        Document::Index => schema_for!(IndexJob),
        Document::Engine => schema_for!(EngineJob),
        Document::Tpcc => schema_for!(TpccJob),
        Document::Soak => schema_for!(SoakJob),
    };
    output::document(&schema)?;
    Ok(ExitCode::SUCCESS)
}
