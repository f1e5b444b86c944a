//! Lookups that wait for the drive together.
//!
//! A thread plays several clients: lookups gather until there are as many as are to be in flight, and are then looked up
//! at once; every other operation is done when its turn comes. Time counts from when the batch is handed over.

use assay_index::{Session, Sizes};
use assay_instruments::clock::Clock;

use super::{desk::Desk, outcome::ThreadOutcome};
use crate::index::{
    job::BATCH_AT_MOST,
    workload::{Entries, Operation, Step, Stream},
};

/// Nanoseconds from now on.
pub(super) fn since(clock: Clock) -> impl Fn() -> u64 {
    let before = clock.now();
    move || clock.ticks_to_ns(clock.now().wrapping_sub(before))
}

/// Lookups that have gathered. All memory is there from the start.
pub(super) struct Batch {
    entries: Entries,
    most: usize,
    key_bytes: usize,
    keys: Vec<u8>,
    gathered: Vec<Gathered>,
}

/// One of them.
#[derive(Clone, Copy)]
struct Gathered {
    step: Step,
    length: usize,
    timed: bool,
    found: bool,
}

impl Batch {
    pub(super) fn new(entries: Entries, sizes: &Sizes, most: u32) -> Self {
        let (most, key_bytes) = (most as usize, sizes.key.most.max(8));
        Self { entries, most, key_bytes, keys: vec![0; most * key_bytes], gathered: Vec::with_capacity(most) }
    }

    /// Whether an operation is one that others can wait with.
    pub(super) fn takes(step: &Step) -> bool {
        matches!(step.operation, Operation::Lookup | Operation::Missing)
    }

    /// How many have gathered.
    pub(super) fn gathered(&self) -> u64 {
        self.gathered.len() as u64
    }

    /// Adds a lookup; `true` where no more fit.
    pub(super) fn add(&mut self, step: Step, timed: bool) -> bool {
        let place = self.gathered.len() * self.key_bytes;
        let length = self.entries.key(step.id, &mut self.keys[place..place + self.key_bytes]).len();
        self.gathered.push(Gathered { step, length, timed, found: false });
        self.gathered.len() == self.most
    }

    /// Looks all of them up and counts them; `false` where the thread gives up. `since` says how long ago they were handed
    /// over, ns.
    pub(super) fn look_up(
        &mut self,
        session: &mut impl Session,
        since: impl Fn() -> u64,
        outcome: &mut ThreadOutcome,
        desk: &Desk,
        stream: &mut Stream,
    ) -> bool {
        let mut keys: [&[u8]; BATCH_AT_MOST as usize] = [&[]; BATCH_AT_MOST as usize];
        for (at, (key, one)) in keys.iter_mut().zip(&self.gathered).enumerate() {
            *key = &self.keys[at * self.key_bytes..][..one.length];
        }
        let (entries, gathered) = (&self.entries, &mut self.gathered);
        let count = gathered.len();
        let result = session.lookup_many(&keys[..count], &mut |position, value| {
            let one = &mut gathered[position];
            one.found = true;
            if one.timed {
                desk.took(one.step.operation, since());
                outcome.look_at_value(one.step.operation, || entries.is_value(one.step.id, value));
            }
        });
        let mut error = result.err();
        let mut goes_on = true;
        for one in gathered.drain(..) {
            if one.timed && !one.found {
                desk.took(one.step.operation, since());
            }
            let result = if one.found { Ok(true) } else { error.take().map_or(Ok(false), Err) };
            goes_on &= outcome.count(&one.step, result, stream);
        }
        goes_on
    }
}
