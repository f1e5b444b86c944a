//! Files that state only what is their own, and take the rest over from a class of devices or from another machine.

use std::{fs, path::Path};

use serde::de::DeserializeOwned;
use toml::{Table, Value};

use crate::Error;

/// Classes of `catalog/classes`, so that a twin's text is complete wherever it is read.
const CLASSES: [(&str, &str); 1] = [("local-flash", include_str!("../../../../catalog/classes/local-flash.toml"))];
/// A file may take over from one that takes over itself, so often.
const DEPTH: usize = 8;
const LIKE: &str = "like";

/// A document of a twin's text, with what it takes over from its class.
///
/// # Errors
/// [`Error`] where the text is no TOML, names a class that is unknown, or is no such document.
pub fn parse<T: DeserializeOwned>(text: &str) -> Result<T, Error> {
    parse_with(text, class)
}

/// A document of a file, with what it takes over from a class or from a file of that name beside it.
///
/// # Errors
/// Likewise, and where the file cannot be read.
pub fn parse_file<T: DeserializeOwned>(path: &Path) -> Result<T, Error> {
    let read =
        |path: &Path| fs::read_to_string(path).map_err(|error| Error::Document(format!("{}: {error}", path.display())));
    let beside = |name: &str| class(name).or_else(|| read(&path.with_file_name(name).with_extension("toml")).ok());
    parse_with(&read(path)?, beside)
}

fn class(name: &str) -> Option<String> {
    CLASSES.iter().find(|(class, _)| *class == name).map(|(_, text)| (*text).to_owned())
}

fn parse_with<T: DeserializeOwned>(text: &str, text_of: impl Fn(&str) -> Option<String>) -> Result<T, Error> {
    let said = |error: toml::de::Error| Error::Document(error.to_string());
    let mut own: Table = toml::from_str(text).map_err(said)?;
    for _ in 0..DEPTH {
        let Some(Value::String(name)) = own.remove(LIKE) else { break };
        let other = text_of(&name).ok_or_else(|| Error::Document(format!("there is no `{name}` to take over from")))?;
        let mut other: Table = toml::from_str(&other).map_err(said)?;
        // What a device is called, and the numbers that stand above all tables, are its own.
        other.retain(|key, value| key == LIKE || value.as_table().is_some_and(|table| !table.contains_key("source")));
        other.iter_mut().for_each(|(_, value)| assume(value, &name));
        take_over(&mut own, other);
    }
    Value::Table(own).try_into().map_err(said)
}

/// What was found for one device is an assumption about another.
fn assume(value: &mut Value, name: &str) {
    let Value::Table(table) = value else { return };
    if let (Some(Value::String(kind)), Some(Value::String(source))) = (table.get("kind"), table.get("source")) {
        if kind != "assumed" {
            let source = format!("As of {name}: {source}");
            table.insert("kind".to_owned(), Value::String("assumed".to_owned()));
            table.insert("source".to_owned(), Value::String(source));
        }
        return;
    }
    table.iter_mut().for_each(|(_, inner)| assume(inner, name));
}

/// Adds what is not there. A number with its origin is one thing.
fn take_over(own: &mut Table, other: Table) {
    for (key, value) in other {
        match (own.get_mut(&key), value) {
            (Some(Value::Table(mine)), Value::Table(theirs)) if !mine.contains_key("source") => take_over(mine, theirs),
            (Some(_), _) => {}
            (None, value) => {
                own.insert(key, value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CLASSES, parse_with};
    use toml::Table;

    #[test]
    fn what_is_taken_over_is_an_assumption_and_goes_behind_what_is_stated() {
        let class = "[device]\na = { value = 1, kind = \"fitted\", source = \"s\" }\n[device.b]\nc = { value = 2, kind = \"assumed\", source = \"t\" }";
        let own = "like = \"x\"\n[device]\na = { value = 3, kind = \"published\", source = \"u\" }\n[device.b]\nd = 1";
        let whole: Table = parse_with(own, |name| (name == "x").then(|| class.to_owned())).unwrap();
        let wanted = "[device]\na = { value = 3, kind = \"published\", source = \"u\" }\n[device.b]\nd = 1\nc = { value = 2, kind = \"assumed\", source = \"t\" }";
        assert_eq!(whole, toml::from_str::<Table>(wanted).unwrap());
        let bare: Table = parse_with("like = \"x\"", |_| Some(class.to_owned())).unwrap();
        assert_eq!(bare["device"]["a"]["kind"].as_str(), Some("assumed"));
        assert_eq!(bare["device"]["a"]["source"].as_str(), Some("As of x: s"));
    }

    #[test]
    fn a_class_that_is_unknown_is_named() {
        let error = parse_with::<Table>("like = \"nothing\"", |_| None).unwrap_err();
        assert!(error.to_string().contains("nothing"), "{error}");
    }

    #[test]
    fn every_class_of_the_catalog_is_carried() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../catalog/classes");
        let files = std::fs::read_dir(folder).unwrap().count();
        assert_eq!(files, CLASSES.len());
    }
}
