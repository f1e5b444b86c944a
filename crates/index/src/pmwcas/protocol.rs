//! Steps 2 to 5, and what readers do. Nothing but loads, stores, compare-and-swaps, flushes and fences of a medium, so
//! that a model checker can put its own in their place.

use std::cell::Cell;

use assay_pmem::Medium;

use super::{
    descriptor::{Descriptor, Header, MOST_CHANGES, Status, WordChange},
    word::{DIRTY, WordContent, conditional, content, owned},
};

/// Makes a dirty word durable and says so in the word. What was read from it can be acted upon.
#[cold]
#[inline(never)]
pub fn settle<M: Medium>(medium: &M, at: u64, seen: u64) {
    medium.flush(at, 8); // dirty word
    medium.fence(); // dirty word durable
    // Somebody else may have been faster, or have changed the word.
    let _ = medium.compare_exchange(at, seen, seen & !DIRTY);
}

/// Who helps, and how often it has tried.
#[derive(Debug)]
pub(super) struct Helper {
    pub(super) number: u16,
    pub(super) attempts: Cell<u32>,
}

impl Helper {
    fn conditional(&self, index: u16, entry: usize) -> u64 {
        self.attempts.set(self.attempts.get().wrapping_add(1));
        conditional(index, entry, self.number, self.attempts.get())
    }
}

/// What came of trying to own a word.
#[derive(PartialEq, Eq)]
enum Installed {
    Yes,
    /// It has another value.
    Mismatch,
    /// Others brought the operation to its end in the meantime.
    TooLate,
}

/// Descriptors on a medium.
#[derive(Debug)]
pub(super) struct Protocol<'m, M> {
    medium: &'m M,
    area: u64,
}

impl<'m, M: Medium> Protocol<'m, M> {
    pub(super) fn new(medium: &'m M, area: u64) -> Self {
        Self { medium, area }
    }

