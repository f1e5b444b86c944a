//! Pages on their way to the disk.
//!
//! A page is copied before it is written, without a latch: the copy is used where the page was unchanged meanwhile. So the
//! page can be read and changed while its copy is written, and no latch is held over a write. When the write has ended the
//! page is clean if it is still the version that was copied; otherwise the copy is forgotten.
//!
//! Pages are written in groups to consecutive slots, as far as there are any: one request for many pages.

use rustix::io::Errno;

use super::{Token, Worker};
use crate::{
    BufferError, PageId,
    disk::{Action, DiskRequest},
    pool::{
        format::STAGING_BYTES,
        header::{self, MAP, PageSlot, ROOT},
        locked,
        places::Content,
        units::MAP_GROUP,
        word::WordValue,
    },
};

/// Groups of a worker.
const GROUPS: usize = 8;
/// Groups of buffers for which pages are sorted at once.
const AHEAD: usize = 32;
/// Bytes of a group's buffers.
pub(super) const GROUP_BYTES: usize = STAGING_BYTES / GROUPS;

/// A dirty page that may be written.
#[derive(Clone, Copy, Debug)]
pub(super) struct Candidate {
    pub page: PageId,
    pub frame: u32,
    pub seen: WordValue,
    /// Since when it is dirty.
    pub epoch: u64,
}

/// What is written and what is to be done then.
#[derive(Clone, Copy, Debug)]
pub(super) enum Purpose {
    /// A page becomes clean, and leaves memory where it is still marked and `evict` is set.
    Page { candidate: Candidate, evict: bool },
    /// The checkpoint has the page as it was; the frame of the copy is free.
    Preserved { page: PageId, frame: u32 },
    /// A piece of the map.
    Piece(u64),
    /// A page of the map's root.
    Root(u64),
}

#[derive(Clone, Copy, Debug)]
struct Item {
    purpose: Purpose,
    checksum: u32,
    slot: u64,
    /// Those that are expected to die together.
    group: usize,
}

#[derive(Clone, Copy, Debug)]
struct Flight {
    first: u32,
    count: u32,
}

#[derive(Debug, Default)]
struct Group {
    items: Vec<Item>,
    runs: Vec<Flight>,
    flying: u32,
}

/// The writes of a worker.
#[derive(Debug)]
pub(super) struct Writes {
    /// Offset of its buffers in the memory.
    staging: usize,
    pages: usize,
    groups: Vec<Group>,
    unused: Vec<usize>,
    failed: Option<BufferError>,
    /// Where the background writer goes on, in frames.
    pub cleaned: u32,
}

impl Writes {
    pub fn new(staging: usize, page_bytes: usize) -> Self {
        let pages = (GROUP_BYTES / page_bytes).clamp(1, 64);
        let groups = (0..GROUPS).map(|_| Group::default()).collect();
        Self { staging, pages, groups, unused: (0..GROUPS).collect(), failed: None, cleaned: 0 }
    }

    /// Offset of a buffer in the memory.
    pub fn at(&self, group: usize, item: usize, shift: u32) -> usize {
        self.staging + group * GROUP_BYTES + (item << shift)
    }

    /// A group for something else.
    pub fn borrow_group(&mut self) -> Option<usize> {
        self.unused.pop()
    }

    /// Gives it back.
    pub fn return_group(&mut self, group: usize) {
        self.unused.push(group);
    }
}

