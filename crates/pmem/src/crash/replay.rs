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

/// Stores of a line that a fence will make durable.
#[derive(Clone, Copy, Debug)]
struct Covered {
    line: u32,
    stores: Stores,
}

#[derive(Clone, Copy, Debug)]
enum Stores {
    /// All of an earlier step: the line was flushed.
    Before(u64),
    /// The one of this step: it went around the caches.
    Of(u64),
}

impl Stores {
    fn cover(self, store: &Pending) -> bool {
        match self {
            Self::Before(step) => store.step < step,
            Self::Of(step) => store.step == step,
        }
    }
}

/// Walks through a history.
#[derive(Debug, Default)]
pub(super) struct Replay {
    lines: BTreeMap<u32, Vec<Pending>>,
    /// By thread: what its next fence makes durable.
    flushed: HashMap<u16, Vec<Covered>>,
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
                let covered = Covered { line: word / WORDS_OF_A_LINE, stores: Stores::Of(self.step) };
                self.flushed.entry(event.thread).or_default().push(covered);
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
        let open = |covered: &Covered| {
            let stores = self.lines.get(&covered.line);
            stores.is_some_and(|stores| stores.iter().any(|store| covered.stores.cover(store)))
        };
        self.flushed.get(&thread).is_some_and(|all| all.iter().any(open))
    }

    /// Whether a line has stores that nobody has flushed.
    pub(super) fn is_dirty(&self, line: u32) -> bool {
        let flushed: Vec<_> = self.flushed.values().flatten().filter(|covered| covered.line == line).collect();
        let covered = |store: &Pending| flushed.iter().any(|covered| covered.stores.cover(store));
        self.lines.get(&line).is_some_and(|stores| !stores.iter().all(covered))
    }

    fn store(&mut self, word: u32, value: u64, streamed: bool) {
        let pending = Pending { word, value, streamed, step: self.step };
        self.lines.entry(word / WORDS_OF_A_LINE).or_default().push(pending);
    }

    fn flush(&mut self, thread: u16, line: u32, lines: u32) {
        let stores = Stores::Before(self.step + 1);
        let dirty = (line..line + lines).filter(|line| self.lines.contains_key(line));
        self.flushed.entry(thread).or_default().extend(dirty.map(|line| Covered { line, stores }));
    }

    fn fence(&mut self, thread: u16, mut durable: impl FnMut(u32, u64)) {
        for covered in self.flushed.remove(&thread).unwrap_or_default() {
            let Some(stores) = self.lines.get_mut(&covered.line) else { continue };
            let (arrived, mut left): (Vec<_>, Vec<_>) = stores.drain(..).partition(|store| covered.stores.cover(store));
            for store in arrived {
                durable(store.word, store.value);
                // An older value of the word that is still in the cache cannot come back over it.
                left.retain(|other| other.word != store.word || other.step > store.step);
            }
            *stores = left;
            if stores.is_empty() {
                self.lines.remove(&covered.line);
            }
        }
    }
}
