//! Why a job is refused before anything is touched.

use thiserror::Error;

/// A defect of a job. Each message names the field, what was seen and what to do.
#[derive(Clone, Debug, PartialEq, Error)]
#[non_exhaustive]
pub enum JobError {
    /// Not JSON, or not of the schema.
    #[error("the job is not a valid document: {0}; compare it with schema/job.schema.json")]
    Document(String),
    /// Another version.
    #[error("the job has version {seen}, this program reads version {wanted}; write it again with a matching assay")]
    Version {
        /// Version seen.
        seen: u32,
        /// Version wanted.
        wanted: u32,
    },
    /// A field with a value that cannot be.
    #[error("{field}: {seen}; {fix}")]
    Field {
        /// The field, as a path (`classes[0].depth`).
        field: String,
        /// What was seen.
        seen: String,
        /// What to do.
        fix: String,
    },
}
