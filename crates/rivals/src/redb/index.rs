//! redb as an index: every change is a transaction of its own.

use std::sync::atomic::Ordering::Acquire;

use assay_index::{Index, IndexError, KEY_BYTES_AT_MOST, Session, Visit};
use redb::{ReadOnlyTable, ReadableTable, Table};

use super::{Bytes, RedbStore, definition, table_of, told};
use crate::{
    error::{Result, RivalError},
    place::allocated_bytes,
};

impl Index for RedbStore {
    type Session<'a> = RedbSession<'a>;

    fn session(&self) -> RedbSession<'_> {
        RedbSession { db: self, seen: None }
    }

    fn used_bytes(&self) -> u64 {
        allocated_bytes(&self.folder)
    }
}

/// A thread's way into it.
pub struct RedbSession<'a> {
    db: &'a RedbStore,
    /// The newest snapshot's table, and the count of commits before it was taken: taken anew where one came later.
    seen: Option<(u64, ReadOnlyTable<Bytes, Bytes>)>,
}

fn check_key(key: &[u8]) -> Result<()> {
    if key.is_empty() || key.len() > KEY_BYTES_AT_MOST {
        return Err(RivalError::KeyLength { bytes: key.len(), most: KEY_BYTES_AT_MOST });
    }
    Ok(())
}

impl RedbSession<'_> {
    fn newest(&mut self) -> Result<&ReadOnlyTable<Bytes, Bytes>> {
        // In the middle of a commit some may see it and some not yet: then none goes by what it has.
        let commits = self.db.commits.load(Acquire);
        if commits % 2 == 1 || self.seen.as_ref().is_none_or(|(count, _)| *count != commits) {
            // The old one goes first: it keeps pages from being used again.
            self.seen = None;
            self.seen = Some((commits, table_of(&self.db.read()?, 0)?));
        }
        Ok(&self.seen.as_ref().expect("it was taken above").1)
    }

    /// Changes the table; commits where that did anything.
    fn change(
        &mut self,
        key: &[u8],
        act: impl FnOnce(&mut Table<'_, Bytes, Bytes>) -> Result<(bool, bool)>,
    ) -> Result<bool> {
        check_key(key)?;
        self.seen = None;
        let transaction = self.db.begin()?;
        let (changed, answer) = {
            let mut table = transaction.open_table(definition(0)).map_err(told)?;
            act(&mut table)?
        };
        if changed {
            self.db.commit(transaction)?;
        } else {
            transaction.abort().map_err(told)?;
        }
        Ok(answer)
    }
}

impl Session for RedbSession<'_> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<bool, IndexError> {
        Ok(self.change(key, |table| {
            let there = table.get(key).map_err(told)?.is_some();
            if !there {
                table.insert(key, value).map_err(told)?;
            }
            Ok((!there, !there))
        })?)
    }

    fn update(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<bool, IndexError> {
        Ok(self.change(key, |table| {
            let there = table.get(key).map_err(told)?.is_some();
            if there {
                table.insert(key, value).map_err(told)?;
            }
            Ok((there, there))
        })?)
    }

    fn upsert(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<bool, IndexError> {
        Ok(self.change(key, |table| {
            let added = table.insert(key, value).map_err(told)?.is_none();
            Ok((true, added))
        })?)
    }

    fn lookup(&mut self, key: &[u8], value: &mut Vec<u8>) -> std::result::Result<bool, IndexError> {
        check_key(key)?;
        value.clear();
        let found = self.newest()?.get(key).map_err(told)?;
        value.extend_from_slice(found.as_ref().map(redb::AccessGuard::value).unwrap_or_default());
        Ok(found.is_some())
    }

    fn remove(&mut self, key: &[u8]) -> std::result::Result<bool, IndexError> {
        Ok(self.change(key, |table| {
            let removed = table.remove(key).map_err(told)?.is_some();
            Ok((removed, removed))
        })?)
    }

    fn scan(&mut self, from: &[u8], limit: usize, visit: &mut Visit<'_>) -> std::result::Result<usize, IndexError> {
        let mut seen = 0;
        for entry in self.newest()?.range(from..).map_err(told)?.take(limit) {
            let (key, value) = entry.map_err(told)?;
            seen += 1;
            if !visit(key.value(), value.value()) {
                break;
            }
        }
        Ok(seen)
    }
}
