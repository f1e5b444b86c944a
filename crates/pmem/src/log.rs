//! Logs: several words change as one, whatever happens.
//!
//! A lane is 1 KiB: a header word, a spare one, then changes of two words each. The header holds a CRC-32C of the changes
//! that it covers, so a log is valid as a whole or void. There are two kinds.
//!
//! A *redo* log says what has happened. It can become durable as soon as it is stored, so:
//!
//! 1. fence: what the caller flushed is durable before the log can be.
//! 2. Changes and header are stored and flushed; fence. From here on the transaction has happened.
//! 3. The changes are applied and flushed; fence.
//! 4. The header is cleared, flushed; fence. From here on nothing will apply them again.
//!
//! An *intent* says what happens if one word, the link, gets its new value. All its other changes are bits, which can
//! be undone as well as done, so it saves the first fence: recovery looks at the link, and does or undoes the rest.
//!
//! Recovery brings every valid log to its end and clears it. Doing so twice is doing it once, so a crash during recovery
//! is one more crash.

use crate::medium::Medium;

/// Bytes of a lane.
pub(crate) const LANE_BYTES: u64 = 1024;
/// Words that one transaction can change; an allocation and a freed block are one each.
pub const MOST_CHANGES: usize = 63;

/// How a word changes. The kind is kept in the low bits of the offset, which is a multiple of 8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// The word becomes the value.
    Put { at: u64, value: u64 },
    /// Bits of the word are set; other transactions may change the other ones at the same time.
    Set { at: u64, bits: u64 },
    /// Bits of the word are cleared.
    Clear { at: u64, bits: u64 },
}

impl Change {
    pub(crate) fn at(self) -> u64 {
        match self {
            Self::Put { at, .. } | Self::Set { at, .. } | Self::Clear { at, .. } => at,
        }
    }

    fn encode(self) -> [u64; 2] {
        match self {
            Self::Put { at, value } => [at, value],
            Self::Set { at, bits } => [at | 1, bits],
            Self::Clear { at, bits } => [at | 2, bits],
        }
    }

    fn decode([tagged, value]: [u64; 2]) -> Option<Self> {
        let at = tagged & !7;
        match tagged & 7 {
            0 => Some(Self::Put { at, value }),
            1 => Some(Self::Set { at, bits: value }),
            2 => Some(Self::Clear { at, bits: value }),
            _ => None,
        }
    }

    /// Bits as they were before; a link that did not happen needs nothing.
    fn inverse(self) -> Option<Self> {
        match self {
            Self::Put { .. } => None,
            Self::Set { at, bits } => Some(Self::Clear { at, bits }),
            Self::Clear { at, bits } => Some(Self::Set { at, bits }),
        }
    }

    #[track_caller]
    fn apply(self, medium: &impl Medium) {
        match self {
            Self::Put { at, value } => medium.store(at, value),
            Self::Set { at, bits } => {
                medium.set_bits(at, bits);
            }
            Self::Clear { at, bits } => {
                medium.clear_bits(at, bits);
            }
        }
    }
}

/// What a log means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meaning {
    /// Its changes have happened.
    Redo,
    /// They have happened if the one word that is put has its value.
    Intent,
}

/// Marks an intent, in the header's count.
const INTENT: u64 = 1 << 31;

/// Stores a log into its lane and flushes it: durable, and so valid, after the next fence.
pub(crate) fn write(medium: &impl Medium, lane: u64, turn: u16, meaning: Meaning, changes: &[Change]) {
    for (index, change) in changes.iter().enumerate() {
        let [tagged, value] = change.encode();
        let at = lane + 16 + index as u64 * 16;
        medium.store(at, tagged);
        medium.store(at + 8, value);
    }
    medium.store(lane, header(turn, meaning, changes));
    medium.flush(lane, 16 + changes.len() * 16); // log written
}

/// Applies changes and flushes each line once: durable after the next fence.
pub(crate) fn apply(medium: &impl Medium, changes: &[Change]) {
    for change in changes {
        change.apply(medium);
    }
    for (index, change) in changes.iter().enumerate() {
        let line = |change: &Change| change.at() / 64;
        if !changes[..index].iter().any(|before| line(before) == line(change)) {
            medium.flush(change.at(), 8); // changes applied
        }
    }
}

/// Makes a lane void and flushes that: durable after the next fence.
pub(crate) fn clear(medium: &impl Medium, lane: u64) {
    medium.store(lane, 0);
    medium.flush(lane, 8); // log cleared
}

