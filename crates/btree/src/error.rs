//! What a tree cannot do, in words.

use assay_buffer::BufferError;
use thiserror::Error;

/// What went wrong. Nothing was changed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TreeError {
    /// A key of no bytes, or of too many.
    #[error("a key of {bytes} bytes was given; keys of this tree have 1 to {most}")]
    KeyLength {
        /// Its bytes.
        bytes: usize,
        /// The most that this tree takes: an eighth of a page.
        most: usize,
    },
    /// A value that does not fit.
    #[error("a value of {bytes} bytes was given; this tree takes at most {most}")]
    ValueLength {
        /// Its bytes.
        bytes: usize,
        /// The most that this tree takes.
        most: usize,
    },
    /// Keys to load that do not ascend.
    #[error("entry {position} of those to load is not above the one before it")]
    NotAscending {
        /// Its position, from 0.
        position: u64,
    },
    /// A tree to load into that has entries.
    #[error("the tree has entries already: only an empty one is loaded in bulk")]
    NotEmpty,
    /// A tree whose parts do not fit together.
    #[error("the tree is damaged at page {page}: {what}")]
    Damaged {
        /// The page.
        page: u64,
        /// What was seen.
        what: String,
    },
    /// The pool, or the disk beneath it.
    #[error(transparent)]
    Buffer(#[from] BufferError),
}

impl TreeError {
    /// What to do about it: one sentence.
    pub fn fix(&self) -> String {
        match self {
            Self::KeyLength { most, .. } => format!("use keys of 1 to {most} bytes, or a pool with larger pages"),
            Self::ValueLength { most, .. } => format!("use values of at most {most} bytes, or a larger pool"),
            Self::NotAscending { .. } => "sort them, and give each key once".to_owned(),
            Self::NotEmpty => "insert one by one, or load a fresh tree".to_owned(),
            Self::Damaged { .. } => "restore it from a copy".to_owned(),
            Self::Buffer(error) => error.fix(),
        }
    }
}
