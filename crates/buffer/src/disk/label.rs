//! What each of several files begins with that are one disk: which disk, and which of its files. A single file has none.
//!
//! ```text
//!  0  magic    8 bytes "ASSAYSTR"
//!  8  version  u32
//! 12  member   u32  its number, from 0
//! 16  members  u32  how many there are
//! 20  CRC-32C  u32  of all else
//! 24  disk     u64  the same in all of them, by chance
//! 32  unit     u64  bytes on one before the next one comes
//! ```
//!
//! Without it a file of another disk would be taken for one of this: not read, since pages have checksums that are kept
//! elsewhere, but written over.

use std::{
    fs::File,
    hash::{BuildHasher, Hasher, RandomState},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use assay_path::PathError;

use crate::BufferError;

/// What the files of a disk of several have before the disk's bytes begin.
const SPACE: u64 = 64 << 10;
const BYTES: usize = 40;
const MAGIC: &[u8; 8] = b"ASSAYSTR";
const VERSION: u32 = 1;

/// Bytes before the disk's, in each of so many files.
pub(super) fn bytes(members: usize) -> u64 {
    if members > 1 { SPACE } else { 0 }
}

/// Labels the files of a new disk.
pub(super) fn write(files: &[(PathBuf, File)], unit_bytes: u64) -> Result<(), BufferError> {
    if files.len() < 2 {
        return Ok(());
    }
    let disk = RandomState::new().build_hasher().finish();
    for (member, (path, file)) in files.iter().enumerate() {
        let label = label(member, files.len(), disk, unit_bytes);
        let written = file.write_all_at(&label, 0).and_then(|()| file.sync_all());
        written.map_err(|source| failed("labelling", path, source))?;
    }
    Ok(())
}

/// Looks whether files are those of one disk, in its order.
pub(super) fn check(files: &[(PathBuf, File)], unit_bytes: u64) -> Result<(), BufferError> {
    let Some(((first, file), others)) = files.split_first() else { return Ok(()) };
    let found = read(first, file)?;
    if others.is_empty() {
        return if found[..8] == *MAGIC { Err(alone(first, &found)) } else { Ok(()) };
    }
    let disk = word(&found, 24);
    for (member, (path, file)) in files.iter().enumerate() {
        let found = read(path, file)?;
        if found != label(member, files.len(), disk, unit_bytes) {
            return Err(other(path, (member, files.len(), disk, unit_bytes), &found));
        }
    }
    Ok(())
}

fn label(member: usize, members: usize, disk: u64, unit_bytes: u64) -> [u8; BYTES] {
    let mut label = [0; BYTES];
    label[..8].copy_from_slice(MAGIC);
    for (at, value) in [(8, VERSION), (12, member as u32), (16, members as u32)] {
        label[at..at + 4].copy_from_slice(&value.to_le_bytes());
    }
    label[24..32].copy_from_slice(&disk.to_le_bytes());
    label[32..40].copy_from_slice(&unit_bytes.to_le_bytes());
    let checksum = crc32c::crc32c(&label);
    label[20..24].copy_from_slice(&checksum.to_le_bytes());
    label
}

/// What a file begins with; zeros where it is shorter.
fn read(path: &Path, file: &File) -> Result<[u8; BYTES], BufferError> {
    let mut found = [0; BYTES];
    match file.read_exact_at(&mut found, 0) {
        Err(source) if source.kind() != std::io::ErrorKind::UnexpectedEof => {
            Err(failed("reading", path, source).into())
        }
        _ => Ok(found),
    }
}

fn word(label: &[u8; BYTES], at: usize) -> u64 {
    u64::from_le_bytes(label[at..at + 8].try_into().expect("eight bytes"))
}

fn short(label: &[u8; BYTES], at: usize) -> u32 {
    u32::from_le_bytes(label[at..at + 4].try_into().expect("four bytes"))
}

fn alone(path: &Path, found: &[u8; BYTES]) -> BufferError {
    let what =
        format!("{} is one of {} files that are one disk, and was named alone", path.display(), short(found, 16));
    BufferError::foreign(what, "name all of them, in the order in which they were made")
}

/// What is wrong with a label.
fn other(
    path: &Path,
    (member, members, disk, unit_bytes): (usize, usize, u64, u64),
    found: &[u8; BYTES],
) -> BufferError {
    let path = path.display();
    if found[..8] != *MAGIC {
        let what = format!("{path} is no part of a striped disk: it begins with {:02x?}", &found[..8]);
        return BufferError::foreign(what, "name the files that were striped when it was made, in that order");
    }
    if short(found, 8) != VERSION {
        let what = format!("{path} has version {}, and this program reads version {VERSION}", short(found, 8));
        return BufferError::foreign(what, "open it with the program that made it");
    }
    if word(found, 24) != disk {
        let what = format!("{path} belongs to another striped disk than the file that was named first");
        return BufferError::foreign(what, "name the files that were striped when it was made; nothing was written");
    }
    if (short(found, 12), short(found, 16)) != (member as u32, members as u32) {
        let (at, of) = (short(found, 12) + 1, short(found, 16));
        let what =
            format!("{path} is number {at} of {of} striped files, and was named as number {} of {members}", member + 1);
        return BufferError::foreign(what, "name all of them, in the order in which they were made");
    }
    if word(found, 32) != unit_bytes {
        let what = format!("{path} was striped by {} bytes, and {unit_bytes} were asked for", word(found, 32));
        return BufferError::foreign(what, "open it with the stripe unit that it was made with");
    }
    BufferError::Damaged {
        disk: path.to_string(),
        what: "the label at its beginning does not agree with its CRC".to_owned(),
    }
}

pub(super) fn failed(action: &'static str, path: &Path, source: std::io::Error) -> PathError {
    PathError::Io { action, path: path.to_owned(), source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(folder: &Path, name: &str, members: usize) -> Vec<PathBuf> {
        let paths: Vec<_> = (0..members).map(|member| folder.join(format!("{name}-{member}"))).collect();
        write(&open(&paths), 65536).unwrap();
        paths
    }

    fn open(paths: &[PathBuf]) -> Vec<(PathBuf, File)> {
        let mut options = std::fs::OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        paths.iter().map(|path| (path.clone(), options.open(path).unwrap())).collect()
    }

    fn said(paths: &[&PathBuf], unit_bytes: u64) -> String {
        let paths: Vec<_> = paths.iter().copied().cloned().collect();
        check(&open(&paths), unit_bytes).map_or_else(|error| error.to_string(), |()| "good".to_owned())
    }

    #[test]
    fn files_of_another_disk_in_another_order_or_not_all_of_them_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let (ours, theirs) = (made(folder.path(), "ours", 3), made(folder.path(), "theirs", 3));
        assert_eq!(said(&[&ours[0], &ours[1], &ours[2]], 65536), "good");
        for (files, unit, expected) in [
            (vec![&ours[0], &theirs[1], &ours[2]], 65536, "belongs to another striped disk"),
            (vec![&ours[0], &ours[2], &ours[1]], 65536, "number 3 of 3 striped files, and was named as number 2"),
            (vec![&ours[0], &ours[1]], 65536, "number 1 of 3 striped files, and was named as number 1 of 2"),
            (vec![&ours[0]], 65536, "named alone"),
            (vec![&ours[0], &ours[1], &ours[2]], 131_072, "striped by 65536 bytes"),
        ] {
            let said = said(&files, unit);
            assert!(said.contains(expected), "{said}");
        }
        let plain = folder.path().join("plain");
        std::fs::write(&plain, b"something else").unwrap();
        assert!(said(&[&ours[0], &plain, &ours[2]], 65536).contains("no part of a striped disk"));
        assert_eq!(said(&[&plain], 65536), "good", "a single file has no label");
        open(&ours)[1].1.write_all_at(&[1], 20).unwrap();
        assert!(said(&[&ours[0], &ours[1], &ours[2]], 65536).contains("CRC"));
    }
}
