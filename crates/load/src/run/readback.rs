//! A last look after the window: does the target still do what it says it has done?
//!
//! A device that completes writes without doing them is the fastest of all, and its counters agree with every request. So a
//! few blocks of each data set that was written to are written once more, flushed, and read back around the page cache.
//! Data sets that carry stamps have a check of their own and are left as they are.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

use assay_instruments::counters::FileChanges;
use assay_path::{Arena, Segment, SegmentKind, prepare::PreparedDataset};
use assay_record::{CheckOutcome, Content, Job, Layout};
use rustix::fs::{Advice, fadvise};

/// Blocks of a segment that are looked at.
const BLOCKS: u64 = 8;
const BLOCK: u64 = 4096;

/// Looks at every data set that is random and was written to, by its name. One that lost its files meanwhile is not touched:
/// who knows whose files have their names now. The same seed must not come twice, or old blocks would pass for new ones.
pub fn look(
    job: &Job,
    datasets: &[PreparedDataset],
    changes: &BTreeMap<String, FileChanges>,
    seed: u64,
) -> BTreeMap<String, CheckOutcome> {
    let random = |name: &str| job.datasets.iter().any(|one| one.name == name && one.content == Content::Random);
    let same = |name: &str| changes.get(name).is_some_and(|changes| changes.replaced == 0);
    let written = datasets.iter().filter(|one| one.writable && one.layout == Layout::Written);
    let known = written.filter(|one| random(&one.name) && same(&one.name));
    known.map(|dataset| (dataset.name.clone(), look_at(dataset, seed))).collect()
}

fn look_at(dataset: &PreparedDataset, seed: u64) -> CheckOutcome {
    let mut outcome = CheckOutcome::default();
    let on_device = |segment: &&Segment| matches!(segment.kind, SegmentKind::File | SegmentKind::BlockDevice);
    for segment in dataset.files.iter().take(1).flatten().filter(on_device) {
        match wrong_blocks(segment, seed) {
            Ok((blocks, wrong)) => {
                outcome.blocks += blocks;
                outcome.wrong += wrong;
            }
            // What cannot be opened or fails is the errors' affair: the run has told of it, or ended by it.
            Err(_) => continue,
        }
    }
    outcome
}

/// How many blocks were looked at, and how many came back otherwise.
fn wrong_blocks(segment: &Segment, seed: u64) -> io::Result<(u64, u64)> {
    let count = BLOCKS.min(segment.bytes / BLOCK);
    let place = |index: u64| segment.base + segment.bytes / BLOCK * index / count * BLOCK;
    let mut written = Arena::new((count.max(1) * BLOCK) as usize)?;
    written.fill_random(seed);
    let block = |index: u64| (index * BLOCK) as usize..((index + 1) * BLOCK) as usize;
    let file = open(&segment.path, true)?;
    for index in 0..count {
        file.write_all_at(&written.as_mut_slice()[block(index)], place(index))?;
    }
    file.sync_data()?;
    drop(file);
    let file = open(&segment.path, false)?;
    let _ = fadvise(&file, segment.base, std::num::NonZeroU64::new(segment.bytes), Advice::DontNeed);
    let mut read = Arena::new(BLOCK as usize)?;
    let mut wrong = 0;
    for index in 0..count {
        file.read_exact_at(read.as_mut_slice(), place(index))?;
        wrong += u64::from(read.as_mut_slice()[..] != written.as_mut_slice()[block(index)]);
    }
    Ok((count, wrong))
}

/// Around the page cache where the file system can.
fn open(path: &Path, write: bool) -> io::Result<File> {
    let options = |flags| OpenOptions::new().read(!write).write(write).custom_flags(flags).open(path);
    options(libc::O_DIRECT).or_else(|_| options(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_keeps_what_it_is_given_has_no_wrong_blocks() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("data");
        std::fs::write(&path, vec![7; 1 << 20]).expect("written");
        let segment = Segment { path: path.clone(), kind: SegmentKind::File, base: 0, bytes: 1 << 20 };
        assert_eq!(wrong_blocks(&segment, 1).expect("looked at"), (8, 0));
        let changed = std::fs::read(&path).expect("read").chunks(4096).filter(|block| block[0] != 7).count();
        assert!((1..=8).contains(&changed), "only its own blocks were written: {changed}");
        let tiny = Segment { bytes: 100, ..segment };
        assert_eq!(wrong_blocks(&tiny, 1).expect("looked at"), (0, 0));
    }
}
