//! What one block shows: found, torn by a write in flight, lost, or corrupt.

use assay_path::stamp::{self, StampFault};

use crate::journal::History;

/// What became of a block that was acknowledged; in words where it is not simply there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    Found,
    Torn(String),
    Lost(String),
    Corrupt(String),
}

/// A block as it was found.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) file: u32,
    pub(super) offset: u64,
}

impl Block<'_> {
    pub(super) fn judge(self, history: &History, journal_full: bool) -> Finding {
        match stamp::verify_in(self.bytes, self.file, self.offset) {
            Ok(seen) if history.allows(seen) => Finding::Found,
            Ok(seen) => Finding::Lost(format!("generation {seen}, acknowledged was {}", history.newest())),
            Err(StampFault::Zeros) => Finding::Lost(StampFault::Zeros.to_string()),
            Err(fault @ (StampFault::NoStamp { .. } | StampFault::Misplaced { .. })) => {
                Finding::Corrupt(fault.to_string())
            }
            Err(fault) if journal_full => Finding::Torn(fault.to_string()),
            Err(fault) => self.judge_mixture(history, &fault),
        }
    }

    /// A block whose parts do not fit together. Where every part is of a write that may be there, it was torn; where one is
    /// of an earlier write, that part of what was acknowledged is lost.
    fn judge_mixture(self, history: &History, fault: &StampFault) -> Finding {
        let known: Vec<u64> = history.known().chain([0]).collect();
        let mut seen = Vec::new();
        for part in 0..stamp::parts(self.bytes) {
            let is_of = |generation: &u64| stamp::part_is_of(self.bytes, part, self.file, self.offset, *generation);
            let Some(generation) = known.iter().copied().find(is_of) else {
                return Finding::Corrupt(fault.to_string());
            };
            if history.is_outdated(generation) {
                let (at, newest) = (part * stamp::SMALLEST, history.newest());
                return Finding::Lost(format!(
                    "at byte {at} it is of generation {generation}, acknowledged was {newest}"
                ));
            }
            seen.push(generation);
        }
        // A write that is cut off in the middle of a part leaves parts of one generation with the wrong checksum.
        let mixed = seen.iter().any(|generation| *generation != seen[0]);
        if mixed || history.in_flight().next().is_some() {
            Finding::Torn(format!("torn by a write in flight: {fault}"))
        } else {
            Finding::Corrupt(fault.to_string())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: u32 = 3;
    const OFFSET: u64 = 8192;

    fn block(generation: u64) -> Vec<u8> {
        let mut bytes = vec![generation as u8; 4096];
        stamp::write_in(&mut bytes, FILE, OFFSET, generation);
        bytes
    }

    /// The first bytes of one write, the rest of another.
    fn torn(head: u64, at: usize, tail: u64) -> Vec<u8> {
        let mut bytes = block(head);
        bytes[at..].copy_from_slice(&block(tail)[at..]);
        bytes
    }

    fn judge(bytes: &[u8], acknowledged: &[(u64, u64)], begun: &[u64]) -> Finding {
        Block { bytes, file: FILE, offset: OFFSET }.judge(&History::of(acknowledged, begun), false)
    }

    #[test]
    fn what_was_acknowledged_or_came_later_is_found() {
        let acknowledged = [(3, 4), (7, 7)];
        assert_eq!(judge(&block(7), &acknowledged, &[3, 7, 9]), Finding::Found);
        assert_eq!(judge(&block(9), &acknowledged, &[3, 7, 9]), Finding::Found);
        assert!(matches!(judge(&block(3), &acknowledged, &[3, 7, 9]), Finding::Lost(_)));
        assert!(matches!(judge(&block(0), &acknowledged, &[3, 7]), Finding::Lost(_)), "what was prepared");
        assert!(matches!(judge(&[0; 4096], &acknowledged, &[3, 7, 9]), Finding::Lost(_)), "zeros");
    }

    #[test]
    fn a_later_write_in_flight_may_tear_what_was_acknowledged() {
        for at in [64, 512, 1000, 2048, 4032, 4090] {
            for (head, tail) in [(7, 9), (9, 7)] {
                let seen = judge(&torn(head, at, tail), &[(7, 7)], &[7, 9]);
                assert!(matches!(seen, Finding::Torn(_)), "{head} up to byte {at}, then {tail}: {seen:?}");
            }
        }
    }

    #[test]
    fn two_acknowledged_writes_that_overlapped_may_be_mixed() {
        let overlapping = [(7, 8), (8, 8)];
        assert!(matches!(judge(&torn(7, 512, 8), &overlapping, &[7, 8]), Finding::Torn(_)));
    }

    #[test]
    fn a_part_of_an_older_write_is_a_loss() {
        for (head, tail) in [(3, 7), (7, 3), (3, 9), (0, 7), (7, 0)] {
            let seen = judge(&torn(head, 2048, tail), &[(3, 4), (7, 7)], &[3, 7, 9]);
            assert!(matches!(seen, Finding::Lost(_)), "{head} then {tail}: {seen:?}");
        }
    }

    #[test]
    fn a_torn_block_with_no_write_in_flight_is_corrupt_or_lost() {
        let mut changed = block(7);
        changed[100] ^= 1;
        assert!(matches!(judge(&changed, &[(7, 7)], &[7]), Finding::Corrupt(_)));
        assert!(matches!(judge(&torn(7, 512, 11), &[(7, 7)], &[7]), Finding::Corrupt(_)), "nobody ever wrote 11");
        assert!(matches!(judge(&torn(7, 512, 11), &[(7, 7)], &[7, 9]), Finding::Corrupt(_)), "9 was in flight, not 11");
    }

    #[test]
    fn another_block_is_corrupt_even_with_a_write_in_flight() {
        let mut misplaced = vec![0; 4096];
        stamp::write_in(&mut misplaced, FILE, OFFSET + 4096, 9);
        assert!(matches!(judge(&misplaced, &[(7, 7)], &[7, 9]), Finding::Corrupt(_)));
        assert!(matches!(judge(&[0x5a; 4096], &[(7, 7)], &[7, 9]), Finding::Corrupt(_)));
    }

    #[test]
    fn a_full_journal_cannot_tell_who_tore_a_block() {
        let history = History::of(&[(7, 7)], &[7]);
        let bytes = torn(7, 512, 11);
        let seen = Block { bytes: &bytes, file: FILE, offset: OFFSET }.judge(&history, true);
        assert!(matches!(seen, Finding::Torn(_)));
    }
}
