//! A thread's way into an index on a drive.

use assay_btree::{Tree, TreeError};
use assay_buffer::{Pool, Worker};

use super::HashTable;
use crate::{
    error::IndexError,
    index::{Moved, Session, Visit},
};

/// A worker of the pool, with the structure that it works on.
pub struct SsdSession<'a, S> {
    structure: &'a S,
    worker: Result<Worker<'a>, String>,
}

impl<'a, S> SsdSession<'a, S> {
    pub(super) fn new(structure: &'a S, pool: &'a Pool) -> Self {
        Self { structure, worker: pool.worker().map_err(|error| format!("{error}: {}", error.fix())) }
    }

    /// A session that got no worker says so at its first operation.
    fn worker(&self) -> Result<&Worker<'a>, IndexError> {
        self.worker.as_ref().map_err(|reason| IndexError::NotPossible {
            reason: reason.clone(),
            fix: "use fewer threads, or look at what the machine allows".to_owned(),
        })
    }
}

impl<S> SsdSession<'_, S> {
    fn pages(&self) -> Option<Moved> {
        let counters = self.worker.as_ref().ok()?.counters();
        Some(Moved {
            hits: counters.hits,
            read: counters.faults + counters.prefetched,
            written: counters.written,
            requests: counters.requests,
            depth_sum: counters.depth_sum,
        })
    }
}

impl From<TreeError> for IndexError {
    fn from(error: TreeError) -> Self {
        match error {
            TreeError::KeyLength { bytes, most } => Self::KeyLength { bytes, most },
            TreeError::ValueLength { bytes, most } => Self::ValueLength { bytes, most },
            error => Self::Drive(error),
        }
    }
}

impl Session for SsdSession<'_, Tree> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        let worker = self.worker()?;
        Ok(self.structure.insert(worker, &worker.write(), key, value)?)
    }

    fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        let worker = self.worker()?;
        Ok(self.structure.update(worker, &worker.write(), key, value)?)
    }

    fn upsert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        let worker = self.worker()?;
        Ok(self.structure.upsert(worker, &worker.write(), key, value)?)
    }

    fn lookup(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, IndexError> {
        Ok(self.structure.lookup(self.worker()?, key, value)?)
    }

    fn lookup_many(&mut self, keys: &[&[u8]], found: &mut dyn FnMut(usize, &[u8])) -> Result<(), IndexError> {
        Ok(self.structure.lookup_many(self.worker()?, keys, found)?)
    }

    fn moved(&self) -> Option<Moved> {
        self.pages()
    }

    fn remove(&mut self, key: &[u8]) -> Result<bool, IndexError> {
        let worker = self.worker()?;
        Ok(self.structure.remove(worker, &worker.write(), key)?)
    }

    fn scan(&mut self, from: &[u8], limit: usize, visit: &mut Visit<'_>) -> Result<usize, IndexError> {
        Ok(self.structure.scan(self.worker()?, from, limit as u64, visit)? as usize)
    }
}

impl Session for SsdSession<'_, HashTable> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Ok(self.structure.put(self.worker()?, key, value, |there| !there)?.wrote)
    }

    fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Ok(self.structure.put(self.worker()?, key, value, |there| there)?.wrote)
    }

    fn upsert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError> {
        Ok(!self.structure.put(self.worker()?, key, value, |_| true)?.was_there)
    }

    fn lookup(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, IndexError> {
        Ok(self.structure.lookup(self.worker()?, key, value)?)
    }

    fn lookup_many(&mut self, keys: &[&[u8]], found: &mut dyn FnMut(usize, &[u8])) -> Result<(), IndexError> {
        Ok(self.structure.lookup_many(self.worker()?, keys, found)?)
    }

    fn moved(&self) -> Option<Moved> {
        self.pages()
    }

    fn remove(&mut self, key: &[u8]) -> Result<bool, IndexError> {
        Ok(self.structure.remove(self.worker()?, key)?)
    }

    fn scan(&mut self, _: &[u8], _: usize, _: &mut Visit<'_>) -> Result<usize, IndexError> {
        Err(IndexError::Unsupported { index: "ssd-hash", operation: "order: it cannot scan" })
    }
}
