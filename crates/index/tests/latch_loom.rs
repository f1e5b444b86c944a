//! The latch of the FPTree under every interleaving of a writer and a reader, and of two writers.

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