/// What brings a lane's log to its end, if it holds a valid one.
///
/// # Errors
/// Where a log that was written whole names a word that `allowed` does not know: the pool is damaged.
pub(crate) fn read(
    medium: &impl Medium,
    lane: u64,
    allowed: impl Fn(u64) -> bool,
) -> Result<Option<Vec<Change>>, String> {
    let found = medium.load(lane);
    let meaning = if found & INTENT == 0 { Meaning::Redo } else { Meaning::Intent };
    let count = ((found & !INTENT) >> 16) as u16 as usize;
    if found == 0 || count == 0 || count > MOST_CHANGES {
        return Ok(None);
    }
    let pair = |index: usize| {
        let at = lane + 16 + index as u64 * 16;
        [medium.load(at), medium.load(at + 8)]
    };
    let Some(changes) = (0..count).map(|index| Change::decode(pair(index))).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    if header(found as u16, meaning, &changes) != found {
        return Ok(None);
    }
    match changes.iter().find(|change| !allowed(change.at())) {
        Some(change) => {
            Err(format!("the log at {lane:#x} changes a word at {:#x}, where none may change", change.at()))
        }
        None => Ok(Some(ending(medium, meaning, changes))),
    }
}

fn ending(medium: &impl Medium, meaning: Meaning, changes: Vec<Change>) -> Vec<Change> {
    let linked = |change: &Change| matches!(*change, Change::Put { at, value } if medium.load(at) == value);
    if meaning == Meaning::Redo || changes.iter().any(linked) {
        return changes;
    }
    changes.into_iter().filter_map(Change::inverse).collect()
}

/// Checksum, meaning, number of changes, turn. Never 0, as a log has at least one change.
fn header(turn: u16, meaning: Meaning, changes: &[Change]) -> u64 {
    let intent = if meaning == Meaning::Intent { INTENT } else { 0 };
    let low = intent | (changes.len() as u64) << 16 | u64::from(turn);
    let sum = changes.iter().fold(crc32c::crc32c(&low.to_le_bytes()), |sum, change| {
        let [tagged, value] = change.encode();
        let sum = crc32c::crc32c_append(sum, &tagged.to_le_bytes());
        crc32c::crc32c_append(sum, &value.to_le_bytes())
    });
    u64::from(sum) << 32 | low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mapped;

    const LANE: u64 = 4096;

    fn written() -> (Mapped, Vec<Change>) {
        let medium = Mapped::memory(1 << 16).unwrap();
        let changes: Vec<_> = (0..MOST_CHANGES as u64)
            .map(|index| match index % 3 {
                0 => Change::Put { at: 8192 + index * 8, value: index },
                1 => Change::Set { at: 8192 + index * 8, bits: 1 << index },
                _ => Change::Clear { at: 8192 + index * 8, bits: 3 },
            })
            .collect();
        write(&medium, LANE, 7, Meaning::Redo, &changes);
        (medium, changes)
    }

    #[test]
    fn a_log_is_read_as_it_was_written_and_void_after_clearing() {
        let (medium, changes) = written();
        assert_eq!(read(&medium, LANE, |_| true).unwrap(), Some(changes));
        clear(&medium, LANE);
        assert_eq!(read(&medium, LANE, |_| true).unwrap(), None);
    }

    #[test]
    fn a_log_with_any_changed_word_is_void() {
        for word in (0..LANE_BYTES / 8).filter(|&word| word != 1) {
            let (medium, changes) = written();
            medium.set_bits(LANE + word * 8, 1 << 33);
            let changed = read(&medium, LANE, |_| true).unwrap();
            // A bit that was set already is no change.
            assert!(changed.is_none() || changed == Some(changes), "word {word}");
        }
    }

    #[test]
    fn a_log_that_names_a_strange_word_is_damage() {
        let (medium, _) = written();
        let said = read(&medium, LANE, |at| at < 8192 + 80).unwrap_err();
        assert!(said.contains("0x2050"), "{said}");
    }

    #[test]
    fn an_intent_is_done_where_its_link_is_there_and_undone_where_not() {
        let medium = Mapped::memory(1 << 16).unwrap();
        let bits = [Change::Set { at: 8192, bits: 1 }, Change::Clear { at: 8200, bits: 2 }];
        let changes = [bits[0], bits[1], Change::Put { at: 8208, value: 9 }];
        write(&medium, LANE, 7, Meaning::Intent, &changes);
        let undone = [Change::Clear { at: 8192, bits: 1 }, Change::Set { at: 8200, bits: 2 }];
        assert_eq!(read(&medium, LANE, |_| true).unwrap(), Some(undone.to_vec()));
        medium.store(8208, 9);
        assert_eq!(read(&medium, LANE, |_| true).unwrap(), Some(changes.to_vec()));
    }

    #[test]
    fn applying_twice_is_applying_once() {
        let (medium, changes) = written();
        let words = || (0..64).map(|word| medium.load(8192 + word * 8)).collect::<Vec<_>>();
        apply(&medium, &changes);
        let once = words();
        apply(&medium, &changes);
        assert_eq!(words(), once);
    }
}
