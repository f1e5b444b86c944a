//! Reads of many pages ahead of demand: those that are neighbours on the disk come by one request.
//!
//! A run is read into a stretch of memory behind the frames and copied from there into the frames of its pages when it
//! has come: a request then costs what one of its size costs, whatever frames are free. Stretches are the pool's; where none
//! is left, each page is read by itself. A run that fails is read again page by page, so that an error hits the pages that
//! have it.

use rustix::io::Errno;

use super::{Token, Worker};
use crate::{
    PageId,
    disk::{Action, Request},
    pool::{format::STRETCH_BYTES, locked},
};

/// A page that somebody began to load, and where it lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub slot: u64,
    pub page: PageId,
    pub frame: u32,
}

/// A request for several pages.
#[derive(Debug, Default)]
struct Run {
    stretch: u32,
    /// The reads of its pages, in the order of their slots.
    reads: Vec<u32>,
}

/// The runs of a worker, and memory to make them.
#[derive(Debug, Default)]
pub(super) struct Runs {
    runs: Vec<Run>,
    unused: Vec<u32>,
    wanted: Vec<Wanted>,
}

impl Runs {
    fn add(&mut self, stretch: u32, reads: impl Iterator<Item = u32>) -> u32 {
        let index = self.unused.pop().unwrap_or_else(|| {
            self.runs.push(Run::default());
            self.runs.len() as u32 - 1
        });
        let run = &mut self.runs[index as usize];
        run.stretch = stretch;
        run.reads.clear();
        run.reads.extend(reads);
        index
    }
}

impl Worker<'_> {
    /// Begins to read the pages of a list that are not in memory, as [`Worker::prefetch`]; pages that lie one behind the
    /// other on the disk are read by one request. Stops at the first for which there is no frame.
    pub fn prefetch_all(&self, pages: &[PageId]) {
        let mut wanted = std::mem::take(&mut self.runs.borrow_mut().wanted);
        wanted.clear();
        for &page in pages.iter().filter(|&&page| self.is_absent(page)) {
            match self.claim_read(page, false) {
                Ok(claimed) => wanted.push(claimed),
                Err(super::reads::Begun::NoFrame) => break,
                Err(_) => {}
            }
        }
        wanted.sort_unstable_by_key(|wanted| wanted.slot);
        let most = (STRETCH_BYTES >> self.pool.shift).max(1);
        for run in wanted.chunk_by(|one, next| one.slot + 1 == next.slot) {
            run.chunks(most).for_each(|part| self.read_run(part));
        }
        self.runs.borrow_mut().wanted = wanted;
    }

    fn read_run(&self, run: &[Wanted]) {
        let stretch = (run.len() > 1).then(|| locked(&self.pool.stretches).pop()).flatten();
        let Some(stretch) = stretch else { return run.iter().for_each(|&wanted| _ = self.read_alone(wanted, false)) };
        let index = self.runs.borrow_mut().add(stretch, run.iter().map(|&wanted| self.fly(wanted, false)));
        let request = Request {
            action: Action::Read,
            offset: self.pool.slot_offset(run[0].slot),
            memory: self.pool.stretch(stretch),
            bytes: (run.len() << self.pool.shift) as u32,
            token: Token::Run(index).encode(),
        };
        // SAFETY: the stretch is this run's until it has ended.
        unsafe { self.push(request) };
    }

    /// The request of a run has ended.
    pub(super) fn end_run(&self, index: u32, result: Result<(), Errno>) {
        let Run { stretch, reads } = std::mem::take(&mut self.runs.borrow_mut().runs[index as usize]);
        let from = self.pool.stretch(stretch);
        for (at, &read) in reads.iter().enumerate() {
            let Some(wanted) = self.flying(read) else { continue };
            if result.is_err() {
                self.ask_alone(wanted, read);
                continue;
            }
            let bytes = self.pool.page_bytes();
            // SAFETY: the stretch was read completely and is this run's; the frame belongs to a page that is loading, which
            // nobody looks at.
            unsafe {
                let page = self.pool.memory.start().add(from + at * bytes);
                std::ptr::copy_nonoverlapping(page, self.pool.frame(wanted.frame), bytes);
            }
            self.end_read(read, Ok(()));
        }
        locked(&self.pool.stretches).push(stretch);
        let mut runs = self.runs.borrow_mut();
        runs.runs[index as usize].reads = reads;
        runs.unused.push(index);
    }
}
