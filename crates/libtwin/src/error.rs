//! What can go wrong with a twin's file.

/// A file that cannot be played; each message says what was seen, and [`Error::fix`] what to do.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum Error {
    /// It is neither TOML nor JSON of a twin.
    #[error("the twin cannot be read: {0}")]
    Document(String),
    /// Another version.
    #[error("the twin has version {seen}, this library reads {wanted}")]
    Version {
        /// Of the file.
        seen: u32,
        /// [`crate::VERSION`].
        wanted: u32,
    },
    /// A parameter is out of range.
    #[error("{field} is {seen}")]
    Field {
        /// Which.
        field: String,
        /// What was seen.
        seen: String,
        /// What to do.
        fix: String,
    },
    /// Memory has no requests with a queue that could be answered one by one.
    #[error(
        "the twin {name} is of the family {family}, which has no model of requests: only drives and volumes are played"
    )]
    NotADrive {
        /// The twin.
        name: String,
        /// Its family.
        family: &'static str,
    },
}

impl Error {
    /// A parameter that is out of range.
    pub fn field(field: impl Into<String>, seen: impl ToString, fix: impl Into<String>) -> Self {
        Self::Field { field: field.into(), seen: seen.to_string(), fix: fix.into() }
    }

    /// What to do about it: one sentence.
    pub fn fix(&self) -> String {
        match self {
            Self::Document(_) | Self::Version { .. } => "compare the file with `assay schema twin`".to_owned(),
            Self::Field { fix, .. } => fix.clone(),
            Self::NotADrive { .. } => "choose a drive or a volume (assay list twins)".to_owned(),
        }
    }
}
