//! Locks of rows, and when each was changed last: a table of words that rows share by their hash.
//!
//! ```text
//! unlocked  0 | number of the newest commit of any row under this word
//! locked    1 | age of the transaction (53 bits) | session (10 bits)
//! ```
//!
//! A word's number is never below that of its rows, so a number that is not above a snapshot spares a look at the row.

use std::sync::atomic::{
    AtomicU64,
    Ordering::{Relaxed, Release, SeqCst},
};

use assay_buffer::{BufferError, ZeroedArray};

const LOCKED: u64 = 1 << 63;
const SESSION_BITS: u32 = 10;

/// Who holds a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Its age: smaller is older. No two transactions under way have the same age and session.
    pub age: u64,
    /// Its session.
    pub session: usize,
}

impl Holder {
    fn word(self) -> u64 {
        LOCKED | self.age << SESSION_BITS | self.session as u64
    }

    fn of(word: u64) -> Self {
        let age = (word & !LOCKED) >> SESSION_BITS;
        Self { age, session: (word & ((1 << SESSION_BITS) - 1)) as usize }
    }

    /// Whether this one may wait for the other: the older one waits, so nobody waits in a circle.
    pub fn precedes(self, other: Self) -> bool {
        (self.age, self.session) < (other.age, other.session)
    }
}

/// The table.
#[derive(Debug)]
pub struct Locks {
    words: ZeroedArray<AtomicU64>,
}

impl Locks {
    /// A table of `words`, a power of two. All rows were changed by `commit` at the latest.
    ///
    /// # Errors
    /// Where there is no memory for it.
    pub fn new(words: usize, commit: u64) -> Result<Self, BufferError> {
        assert!(words.is_power_of_two(), "{words} is no power of two");
        let words = ZeroedArray::<AtomicU64>::zeros(words)?;
        words.iter().for_each(|word| word.store(commit, Relaxed));
        Ok(Self { words })
    }

    /// The word of a hash.
    #[inline]
    pub fn word(&self, hash: u64) -> u32 {
        (hash & (self.words.len() as u64 - 1)) as u32
    }

    /// Takes a lock: the newest commit under it, or who has it.
    #[inline]
    pub fn lock(&self, word: u32, holder: Holder) -> Result<u64, Holder> {
        let seen = self.words[word as usize].load(SeqCst);
        if seen & LOCKED != 0 {
            return Err(Holder::of(seen));
        }
        match self.words[word as usize].compare_exchange(seen, holder.word(), SeqCst, SeqCst) {
            Ok(commit) => Ok(commit),
            Err(now) if now & LOCKED != 0 => Err(Holder::of(now)),
            Err(_) => self.lock(word, holder),
        }
    }

    /// Gives a lock back; `commit` is the newest under it now. Who finds the word unlocked sees all that came before; who
    /// does not yet finds it locked.
    #[inline]
    pub fn unlock(&self, word: u32, commit: u64) {
        self.words[word as usize].store(commit, Release);
    }

    /// Asks the processor for a word.
    #[inline]
    pub fn expect(&self, word: u32) {
        #[cfg(target_arch = "x86_64")]
        {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            let word = &self.words[word as usize];
            // SAFETY: a prefetch reads nothing that the program sees.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(word).cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = word;
    }

    /// The newest commit under a word; none while it is locked.
    #[inline]
    pub fn newest(&self, word: u32) -> Option<u64> {
        let seen = self.words[word as usize].load(SeqCst);
        (seen & LOCKED == 0).then_some(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_says_who_has_it_and_when_its_rows_were_changed() {
        let locks = Locks::new(16, 3).unwrap();
        let (old, young) = (Holder { age: 8, session: 1023 }, Holder { age: 9, session: 0 });
        assert_eq!(locks.lock(5, young), Ok(3));
        assert_eq!(locks.lock(5, old), Err(young));
        assert_eq!(locks.newest(5), None);
        locks.unlock(5, 12);
        assert_eq!(locks.newest(5), Some(12));
        assert!(old.precedes(young) && !young.precedes(old) && !old.precedes(old));
    }
}
