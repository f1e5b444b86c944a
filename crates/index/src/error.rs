//! What an index cannot do, in words.

use thiserror::Error;

/// What went wrong, and what to do.
#[derive(Debug, Error)]
pub enum IndexError {
    /// A key of no bytes, or of too many.
    #[error("a key of {bytes} bytes was given; keys have 1 to {most}")]
    KeyLength {
        /// Its bytes.
        bytes: usize,
        /// The most that this index takes.
        most: usize,
    },
    /// A value that does not fit.
    #[error("a value of {bytes} bytes was given; this index takes at most {most}")]
    ValueLength {
        /// Its bytes.
        bytes: usize,
        /// The most that this index takes.
        most: usize,
    },
    /// The index cannot do this by design.
    #[error("{index} has no {operation}")]
    Unsupported {
        /// The index.
        index: &'static str,
        /// The operation.
        operation: &'static str,
    },
    /// More keys agree in all bits that tell segments apart than a segment holds.
    #[error("too many keys have the same {bits} bits of their hash; store them under other keys")]
    Crowded {
        /// How many bits.
        bits: u32,
    },
    /// Persistent memory, or the pool in it.
    #[error(transparent)]
    Pmem(#[from] assay_pmem::PmemError),
}
