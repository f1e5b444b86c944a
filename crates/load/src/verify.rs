//! The durability check: what a killed run acknowledged must be there.

use std::{fs::File, io::ErrorKind, os::unix::fs::FileExt, path::Path};

use assay_path::{PathError, Segment, prepare, stamp};
use assay_record::Job;
use serde::Serialize;

use crate::{
    error::LoadError,
    generator::Spread,
    journal::{self, History},
};

const EXAMPLES_AT_MOST: usize = 10;

/// What the check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Durability {
    /// Blocks that were acknowledged as durable.
    pub acknowledged: u64,
    /// Of these, blocks found with the acknowledged generation, a later one, or one that was written at the same time.
    pub found: u64,
    /// Blocks found with an earlier generation, or never written: lost.
    pub lost: u64,
    /// Blocks that are torn, changed or misplaced.
    pub corrupt: u64,
    /// The first lost or corrupt blocks, in words.
    pub examples: Vec<String>,
}

/// Compares the acknowledgement journal of a job with its data sets, as the killed run left them.
///
/// # Errors
/// [`LoadError::Journal`] where the job has no journal or it cannot be read; [`LoadError::Path`] where data cannot be read.
pub fn verify(job: &Job) -> Result<Durability, LoadError> {
    let Some(path) = &job.checks.acknowledgements else {
        let reason = "the job names none (checks.acknowledgements)".to_owned();
        return Err(LoadError::Journal { path: job.name.clone(), reason });
    };
    let mut wanted: Vec<((u32, u64), History)> = journal::read(Path::new(path))?.into_iter().collect();
    wanted.sort_unstable_by_key(|(place, _)| *place);
    let mut outcome = Durability { acknowledged: wanted.len() as u64, ..Durability::default() };
    for dataset in prepare::locate(job)? {
        for (segments, id) in dataset.files.iter().zip(&dataset.file_ids) {
            let spread = Spread::new(segments.len(), dataset.stripe_bytes);
            let mine = wanted.iter().filter(|((file, _), _)| file == id);
            check_file(segments, spread, *id, dataset.stamp_bytes, mine, &mut outcome)?;
        }
    }
    outcome.lost += outcome.acknowledged - outcome.found - outcome.lost - outcome.corrupt;
    Ok(outcome)
}

fn check_file<'a>(
    segments: &[Segment],
    spread: Spread,
    id: u32,
    block: u64,
    wanted: impl Iterator<Item = &'a ((u32, u64), History)>,
    outcome: &mut Durability,
) -> Result<(), LoadError> {
    let files = segments.iter().map(open).collect::<Result<Vec<_>, _>>()?;
    let mut buffer = vec![0u8; block as usize];
    for ((_, offset), history) in wanted {
        let place = spread.place(*offset);
        let segment = &segments[place.segment as usize];
        let Some(file) = &files[place.segment as usize] else {
            lose(outcome, format!("offset {offset}: {} is gone", segment.path.display()));
            continue;
        };
        match file.read_exact_at(&mut buffer, segment.base + place.offset) {
            Ok(()) => judge(&buffer, id, *offset, history, outcome),
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                lose(outcome, format!("offset {offset}: the file ends before it"));
            }
            Err(source) => return Err(PathError::Io { action: "reading", path: segment.path.clone(), source }.into()),
        }
    }
    Ok(())
}

/// None where the file is gone. One that may not be opened says nothing about its data.
fn open(segment: &Segment) -> Result<Option<File>, PathError> {
    match File::open(&segment.path) {
        Ok(file) => Ok(Some(file)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(PathError::Io { action: "opening", path: segment.path.clone(), source }),
    }
}

fn judge(block: &[u8], id: u32, offset: u64, history: &History, outcome: &mut Durability) {
    match stamp::verify_in(block, id, offset) {
        Ok(seen) if history.allows(seen) => outcome.found += 1,
        Ok(seen) => {
            lose(outcome, format!("offset {offset}: generation {seen}, acknowledged was {}", history.newest()));
        }
        Err(fault) => {
            outcome.corrupt += 1;
            note(outcome, format!("offset {offset}: {fault}"));
        }
    }
}

fn lose(outcome: &mut Durability, example: String) {
    outcome.lost += 1;
    note(outcome, example);
}

fn note(outcome: &mut Durability, example: String) {
    if outcome.examples.len() < EXAMPLES_AT_MOST {
        outcome.examples.push(example);
    }
}
