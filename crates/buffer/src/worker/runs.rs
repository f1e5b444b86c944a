//! Reads of many pages ahead of demand: those that are neighbours on the disk come by one request.
//!
//! Frames are taken together and given out in order, as pages are by where they lie: what was read together leaves
//! together, so that mostly neighbours on the disk become neighbours in memory, and are read straight into their frames.
//! Where frames lie too scattered for that, a run is read into a stretch of memory behind the frames and copied from there.
//! Stretches are the pool's; where none is left, each part is read by itself. A run that fails is read again page by page,
//! so that an error hits the pages that have it.

use rustix::io::Errno;

use super::{Token, Worker};
use crate::{
    PageId,
    disk::{Action, DiskRequest},
    pool::{format::STRETCH_BYTES, locked},
};

/// A page that somebody began to load, and where it lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    pub slot: u64,
    pub page: PageId,
    pub frame: u32,
}

/// A run is cut where frames are no neighbours, if its parts have so many pages on average.
const PAGES_PER_PART: usize = 4;

/// A request for several pages.
#[derive(Debug, Default)]
struct PageRun {
    /// Where it is read to, if not into the frames of its pages.
    stretch: Option<u32>,
    /// The reads of its pages, in the order of their slots.
    reads: Vec<u32>,
}

/// The runs of a worker, and memory to make them.
#[derive(Debug, Default)]
pub(super) struct Runs {
    runs: Vec<PageRun>,
    unused: Vec<u32>,
    wanted: Vec<Wanted>,
    frames: Vec<u32>,
}

impl Runs {
    fn add(&mut self, stretch: Option<u32>, reads: impl Iterator<Item = u32>) -> u32 {
        let index = self.unused.pop().unwrap_or_else(|| {
            self.runs.push(PageRun::default());
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
        self.claim_all(pages, &mut wanted);
        wanted.sort_unstable_by_key(|wanted| wanted.slot);
        let most = (STRETCH_BYTES >> self.pool.shift).max(1);
        for run in wanted.chunk_by(|one, next| one.slot + 1 == next.slot) {
            run.chunks(most).for_each(|part| self.read_run(part));
        }
        self.runs.borrow_mut().wanted = wanted;
    }

    /// Claims reads of pages that are not in memory, in the order in which they lie, into frames in their order.
    fn claim_all(&self, pages: &[PageId], wanted: &mut Vec<Wanted>) {
        let mut frames = std::mem::take(&mut self.runs.borrow_mut().frames);
        let absent = pages.iter().filter(|&&page| self.is_absent(page));
        wanted.clear();
        wanted.extend(absent.map(|&page| Wanted { slot: self.slot(page).unwrap_or_default(), page, frame: 0 }));
        wanted.sort_unstable_by_key(|wanted| wanted.slot);
        frames.clear();
        frames.extend((0..wanted.len()).map_while(|_| self.take_frame()));
        frames.sort_unstable_by(|one, other| other.cmp(one));
        wanted.retain_mut(|wanted| {
            let Some(frame) = frames.pop() else { return false };
            let claimed = self.claim_into(wanted.page, frame, false);
            claimed.map(|claimed| *wanted = claimed).is_ok()
        });
        self.runs.borrow_mut().frames = frames;
    }

    /// Reads pages that lie one behind the other.
    fn read_run(&self, run: &[Wanted]) {
        let parts = || run.chunk_by(|one, next| one.frame + 1 == next.frame);
        let scattered = parts().count() * PAGES_PER_PART > run.len();
        let stretch = (scattered && run.len() > 1).then(|| locked(&self.pool.stretches).pop()).flatten();
        match stretch {
            Some(stretch) => self.read_to(run, Some(stretch)),
            None => parts().for_each(|part| match part {
                [wanted] => _ = self.read_alone(*wanted, false),
                _ => self.read_to(part, None),
            }),
        }
    }

    /// Reads a run to a stretch, or into its frames, which are neighbours.
    fn read_to(&self, run: &[Wanted], stretch: Option<u32>) {
        let index = self.runs.borrow_mut().add(stretch, run.iter().map(|&wanted| self.fly(wanted, false)));
        let frames = (run[0].frame as usize) << self.pool.shift;
        let request = DiskRequest {
            action: Action::Read,
            offset: self.pool.slot_offset(run[0].slot),
            memory: stretch.map_or(frames, |stretch| self.pool.stretch(stretch)),
            bytes: (run.len() << self.pool.shift) as u32,
            token: Token::Run(index).encode(),
        };
        // SAFETY: the stretch is this run's until it has ended; the frames belong to pages that are loading, so nobody looks
        // at them until then.
        unsafe { self.push(request) };
    }

    /// The request of a run has ended.
    pub(super) fn end_run(&self, index: u32, result: Result<(), Errno>) {
        let PageRun { stretch, reads } = std::mem::take(&mut self.runs.borrow_mut().runs[index as usize]);
        for (at, &read) in reads.iter().enumerate() {
            let Some(wanted) = self.flying(read) else { continue };
            if result.is_err() {
                self.ask_alone(wanted, read);
                continue;
            }
            if let Some(stretch) = stretch {
                self.bring_over(stretch, at, wanted.frame);
            }
            self.end_read(read, Ok(()));
        }
        locked(&self.pool.stretches).extend(stretch);
        let mut runs = self.runs.borrow_mut();
        runs.runs[index as usize].reads = reads;
        runs.unused.push(index);
    }

    /// Copies a page of a stretch that was read into its frame.
    fn bring_over(&self, stretch: u32, at: usize, frame: u32) {
        let bytes = self.pool.page_bytes();
        self.tally.count(|counters| counters.copied += 1);
        // SAFETY: the stretch was read completely and is this run's; the frame belongs to a page that is loading, which
        // nobody looks at.
        unsafe {
            let page = self.pool.memory.start().add(self.pool.stretch(stretch) + at * bytes);
            std::ptr::copy_nonoverlapping(page, self.pool.frame(frame), bytes);
        }
    }
}
