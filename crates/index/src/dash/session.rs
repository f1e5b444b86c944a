//! A thread's way in.

use std::sync::atomic::Ordering;

use assay_pmem::{Guard, Medium, pin};

use super::{
    check::Filling, directory::Directory, entry::EntryKey, hash::Hash, quick::Quick, quick_change::Removal, table::Dash,
};
use crate::{
    error::IndexError,
    index::{Index, Session, Visit},
    patience::has_room_now,
};

/// Operations between two looks at what other threads have freed.
const OPERATIONS_PER_PIN: u32 = 64;

/// A thread's way into a table.
///
/// Blocks that anybody frees are used again only when every session that was there has done 64 operations more, or was
/// dropped: keep no idle session while others work.
#[derive(Debug)]
pub struct DashSession<'t, M: Medium, D: Directory> {
    table: &'t Dash<M, D>,
    guard: Guard,
    left: u32,
}

/// What a panic left half done must not pass for a table that was closed.
impl<M: Medium, D: Directory> Drop for DashSession<'_, M, D> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.table.torn.store(true, Ordering::Relaxed);
        }
    }
}

impl<M: Medium, D: Directory> Index for Dash<M, D> {
    type Session<'a> = DashSession<'a, M, D>;

    fn session(&self) -> Self::Session<'_> {
        DashSession { table: self, guard: pin(), left: OPERATIONS_PER_PIN }
    }

    fn used_bytes(&self) -> u64 {
        self.pool().usage().map_or(0, |usage| usage.allocated_bytes)
    }

    fn anatomy(&self) -> Vec<(&'static str, f64)> {
        let filling = self.filling();
        let share = |records: u64| records as f64 / filling.records.max(1) as f64;
        vec![
            ("segments", filling.segments as f64),
            ("load_factor_ratio", filling.load_factor()),
            ("in_stash_ratio", share(filling.in_stash + filling.in_chain)),
            ("by_pointer_ratio", share(filling.by_pointer)),
        ]
    }

    fn examine(&self) -> Option<Result<String, String>> {
        let sentence = |filling: Filling| {
            format!(
                "{} records in {} segments, each where it belongs, and no block lost",
                filling.records, filling.segments
            )
        };
        Some(self.verify().map(sentence))
    }
}

impl<M: Medium, D: Directory> DashSession<'_, M, D> {
    /// The value of a key where both have 8 bytes, which are read as little-endian words; none where the key is not there,
    /// or has another kind of value.
    #[inline]
    pub fn get(&mut self, key: u64) -> Option<u64> {
        self.tick();
        match self.table.quick(key, Hash::of_word(key)) {
            Quick::Found(value) => Some(value),
            Quick::Missing => None,
            Quick::Unsure => self.get_slowly(key),
        }
    }

    #[cold]
    #[inline(never)]
    fn get_slowly(&self, key: u64) -> Option<u64> {
        let bytes = key.to_le_bytes();
        let found = self.table.find(&EntryKey::new(&bytes))?;
        (!found.record.pointer).then_some(found.record.value)
    }

    #[inline(never)]
    fn lookup_slowly(&self, key: &[u8], value: &mut Vec<u8>) -> bool {
        let Some(found) = self.table.find(&EntryKey::new(key)) else { return false };
        self.table.append_value(&found.record, value);
        true
    }

    #[inline(never)]
    fn insert_slowly(&mut self, key: &EntryKey<'_>, value: &[u8]) -> Result<bool, IndexError> {
        key.check(value)?;
        self.with_room(|table| table.insert(key, value))
    }

    #[inline(never)]
    fn update_slowly(&mut self, key: &EntryKey<'_>, value: &[u8]) -> Result<bool, IndexError> {
        key.check(value)?;
        self.with_room(|table| table.update(key, value))
    }

    #[inline(never)]
    fn remove_slowly(&mut self, key: &EntryKey<'_>) -> Result<bool, IndexError> {
        self.with_room(|table| table.remove(key))
    }

    /// A removal left its bucket empty.
    #[cold]
    #[inline(never)]
    fn after_emptying(&mut self, hash: Hash) -> Result<bool, IndexError> {
        D::emptied(self.table, hash)?;
        Ok(true)
    }

    #[inline(always)]
    fn tick(&mut self) {
        self.left -= 1;
        if self.left == 0 {
            self.guard.repin();
            self.left = OPERATIONS_PER_PIN;
        }
    }

    /// Where the pool is full of blocks that only wait for sessions that are at work, this one among them, they are had and
    /// it is tried once more.
    #[inline(always)]
    fn with_room<R>(&mut self, action: impl Fn(&Dash<M, D>) -> Result<R, IndexError>) -> Result<R, IndexError> {
        self.tick();
        match action(self.table) {
            Err(refused) if self.guard.repin_after(|| has_room_now(&refused)) => action(self.table),
            done => done,
        }
    }
}

impl<M: Medium, D: Directory> Session for DashSession<'_, M, D> {
    #[inline]
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        let key = EntryKey::new(key);
        if let Some(record) = key.inline(value) {
            self.tick();
            if let Some(added) = self.table.insert_quickly(key.hash, &record) {
                return Ok(added);
            }
        }
        self.insert_slowly(&key, value)
    }

    #[inline]
    fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        let key = EntryKey::new(key);
        if let Some(record) = key.inline(value) {
            self.tick();
            if let Some(there) = self.table.update_quickly(key.hash, &record) {
                return Ok(there);
            }
        }
        self.update_slowly(&key, value)
    }

    fn upsert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        loop {
            if self.update(key, value)? {
                return Ok(false);
            }
            if self.insert(key, value)? {
                return Ok(true);
            }
        }
    }

    #[inline(always)]
    fn lookup(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, IndexError> {
        self.tick();
        let quick = match key.try_into().map(u64::from_le_bytes) {
            Ok(word) => self.table.quick(word, Hash::of_word(word)),
            Err(_) => Quick::Unsure,
        };
        if let Quick::Found(word) = quick {
            put(value, word);
            return Ok(true);
        }
        value.clear();
        Ok(quick == Quick::Unsure && self.lookup_slowly(key, value))
    }

    #[inline]
    fn remove(&mut self, key: &[u8]) -> Result<bool, IndexError> {
        let key = EntryKey::new(key);
        if let Some(word) = key.word {
            self.tick();
            match self.table.remove_quickly(word, key.hash) {
                Some(Removal::Missing) => return Ok(false),
                Some(Removal::Removed) => return Ok(true),
                Some(Removal::Emptied) => return self.after_emptying(key.hash),
                None => {}
            }
        }
        self.remove_slowly(&key)
    }

    fn scan(&mut self, _: &[u8], _: usize, _: &mut Visit<'_>) -> Result<usize, IndexError> {
        Err(IndexError::Unsupported { index: D::NAME, operation: "order, and so no scan" })
    }
}

/// A value of 8 bytes; where one is there already, nobody has to look whether there is room.
#[inline(always)]
fn put(value: &mut Vec<u8>, word: u64) {
    match <&mut [u8; 8]>::try_from(value.as_mut_slice()) {
        Ok(place) => *place = word.to_le_bytes(),
        Err(_) => {
            value.clear();
            value.extend_from_slice(&word.to_le_bytes());
        }
    }
}
