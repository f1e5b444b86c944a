//! What a history did for nothing, and what it relied on that was not durable.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use super::{
    event::{Event, Mark, What},
    replay::Replay,
};

/// Lines of code and how often it happened there.
#[derive(Clone, Debug, Default)]
pub struct Hints {
    /// Flushes of which no line had a store since it was last flushed.
    pub idle_flushes: BTreeMap<String, u64>,
    /// Fences with nothing to make durable.
    pub idle_fences: BTreeMap<String, u64>,
    /// Stores that were not durable when the operation that made them was acknowledged.
    pub late_stores: BTreeMap<String, u64>,
    /// Reads of what another thread had stored and nobody had made durable: where what was read is acted upon, a crash
    /// may undo the reason. Only known where the recorder watched reads.
    pub unpersisted_reads: BTreeMap<String, u64>,
}

/// Looks through a history.
pub fn hints(events: &[Event]) -> Hints {
    let mut hints = Hints::default();
    let mut replay = Replay::default();
    let mut open = BTreeMap::new();
    let mut last_store = BTreeMap::new();
    for (step, event) in events.iter().enumerate() {
        let here = site(event);
        match event.what {
            What::Flush { line, lines } if !(line..line + lines).any(|line| replay.is_dirty(line)) => {
                *hints.idle_flushes.entry(here).or_default() += 1;
            }
            What::Fence if !replay.would_settle(event.thread) => *hints.idle_fences.entry(here).or_default() += 1,
            What::Store { word, .. } | What::Stream { word, .. } => drop(last_store.insert(word, (step, event))),
            What::Mark(Mark::Begin(operation)) => drop(open.insert((event.thread, operation), step)),
            What::Mark(Mark::End(operation)) => {
                let since = open.remove(&(event.thread, operation)).unwrap_or(step);
                hints.late(&replay, &last_store, since, event.thread);
            }
            What::Read { word, words } => hints.reads(&replay, &last_store, event, word..word + words),
            _ => {}
        }
        replay.step(event, |_, _| {});
    }
    hints
}

type LastStores<'a> = BTreeMap<u32, (usize, &'a Event)>;

impl Hints {
    fn late(&mut self, replay: &Replay, last_store: &LastStores<'_>, since: usize, thread: u16) {
        let words = replay.pending().values().flatten().map(|store| store.word).collect::<BTreeSet<u32>>();
        for (step, store) in words.iter().filter_map(|word| last_store.get(word)) {
            if *step > since && store.thread == thread {
                *self.late_stores.entry(site(store)).or_default() += 1;
            }
        }
    }

    fn reads(&mut self, replay: &Replay, last_store: &LastStores<'_>, event: &Event, words: std::ops::Range<u32>) {
        let pending = |word: &u32| {
            let line = replay.pending().get(&(word / 8));
            line.is_some_and(|stores| stores.iter().any(|store| store.word == *word))
        };
        let foreign = |word: &u32| last_store.get(word).is_some_and(|(_, store)| store.thread != event.thread);
        if words.into_iter().any(|word| pending(&word) && foreign(&word)) {
            *self.unpersisted_reads.entry(site(event)).or_default() += 1;
        }
    }
}

fn site(event: &Event) -> String {
    format!("{}:{}", event.site.file(), event.site.line())
}

impl fmt::Display for Hints {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = [
            ("flushed for nothing", &self.idle_flushes),
            ("fenced for nothing", &self.idle_fences),
            ("not durable when acknowledged", &self.late_stores),
            ("read before it was durable", &self.unpersisted_reads),
        ];
        for (what, sites) in all {
            for (site, count) in sites {
                writeln!(formatter, "{what}: {site}, {count} times")?;
            }
        }
        Ok(())
    }
}
