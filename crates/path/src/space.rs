//! Whether there is room.

use std::{collections::BTreeMap, os::unix::fs::MetadataExt, path::Path};

use rustix::fs::statvfs;

use crate::PathError;

/// Share of a file system that stays free, percent, unless a job says otherwise.
pub const RESERVE_PERCENT: f64 = 5.0;

/// That share asks for no more than this, bytes: a large file system that is nearly full still has room for a small run.
/// Who names a larger share means it, and gets all of it.
pub const RESERVE_AT_MOST: u64 = 2 << 30;

/// Refuses where the file systems of these folders have no room for so many bytes in each, with [`RESERVE_PERCENT`] left.
/// What goes to one file system counts together.
///
/// # Errors
/// As [`check`].
pub fn reserve<'a>(needed: impl IntoIterator<Item = (&'a Path, u64)>) -> Result<(), PathError> {
    let mut by_device: BTreeMap<u64, (&Path, u64)> = BTreeMap::new();
    for (folder, bytes) in needed {
        let failed = |source| PathError::Io { action: "looking at", path: folder.to_owned(), source };
        let device = folder.metadata().map_err(failed)?.dev();
        by_device.entry(device).or_insert((folder, 0)).1 += bytes;
    }
    by_device.into_values().try_for_each(|(folder, bytes)| check(folder, bytes, RESERVE_PERCENT))
}

/// Refuses to go on filling a file system of which less than [`RESERVE_PERCENT`] is free.
///
/// # Errors
/// As [`check`].
pub fn still_there(folder: &Path) -> Result<(), PathError> {
    check(folder, 1, RESERVE_PERCENT)
}

/// Refuses where `bytes_needed` more bytes would leave less than `free_percent_at_least` percent of a file system free; of
/// [`RESERVE_PERCENT`] or less, no more than [`RESERVE_AT_MOST`].
///
/// # Errors
/// [`PathError::Refused`] that names what is free, what is needed and the limit; or the kernel's answer.
pub fn check(folder: &Path, bytes_needed: u64, free_percent_at_least: f64) -> Result<(), PathError> {
    let facts = statvfs(folder).map_err(|errno| PathError::Io {
        action: "looking at the free space of",
        path: folder.to_owned(),
        source: errno.into(),
    })?;
    let (total, free) = (facts.f_blocks * facts.f_frsize, facts.f_bavail * facts.f_frsize);
    // hugetlbfs without a limit of its own says nothing; a write tells.
    let silent = total == 0;
    let keep = kept(total, free_percent_at_least);
    if bytes_needed == 0 || silent || free.checked_sub(bytes_needed).is_some_and(|left| left >= keep) {
        return Ok(());
    }
    Err(PathError::Refused {
        path: folder.to_owned(),
        reason: format!(
            "{} are needed, {} of {} are free, and at least {} must stay free",
            in_words(bytes_needed),
            in_words(free),
            in_words(total),
            if keep == RESERVE_AT_MOST { in_words(keep) } else { format!("{free_percent_at_least} %") }
        ),
        fix: "free space there, make the data sets smaller, or name a folder on a larger file system".to_owned(),
    })
}

/// What stays free of a file system of so many bytes.
fn kept(total: u64, percent: f64) -> u64 {
    let share = (total as f64 * percent / 100.0).ceil() as u64;
    if percent <= RESERVE_PERCENT { share.min(RESERVE_AT_MOST) } else { share }
}

/// Bytes, as people read them.
pub fn in_words(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let mut scaled = bytes as f64;
    let mut unit = 0;
    while scaled >= 1024.0 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    if unit == 0 { format!("{bytes} bytes") } else { format!("{scaled:.1} {}", UNITS[unit]) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_stays_free_and_of_the_usual_one_no_more_than_two_gibibytes() {
        assert_eq!((kept(1000, 5.0), kept(1001, 5.0), kept(1000, 0.0)), (50, 51, 0));
        assert_eq!(kept(252 << 30, 5.0), 2 << 30);
        assert_eq!(kept(100 << 30, 20.0), 20 << 30, "who names a larger share means it");
    }

    #[test]
    fn bytes_are_named_in_a_unit_that_people_read() {
        assert_eq!(in_words(1023), "1023 bytes");
        assert_eq!(in_words(1536), "1.5 KiB");
        assert_eq!(in_words(79 << 30), "79.0 GiB");
    }

    #[test]
    fn a_refusal_names_what_is_needed_free_and_kept() {
        let error = check(Path::new("/"), u64::MAX / 2, 5.0).unwrap_err();
        let text = error.to_string();
        assert!(
            text.contains("TiB are needed") && text.contains("are free") && text.contains("must stay free"),
            "{text}"
        );
        assert_eq!(error.exit_code(), 1);
    }

    #[test]
    fn what_goes_to_one_file_system_counts_together() {
        let (one, two) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let facts = statvfs(one.path()).unwrap();
        let free = facts.f_bavail * facts.f_frsize;
        reserve([(one.path(), 4096), (two.path(), 4096)]).unwrap();
        let error = reserve([(one.path(), free / 2), (two.path(), free / 2)]).unwrap_err();
        assert!(error.to_string().contains("must stay free"), "{error}");
    }

    #[test]
    fn nothing_needed_is_never_refused() {
        check(Path::new("/"), 0, 100.0).unwrap();
    }
}
