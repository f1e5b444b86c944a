//! Several logs read side by side: the commits of all, one after the other, as far as none is missing.
//!
//! Within one log commits are only nearly in order: who reserved its range first may have drawn its number later. Across
//! logs a power cut leaves gaps: one had been flushed, another not. A commit beyond a gap was never acknowledged, as a
//! commit is acknowledged when all before it are durable, so everything from the gap on is left out.
//!
//! **What a gap may not be.** A mark says up to which commit all were durable when it was made. Where a mark of any log can be
//! read and a commit up to there cannot, something durable was lost: a whole end of a log, say, which by itself looks
//! like a power cut. Numbers are given out at most [`IN_FLIGHT_AT_MOST`] ahead of what is durable, which proves the same.
//! What cannot be told is the loss of commits that were acknowledged after the newest mark that is left.

use std::collections::BTreeMap;

use super::{
    Reader,
    record::{Head, RecordKind},
};
use crate::{
    error::{EngineError, Result},
    sequence::IN_FLIGHT_AT_MOST,
};

/// A log's records, one after the other.
pub trait Source {
    /// The next one; none where it ends.
    ///
    /// # Errors
    /// Where it cannot be read.
    fn next(&mut self, record: &mut Vec<u8>) -> Result<Option<Head>>;

    /// What messages call it.
    fn name(&self) -> String;
}

/// A log from the position on at which a recovery begins.
pub struct Stream<'a> {
    reader: Reader<'a>,
    begin: u64,
    position: u64,
}

impl<'a> Stream<'a> {
    /// The records from `begin` on.
    pub fn new(reader: Reader<'a>, begin: u64) -> Self {
        Self { reader, begin, position: begin }
    }

    /// Reader and first position, to read it alone.
    pub fn alone(&mut self) -> (&mut Reader<'a>, u64) {
        (&mut self.reader, self.begin)
    }

    /// First position that holds no record, where all was read.
    ///
    /// # Errors
    /// Where a later part is there.
    pub fn end(&mut self) -> Result<u64> {
        let limit = self.begin + self.reader.area().bytes;
        self.reader.look_for_later(self.position, limit)?;
        Ok(self.position)
    }
}

impl Source for Stream<'_> {
    fn next(&mut self, record: &mut Vec<u8>) -> Result<Option<Head>> {
        // A round of the area is the most that can be there.
        if self.position >= self.begin + self.reader.area().bytes {
            return Ok(None);
        }
        let head = self.reader.record(self.position, record)?;
        self.position += head.map_or(0, |head| head.length as u64);
        Ok(head)
    }

    fn name(&self) -> String {
        self.reader.name().to_owned()
    }
}

/// What several logs had.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Merged {
    /// The last commit before the first that is missing.
    pub commit: u64,
    /// Commits that were handed on.
    pub commits: u64,
}

/// A log that is being read.
struct Reading<'s, S> {
    source: &'s mut S,
    /// The newest commit that was read.
    newest: u64,
    ended: bool,
}

/// Hands the records of all commits after `after` on to `visit`, in order, up to the first that is missing.
///
/// # Errors
/// Where a log cannot be read or `visit` fails; where a commit is there twice, or one is missing that had been durable.
pub fn merge<S: Source>(
    sources: &mut [S],
    after: u64,
    mut visit: impl FnMut(&Head, &[u8]) -> Result<()>,
) -> Result<Merged> {
    let mut readings: Vec<_> =
        sources.iter_mut().map(|source| Reading { source, newest: after, ended: false }).collect();
    let (mut early, mut record) = (BTreeMap::new(), Vec::new());
    let (mut last, mut proven) = (after, (after, String::new()));
    // The one that is furthest behind has the next commit, or has it soon.
    while let Some(behind) = readings.iter_mut().filter(|one| !one.ended).min_by_key(|one| one.newest) {
        let Some(head) = behind.source.next(&mut record)? else {
            behind.ended = true;
            continue;
        };
        let durable = match head.kind {
            RecordKind::Padding => continue,
            RecordKind::Mark => head.commit,
            RecordKind::Commit => head.commit.saturating_sub(IN_FLIGHT_AT_MOST),
        };
        if durable > proven.0 {
            proven = (durable, behind.source.name());
        }
        if head.kind == RecordKind::Mark {
            continue;
        }
        behind.newest = behind.newest.max(head.commit);
        if head.commit <= last || early.contains_key(&head.commit) {
            return Err(twice(&behind.source.name(), head.commit));
        }
        if head.commit > last + 1 {
            early.insert(head.commit, (head, std::mem::take(&mut record)));
            // So much may be there ahead of what is durable, and no more is kept.
            if early.len() as u64 > IN_FLIGHT_AT_MOST {
                break;
            }
            continue;
        }
        visit(&head, &record)?;
        last = head.commit;
        while let Some((head, bytes)) = early.remove(&(last + 1)) {
            visit(&head, &bytes)?;
            last = head.commit;
        }
    }
    if proven.0 > last {
        let (seen, log) = proven;
        return Err(EngineError::LostCommit { log, lost: last + 1, seen });
    }
    Ok(Merged { commit: last, commits: last - after })
}

fn twice(log: &str, commit: u64) -> EngineError {
    EngineError::Damaged {
        place: format!("the log {log}"),
        what: format!("it has commit {commit}, which another record or the last checkpoint has already"),
    }
}

#[cfg(test)]
mod tests;
