//! What the classes read and write: files or ranges of a device.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// State of a data set when the window opens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Layout {
    /// Fully written with random bytes and verified: no holes, no unwritten extents. What scans and a recycled log want.
    #[default]
    Written,
    /// Empty; grows as it is written (a new log file). When `bytes` are reached a new file begins.
    Grow,
    /// Space allocated with `fallocate`, never written.
    Preallocated,
    /// Used as found; nothing is prepared. Only for reads.
    AsFound,
}

/// How the pages of a data set spread over the members of its target.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Page i lies on member i mod n.
    #[default]
    Interleave,
    /// File f lies as a whole on member f mod n (a log bound to a member).
    Bound,
}

/// What the bytes look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Content {
    /// Random: cannot be compressed or deduplicated.
    #[default]
    Random,
    /// Zeros: to show what compressible data does to a device.
    Zero,
    /// Every block carries its offset, generation and checksum; reads verify them.
    Stamped,
}

/// A data set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dataset {
    /// Name by which classes refer to it; unique in a job, used in file names (letters, digits, `-`, `_`).
    pub name: String,
    /// Target that holds it.
    pub target: String,
    /// Bytes of each file, a multiple of every size that its classes use.
    pub bytes: u64,
    /// Number of files. Thread t of a class uses file t mod `files`; with fewer files than threads, threads share.
    #[serde(default = "one")]
    pub files: u32,
    /// State when the window opens.
    #[serde(default)]
    pub layout: Layout,
    /// Spread over members.
    #[serde(default)]
    pub placement: Placement,
    /// Page size of interleaving in bytes; the size of the first class that uses it where 0.
    #[serde(default)]
    pub stripe_bytes: u64,
    /// What the bytes look like.
    #[serde(default)]
    pub content: Content,
}

fn one() -> u32 {
    1
}
