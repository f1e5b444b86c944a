//! The latch of the FPTree under every interleaving of a writer and a reader, and of two writers; and the hints of scans,
//! under every interleaving of two that write them and one that reads.

#[path = "../src/fptree/hint.rs"]
mod hint;
#[allow(dead_code, reason = "the model uses a part of it")]
#[path = "../src/fptree/latch.rs"]
mod latch;

mod sync {
    pub(crate) use loom::sync::atomic::{AtomicU64, Ordering, fence};

    pub(crate) fn pause(_: &mut u32) {
        loom::thread::yield_now();
    }
}

use std::sync::atomic::Ordering::Relaxed;

use hint::{Hint, PLACES, WORDS};
use latch::Latch;
use loom::{sync::Arc, sync::atomic::AtomicU64, thread};

#[derive(Default)]
struct Guarded {
    latch: Latch,
    one: AtomicU64,
    other: AtomicU64,
}

impl Guarded {
    /// Both words become one more, if nobody is quicker.
    fn change(&self) -> bool {
        let version = self.latch.version();
        if !self.latch.lock(version) {
            return false;
        }
        let next = self.one.load(Relaxed) + 1;
        self.one.store(next, Relaxed);
        self.other.store(next, Relaxed);
        self.latch.changed(version);
        true
    }

    /// Both words, where they are one state.
    fn read(&self) -> Option<(u64, u64)> {
        let version = self.latch.version();
        let both = (self.one.load(Relaxed), self.other.load(Relaxed));
        self.latch.is(version).then_some(both)
    }
}

#[test]
fn a_reader_sees_one_state_or_none() {
    loom::model(|| {
        let guarded = Arc::new(Guarded::default());
        let writer = {
            let guarded = Arc::clone(&guarded);
            thread::spawn(move || assert!(guarded.change()))
        };
        if let Some((one, other)) = guarded.read() {
            assert_eq!(one, other);
        }
        writer.join().unwrap();
        assert_eq!(guarded.read(), Some((1, 1)));
    });
}

#[test]
fn of_two_writers_each_changes_the_whole() {
    loom::model(|| {
        let guarded = Arc::new(Guarded::default());
        let other = {
            let guarded = Arc::clone(&guarded);
            thread::spawn(move || u64::from(guarded.change()))
        };
        let mine = u64::from(guarded.change());
        let both = mine + other.join().unwrap();
        assert!(both >= 1);
        assert_eq!(guarded.read(), Some((both, both)));
    });
}

/// Two scans note the orders of two versions, the older one perhaps later; who reads one sees that one, whole.
#[test]
fn a_hint_is_read_whole_or_not_at_all() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(|| {
        let words: Arc<[AtomicU64; WORDS]> = Arc::new(std::array::from_fn(|_| AtomicU64::new(0)));
        let note = |version: u64, words: Arc<[AtomicU64; WORDS]>| {
            thread::spawn(move || Hint(&words).put(version, &[version as u8; PLACES]))
        };
        let writers = [note(2, Arc::clone(&words)), note(4, Arc::clone(&words))];
        for version in [2, 4] {
            if let Some(order) = Hint(&words).get(version) {
                assert_eq!(order, [version as u8; PLACES]);
            }
        }
        writers.into_iter().for_each(|writer| writer.join().unwrap());
        let last = [2, 4].into_iter().filter_map(|version| Hint(&words).get(version)).count();
        assert!(last <= 1);
    });
}
