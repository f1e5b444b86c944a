//! Finding entries, one at a time or many at once.

use assay_buffer::{Attempt, PageId, Stop, Worker};

use super::{Tree, chain, under};
use crate::{
    TreeError,
    node::{Value, View},
};

/// Look-ups that are under way together at most.
const TOGETHER: usize = 128;

/// A look-up that waits for a page.
struct Waiting {
    position: usize,
    page: PageId,
    tries: u32,
}

impl Tree {
    /// Puts the value of a key into `value`, which is cleared first; `false` where the key is not there.
    ///
    /// # Errors
    /// Where the key cannot be one, or a page cannot be read.
    #[inline]
    pub fn lookup(&self, worker: &Worker<'_>, key: &[u8], value: &mut Vec<u8>) -> Result<bool, TreeError> {
        self.check_key(key)?;
        Ok(worker.retry(|| self.try_lookup(worker, key, value))?)
    }

    /// One attempt at [`Tree::lookup`], for those who wait in a way of their own.
    ///
    /// # Errors
    /// What stands in the way.
    #[inline]
    pub fn try_lookup(&self, worker: &Worker<'_>, key: &[u8], value: &mut Vec<u8>) -> Attempt<bool> {
        let leaf = self.leaf(worker, key)?;
        let found = leaf.read(|page| {
            let view = View(page);
            let found = view.find(key);
            found.exact.then(|| match view.value(found.slot) {
                Value::Here(bytes) => {
                    value.clear();
                    value.extend_from_slice(bytes);
                    None
                }
                Value::Elsewhere { bytes, first } => Some((bytes, first)),
            })
        })?;
        if let Some(Some((bytes, first))) = found {
            value.clear();
            under(&leaf, chain::read(worker, first, bytes, value))?;
        }
        Ok(found.is_some())
    }

    /// Looks several keys up with their reads in flight together, from one thread and without tasks. `found` is called with
    /// the position and the value of each key that is there, in any order.
    ///
    /// # Errors
    /// As [`Tree::lookup`].
    pub fn lookup_many(
        &self,
        worker: &Worker<'_>,
        keys: &[&[u8]],
        found: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<(), TreeError> {
        let mut value = Vec::new();
        let mut waiting: Vec<Waiting> = Vec::with_capacity(TOGETHER);
        let mut next = 0;
        while next < keys.len() || !waiting.is_empty() {
            while next < keys.len() && waiting.len() < TOGETHER {
                self.check_key(keys[next])?;
                let mut entry = Waiting { position: next, page: 0, tries: 0 };
                next += 1;
                if !self.advance(worker, keys, &mut entry, &mut value, found)? {
                    waiting.push(entry);
                }
            }
            if waiting.is_empty() {
                break;
            }
            worker.wait_reads()?;
            let mut index = 0;
            while index < waiting.len() {
                let entry = &mut waiting[index];
                let ready = entry.page == 0 || !worker.is_reading(entry.page);
                if ready && self.advance(worker, keys, entry, &mut value, found)? {
                    waiting.swap_remove(index);
                } else {
                    index += 1;
                }
            }
        }
        Ok(())
    }

    /// Takes a look-up as far as it goes without waiting; `true` where it has ended.
    fn advance(
        &self,
        worker: &Worker<'_>,
        keys: &[&[u8]],
        entry: &mut Waiting,
        value: &mut Vec<u8>,
        found: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<bool, TreeError> {
        loop {
            match self.try_lookup(worker, keys[entry.position], value) {
                Ok(there) => {
                    if there {
                        found(entry.position, value);
                    }
                    return Ok(true);
                }
                // A page that was read ahead in vain was damaged or unreadable: waiting for it says which.
                Err(Stop::Missing(page))
                    if entry.page != page && (worker.is_reading(page) || worker.prefetch(page)) =>
                {
                    entry.page = page;
                    return Ok(false);
                }
                Err(stop) => worker.overcome(stop, &mut entry.tries)?,
            }
        }
    }
}
