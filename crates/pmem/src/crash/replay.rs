//! What is durable at each moment of a history, and what may be.

use std::collections::{BTreeMap, HashMap};

use super::event::{Event, What};

const WORDS_OF_A_LINE: u32 = 8;

/// A store that no fence has made durable yet.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pending {
    pub(super) word: u32,
    pub(super) value: u64,
    /// Around the caches: it may arrive before or after any other.
    pub(super) streamed: bool,
    step: u64,
}

/// Walks through a history.
#[derive(Debug, Default)]
pub(super) struct Replay {
    lines: BTreeMap<u32, Vec<Pending>>,
    /// By thread: lines, and the step before which their stores are covered.
    flushed: HashMap<u16, Vec<(u32, u64)>>,
    step: u64,
}

impl Replay {
    /// Takes a step; `durable` gets each word that it makes durable.
    pub(super) fn step(&mut self, event: &Event, durable: impl FnMut(u32, u64)) {
        self.step += 1;
        match event.what {
            What::Store { word, value } => self.store(word, value, false),
            What::Stream { word, value } => {
                self.store(word, value, true);
                self.flush(event.thread, word / WORDS_OF_A_LINE, 1);
            }
            What::Flush { line, lines } => self.flush(event.thread, line, lines),
            What::Fence => self.fence(event.thread, durable),
            What::Read { .. } | What::Mark(_) => {}
        }
    }

    /// Lines with stores that may or may not have arrived.
    pub(super) fn pending(&self) -> &BTreeMap<u32, Vec<Pending>> {
        &self.lines
    }

    /// Whether a fence of this thread would make anything durable.
    pub(super) fn would_settle(&self, thread: u16) -> bool {
        let covered = |&(line, before): &(u32, u64)| {
            self.lines.get(&line).is_some_and(|stores| stores.first().is_some_and(|store| store.step < before))
        };
        self.flushed.get(&thread).is_some_and(|all| all.iter().any(covered))
    }

    /// Whether a line has stores that nobody has flushed.
    pub(super) fn is_dirty(&self, line: u32) -> bool {
        let Some(last) = self.lines.get(&line).and_then(|stores| stores.last()) else { return false };
        let flushed = self.flushed.values().flatten().any(|&(other, before)| other == line && last.step < before);
        !flushed
    }

    fn store(&mut self, word: u32, value: u64, streamed: bool) {
        let pending = Pending { word, value, streamed, step: self.step };
        self.lines.entry(word / WORDS_OF_A_LINE).or_default().push(pending);
    }

    fn flush(&mut self, thread: u16, line: u32, lines: u32) {
        let covered = self.flushed.entry(thread).or_default();
        let dirty = (line..line + lines).filter(|line| self.lines.contains_key(line));
        covered.extend(dirty.map(|line| (line, self.step + 1)));
    }

    fn fence(&mut self, thread: u16, mut durable: impl FnMut(u32, u64)) {
        for (line, before) in self.flushed.remove(&thread).unwrap_or_default() {
            let Some(stores) = self.lines.get_mut(&line) else { continue };
            let covered = stores.iter().take_while(|store| store.step < before).count();
            stores.drain(..covered).for_each(|store| durable(store.word, store.value));
            if stores.is_empty() {
                self.lines.remove(&line);
            }
        }
    }
}
