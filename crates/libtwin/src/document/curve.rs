//! A number that depends on the size of an access, with its origin.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ParameterKind;

/// Values at given sizes; between them the logarithm is interpolated, beyond them the last value holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Bytes of an access, ascending.
    pub size_bytes: Vec<f64>,
    /// The number at each size; its unit stands in the curve's name.
    pub value: Vec<f64>,
    /// Where it came from.
    pub kind: ParameterKind,
    /// The publication, data sheet or reason, so that a reader finds it.
    pub source: String,
    /// When the source appeared or was read: `2018-03` or `2018-03-14`.
    pub date: String,
    /// Median relative error on points that the fit did not see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residual: Option<f64>,
}

impl Curve {
    /// The value at a size; NaN where the curve is empty.
    pub fn at(&self, size_bytes: f64) -> f64 {
        let (sizes, values) = (&self.size_bytes, &self.value);
        let above = sizes.iter().position(|size| *size >= size_bytes);
        match above {
            None => values.last().copied().unwrap_or(f64::NAN),
            Some(0) => values.first().copied().unwrap_or(f64::NAN),
            Some(index) => {
                let (low, high) = (values[index - 1], values[index]);
                let share = (size_bytes / sizes[index - 1]).ln() / (sizes[index] / sizes[index - 1]).ln();
                if low > 0.0 && high > 0.0 { low * (high / low).powf(share) } else { low + (high - low) * share }
            }
        }
    }

    /// What is wrong with the curve, if anything.
    pub fn fault(&self) -> Option<&'static str> {
        let ascending = self.size_bytes.windows(2).all(|pair| pair[0] < pair[1]);
        let finite = self.value.iter().all(|value| value.is_finite() && *value >= 0.0);
        match () {
            () if self.size_bytes.is_empty() || self.size_bytes.len() != self.value.len() => {
                Some("give as many values as sizes, and at least one")
            }
            () if !ascending || self.size_bytes[0] <= 0.0 => Some("give ascending sizes above 0"),
            () if !finite => Some("give finite values, none below 0"),
            () => None,
        }
    }
}
