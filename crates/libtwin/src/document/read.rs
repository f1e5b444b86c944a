//! A twin's file as text: TOML, as in the catalog, or JSON.

use super::Twin;
use crate::Error;

/// Reads and checks the file of a twin. What begins with a brace is JSON.
///
/// # Errors
/// [`Error`] where it is neither, of another version, or holds nonsense.
pub fn read(text: &str) -> Result<Twin, Error> {
    let twin: Twin = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| Error::Document(error.to_string()))?
    } else {
        super::parse(text)?
    };
    twin.validate()?;
    Ok(twin)
}
