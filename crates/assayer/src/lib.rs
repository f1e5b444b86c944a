//! What programs of Assay have in common: a document goes in, events come out, and every way to end is a sentence.

pub mod document;
mod error;
pub mod interrupt;
pub mod output;
pub mod protocol;

pub use error::Failure;
