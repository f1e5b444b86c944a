//! The durability check: what a killed run acknowledged must be there.

mod finding;
mod source;

use std::path::Path;

use assay_path::{Segment, prepare};
use assay_record::Job;
use serde::Serialize;

use self::{
    finding::{Block, Finding},
    source::Source,
};
use crate::{
    error::LoadError,
    generator::Spread,
    journal::{self, History},
};

const EXAMPLES_AT_MOST: usize = 10;

/// What the check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Acknowledged {
    /// Blocks that were acknowledged as durable.
    pub acknowledged: u64,
    /// Of these, blocks found with the acknowledged generation, a later one, or one that was written at the same time.
    pub found: u64,
    /// Blocks torn by a write that was in flight when the run ended, and whole otherwise: each part is of that write or
    /// of what was acknowledged before it. No storage but one that writes blocks as a whole promises more.
    pub torn: u64,
    /// Blocks that are of an earlier generation, in whole or in part, or never written: lost.
    pub lost: u64,
    /// Blocks that are torn with no write in flight, changed or misplaced.
    pub corrupt: u64,
    /// The journal was full: writes may have begun unnoticed, and every torn block counts as torn by such a write.
    pub journal_full: bool,
    /// The first lost, corrupt or torn blocks, in words.
    pub examples: Vec<String>,
    /// The same for each data set, in the job's order.
    pub datasets: Vec<DatasetDurability>,
}

/// What the check found of one data set; the fields are those of [`Acknowledged`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)]
pub struct DatasetDurability {
    pub name: String,
    pub acknowledged: u64,
    pub found: u64,
    pub torn: u64,
    pub lost: u64,
    pub corrupt: u64,
    pub examples: Vec<String>,
}

/// Compares the acknowledgement journal of a job with its data sets, as the killed run left them.
///
/// # Errors
/// [`LoadError::Journal`] where the job has no journal or it cannot be read; [`LoadError::Path`] where data cannot be read.
pub fn verify(job: &Job) -> Result<Acknowledged, LoadError> {
    let Some(path) = &job.checks.acknowledgements else {
        let reason = "the job names none (checks.acknowledgements)".to_owned();
        return Err(LoadError::Journal { path: job.name.clone(), reason });
    };
    let journal = journal::read(Path::new(path))?;
    let acknowledged = journal.blocks.into_iter().filter(|(_, history)| history.newest() > 0);
    let mut wanted: Vec<((u32, u64), History)> = acknowledged.collect();
    wanted.sort_unstable_by_key(|(place, _)| *place);
    let count = wanted.len() as u64;
    let mut outcome = Acknowledged { acknowledged: count, journal_full: journal.full, ..Acknowledged::default() };
    for dataset in prepare::locate(job)? {
        let mut seen = DatasetDurability { name: dataset.name.clone(), ..DatasetDurability::default() };
        for (segments, id) in dataset.files.iter().zip(&dataset.file_ids) {
            let spread = Spread::new(segments.len(), dataset.stripe_bytes);
            let mine = wanted.iter().filter(|((file, _), _)| file == id);
            check_file(segments, spread, *id, (dataset.stamp_bytes, journal.full), mine, &mut seen)?;
        }
        outcome.add(seen);
    }
    // What was acknowledged of data sets that the job does not name is not there.
    outcome.lost += outcome.acknowledged - outcome.found - outcome.torn - outcome.lost - outcome.corrupt;
    Ok(outcome)
}

impl Acknowledged {
    fn add(&mut self, dataset: DatasetDurability) {
        self.found += dataset.found;
        self.torn += dataset.torn;
        self.lost += dataset.lost;
        self.corrupt += dataset.corrupt;
        let room = EXAMPLES_AT_MOST.saturating_sub(self.examples.len());
        self.examples.extend(dataset.examples.iter().take(room).cloned());
        self.datasets.push(dataset);
    }
}

fn check_file<'a>(
    segments: &[Segment],
    spread: Spread,
    id: u32,
    (block, journal_full): (u64, bool),
    wanted: impl Iterator<Item = &'a ((u32, u64), History)>,
    seen: &mut DatasetDurability,
) -> Result<(), LoadError> {
    let mut wanted = wanted.peekable();
    if wanted.peek().is_none() {
        return Ok(());
    }
    let sources = segments.iter().map(Source::open).collect::<Result<Vec<_>, _>>()?;
    let mut buffer = vec![0u8; block as usize];
    for ((_, offset), history) in wanted {
        let place = spread.place(*offset);
        let finding = match sources[place.segment as usize].read(place.offset, &mut buffer)? {
            Some(missing) => Finding::Lost(missing),
            None => Block { bytes: &buffer, file: id, offset: *offset }.judge(history, journal_full),
        };
        seen.count(*offset, finding);
    }
    Ok(())
}

impl DatasetDurability {
    fn count(&mut self, offset: u64, finding: Finding) {
        self.acknowledged += 1;
        let (counter, example) = match finding {
            Finding::Found => return self.found += 1,
            Finding::Torn(example) => (&mut self.torn, example),
            Finding::Lost(example) => (&mut self.lost, example),
            Finding::Corrupt(example) => (&mut self.corrupt, example),
        };
        *counter += 1;
        if self.examples.len() < EXAMPLES_AT_MOST {
            self.examples.push(format!("offset {offset}: {example}"));
        }
    }
}
