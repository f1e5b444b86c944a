//! Many operations from one thread with their reads in flight together, without tasks: each is attempted until it misses a
//! page, and again when that page may be there.

use super::{Attempt, Stop, Worker};
use crate::{BufferError, PageId};

/// Operations that are under way together at most.
const TOGETHER: usize = 128;

/// An operation that waits for a page.
struct Waiting {
    position: usize,
    page: PageId,
    tries: u32,
}

impl Worker<'_> {
    /// Calls `attempt` with each position below `count` until it succeeds there, in any order.
    ///
    /// # Errors
    /// As [`Worker::retry`]: the rest is not attempted.
    pub fn retry_many(&self, count: usize, attempt: &mut dyn FnMut(usize) -> Attempt<()>) -> Result<(), BufferError> {
        // Pages that are awaited must not push each other out.
        let together = TOGETHER.min(self.pool.frames() as usize / 8);
        let mut waiting: Vec<Waiting> = Vec::with_capacity(together.min(count));
        let mut next = 0;
        while next < count || !waiting.is_empty() {
            while next < count && waiting.len() < together {
                let mut entry = Waiting { position: next, page: 0, tries: 0 };
                next += 1;
                if !self.advance(&mut entry, attempt)? {
                    waiting.push(entry);
                }
            }
            if waiting.is_empty() {
                break;
            }
            self.wait_reads()?;
            let mut index = 0;
            while index < waiting.len() {
                let entry = &mut waiting[index];
                if !self.is_reading(entry.page) && self.advance(entry, attempt)? {
                    waiting.swap_remove(index);
                } else {
                    index += 1;
                }
            }
        }
        Ok(())
    }

    /// Takes an operation as far as it goes without waiting; `true` where it has ended.
    fn advance(&self, entry: &mut Waiting, attempt: &mut dyn FnMut(usize) -> Attempt<()>) -> Result<bool, BufferError> {
        loop {
            match attempt(entry.position) {
                Ok(()) => return Ok(true),
                // A page that was read ahead in vain was damaged or unreadable: waiting for it says which.
                Err(Stop::Missing(page)) if entry.page != page && (self.is_reading(page) || self.prefetch(page)) => {
                    entry.page = page;
                    return Ok(false);
                }
                Err(stop) => self.overcome(stop, &mut entry.tries)?,
            }
        }
    }
}
