//! A target with the host that drives it: what stands in a job.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Host, Target};
use crate::{TWIN_VERSION, TwinError, machine::Part};

/// The `twin` of a job's target.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Driven {
    /// [`TWIN_VERSION`].
    pub version: u32,
    /// As the user named it, `twin:` included.
    pub label: String,
    /// What serves the load.
    pub target: Target,
    /// What drives it; the same for all targets of a job.
    pub host: Host,
    /// File system in between, as the host knows it; none for a device as it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file_system: Option<String>,
}

impl Driven {
    /// It as a part of a play, by its name in the record.
    pub fn part<'a>(&'a self, name: &'a str) -> Part<'a> {
        Part { name, label: &self.label, target: &self.target, file_system: self.file_system.as_deref() }
    }

    /// Reads and checks the `twin` of a job's target, which lies in the host's memory channels from then on.
    ///
    /// # Errors
    /// Where it is not one, of another version, or holds nonsense.
    pub fn parse(document: &serde_json::Value) -> Result<Self, TwinError> {
        let mut driven: Self =
            serde_json::from_value(document.clone()).map_err(|error| TwinError::Document(error.to_string()))?;
        if driven.version != TWIN_VERSION {
            return Err(TwinError::Version { seen: driven.version, wanted: TWIN_VERSION });
        }
        driven.target.validate()?;
        driven.host.validate()?;
        driven.target = driven.target.seated(&driven.host).into_owned();
        Ok(driven)
    }
}
