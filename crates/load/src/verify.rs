//! The durability check: what a killed run acknowledged must be there.

use std::{fs::File, os::unix::fs::FileExt, path::Path};

use assay_path::{PathError, Segment, prepare, stamp};
use assay_record::Job;
use serde::Serialize;

use crate::{error::LoadError, generator::Spread, journal};

const EXAMPLES_AT_MOST: usize = 10;

/// What the check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Durability {
    /// Blocks that were acknowledged as durable.
    pub acknowledged: u64,
    /// Of these, blocks found with the acknowledged generation or a later one.
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
    let mut wanted: Vec<((u32, u64), u64)> = journal::read(Path::new(path))?.into_iter().collect();
    wanted.sort_unstable();
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
    wanted: impl Iterator<Item = &'a ((u32, u64), u64)>,
    outcome: &mut Durability,
) -> Result<(), LoadError> {
    let files: Vec<Option<File>> = segments.iter().map(|segment| File::open(&segment.path).ok()).collect();
    let mut buffer = vec![0u8; block as usize];
    for ((_, offset), generation) in wanted {
        let place = spread.place(*offset);
        let segment = &segments[place.segment as usize];
        let read = files[place.segment as usize]
            .as_ref()
            .map(|file| file.read_exact_at(&mut buffer, segment.base + place.offset));
        match read {
            Some(Ok(())) => judge(&buffer, id, *offset, *generation, outcome),
            Some(Err(error)) if error.kind() != std::io::ErrorKind::UnexpectedEof => {
                return Err(PathError::Io { action: "reading", path: segment.path.clone(), source: error }.into());
            }
            _ => lose(outcome, format!("offset {offset}: the file ends before it")),
        }
    }
    Ok(())
}

fn judge(block: &[u8], id: u32, offset: u64, wanted: u64, outcome: &mut Durability) {
    match stamp::verify_in(block, id, offset) {
        Ok(seen) if seen >= wanted => outcome.found += 1,
        Ok(seen) => lose(outcome, format!("offset {offset}: generation {seen}, acknowledged was {wanted}")),
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
