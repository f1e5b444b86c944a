//! Going through entries in order, or against it, with the pages to come being read.

use assay_buffer::{Attempt, Racy, Stop, Worker, disk::NONE};

use super::{
    Tree,
    ahead::Ahead,
    chain, under,
    way::{Way, child_towards},
};
use crate::{
    TreeError,
    node::{Value, View},
};

/// What pages are aligned to.
const ALIGNMENT: usize = 8;
/// A leaf of which so many entries are visited, and half of those it has, is copied as it is.
const MANY: usize = 8;
/// A scan of so many entries is read ahead from its first leaf on.
const LONG: u64 = 1000;

/// A scan is long that has gone through so many leaves.
const LEAVES_OF_A_LONG_ONE: usize = 8;

/// Memory of scans: entries of one leaf, copied out of it. Whoever keeps it scans without allocating.
#[derive(Debug, Default)]
pub struct Scratch {
    bytes: Vec<u8>,
    /// Ends of each key and its value in `bytes`.
    ends: Vec<(usize, usize)>,
    /// The leaf itself, where much of it is visited, and whether it is that or `bytes` that holds its entries.
    leaf: Copied,
    whole: bool,
    /// The key that is visited, of a leaf that was copied.
    key: Vec<u8>,
    /// Where the scan is: a key, or a fence.
    bound: Vec<u8>,
    /// Where it goes on; empty at the end.
    next: Vec<u8>,
    ahead: Ahead,
    /// Where the last scan ended, and how many leaves it had gone through: one that goes on there reads on.
    stopped: Vec<u8>,
    passed: usize,
}

/// A page that nobody else has.
#[derive(Debug, Default)]
struct Copied {
    bytes: Vec<u8>,
    length: usize,
}

impl Copied {
    fn take(&mut self, page: Racy<'_>) {
        self.length = page.len();
        self.bytes.resize(self.length + ALIGNMENT, 0);
        let at = self.at();
        self.bytes[at..at + self.length].copy_from_slice(page.slice(0, self.length));
    }

    fn at(&self) -> usize {
        self.bytes.as_ptr().align_offset(ALIGNMENT)
    }

    fn view(&self) -> View<'_> {
        View(Racy::of(&self.bytes[self.at()..self.at() + self.length]))
    }
}

impl Scratch {
    /// Whether a scan from here goes on with the last one, which was long: what comes was asked for already.
    pub fn goes_on(&self, from: &[u8]) -> bool {
        self.passed >= LEAVES_OF_A_LONG_ONE && self.is_where_it_stopped(from)
    }

    fn is_where_it_stopped(&self, from: &[u8]) -> bool {
        !self.stopped.is_empty() && from.starts_with(&self.stopped) && from.len() <= self.stopped.len() + 1
    }

    /// Leaves that were gone through just before a scan from here.
    fn resume(&mut self, from: &[u8]) -> usize {
        if !self.is_where_it_stopped(from) {
            self.passed = 0;
            self.ahead.begin();
        }
        self.passed
    }

    /// Visits the entries that were copied; whether to go on.
    fn visit(&self, visit: &mut impl FnMut(&[u8], &[u8]) -> bool) -> bool {
        let mut from = 0;
        self.ends.iter().all(|&(key_end, end)| {
            let begin = std::mem::replace(&mut from, end);
            visit(&self.bytes[begin..key_end], &self.bytes[key_end..end])
        })
    }

    /// Visits the entries of the leaf that was copied; whether to go on.
    fn visit_leaf(&mut self, course: Course, visit: &mut impl FnMut(&[u8], &[u8]) -> bool) -> bool {
        let view = self.leaf.view();
        let (prefix, chosen) = (view.prefix(), slots(view, course, course.bound(&self.bound)));
        self.key.clear();
        self.key.extend_from_slice(prefix);
        for slot in chosen {
            self.key.truncate(prefix.len());
            self.key.extend_from_slice(view.suffix(slot));
            let Value::Here(value) = view.value(slot) else { unreachable!("a leaf with others is not copied") };
            if !visit(&self.key, value) {
                return false;
            }
        }
        true
    }
}

/// What is asked of a scan.
#[derive(Clone, Copy)]
struct Course {
    way: Way,
    /// It begins at the very end; there is no bound yet.
    from_end: bool,
    limit: u64,
    /// Leaves that were gone through.
    passed: usize,
}

impl Course {
    fn bound(self, bound: &[u8]) -> Option<&[u8]> {
        (!self.from_end).then_some(bound)
    }
}

