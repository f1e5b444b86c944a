//! How long keys and values are.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{error::IndexError, index::KEY_BYTES_AT_MOST};

/// Bytes of the longest value: a page.
pub const VALUE_BYTES_AT_MOST: usize = 16 << 10;

/// Shortest and longest, bytes; both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Span {
    /// The shortest.
    pub least: usize,
    /// The longest.
    pub most: usize,
}

impl Span {
    /// One length alone.
    pub const fn one(bytes: usize) -> Self {
        Self { least: bytes, most: bytes }
    }

    /// The length that a number picks, evenly.
    #[inline(always)]
    pub fn pick(self, number: u64) -> usize {
        if self.least == self.most {
            return self.least;
        }
        self.least + ((u128::from(number) * (self.most - self.least + 1) as u128) >> 64) as usize
    }

    /// Mean of all lengths.
    pub fn mean(self) -> f64 {
        (self.least + self.most) as f64 / 2.0
    }
}

/// Lengths of keys and values that an index is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sizes {
    /// Of keys.
    pub key: Span,
    /// Of values.
    pub value: Span,
}

impl Sizes {
    /// Keys and values of 8 bytes.
    pub const WORDS: Self = Self { key: Span::one(8), value: Span::one(8) };

    /// Whether keys and values are single words, which an index may keep in place.
    pub fn words(&self) -> bool {
        *self == Self::WORDS
    }

    /// Mean bytes of an entry.
    pub fn entry_bytes(&self) -> f64 {
        self.key.mean() + self.value.mean()
    }

    /// Whether they can be.
    ///
    /// # Errors
    /// [`IndexError::Job`] with the bound that was hit.
    pub fn validate(&self) -> Result<(), IndexError> {
        let bounds = [("key", self.key, 8, KEY_BYTES_AT_MOST), ("value", self.value, 0, VALUE_BYTES_AT_MOST)];
        for (what, span, least, most) in bounds {
            if span.least > span.most || span.least < least || span.most > most {
                return Err(IndexError::job(
                    format!("a {what} of {} to {} bytes was asked for", span.least, span.most),
                    format!("ask for {what}s of {least} to {most} bytes"),
                ));
            }
        }
        Ok(())
    }
}