    pub(super) fn descriptor(&self, index: u16) -> Descriptor<'m, M> {
        Descriptor::new(self.medium, self.area, index)
    }

    /// The value of a word at some moment of this call; it is durable.
    pub(super) fn read(&self, at: u64) -> u64 {
        loop {
            let seen = self.medium.load(at);
            let value = match content(seen) {
                WordContent::Value => Some(seen),
                WordContent::Unsettled => {
                    settle(self.medium, at, seen);
                    Some(seen & !DIRTY)
                }
                WordContent::Conditional { index, entry } => {
                    let old = self.descriptor(index).change(entry).old;
                    // While the pointer stands its descriptor is not used again.
                    (self.medium.load(at) == seen).then_some(old)
                }
                WordContent::Owned { index, sequence } => self.read_through(index, sequence, at),
            };
            if let Some(value) = value {
                return value;
            }
        }
    }

    /// The value of a word that an operation owns; none where it does not any more.
    fn read_through(&self, index: u16, sequence: u64, at: u64) -> Option<u64> {
        let descriptor = self.descriptor(index);
        let header = descriptor.header();
        let change = descriptor.change_of(header, at)?;
        if header.sequence() != sequence || descriptor.header().sequence() != sequence {
            return None;
        }
        match header.status() {
            Status::Succeeded => {
                self.settle_header(&descriptor, header);
                Some(change.new)
            }
            Status::Undecided | Status::Failed => Some(change.old),
            // It has ended since the word was looked at, and nothing says how, unless the word still waits for it: that
            // is so only after a failure, as the words of a success are final before its descriptor is free.
            Status::Free => (self.medium.load(at) == owned(index, sequence)).then_some(change.old),
        }
    }

    /// Brings an operation to its end, whoever began it; whether it succeeded.
    pub(super) fn complete(&self, index: u16, sequence: u64, helper: &Helper) -> bool {
        let descriptor = self.descriptor(index);
        let header = descriptor.header();
        if header.sequence() == sequence && header.status() == Status::Undecided {
            self.decide(&descriptor, index, header, helper);
        }
        self.finish(&descriptor, index, sequence)
    }

    /// Steps 2 and 3.
    fn decide(&self, descriptor: &Descriptor<'_, M>, index: u16, header: Header, helper: &Helper) {
        for entry in 0..header.words().min(MOST_CHANGES) {
            match self.install(descriptor, index, header, entry, helper) {
                Installed::Yes => {}
                Installed::TooLate => return,
                Installed::Mismatch => {
                    descriptor.change_header(header, header.with(Status::Failed));
                    return;
                }
            }
        }
        for entry in 0..header.words().min(MOST_CHANGES) {
            self.medium.flush(descriptor.change(entry).at, 8); // owned word
        }
        self.medium.fence(); // owned words durable
        descriptor.change_header(header, header.with(Status::Succeeded).dirty());
    }

    /// Makes an operation own one of its words.
    fn install(
        &self,
        descriptor: &Descriptor<'_, M>,
        index: u16,
        header: Header,
        entry: usize,
        helper: &Helper,
    ) -> Installed {
        let WordChange { at, old, .. } = descriptor.change(entry);
        loop {
            let seen = self.medium.load(at);
            if seen == owned(index, header.sequence()) {
                return Installed::Yes;
            }
            if content(seen) != WordContent::Value {
                self.clear_way(at, seen, helper);
                continue;
            }
            if descriptor.header() != header {
                return Installed::TooLate;
            }
            if seen != old {
                return Installed::Mismatch;
            }
            let pointer = helper.conditional(index, entry);
            if self.medium.compare_exchange(at, old, pointer).is_ok() && !self.resolve(at, pointer) {
                // It was decided in the meantime. The late pointer may have reached persistent memory: what replaces it
                // must, before this helper lets go of the descriptor.
                self.medium.flush(at, 8); // late pointer taken back
                self.medium.fence(); // late pointer durably gone
                return Installed::TooLate;
            }
        }
    }

    /// Replaces a conditional pointer: by one to the descriptor while that is undecided, else by the old value. Whether
    /// it was undecided.
    fn resolve(&self, at: u64, pointer: u64) -> bool {
        let WordContent::Conditional { index, entry } = content(pointer) else { return false };
        let descriptor = self.descriptor(index);
        let header = descriptor.header();
        let open = header.status() == Status::Undecided;
        let instead = if open { owned(index, header.sequence()) } else { descriptor.change(entry).old };
        // Where the descriptor is another operation's by now, the pointer is gone, and it never comes again.
        let _ = self.medium.compare_exchange(at, pointer, instead);
        open
    }

    /// Steps 4 and 5; whether it succeeded.
    fn finish(&self, descriptor: &Descriptor<'_, M>, index: u16, sequence: u64) -> bool {
        let header = descriptor.header();
        if header.sequence() != sequence {
            return false;
        }
        let succeeded = header.status() == Status::Succeeded;
        if succeeded {
            self.settle_header(descriptor, header);
        }
        for entry in 0..header.words().min(MOST_CHANGES) {
            let WordChange { at, old, new } = descriptor.change(entry);
            let value = if succeeded { new } else { old };
            let _ = self.medium.compare_exchange(at, owned(index, sequence), value);
            self.medium.flush(at, 8); // final value
        }
        succeeded
    }

    fn settle_header(&self, descriptor: &Descriptor<'_, M>, header: Header) {
        if header.is_dirty() {
            self.medium.flush(descriptor.at, 8); // success
            self.medium.fence(); // success durable
            descriptor.change_header(header, header.clean());
        }
    }

    /// Makes a word hold a value again.
    pub(super) fn clear_way(&self, at: u64, seen: u64, helper: &Helper) {
        match content(seen) {
            WordContent::Value => {}
            WordContent::Unsettled => settle(self.medium, at, seen),
            WordContent::Conditional { .. } => {
                self.resolve(at, seen);
            }
            WordContent::Owned { index, sequence } => {
                self.complete(index, sequence, helper);
                self.medium.fence(); // helped
            }
        }
    }
}
