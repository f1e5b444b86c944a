//! What a thread does in its n-th turn, and so what each of its keys holds after any number of turns.
//!
//! Turns go round the thread's keys. Every third one removes its key, and so does every turn of each fourth round, so
//! that structures shrink again; the others give it a value that no other turn gives. Keys and values have many lengths.

/// A thread's keys; their number is a power of two.
#[derive(Clone, Copy, Debug)]
pub struct Keys {
    /// The thread.
    pub thread: u32,
    /// How many.
    pub keys: u32,
}

/// What a value is found to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlotState {
    /// No value.
    Nothing,
    /// What this turn wrote.
    Turn(u64),
    /// What no turn of this thread wrote under this key.
    Foreign,
}

/// Bytes at the beginning of a value: its turn and its thread.
const HEADER: usize = 12;
const SHORTEST_KEY: usize = 8;
/// Longest key and value, bytes.
pub const LONGEST: (usize, usize) = (SHORTEST_KEY + 16, HEADER + 96);
/// Shortest key and value, bytes.
pub const SHORTEST: (usize, usize) = (SHORTEST_KEY, HEADER);

impl Keys {
    /// The key of a turn; turns are counted from 1.
    pub fn slot(self, turn: u64) -> u32 {
        (turn % u64::from(self.keys)) as u32
    }

    /// The bytes of a key. Neighbours in time are no neighbours in order.
    pub fn key(self, slot: u32, into: &mut Vec<u8>) {
        let scattered = slot.wrapping_mul(0x9E37_79B1) & (self.keys - 1);
        into.clear();
        into.extend_from_slice(&(u64::from(scattered) << 32 | u64::from(self.thread)).to_be_bytes());
        into.resize(SHORTEST_KEY + (slot % 17) as usize, b'k');
    }

    /// The value that a turn gives its key; none where it removes it.
    pub fn value(self, turn: u64) -> Option<Vec<u8>> {
        if self.removes(turn) {
            return None;
        }
        let mut value = [turn.to_le_bytes().as_slice(), &self.thread.to_le_bytes()].concat();
        let more = (turn.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32) as usize % (LONGEST.1 - HEADER + 1);
        value
            .extend((0..more as u64).map(|at| (turn.wrapping_add(at).wrapping_mul(0x2545_F491_4F6C_DD1D) >> 56) as u8));
        Some(value)
    }

    /// The last turn of a key among the first `turns`; 0 where it had none.
    pub fn last(self, slot: u32, turns: u64) -> u64 {
        let behind = (turns + u64::from(self.keys) - u64::from(slot)) % u64::from(self.keys);
        turns.saturating_sub(behind)
    }

    /// What a key holds after so many turns.
    pub fn wanted(self, slot: u32, turns: u64) -> SlotState {
        match self.last(slot, turns) {
            last if self.removes(last) => SlotState::Nothing,
            last => SlotState::Turn(last),
        }
    }

    fn removes(self, turn: u64) -> bool {
        turn % 3 == 0 || turn / u64::from(self.keys) % 4 == 3
    }

    /// What was found under a key.
    pub fn seen(self, slot: u32, value: Option<&[u8]>) -> SlotState {
        let Some(value) = value else { return SlotState::Nothing };
        let turn = value.first_chunk().map_or(0, |turn| u64::from_le_bytes(*turn));
        let whole = turn > 0 && self.slot(turn) == slot && self.value(turn).as_deref() == Some(value);
        if whole { SlotState::Turn(turn) } else { SlotState::Foreign }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_state_is_what_turns_leave(turns in 0u64..600, bits in 0u32..7, thread in 0u32..9) {
            let keys = Keys { thread, keys: 1 << bits };
            let mut state = vec![None; keys.keys as usize];
            for turn in 1..=turns {
                state[keys.slot(turn) as usize] = keys.value(turn);
            }
            for (slot, value) in (0..).zip(&state) {
                prop_assert_eq!(keys.seen(slot, value.as_deref()), keys.wanted(slot, turns));
            }
        }

        #[test]
        fn a_changed_value_is_foreign(turn in 1u64..10_000, at in any::<prop::sample::Index>()) {
            let keys = Keys { thread: 3, keys: 64 };
            let Some(mut value) = keys.value(turn) else { return Ok(()) };
            let at = at.index(value.len());
            value[at] ^= 0x10;
            prop_assert_ne!(keys.seen(keys.slot(turn), Some(&value)), SlotState::Turn(turn));
        }
    }

    #[test]
    fn keys_are_their_own() {
        let (mut seen, mut key) = (HashSet::new(), Vec::new());
        for (thread, slot) in (0..4).flat_map(|thread| (0..256).map(move |slot| (thread, slot))) {
            Keys { thread, keys: 256 }.key(slot, &mut key);
            assert!((SHORTEST.0..=LONGEST.0).contains(&key.len()));
            assert!(seen.insert(key.clone()), "thread {thread}, slot {slot}");
        }
    }
}
