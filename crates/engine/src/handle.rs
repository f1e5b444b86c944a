//! A thread's way to the tables.

use std::cell::RefCell;

use assay_btree::{Approach, Change, Entries, Finger, Glance, LANES, Range, Scratch};
use assay_buffer::{Pool, Worker, Writing};

use crate::{
    core::Goal,
    error::{EngineError, Result},
    forest::Forest,
    log::Pace,
    scheduler::Scheduler,
    session::Session,
    shared::Shared,
    trees::{Decide, Decision, Trees},
};

/// A worker of one's own, or the one of a scheduler.
enum Held<'d> {
    Own(Box<Worker<'d>>),
    Scheduler(&'d Scheduler<'d>),
}

/// A thread's way to the tables.
pub struct Handle<'d> {
    held: Held<'d>,
    forest: &'d Forest,
    /// None during a recovery, when there are no transactions.
    shared: Option<&'d Shared>,
    scratch: RefCell<Scratch>,
}

impl<'d> Handle<'d> {
    /// With a worker of its own.
    pub(crate) fn of(shared: &'d Shared) -> Result<Self> {
        let held = Held::Own(Box::new(shared.pool.brief_worker()?));
        Ok(Self { held, forest: &shared.forest, shared: Some(shared), scratch: RefCell::default() })
    }

    /// On a scheduler's worker, for one of its tasks.
    pub(crate) fn on(shared: &'d Shared, scheduler: &'d Scheduler<'d>) -> Self {
        Self {
            held: Held::Scheduler(scheduler),
            forest: &shared.forest,
            shared: Some(shared),
            scratch: RefCell::default(),
        }
    }

    /// For a recovery.
    pub(crate) fn recovering(pool: &'d Pool, forest: &'d Forest) -> Result<Self> {
        let held = Held::Own(Box::new(pool.brief_worker()?));
        Ok(Self { held, forest, shared: None, scratch: RefCell::default() })
    }

    /// The worker beneath.
    #[inline]
    pub fn worker(&self) -> &Worker<'d> {
        match &self.held {
            Held::Own(worker) => worker,
            Held::Scheduler(scheduler) => scheduler.worker(),
        }
    }
}

impl Trees for Handle<'_> {
    type Permit<'a>
        = Writing<'a>
    where
        Self: 'a;

    #[inline]
    fn read(&self, table: u16, key: &[u8], finger: &mut Finger, copy: impl FnMut(&[u8])) -> Result<bool> {
        self.forest.tree(table)?.lookup_with(self.worker(), key, finger, copy).map_err(EngineError::from)
    }

    #[inline]
    fn replace(
        &self,
        permit: &Writing<'_>,
        table: u16,
        row: (&[u8], &[u8]),
        finger: &mut Finger,
        replaced: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<()> {
        self.forest.tree(table)?.replace(self.worker(), permit, row, finger, replaced).map_err(EngineError::from)
    }

    #[inline]
    fn permit(&self) -> Writing<'_> {
        self.worker().write()
    }

    fn change(&self, permit: &Writing<'_>, table: u16, key: &[u8], decide: &mut Decide<'_>) -> Result<()> {
        let changed =
            self.forest.tree(table)?.alter(self.worker(), permit, key, &mut |old, row| match decide(old, row) {
                Decision::Keep => Change::Keep,
                Decision::Put => Change::Put,
                Decision::Remove => Change::Remove,
            });
        changed.map(drop).map_err(EngineError::from)
    }

    fn scan(
        &self,
        table: u16,
        (from, below): (&[u8], &[u8]),
        down: bool,
        limit: usize,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let tree = self.forest.tree(table)?;
        // Taken, not borrowed: another scan of this hand may begin while this one waits.
        let mut scratch = self.scratch.take();
        let mut left = limit;
        let mut begun = !down;
        let mut inside = |key: &[u8], row: &[u8]| {
            // A scan down begins at `below` itself, if it is there, which is not asked for.
            if !std::mem::replace(&mut begun, true) && key >= below {
                return true;
            }
            let inside = left > 0 && if down { key >= from } else { key < below };
            if !inside || !visit(key, row) {
                return false;
            }
            left -= 1;
            left > 0
        };
        let visited = if down {
            tree.scan_back_with(self.worker(), &mut scratch, Some(below), (limit as u64).saturating_add(1), &mut inside)
        } else {
            tree.scan_with(self.worker(), &mut scratch, from, limit as u64, &mut inside)
        };
        self.scratch.replace(scratch);
        visited.map(drop).map_err(EngineError::from)
    }

    fn goes_on(&self, start: &[u8]) -> bool {
        self.scratch.try_borrow().is_ok_and(|scratch| scratch.goes_on(start))
    }

    fn glance(
        &self,
        table: u16,
        range: Range<'_>,
        finger: Finger,
        into: &mut Entries,
        bound: &mut Vec<u8>,
    ) -> Result<Glance> {
        self.forest.tree(table)?.glance(self.worker(), range, finger, into, bound).map_err(EngineError::from)
    }

    fn approach(&self, keys: &mut dyn Iterator<Item = (u16, &[u8])>, fingers: &mut Vec<Finger>) {
        let Some(first) = self.forest.first() else { return };
        let mut some = [Approach { tree: first, key: &[] }; LANES];
        let mut count = 0;
        for (place, (table, key)) in some.iter_mut().zip(keys) {
            let Ok(tree) = self.forest.tree(table) else { break };
            *place = Approach { tree, key };
            count += 1;
        }
        // Outside of a task nobody would take in what was read in vain; a recovery needs all that it asks for.
        let fetch = self.cooperates() || self.shared.is_none();
        Approach::all(self.worker(), &some[..count], fetch, fingers);
    }

    fn settle(&self) -> Result<()> {
        Ok(self.worker().settle()?)
    }

    fn pause(&self) {
        self.worker().pause();
    }

    fn take_turns(&self) {
        self.worker().take_turns();
    }

    fn cooperates(&self) -> bool {
        self.worker().is_in_task()
    }

    fn park_until(&self, goal: Goal) -> bool {
        let Held::Scheduler(scheduler) = &self.held else { return false };
        scheduler.park_until(goal)
    }

    fn log(&self) -> Option<usize> {
        match &self.held {
            Held::Own(_) => None,
            Held::Scheduler(scheduler) => Some(scheduler.log()),
        }
    }

    fn need_checkpoint(&self) -> Result<()> {
        let Some(shared) = self.shared else { return Ok(()) };
        if shared.pace == Pace::Asked {
            return shared.checkpoint(self.worker(), false);
        }
        shared.ring();
        self.pause();
        Ok(())
    }
}

impl Scheduler<'_> {
    /// A session for one of the tasks, which is made and used in that task.
    ///
    /// # Errors
    /// Where there are too many.
    pub fn session(&self) -> Result<Session<'_, Handle<'_>>> {
        let shared = self.shared();
        Session::new(&shared.core, Handle::on(shared, self))
    }
}
