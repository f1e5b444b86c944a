//! Trees in plain memory: what transactions promise is tried on them without any disk.
#![allow(dead_code)]

use std::{
    collections::BTreeMap,
    sync::{Arc, RwLock},
};

use assay_btree::{Entries, Finger, Glance, Range};
use assay_engine::{
    Result,
    trees::{Decide, Decision, Trees},
};

type Map = BTreeMap<(u16, Vec<u8>), Vec<u8>>;

/// Rows that a glance sees at most, as if they were all of a leaf.
const LEAF: usize = 3;

/// Trees in memory.
#[derive(Clone, Default)]
pub struct Memory {
    pub map: Arc<RwLock<Map>>,
}

impl Trees for Memory {
    type Permit<'a> = ();

    fn read(&self, table: u16, key: &[u8], _finger: &mut Finger, mut copy: impl FnMut(&[u8])) -> Result<bool> {
        let map = self.map.read().unwrap();
        let found = map.get(&(table, key.to_vec()));
        found.into_iter().for_each(|row| copy(row));
        Ok(found.is_some())
    }

    fn replace(
        &self,
        _permit: &(),
        table: u16,
        (key, row): (&[u8], &[u8]),
        _finger: &mut Finger,
        replaced: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<()> {
        let mut map = self.map.write().unwrap();
        let place = (table, key.to_vec());
        replaced(map.get(&place).map(Vec::as_slice));
        map.insert(place, row.to_vec());
        Ok(())
    }

    fn permit(&self) {}

    fn change(&self, _permit: &(), table: u16, key: &[u8], decide: &mut Decide<'_>) -> Result<()> {
        let mut map = self.map.write().unwrap();
        let (place, mut row) = ((table, key.to_vec()), Vec::new());
        match decide(map.get(&place).map(Vec::as_slice), &mut row) {
            Decision::Keep => {}
            Decision::Put => drop(map.insert(place, row)),
            Decision::Remove => drop(map.remove(&place)),
        }
        Ok(())
    }

    fn scan(
        &self,
        table: u16,
        (from, below): (&[u8], &[u8]),
        down: bool,
        limit: usize,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let map = self.map.read().unwrap();
        let range = map.range((table, from.to_vec())..(table, below.to_vec()));
        let mut each = |(key, row): (&(u16, Vec<u8>), &Vec<u8>)| visit(&key.1, row);
        let _visited = if down { range.rev().take(limit).all(&mut each) } else { range.take(limit).all(&mut each) };
        Ok(())
    }

    fn glance(
        &self,
        table: u16,
        range: Range<'_>,
        _finger: Finger,
        into: &mut Entries,
        bound: &mut Vec<u8>,
    ) -> Result<Glance> {
        let (most, mut seen) = (range.limit.min(LEAF), 0);
        into.clear();
        self.scan(table, (range.from, range.below), range.down, most + 1, &mut |key, row| {
            seen += 1;
            if seen <= most {
                into.push((key, &[]), row);
                bound.clear();
                bound.extend_from_slice(key);
            }
            true
        })?;
        if !range.down {
            bound.push(0);
        }
        Ok(if seen > most { Glance::More } else { Glance::Ended })
    }

    fn pause(&self) {
        std::thread::yield_now();
    }

    fn cooperates(&self) -> bool {
        false
    }

    fn need_checkpoint(&self) -> Result<()> {
        Ok(())
    }
}
