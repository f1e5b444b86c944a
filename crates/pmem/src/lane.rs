//! What belongs to a redo log in this process.

use crate::{
    class::{Class, SIZES},
    heap::{BlockKind, Heap, Taken},
    log::{Change, MOST_CHANGES, Meaning},
    medium::Medium,
};

/// Bytes that a lane reserves ahead in one class.
const AHEAD_BYTES: u64 = 16 << 10;

/// What belongs to a redo log in this process: blocks reserved ahead, and the transaction that is being put together.
#[derive(Debug)]
pub(crate) struct Lane {
    pub(crate) at: u64,
    pub(crate) turn: u16,
    /// The clearing of the log was flushed and not fenced.
    pub(crate) unsettled: bool,
    ahead: [Vec<u64>; SIZES.len()],
    pub(crate) changes: Vec<Change>,
    pub(crate) taken: Vec<Taken>,
    pub(crate) freed: Vec<(Taken, bool)>,
}

impl Lane {
    pub(crate) fn new(at: u64, turn: u16) -> Self {
        Self {
            at,
            turn,
            unsettled: false,
            ahead: std::array::from_fn(|_| Vec::new()),
            changes: Vec::with_capacity(MOST_CHANGES),
            taken: Vec::with_capacity(MOST_CHANGES),
            freed: Vec::with_capacity(MOST_CHANGES),
        }
    }

    /// Gives what was reserved ahead back.
    pub(crate) fn drain(&mut self, heap: &Heap) {
        for (index, blocks) in self.ahead.iter_mut().enumerate() {
            let Some(class) = Class::from_index(index as u64) else { continue };
            blocks.drain(..).for_each(|at| heap.release(Taken { at, kind: BlockKind::Small(class) }));
        }
    }

    /// One word that gets another value, and bits: whether it happened can be read off that word.
    pub(crate) fn meaning(&self, medium: &impl Medium) -> Meaning {
        let mut puts = self.changes.iter().filter(|change| matches!(change, Change::Put { .. }));
        let large = self.taken.iter().chain(self.freed.iter().map(|(block, _)| block)).any(Taken::is_large);
        match (puts.next(), puts.next()) {
            (Some(&Change::Put { at, value }), None) if !large && medium.load(at) != value => Meaning::Intent,
            _ => Meaning::Redo,
        }
    }

    pub(crate) fn take(&mut self, heap: &Heap, medium: &impl Medium, kind: BlockKind) -> Option<Taken> {
        let at = match kind {
            BlockKind::Large(chunks) => heap.take_large(chunks),
            BlockKind::Small(class) => {
                let ahead = &mut self.ahead[class.index()];
                if ahead.is_empty() {
                    heap.take_small(medium, class, few(class), ahead);
                    ahead.reverse();
                }
                ahead.pop()
            }
        };
        at.map(|at| Taken { at, kind })
    }

    /// Keeps a free block for the next transaction of this lane, unless it has many.
    pub(crate) fn keep(&mut self, heap: &Heap, block: Taken) {
        match block.kind {
            BlockKind::Small(class) if self.ahead[class.index()].len() < 2 * few(class) => {
                self.ahead[class.index()].push(block.at);
            }
            _ => heap.release(block),
        }
    }
}

/// How many blocks of a class a lane reserves at once.
fn few(class: Class) -> usize {
    (AHEAD_BYTES / class.bytes()).clamp(1, 32) as usize
}