impl Tree {
    /// Visits entries in order of their keys, from the first that is not below `from`, until `visit` says `false` or `limit`
    /// were visited; returns how many were.
    ///
    /// # Errors
    /// Where a page cannot be read.
    pub fn scan(
        &self,
        worker: &Worker<'_>,
        from: &[u8],
        limit: u64,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<u64, TreeError> {
        self.scan_with(worker, &mut Scratch::default(), from, limit, visit)
    }

    /// As [`Tree::scan`], in memory of the caller's.
    ///
    /// # Errors
    /// Where a page cannot be read.
    pub fn scan_with(
        &self,
        worker: &Worker<'_>,
        scratch: &mut Scratch,
        from: &[u8],
        limit: u64,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<u64, TreeError> {
        scratch.bound.clear();
        scratch.bound.extend_from_slice(from);
        let passed = scratch.resume(from);
        self.go(worker, Course { way: Way::Up, from_end: false, limit, passed }, scratch, visit)
    }

    /// Visits entries against the order of their keys, from the last that is not above `from` (or the last one of all), as
    /// [`Tree::scan`].
    ///
    /// # Errors
    /// Where a page cannot be read.
    pub fn scan_back(
        &self,
        worker: &Worker<'_>,
        from: Option<&[u8]>,
        limit: u64,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<u64, TreeError> {
        self.scan_back_with(worker, &mut Scratch::default(), from, limit, visit)
    }

    /// As [`Tree::scan_back`], in memory of the caller's.
    ///
    /// # Errors
    /// Where a page cannot be read.
    pub fn scan_back_with(
        &self,
        worker: &Worker<'_>,
        scratch: &mut Scratch,
        from: Option<&[u8]>,
        limit: u64,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<u64, TreeError> {
        scratch.bound.clear();
        if let Some(from) = from {
            // The bound is exclusive: the next key after `from` is `from` with a zero behind it.
            scratch.bound.extend_from_slice(from);
            scratch.bound.push(0);
        }
        let passed = scratch.resume(from.unwrap_or_default());
        self.go(worker, Course { way: Way::Down, from_end: from.is_none(), limit, passed }, scratch, visit)
    }

    fn go(
        &self,
        worker: &Worker<'_>,
        mut course: Course,
        scratch: &mut Scratch,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<u64, TreeError> {
        let (limit, mut visited) = (course.limit, 0);
        let most = self.most_ahead(worker);
        while visited < limit {
            course.limit = limit - visited;
            // The more was read, the more will be: a short scan reads nothing in vain.
            let wish = if course.passed > 0 || limit >= LONG { (1 << course.passed.min(16)).min(most) } else { 0 };
            self.copy_batch(worker, course, scratch, wish)?;
            let mut count = |key: &[u8], value: &[u8]| {
                visited += 1;
                visit(key, value)
            };
            let goes_on =
                if scratch.whole { scratch.visit_leaf(course, &mut count) } else { scratch.visit(&mut count) };
            if !goes_on || scratch.next.is_empty() {
                break;
            }
            if visited < limit {
                course.passed += 1;
                scratch.ahead.passed();
                std::mem::swap(&mut scratch.bound, &mut scratch.next);
                course.from_end = false;
            }
        }
        self.end(worker, course, scratch, visited)
    }

    /// Copies the entries of the next leaf, with `wish` leaves asked for ahead: as others come while this one is awaited, the
    /// disk gets more to do.
    fn copy_batch(
        &self,
        worker: &Worker<'_>,
        course: Course,
        scratch: &mut Scratch,
        wish: usize,
    ) -> Result<(), TreeError> {
        let mut tries = 0;
        loop {
            let bound = (!course.from_end).then_some(&*scratch.bound);
            if self.ask_ahead(worker, &mut scratch.ahead, course.way, bound, wish) {
                // Off to the disk, before this leaf is looked at.
                worker.poll(NONE)?;
            }
            match self.try_batch(worker, course, scratch) {
                Ok(()) => return Ok(()),
                // One of many tasks waits for its page alone: others go on meanwhile.
                Err(Stop::Missing(page)) if worker.is_alone() && worker.is_reading(page) => worker.wait_reads()?,
                Err(stop) => worker.overcome(stop, &mut tries)?,
            }
        }
    }

    /// Others may want what was read ahead, and only this thread can say that it is there.
    fn end(&self, worker: &Worker<'_>, course: Course, scratch: &mut Scratch, visited: u64) -> Result<u64, TreeError> {
        scratch.passed = course.passed;
        scratch.stopped.clear();
        if scratch.whole {
            scratch.stopped.extend_from_slice(&scratch.key);
        } else if let Some(&(key_end, _)) = scratch.ends.last().filter(|_| visited > 0) {
            let from = scratch.ends.len().checked_sub(2).map_or(0, |before| scratch.ends[before].1);
            scratch.stopped.extend_from_slice(&scratch.bytes[from..key_end]);
        }
        if !worker.is_in_task() {
            worker.settle()?;
        }
        Ok(visited)
    }

    fn try_batch(&self, worker: &Worker<'_>, course: Course, scratch: &mut Scratch) -> Attempt<()> {
        let mut node = worker.look(self.root)?;
        loop {
            let next = node.step(|page| {
                let view = View(page);
                if view.level() == 0 {
                    return Err(());
                }
                Ok(view.child(child_towards(view, course.way, course.bound(&scratch.bound))))
            });
            match next? {
                Ok(child) => node = child,
                Err(()) => break,
            }
        }
        let elsewhere = node.read(|page| fill(View(page), course, scratch))?;
        if elsewhere {
            return under(&node, self.fill_whole(worker, &node, course, scratch));
        }
        Ok(())
    }

    /// As [`fill`], with values in pages of their own.
    fn fill_whole(
        &self,
        worker: &Worker<'_>,
        leaf: &assay_buffer::Optimistic<'_>,
        course: Course,
        scratch: &mut Scratch,
    ) -> Attempt<()> {
        let entries = leaf.read(|page| {
            let view = View(page);
            let copy = |slot: usize| {
                let value = match view.value(slot) {
                    Value::Here(bytes) => Ok(bytes.to_vec()),
                    Value::Elsewhere { bytes, first } => Err((bytes, first)),
                };
                (view.key(slot), value)
            };
            slots(view, course, course.bound(&scratch.bound)).map(copy).collect::<Vec<_>>()
        })?;
        scratch.whole = false;
        scratch.bytes.clear();
        scratch.ends.clear();
        for (key, value) in entries {
            scratch.bytes.extend_from_slice(&key);
            let key_end = scratch.bytes.len();
            match value {
                Ok(bytes) => scratch.bytes.extend_from_slice(&bytes),
                Err((bytes, first)) => chain::read(worker, first, bytes, &mut scratch.bytes)?,
            }
            scratch.ends.push((key_end, scratch.bytes.len()));
        }
        Ok(())
    }
}

/// The slots of a leaf that a scan visits, in its order.
fn slots(view: View<'_>, course: Course, bound: Option<&[u8]>) -> impl ExactSizeIterator<Item = usize> + use<> {
    let found = bound.map(|key| view.find(key).slot);
    let (first, end, down) = match course.way {
        Way::Up => (found.unwrap_or(0), view.count(), false),
        Way::Down => (0, found.unwrap_or(view.count()), true),
    };
    let count = end.saturating_sub(first).min(usize::try_from(course.limit).unwrap_or(usize::MAX));
    (0..count).map(move |at| if down { end - 1 - at } else { first + at })
}

/// Copies the entries of a leaf, and where to go on; `true` where a value lies elsewhere.
fn fill(view: View<'_>, course: Course, scratch: &mut Scratch) -> bool {
    let chosen = slots(view, course, course.bound(&scratch.bound));
    scratch.bytes.clear();
    scratch.ends.clear();
    scratch.next.clear();
    // The lowest fence of all is empty, and so is that of a leaf without one above it: the end.
    scratch.next.extend_from_slice(match course.way {
        Way::Up => view.upper().unwrap_or_default(),
        Way::Down => view.lower(),
    });
    scratch.whole = chosen.len() >= MANY && chosen.len() * 2 >= view.count();
    if scratch.whole {
        scratch.leaf.take(view.0);
        return chosen.into_iter().any(|slot| matches!(view.value(slot), Value::Elsewhere { .. }));
    }
    let prefix = view.prefix();
    let mut elsewhere = false;
    for slot in chosen {
        scratch.bytes.extend_from_slice(prefix);
        scratch.bytes.extend_from_slice(view.suffix(slot));
        let key_end = scratch.bytes.len();
        match view.value(slot) {
            Value::Here(bytes) => scratch.bytes.extend_from_slice(bytes),
            Value::Elsewhere { .. } => elsewhere = true,
        }
        scratch.ends.push((key_end, scratch.bytes.len()));
    }
    elsewhere
}
