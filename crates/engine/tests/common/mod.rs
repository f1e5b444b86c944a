//! Trees in plain memory: what transactions promise is tried on them without any disk.
#![allow(dead_code)]

use std::{
    collections::BTreeMap,
    sync::{Arc, RwLock},
};

use assay_engine::{
    Result,
    trees::{Decision, Trees},
};

type Map = BTreeMap<(u16, Vec<u8>), Vec<u8>>;

/// Trees in memory.
#[derive(Clone, Default)]
pub struct Memory {
    pub map: Arc<RwLock<Map>>,
}

impl Trees for Memory {
    type Leave<'a> = ();

    fn read<R>(&self, table: u16, key: &[u8], mut read: impl FnMut(&[u8]) -> R) -> Result<Option<R>> {
        Ok(self.map.read().unwrap().get(&(table, key.to_vec())).map(|row| read(row)))
    }

    fn leave(&self) {}

    fn change<'d>(
        &self,
        _leave: &(),
        table: u16,
        key: &[u8],
        mut decide: impl FnMut(Option<&[u8]>) -> Decision<'d>,
    ) -> Result<()> {
        let mut map = self.map.write().unwrap();
        let place = (table, key.to_vec());
        match decide(map.get(&place).map(Vec::as_slice)) {
            Decision::Keep => {}
            Decision::Put(row) => drop(map.insert(place, row.to_vec())),
            Decision::Remove => drop(map.remove(&place)),
        }
        Ok(())
    }

    fn scan(
        &self,
        table: u16,
        from: &[u8],
        below: &[u8],
        down: bool,
        mut visit: impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let map = self.map.read().unwrap();
        let mut range = map.range((table, from.to_vec())..(table, below.to_vec()));
        loop {
            let next = if down { range.next_back() } else { range.next() };
            let Some(((_, key), row)) = next else { return Ok(()) };
            if !visit(key, row) {
                return Ok(());
            }
        }
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
