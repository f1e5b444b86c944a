//! Ways down to the leaves of several keys, side by side.
//!
//! A way down waits for memory at each step: for the word of the next page, for its slots, for the row. Here all ways take
//! a step each before the first one takes its next, so that they wait together.

use std::ops::Range;

use assay_buffer::{Attempt, Optimistic, PageId, Stop, Worker};

use super::{Finger, Tree};
use crate::node::View;

/// Keys that are looked for at a time.
pub const LANES: usize = 32;
/// Bytes of a line of the caches.
const LINE: usize = 64;
/// Lines at the beginning of a page in which a search most probably looks.
const FIRST_LINES: usize = 4;

/// A key that will be asked for.
#[derive(Clone, Copy, Debug)]
pub struct Approach<'k> {
    /// Its tree.
    pub tree: &'k Tree,
    /// The key.
    pub key: &'k [u8],
}

/// How far the way to one of them is.
#[derive(Clone, Copy)]
enum Lane<'w> {
    /// At a node that was not searched yet.
    At(Optimistic<'w>),
    /// At the slot of an inner node.
    Inner(Optimistic<'w>, usize),
    /// Between a node and its child.
    Above(Optimistic<'w>, PageId),
    /// At the slot of a leaf.
    There(Optimistic<'w>, usize),
    /// It would have to wait, or to begin anew.
    Lost,
}

impl Approach<'_> {
    /// Finds the leaves of keys, and asks the processor for what a read of each will touch. Each one's finger, added to
    /// `fingers`, points to its leaf afterwards, or nowhere. Of a way that meets a page which is not in memory, that page is
    /// read where `fetch` says so; nothing is waited for.
    pub fn all(worker: &Worker<'_>, wanted: &[Self], fetch: bool, fingers: &mut Vec<Finger>) {
        wanted.chunks(LANES).for_each(|some| Self::some(worker, some, fetch, fingers));
    }

    fn some(worker: &Worker<'_>, wanted: &[Self], fetch: bool, fingers: &mut Vec<Finger>) {
        let mut lanes = [Lane::Lost; LANES];
        let lanes = &mut lanes[..wanted.len()];
        for (lane, wanted) in lanes.iter_mut().zip(wanted) {
            *lane = arrive(worker, worker.look(wanted.tree.root), fetch);
        }
        while search_all(lanes, wanted) {
            read_children(worker, lanes);
            for lane in &mut *lanes {
                let Lane::Above(node, child) = *lane else { continue };
                *lane = arrive(worker, node.follow(child), fetch);
                if let Lane::At(node) = lane {
                    expect(node, 0..FIRST_LINES * LINE);
                }
            }
        }
        lanes.iter().for_each(Lane::expect_row);
        fingers.extend(lanes.iter().map(Lane::finger));
    }
}

/// A way at its next node, where that is in memory.
fn arrive<'w>(worker: &Worker<'_>, node: Attempt<Optimistic<'w>>, fetch: bool) -> Lane<'w> {
    match node {
        Ok(node) => Lane::At(node),
        Err(Stop::Missing(page)) => {
            let _begun = fetch && worker.prefetch(page);
            Lane::Lost
        }
        Err(_) => Lane::Lost,
    }
}

/// Searches the node of each way that has come to a new one; whether any of them leads further down.
fn search_all(lanes: &mut [Lane<'_>], wanted: &[Approach<'_>]) -> bool {
    let mut further = false;
    for (lane, wanted) in lanes.iter_mut().zip(wanted) {
        let Lane::At(node) = *lane else { continue };
        *lane = search(node, wanted.key);
        further |= matches!(lane, Lane::Inner(..));
    }
    further
}

/// Searches a node, and asks for what is read next: the child's number, or the row and what tells that it is of this key.
fn search<'w>(node: Optimistic<'w>, key: &[u8]) -> Lane<'w> {
    let seen = node.read(|page| {
        let view = View(page);
        let leaf = view.level() == 0;
        let slot = if leaf { view.find(key).slot } else { view.child_slot(key) };
        page.prefetch(view.entry_start(slot));
        if !leaf {
            return Lane::Inner(node, slot);
        }
        page.prefetch(view.lower_at());
        Lane::There(node, slot)
    });
    seen.unwrap_or(Lane::Lost)
}

/// Reads where the ways lead that have found their slots of inner nodes, and asks for the words of those pages.
fn read_children(worker: &Worker<'_>, lanes: &mut [Lane<'_>]) {
    for lane in lanes {
        let Lane::Inner(node, slot) = *lane else { continue };
        *lane = node.read(|page| View(page).child(slot)).map_or(Lane::Lost, |child| {
            worker.expect(child);
            Lane::Above(node, child)
        });
    }
}

/// Asks the processor for bytes of a page. What a torn page says of them does no harm.
fn expect(node: &Optimistic<'_>, bytes: Range<usize>) {
    let _torn = node.read(|page| bytes.step_by(LINE).for_each(|at| page.prefetch(at)));
}

impl Lane<'_> {
    /// Asks for the rest of the row: its first line tells how long it is.
    fn expect_row(&self) {
        let Self::There(leaf, slot) = self else { return };
        if let Ok(row) = leaf.read(|page| View(page).entry_at(*slot)) {
            expect(leaf, row.start + LINE..row.end + LINE);
        }
    }

    fn finger(&self) -> Finger {
        match self {
            Self::There(leaf, slot) => Finger { page: leaf.page(), version: leaf.version(), slot: *slot as u16 },
            _ => Finger::default(),
        }
    }
}
