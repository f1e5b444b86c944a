//! Where it is kept what computing costs on this machine.

use std::{
    fs, io,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// The program that plays: another one has other code.
pub fn program() -> String {
    let file = std::env::current_exe().and_then(fs::metadata);
    let (bytes, at) = file.map_or((0, 0), |facts| (facts.len(), facts.mtime()));
    format!("{} {bytes} {at}", env!("CARGO_PKG_VERSION"))
}

/// The file of a key (FNV-1a; the key itself stands in the file).
pub fn place(folder: &Path, key: &Value) -> PathBuf {
    let digest = key
        .to_string()
        .bytes()
        .fold(0xcbf2_9ce4_8422_2325_u64, |digest, byte| (digest ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
    folder.join(format!("turn-{digest:016x}.json"))
}

/// What a file holds; none where it is not there, or holds something else.
pub fn kept<T: DeserializeOwned>(place: &Path) -> Option<T> {
    serde_json::from_slice(&fs::read(place).ok()?).ok()
}

/// Written aside and renamed: two runs that learn at the same time leave one of the two.
///
/// # Errors
/// Where it cannot be written there.
pub fn keep<T: Serialize>(place: &Path, what: &T) -> io::Result<()> {
    let text = serde_json::to_vec_pretty(what)?;
    let aside = place.with_extension(format!("{}.new", std::process::id()));
    place.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(&aside, text)?;
    fs::rename(&aside, place)
}

/// Lower quarter, median and upper quarter; none of nothing.
pub fn quarters(values: &[f64]) -> Option<[f64; 3]> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    Some([1, 2, 3].map(|part| sorted[(sorted.len() * part / 4).min(last)]))
}
