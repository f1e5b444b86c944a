//! Interleavings of the protocol, all with up to a few preemptions, on words of a model checker.

use std::cell::Cell;

use assay_pmem::Medium;
use loom::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use super::{
    descriptor::{Header, Status, WordChange},
    protocol::{Helper, Protocol},
};

/// Words whose changes loom orders; nothing is flushed, as no crash is modelled here.
#[derive(Debug)]
struct Model {
    words: Vec<AtomicU64>,
}

const AREA: u64 = 256;

// SAFETY: nobody reaches the memory but through `load` and the methods below, none of which uses `start`.
unsafe impl Medium for Model {
    fn start(&self) -> *mut u8 {
        std::ptr::null_mut()
    }

    fn bytes(&self) -> usize {
        self.words.len() * 8
    }

    fn emulated(&self) -> bool {
        true
    }

    fn load(&self, at: u64) -> u64 {
        self.words[at as usize / 8].load(Ordering::Acquire)
    }

    fn store(&self, at: u64, value: u64) {
        self.words[at as usize / 8].store(value, Ordering::Release);
    }

    fn compare_exchange(&self, at: u64, current: u64, new: u64) -> Result<u64, u64> {
        self.words[at as usize / 8].compare_exchange(current, new, Ordering::AcqRel, Ordering::Acquire)
    }

    fn set_bits(&self, _: u64, _: u64) -> u64 {
        unreachable!("the protocol sets no bits")
    }

    fn clear_bits(&self, _: u64, _: u64) -> u64 {
        unreachable!("the protocol clears no bits")
    }

    fn write(&self, _: u64, _: &[u8]) {
        unreachable!("the protocol writes words")
    }

    fn stream(&self, _: u64, _: &[u8]) {
        unreachable!("the protocol streams nothing")
    }

    fn flush(&self, _: u64, _: usize) {}

    fn fence(&self) {}
}

fn check(preemptions: usize, body: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.max_branches = 20_000;
    builder.check(body);
}

/// A medium with so many operations written into their descriptors, of sequence 1.
fn model(operations: &[&[WordChange]], values: &[u64]) -> Arc<Model> {
    let words = AREA as usize / 8 + operations.len() * 32;
    let model = Arc::new(Model { words: (0..words).map(|_| AtomicU64::new(0)).collect() });
    values.iter().enumerate().for_each(|(word, value)| model.store(word as u64 * 8, *value));
    for (index, changes) in operations.iter().enumerate() {
        let protocol = Protocol::new(&*model, AREA);
        protocol.descriptor(index as u16).write(Header::undecided(1, changes.len(), 0), changes, &[]);
    }
    model
}

fn complete(model: &Model, index: u16, helper: u16) -> bool {
    Protocol::new(model, AREA).complete(index, 1, &Helper { number: helper, attempts: Cell::new(0) })
}

fn add(at: u64, old: u64) -> WordChange {
    WordChange { at, old, new: old + 1 }
}

#[test]
fn of_two_operations_on_the_same_words_one_succeeds() {
    check(3, || {
        let both: &[WordChange] = &[add(0, 10), add(8, 20)];
        let model = model(&[both, both], &[10, 20]);
        let other = {
            let model = Arc::clone(&model);
            loom::thread::spawn(move || complete(&model, 1, 1))
        };
        let mine = complete(&model, 0, 0);
        assert!(mine != other.join().unwrap(), "exactly one of them may succeed");
        assert_eq!([model.load(0), model.load(8)], [11, 21]);
    });
}

/// The second operation's lower word is the first one's higher one: whoever meets the other helps it, and ends.
#[test]
fn overlapping_operations_help_each_other_and_end() {
    check(3, || {
        let model = model(&[&[add(0, 10), add(8, 20)], &[add(8, 20), add(16, 30)]], &[10, 20, 30]);
        let other = {
            let model = Arc::clone(&model);
            loom::thread::spawn(move || complete(&model, 1, 1))
        };
        let mine = complete(&model, 0, 0);
        let theirs = other.join().unwrap();
        assert!(mine != theirs);
        let wanted = if mine { [11, 21, 30] } else { [10, 21, 31] };
        assert_eq!([0, 8, 16].map(|at| model.load(at)), wanted);
    });
}

/// Two threads complete one operation while its words change back: a late helper must not let it happen twice.
#[test]
fn an_operation_that_two_threads_complete_happens_once() {
    check(3, || {
        let model = model(&[&[add(0, 10)]], &[10]);
        let other = {
            let model = Arc::clone(&model);
            loom::thread::spawn(move || complete(&model, 0, 1))
        };
        assert!(complete(&model, 0, 0));
        // The word comes back to the value that the operation began with.
        let back = model.compare_exchange(0, 11, 10);
        assert!(other.join().unwrap());
        assert_eq!((back, model.load(0)), (Ok(11), 10), "it happened again after its end");
    });
}

/// The owner frees the descriptor at the end, as one with blocks does: a reader that had met it before took the old value
/// out of it, and so went back to a node that had been replaced before the call.
#[test]
fn a_reader_sees_the_words_in_the_order_in_which_they_change() {
    for frees in [false, true] {
        check(3, move || {
            let model = model(&[&[add(0, 10), add(8, 20)]], &[10, 20]);
            let reader = {
                let model = Arc::clone(&model);
                loom::thread::spawn(move || {
                    let protocol = Protocol::new(&*model, AREA);
                    (protocol.read(8), protocol.read(0))
                })
            };
            let succeeded = complete(&model, 0, 1);
            if frees {
                model.store(AREA, Header::undecided(1, 2, 0).with(Status::Free).0);
            }
            let (second, first) = reader.join().unwrap();
            assert!(second == 20 || first == 11, "the second word was new, and the first one old after that");
            assert!(succeeded);
        });
    }
}
