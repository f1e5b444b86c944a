//! What a journal says of each block.

use std::{collections::HashMap, path::Path};

use super::{BEGUN, ENTRY, HEADER, MAGIC, ROOM_AT, check_word};
use crate::error::LoadError;

/// What was written of one block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Generations that were acknowledged, each with the newest generation of the run that had begun by then.
    acknowledged: Vec<(u64, u64)>,
    /// Generations whose writes had begun.
    begun: Vec<u64>,
}

/// What a journal holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Journalled {
    /// By file and offset.
    pub blocks: HashMap<(u32, u64), History>,
    /// It had no room for more: later writes may have begun unnoticed.
    pub full: bool,
}

impl History {
    /// A history of acknowledged generations, each with the newest that had begun by then, and of generations begun.
    #[cfg(test)]
    pub(crate) fn of(acknowledged: &[(u64, u64)], begun: &[u64]) -> Self {
        Self { acknowledged: acknowledged.to_vec(), begun: begun.to_vec() }
    }

    /// The newest generation that was acknowledged; 0 where none was.
    pub fn newest(&self) -> u64 {
        self.acknowledged.iter().map(|(generation, _)| *generation).max().unwrap_or(0)
    }

    /// Whether a block of this generation shows that nothing acknowledged was lost: it is the newest or a later one, or it
    /// was still being written when the newest began. Two writes of a block that overlap may end in either order.
    pub fn allows(&self, found: u64) -> bool {
        let newest = self.newest();
        found >= newest || (found > 0 && self.begun_by(found).is_none_or(|begun| begun >= newest))
    }

    /// Whether this generation of the block was acknowledged, and was lost where it is all that is left.
    pub fn is_outdated(&self, found: u64) -> bool {
        found == 0 || (self.begun_by(found).is_some() && !self.allows(found))
    }

    /// Generations whose writes had begun and were not acknowledged: they were in flight when the run ended.
    pub fn in_flight(&self) -> impl Iterator<Item = u64> + '_ {
        self.begun.iter().copied().filter(|generation| self.begun_by(*generation).is_none())
    }

    /// Every generation that is known of the block.
    pub fn known(&self) -> impl Iterator<Item = u64> + '_ {
        self.acknowledged.iter().map(|(generation, _)| *generation).chain(self.in_flight())
    }

    /// The newest generation of the run that had begun when this one was acknowledged.
    fn begun_by(&self, generation: u64) -> Option<u64> {
        self.acknowledged.iter().find(|(acknowledged, _)| *acknowledged == generation).map(|(_, begun)| *begun)
    }
}

/// Reads a journal that a run left, killed or not.
///
/// # Errors
/// [`LoadError::Journal`] where the file is missing or is not a journal.
pub fn read(path: &Path) -> Result<Journalled, LoadError> {
    let failed = |reason: String| LoadError::Journal { path: path.display().to_string(), reason };
    let bytes = std::fs::read(path).map_err(|source| failed(source.to_string()))?;
    if word(&bytes, 0) != MAGIC {
        return Err(failed("it is not a journal".to_owned()));
    }
    let mut journalled = Journalled::default();
    let entries = bytes.get(HEADER..).unwrap_or_default().chunks_exact(ENTRY);
    let room = word(&bytes, ROOM_AT);
    for (index, entry) in (1..).zip(entries) {
        let there = take(&mut journalled.blocks, [0, 8, 16, 24].map(|at| word(entry, at)));
        journalled.full |= there && index == room;
    }
    Ok(journalled)
}

/// One entry; whether it is one.
fn take(blocks: &mut HashMap<(u32, u64), History>, [head, offset, generation, check]: [u64; 4]) -> bool {
    let wanted = check_word(head, offset, generation);
    if check != wanted && check != wanted ^ BEGUN {
        return false;
    }
    let history = blocks.entry((head as u32, offset)).or_default();
    if check == wanted {
        history.acknowledged.push((generation, generation.saturating_add(head >> 32)));
    } else {
        history.begun.push(generation);
    }
    true
}

fn word(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..at + 8).and_then(|word| word.try_into().ok()).map_or(0, u64::from_le_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_older_generation_is_a_loss_unless_its_write_overlapped_the_newest() {
        let after = History::of(&[(3, 4), (7, 9)], &[]);
        assert!(after.allows(7) && after.allows(8), "the newest, or a later one that nobody acknowledged");
        assert!(!after.allows(3), "3 was over when 7 began");
        assert!(!after.allows(0), "what was prepared is older than any write");
        assert!(after.allows(5), "5 was in flight when the process ended: it may have landed last");
        let overlapping = History::of(&[(3, 8), (7, 9)], &[]);
        assert!(overlapping.allows(3), "7 had begun when 3 was acknowledged");
    }

    #[test]
    fn what_was_acknowledged_is_in_flight_no_more() {
        let history = History::of(&[(3, 4), (7, 9)], &[3, 7, 8, 9]);
        assert_eq!(history.in_flight().collect::<Vec<_>>(), [8, 9]);
        assert!(history.is_outdated(3) && history.is_outdated(0));
        assert!(!history.is_outdated(7) && !history.is_outdated(8), "the newest, and one that may be there");
    }
}
