//! What can go wrong with a twin.

use crate::PathKey;

/// A twin that cannot answer; each message says what was seen and what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum TwinError {
    /// The document cannot be read.
    #[error("the twin cannot be read: {0}")]
    Document(String),
    /// Another version.
    #[error("the twin has version {seen}, this program reads {wanted}")]
    Version {
        /// Of the document.
        seen: u32,
        /// [`crate::TWIN_VERSION`].
        wanted: u32,
    },
    /// A field is out of range.
    #[error("{field} is {seen}; {fix}")]
    Field {
        /// Which, as a path.
        field: String,
        /// What was seen.
        seen: String,
        /// What to do.
        fix: String,
    },
    /// Nobody wrote down what this path costs on this host.
    #[error("the host {host} has no cost of the path {path:?}; name a host that has one, or another path")]
    NoPath {
        /// The host.
        host: String,
        /// The path.
        path: PathKey,
    },
    /// The host does not know the file system.
    #[error("the host {host} has no file system {file_system}; name one of its own, or none")]
    NoFileSystem {
        /// The host.
        host: String,
        /// The file system.
        file_system: String,
    },
    /// The family cannot do what is asked, by its nature.
    #[error("{what} is not possible on {name}: {why}")]
    NotPossible {
        /// What was asked.
        what: String,
        /// The twin.
        name: String,
        /// Why.
        why: String,
    },
    /// The family has no model.
    #[error("the twin {name} is of the family {family}, which has no model yet; choose a twin of another family")]
    NoModel {
        /// The twin.
        name: String,
        /// Its family.
        family: &'static str,
    },
}

impl TwinError {
    /// A field that is out of range.
    pub fn field(field: impl Into<String>, seen: impl ToString, fix: impl Into<String>) -> Self {
        Self::Field { field: field.into(), seen: seen.to_string(), fix: fix.into() }
    }
}
