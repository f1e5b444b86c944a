//! A number with its origin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where a parameter came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ParameterKind {
    /// Observed by Assay on the device.
    Measured,
    /// Printed in a publication, as a measurement of somebody else's.
    Published,
    /// Found by fitting published or measured points; `residual` says how well.
    Fitted,
    /// Promised by the vendor.
    Datasheet,
    /// Computed from other parameters of the same file by the formula that the source states.
    Derived,
    /// Taken for granted; the source says why.
    Assumed,
}

/// A parameter. Its unit stands last in its name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The number.
    pub value: f64,
    /// Where it came from.
    pub kind: ParameterKind,
    /// The publication, data sheet or reason, so that a reader finds it.
    pub source: String,
    /// When the source appeared or was read: `2018-03` or `2018-03-14`.
    pub date: String,
    /// Lower end of what was seen, where a range is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Upper end of what was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// Median relative error on points that the fit did not see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residual: Option<f64>,
}

impl Parameter {
    /// A parameter that is taken for granted, with the reason.
    pub fn assumed(value: f64, why: &str, date: &str) -> Self {
        Self {
            value,
            kind: ParameterKind::Assumed,
            source: why.to_owned(),
            date: date.to_owned(),
            low: None,
            high: None,
            residual: None,
        }
    }
}

/// Value of a parameter that may be missing.
pub trait OrElse {
    /// The value, or `other`.
    fn or(&self, other: f64) -> f64;
}

impl OrElse for Option<Parameter> {
    fn or(&self, other: f64) -> f64 {
        self.as_ref().map_or(other, |parameter| parameter.value)
    }
}
