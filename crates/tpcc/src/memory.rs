//! A key-value store in memory, for tests of what stands above it: snapshot isolation in its plainest form.

use std::{
    collections::BTreeMap,
    ops::{Bound, ControlFlow},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    error::{Result, TpccError},
    key::Table,
    kv::{Kv, KvSession},
};

type Place = (Table, Vec<u8>);
/// Values by commit, oldest first; none where it was deleted.
type Versions = Vec<(u64, Option<Vec<u8>>)>;

#[derive(Debug, Default)]
struct Data {
    rows: BTreeMap<Place, Versions>,
    commits: u64,
}

/// The store.
#[derive(Debug, Default)]
pub struct MemoryKv {
    data: Mutex<Data>,
}

impl MemoryKv {
    fn data(&self) -> MutexGuard<'_, Data> {
        self.data.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kv for MemoryKv {
    type Session<'a> = MemorySession<'a>;

    fn session(&self) -> Result<MemorySession<'_>> {
        Ok(MemorySession { store: self, snapshot: 0, changes: BTreeMap::new() })
    }
}

/// A session of a [`MemoryKv`].
#[derive(Debug)]
pub struct MemorySession<'a> {
    store: &'a MemoryKv,
    snapshot: u64,
    changes: BTreeMap<Place, Option<Vec<u8>>>,
}

fn seen_at(versions: &Versions, snapshot: u64) -> Option<&Vec<u8>> {
    versions.iter().rev().find(|(commit, _)| *commit <= snapshot)?.1.as_ref()
}

impl MemorySession<'_> {
    fn value(&self, place: &Place) -> Option<Vec<u8>> {
        match self.changes.get(place) {
            Some(changed) => changed.clone(),
            None => seen_at(self.store.data().rows.get(place)?, self.snapshot).cloned(),
        }
    }

    fn entries(&self, table: Table, from: &[u8], below: &[u8]) -> Vec<(Vec<u8>, Vec<u8>)> {
        if from >= below {
            return Vec::new();
        }
        let range = (Bound::Included((table, from.to_vec())), Bound::Excluded((table, below.to_vec())));
        let data = self.store.data();
        let committed = data.rows.range(range.clone());
        let mut merged: BTreeMap<Vec<u8>, Option<Vec<u8>>> =
            committed.map(|((_, key), versions)| (key.clone(), seen_at(versions, self.snapshot).cloned())).collect();
        merged.extend(self.changes.range(range).map(|((_, key), value)| (key.clone(), value.clone())));
        merged.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }
}

impl KvSession for MemorySession<'_> {
    fn begin(&mut self, _read_only: bool) -> Result<()> {
        self.changes.clear();
        self.snapshot = self.store.data().commits;
        Ok(())
    }

    fn get<R>(&mut self, table: Table, key: &[u8], read: impl FnOnce(&[u8]) -> R) -> Result<Option<R>> {
        Ok(self.value(&(table, key.to_vec())).map(|value| read(&value)))
    }

    fn put(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        self.changes.insert((table, key.to_vec()), Some(value.to_vec()));
        Ok(())
    }

    fn delete(&mut self, table: Table, key: &[u8]) -> Result<bool> {
        let place = (table, key.to_vec());
        let was_there = self.value(&place).is_some();
        self.changes.insert(place, None);
        Ok(was_there)
    }

    fn scan(
        &mut self,
        table: Table,
        from: &[u8],
        below: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let entries = self.entries(table, from, below);
        let _ = entries.iter().try_for_each(|(key, value)| visit(key, value));
        Ok(())
    }

    fn scan_back(
        &mut self,
        table: Table,
        from: &[u8],
        below: &[u8],
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<()> {
        let entries = self.entries(table, from, below);
        let _ = entries.iter().rev().try_for_each(|(key, value)| visit(key, value));
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        let mut data = self.store.data();
        let newer = |place: &Place| {
            data.rows.get(place).and_then(|versions| versions.last()).is_some_and(|last| last.0 > self.snapshot)
        };
        if self.changes.keys().any(newer) {
            return Err(TpccError::Conflict);
        }
        data.commits += 1;
        let commit = data.commits;
        for (place, value) in std::mem::take(&mut self.changes) {
            data.rows.entry(place).or_default().push((commit, value));
        }
        Ok(())
    }

    fn abort(&mut self) -> Result<()> {
        self.changes.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(session: &mut MemorySession<'_>, key: u8, value: u8) {
        session.put(Table::Item, &[key], &[value]).unwrap();
    }

    fn get(session: &mut MemorySession<'_>, key: u8) -> Option<u8> {
        session.get(Table::Item, &[key], |value| value[0]).unwrap()
    }

    #[test]
    fn a_transaction_sees_its_snapshot_and_its_own_changes() {
        let store = MemoryKv::default();
        let (mut a, mut b) = (store.session().unwrap(), store.session().unwrap());
        a.begin(false).unwrap();
        put(&mut a, 1, 10);
        put(&mut a, 2, 20);
        a.commit().unwrap();
        a.begin(false).unwrap();
        b.begin(false).unwrap();
        put(&mut b, 1, 11);
        assert!(b.delete(Table::Item, &[2]).unwrap());
        assert_eq!((get(&mut b, 1), get(&mut b, 2)), (Some(11), None));
        b.commit().unwrap();
        assert_eq!((get(&mut a, 1), get(&mut a, 2)), (Some(10), Some(20)));
        let mut keys = Vec::new();
        a.scan_back(Table::Item, &[0], &[9], |key, _| {
            keys.push(key[0]);
            ControlFlow::Continue(())
        })
        .unwrap();
        assert_eq!(keys, [2, 1]);
    }

    #[test]
    fn of_two_that_change_one_row_the_second_to_commit_meets_a_conflict() {
        let store = MemoryKv::default();
        let (mut a, mut b) = (store.session().unwrap(), store.session().unwrap());
        a.begin(false).unwrap();
        b.begin(false).unwrap();
        put(&mut a, 1, 1);
        put(&mut b, 1, 2);
        a.commit().unwrap();
        assert!(matches!(b.commit(), Err(TpccError::Conflict)));
        b.abort().unwrap();
        b.begin(true).unwrap();
        assert_eq!(get(&mut b, 1), Some(1));
    }
}