impl Worker<'_> {
    /// Pages of a group.
    pub(super) fn group_pages(&self) -> usize {
        self.writes.borrow().pages
    }

    pub(super) fn writes_in_flight(&self) -> bool {
        self.writes.borrow().unused.len() < GROUPS
    }

    /// The error of a write that failed since this was asked last.
    pub(super) fn write_result(&self) -> Result<(), BufferError> {
        self.writes.borrow_mut().failed.take().map_or(Ok(()), Err)
    }

    fn write_failed(&self, error: BufferError) {
        self.writes.borrow_mut().failed.get_or_insert(error);
    }

    /// The page in a frame, where it is dirty since `epoch` or before and nobody has it.
    pub(super) fn candidate(&self, frame: u32, epoch: u64) -> Option<Candidate> {
        let dirty = self.pool.frames.dirty(frame);
        if dirty == 0 || dirty > epoch {
            return None;
        }
        let page = self.pool.frames.page(frame)?;
        let seen = self.pool.words.get(page as usize)?.load();
        let there = seen.is_readable() || seen.is_marked();
        (there && seen.frame() == frame).then_some(Candidate { page, frame, seen, epoch: dirty })
    }

    /// Writes as many candidates as a group holds and takes them off the list; returns how many are on their way, or none
    /// where all buffers are in use or nothing can be written.
    pub(super) fn write_out(&self, candidates: &mut Vec<Candidate>, evict: bool) -> Option<u32> {
        let count = candidates.len().min(self.group_pages());
        let purposes: Vec<_> =
            candidates[..count].iter().map(|&candidate| Purpose::Page { candidate, evict }).collect();
        let begun = self.write_group(&purposes)?;
        candidates.drain(..count);
        Some(begun)
    }

    /// Writes up to a group of pages; returns how many are on their way (fewer, where some have changed meanwhile or there
    /// are no slots), or none where all buffers are in use or nothing can be written: then nothing was begun.
    pub(super) fn write_group(&self, purposes: &[Purpose]) -> Option<u32> {
        if let Err(error) = self.pool.whole() {
            self.write_failed(error);
            return None;
        }
        let group = self.writes.borrow_mut().unused.pop()?;
        let mut items = Vec::with_capacity(purposes.len());
        for (group_of, purpose) in self.by_group(purposes) {
            let at = self.writes.borrow().at(group, items.len(), self.pool.shift);
            if let Some(checksum) = self.copy(purpose, at) {
                items.push(Item { purpose, checksum, slot: 0, group: group_of });
            }
        }
        let runs = self.place(&mut items);
        let placed: usize = runs.iter().map(|run| run.count as usize).sum();
        for item in items.drain(placed..) {
            self.forget(item.purpose);
        }
        self.launch(group, items, runs);
        Some(placed as u32)
    }

    /// What is to be written, with those together that are expected to die together.
    fn by_group(&self, purposes: &[Purpose]) -> Vec<(usize, Purpose)> {
        let mut all: Vec<_> = purposes.iter().map(|&purpose| (self.group_of(purpose), purpose)).collect();
        if self.pool.slots.units().is_some() {
            all.sort_by_key(|&(group, _)| group);
        }
        all
    }

    fn group_of(&self, purpose: Purpose) -> usize {
        match (self.pool.slots.units(), purpose) {
            (None, _) => 0,
            (_, Purpose::Piece(_) | Purpose::Root(_)) => MAP_GROUP,
            (
                Some(units),
                Purpose::Page { candidate: Candidate { page, .. }, .. } | Purpose::Preserved { page, .. },
            ) => units.expected(page),
        }
    }

    /// Gives items slots, in their order, as far as there are any.
    fn place(&self, items: &mut [Item]) -> Vec<Flight> {
        let (slots, mut runs, mut placed) = (&self.pool.slots, Vec::new(), 0);
        while placed < items.len() {
            let group = items[placed].group;
            let alike = items[placed..].iter().take_while(|item| item.group == group).count();
            let Some(run) = slots.take_for(group, alike as u32) else {
                self.write_failed(self.pool.full());
                break;
            };
            for (slot, item) in (run.first..).zip(&mut items[placed..placed + run.count as usize]) {
                item.slot = slot;
                self.note_write(item.purpose);
            }
            runs.push(Flight { first: placed as u32, count: run.count });
            placed += run.count as usize;
        }
        runs
    }

    /// A page is written now: from that it is told when it will be again.
    fn note_write(&self, purpose: Purpose) {
        let Some(units) = self.pool.slots.units() else { return };
        if let Purpose::Page { candidate: Candidate { page, .. }, .. } | Purpose::Preserved { page, .. } = purpose {
            units.written(page);
        }
    }

    fn action(&self, group: usize) -> Action {
        if self.pool.slots.units().is_some() { Action::Place(group as u8) } else { Action::Write }
    }

    /// Pages that are looked for before they are written, so that those of a group stand together.
    pub(super) fn ahead(&self) -> usize {
        self.group_pages() * if self.pool.slots.units().is_some() { AHEAD } else { 1 }
    }

    /// Puts those together that are expected to die together.
    pub(super) fn sort(&self, candidates: &mut [Candidate]) {
        if let Some(units) = self.pool.slots.units() {
            // Others write meanwhile, and time goes on: each is asked about once.
            candidates.sort_by_cached_key(|candidate| units.expected(candidate.page));
        }
    }

    /// What was to be written is not.
    fn forget(&self, purpose: Purpose) {
        match purpose {
            Purpose::Page { candidate, .. } => self.pool.frames.set_writing(candidate.frame, false),
            Purpose::Preserved { frame, .. } => self.pool.release_copy(frame),
            Purpose::Piece(_) | Purpose::Root(_) => {}
        }
    }

    fn launch(&self, group: usize, items: Vec<Item>, runs: Vec<Flight>) {
        let mut requests = Vec::with_capacity(runs.len());
        {
            let mut writes = self.writes.borrow_mut();
            for (index, run) in runs.iter().enumerate() {
                requests.push(DiskRequest {
                    action: self.action(items[run.first as usize].group),
                    offset: self.pool.slot_offset(items[run.first as usize].slot),
                    memory: writes.at(group, run.first as usize, self.pool.shift),
                    bytes: run.count << self.pool.shift,
                    token: Token::Write { group: group as u32, run: index as u32 }.encode(),
                });
            }
            if runs.is_empty() {
                return writes.unused.push(group);
            }
            let flying = runs.len() as u32;
            writes.groups[group] = Group { items, runs, flying };
        }
        // SAFETY: the group's buffers are left alone until all its requests have ended.
        requests.into_iter().for_each(|request| unsafe { self.push(request) });
    }

    /// Copies what is to be written into a buffer and completes its header; none where it changed meanwhile.
    fn copy(&self, purpose: Purpose, at: usize) -> Option<u32> {
        let bytes = self.pool.page_bytes();
        // SAFETY: the buffers behind the frames belong to this worker, and the group is not in flight.
        let buffer = unsafe { std::slice::from_raw_parts_mut(self.pool.memory.start().add(at), bytes) };
        let from = |frame: u32, buffer: &mut [u8]| {
            // SAFETY: frames stay mapped; a page that changes meanwhile is noticed and its copy not used.
            unsafe { std::ptr::copy_nonoverlapping(self.pool.frame(frame), buffer.as_mut_ptr(), bytes) };
        };
        match purpose {
            Purpose::Page { candidate: Candidate { page, frame, seen, epoch }, .. } => {
                from(frame, buffer);
                if !self.pool.words[page as usize].is_still(seen) {
                    return None;
                }
                self.pool.frames.set_writing(frame, true);
                Some(header::stamp(buffer, page, epoch))
            }
            Purpose::Preserved { page, frame } => {
                from(frame, buffer);
                Some(header::stamp(buffer, page, self.pool.epoch() - 1))
            }
            Purpose::Piece(piece) => {
                self.pool.places.write_piece(piece, &mut buffer[header::HEADER_BYTES..]);
                buffer[..header::HEADER_BYTES].fill(0);
                Some(header::stamp(buffer, MAP | piece, self.pool.epoch() - 1))
            }
            Purpose::Root(root) => {
                buffer.fill(0);
                let map = locked(&self.pool.map);
                let words = buffer[header::HEADER_BYTES..].chunks_exact_mut(8);
                let first = root as usize * words.len();
                for (slot, place) in words.zip(map.pieces.iter().skip(first)) {
                    slot.copy_from_slice(&place.0.to_le_bytes());
                }
                Some(header::stamp(buffer, ROOT | root, self.pool.epoch() - 1))
            }
        }
    }

    /// A request of a group has ended.
    pub(super) fn end_write(&self, group: usize, run: usize, result: Result<(), Errno>) {
        let (items, over) = {
            let mut writes = self.writes.borrow_mut();
            let held = &mut writes.groups[group];
            held.flying -= 1;
            let Flight { first, count } = held.runs[run];
            (held.items[first as usize..(first + count) as usize].to_vec(), held.flying == 0)
        };
        if let Err(errno) = result {
            let offset = self.pool.slot_offset(items[0].slot);
            let bytes = (items.len() as u32) << self.pool.shift;
            let request = DiskRequest { action: Action::Write, offset, memory: 0, bytes, token: 0 };
            self.write_failed(BufferError::io(&*self.pool.disk, request, errno));
        } else {
            self.tally.count(|counters| counters.written += items.len() as u64);
            self.pool.written.fetch_add(items.len() as u64, std::sync::atomic::Ordering::Relaxed);
        }
        for item in &items {
            self.end_item(item, result.is_ok());
        }
        if over {
            self.writes.borrow_mut().unused.push(group);
        }
    }

    fn end_item(&self, item: &Item, written: bool) {
        let place = PageSlot::new(item.slot, item.checksum);
        let used = match item.purpose {
            Purpose::Page { candidate, evict } => {
                self.pool.frames.set_writing(candidate.frame, false);
                written && self.end_page(candidate, evict, place)
            }
            Purpose::Preserved { page, frame } => {
                if written {
                    let _alone = self.pool.places.hold();
                    self.pool.places.written(page, place, Content::Preserved, &self.pool.slots);
                }
                self.pool.release_copy(frame);
                written
            }
            Purpose::Piece(piece) => written && self.end_map(place, |map| &mut map.pieces[piece as usize]),
            Purpose::Root(root) => written && self.end_map(place, |map| &mut map.roots[root as usize]),
        };
        if !used {
            self.pool.slots.release(item.slot);
        }
    }

    fn end_map(&self, place: PageSlot, entry: impl FnOnce(&mut crate::pool::Map) -> &mut PageSlot) -> bool {
        let old = std::mem::replace(entry(&mut locked(&self.pool.map)), place);
        if let Some(slot) = old.slot() {
            self.pool.slots.release_later(slot);
        }
        true
    }

    /// A page was written; whether its slot is its place now.
    fn end_page(&self, candidate: Candidate, evict: bool, place: PageSlot) -> bool {
        let Candidate { page, frame, seen, epoch } = candidate;
        let (pool, word) = (self.pool, &self.pool.words[page as usize]);
        let _change = pool.places.change();
        let old = epoch < pool.epoch() && pool.snapshotting.load(std::sync::atomic::Ordering::Acquire);
        let content = if old { Content::OfCheckpoint } else { Content::Newer };
        let now = word.load();
        let leaving = evict && now.is_marked() && now.version() == seen.version();
        if let Some(held) = leaving.then(|| word.lock(seen)).flatten() {
            let used = pool.frames.clean(frame, epoch);
            if used {
                pool.places.written(page, place, content, &pool.slots);
                self.let_go(page, word, held);
                self.tally.count(|counters| counters.evicted_dirty += 1);
            } else {
                word.unlock(held);
            }
            return used;
        }
        let shared = word.share(seen);
        let used = shared && pool.frames.clean(frame, epoch);
        if used {
            pool.places.written(page, place, content, &pool.slots);
        } else {
            self.tally.count(|counters| counters.written_in_vain += 1);
        }
        if shared {
            word.leave();
        }
        used
    }
}
