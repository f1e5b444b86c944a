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
    #[error("{field} is {seen}")]
    Field {
        /// Which, as a path.
        field: String,
        /// What was seen.
        seen: String,
        /// What to do.
        fix: String,
    },
    /// Nobody wrote down what this path costs on this host.
    #[error("nobody knows what the path {path:?} costs on the host {host}")]
    NoPath {
        /// The host.
        host: String,
        /// The path.
        path: PathKey,
    },
    /// The host does not know the file system.
    #[error("nobody knows what the file system {file_system} costs on the host {host}")]
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
    #[error("the twin {name} is of the family {family}, which has no model yet")]
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

    /// What to do about it: one sentence.
    pub fn fix(&self) -> String {
        match self {
            Self::Document(_) | Self::Version { .. } => "compare the document with `assayer schema twin`".to_owned(),
            Self::Field { fix, .. } => fix.clone(),
            Self::NoPath { .. } => "name another path, or a host whose costs of it are known (--host)".to_owned(),
            Self::NoFileSystem { .. } => "name another file system, or a host whose costs of it are known".to_owned(),
            Self::NotPossible { .. } => "ask what it can do, or another twin (assay list twins)".to_owned(),
            Self::NoModel { .. } => "choose a twin of another family (assay list twins)".to_owned(),
        }
    }

    /// Exit code of a program that cannot go on: 2 bad document, 4 not possible.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Document(_) | Self::Version { .. } | Self::Field { .. } => 2,
            Self::NoPath { .. } | Self::NoFileSystem { .. } | Self::NotPossible { .. } | Self::NoModel { .. } => 4,
        }
    }
}

impl From<assay_libtwin::Error> for TwinError {
    fn from(error: assay_libtwin::Error) -> Self {
        use assay_libtwin::Error;
        match error {
            Error::Document(why) => Self::Document(why),
            Error::Version { seen, wanted } => Self::Version { seen, wanted },
            Error::Field { field, seen, fix } => Self::Field { field, seen, fix },
            Error::NotADrive { name, family } => Self::NoModel { name, family },
        }
    }
}
