//! What one thread does next.

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

use assay_index::mix;

use super::{
    distribution::{Picker, below},
    entry::MISSING,
    name::{Mix, Operation},
};

/// Ids of a thread: 0 to `keys` were loaded, and from there on thread t of T adds `keys + t`, `keys + t + T`, and so on.
/// It removes the loaded ids t, t + T, and so on. So threads never meet at an id that is added or removed, nobody
/// shares a counter, and after the run it is known which ids are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Territory {
    /// Loaded keys.
    pub keys: u64,
    /// Number of this thread.
    pub thread: u64,
    /// How many threads there are.
    pub threads: u64,
    /// This thread works on its own ids alone; else it picks from all that were loaded.
    pub alone: bool,
    /// Ids that this thread has added.
    pub added: u64,
    /// Ids that it has removed.
    pub removed: u64,
}

impl Territory {
    /// Nothing added or removed yet.
    pub fn new(keys: u64, thread: u64, threads: u64) -> Self {
        Self { keys, thread, threads, alone: false, added: 0, removed: 0 }
    }

    /// How many loaded ids it picks from.
    pub fn picked(&self) -> u64 {
        if self.alone { self.keys.saturating_sub(self.thread).div_ceil(self.threads) } else { self.keys }
    }

    /// The n-th of them.
    #[inline(always)]
    fn loaded_id(&self, n: u64) -> u64 {
        if self.alone { self.thread + n * self.threads } else { n }
    }

    /// The n-th id that it adds.
    #[inline(always)]
    pub fn added_id(&self, n: u64) -> u64 {
        self.keys + self.thread + n * self.threads
    }

    /// The n-th id that it removes; none where all of its own are gone.
    #[inline(always)]
    pub fn removed_id(&self, n: u64) -> Option<u64> {
        let id = self.thread + n * self.threads;
        (id < self.keys).then_some(id)
    }
}

/// One operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What to do.
    pub operation: Operation,
    /// To which id.
    pub id: u64,
}

impl Step {
    /// A lookup of a key that is there, or where `ABSENT` of one that is not.
    #[inline(always)]
    pub fn read<const ABSENT: bool>(id: u64) -> Self {
        if ABSENT {
            Self { operation: Operation::Missing, id: id | MISSING }
        } else {
            Self { operation: Operation::Lookup, id }
        }
    }
}

/// An endless stream of operations, unless all keys of a thread have been removed.
#[derive(Clone, Debug)]
pub struct Stream {
    mix: Mix,
    only: Option<Operation>,
    picker: Picker,
    random: Xoshiro256PlusPlus,
    territory: Territory,
}

impl Stream {
    /// Of one thread.
    pub fn new(mix: Mix, picker: Picker, territory: Territory, seed: u64) -> Self {
        let only = Operation::ALL.into_iter().find(|&operation| mix.0[operation as usize] == 1000);
        let random = Xoshiro256PlusPlus::seed_from_u64(mix_seed(seed, territory.thread));
        Self { mix, only, picker, random, territory }
    }

    /// The operation that all steps are of, if they are.
    pub fn only(&self) -> Option<Operation> {
        self.only
    }

    /// Ids as they are now.
    pub fn territory(&self) -> Territory {
        self.territory
    }

    /// The next operation; none where a key was to be removed and none of this thread's is left.
    #[inline(always)]
    pub fn step(&mut self) -> Option<Step> {
        let operation = match self.only {
            Some(operation) => operation,
            None => self.mix.pick(below(self.random.next_u64(), 1000) as u32),
        };
        let id = match operation {
            Operation::Lookup => return Some(Step::read::<false>(self.present())),
            Operation::Missing => return Some(Step::read::<true>(self.present())),
            Operation::Insert => self.territory.added_id(self.territory.added),
            Operation::Remove => self.territory.removed_id(self.territory.removed)?,
            _ => self.present(),
        };
        Some(Step { operation, id })
    }

    /// Says that an insert was done: its id is there.
    #[inline(always)]
    pub fn added(&mut self) {
        self.territory.added += 1;
    }

    /// Says that a removal was done.
    #[inline(always)]
    pub fn removed(&mut self) {
        self.territory.removed += 1;
    }

    /// An id that is there. The newest are this thread's own: what others have added since is not looked at, so that
    /// threads share nothing.
    #[inline(always)]
    pub fn present(&mut self) -> u64 {
        let pick = self.picker.pick(&mut self.random);
        if !self.picker.is_latest() {
            return self.territory.loaded_id(pick);
        }
        match pick.checked_sub(self.territory.added) {
            None => self.territory.added_id(self.territory.added - 1 - pick),
            Some(older) => self.territory.loaded_id(self.territory.picked() - 1 - older),
        }
    }
}

fn mix_seed(seed: u64, thread: u64) -> u64 {
    mix(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(thread + 1))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::index::workload::{Distribution, WorkloadName};

    fn stream(workload: WorkloadName, distribution: Distribution, keys: u64, thread: u64) -> Stream {
        let picker = Picker::new(distribution, keys).unwrap();
        Stream::new(workload.mix(), picker, Territory::new(keys, thread, 3), 5)
    }

    #[test]
    fn after_a_parallel_load_new_ids_go_on_where_it_ended_and_meet_nobody() {
        let mut seen: HashSet<u64> = (0..100).collect();
        for thread in 0..3 {
            let mut stream = stream(WorkloadName::Insert, Distribution::Uniform, 100, thread);
            for _ in 0..50 {
                let step = stream.step().unwrap();
                assert!(step.id >= 100 && seen.insert(step.id), "{step:?}");
                stream.added();
            }
        }
        assert_eq!(seen.into_iter().max(), Some(100 + 149), "150 ids without a gap");
    }

    #[test]
    fn picked_ids_are_those_that_were_loaded_or_added() {
        let latest = Distribution::Latest { theta: 0.99 };
        for distribution in [Distribution::Uniform, Distribution::Zipf { theta: 0.99 }, latest] {
            let mut stream = stream(WorkloadName::YcsbD, distribution, 100, 1);
            let mut there: HashSet<u64> = (0..100).collect();
            for _ in 0..2000 {
                let step = stream.step().unwrap();
                if step.operation == Operation::Insert {
                    there.insert(step.id);
                    stream.added();
                } else {
                    assert!(there.contains(&step.id), "{step:?}");
                }
            }
            assert!(there.len() > 150);
        }
    }

    #[test]
    fn a_thread_that_works_alone_picks_its_own_ids_and_all_of_them() {
        for distribution in [Distribution::Uniform, Distribution::Latest { theta: 0.99 }] {
            let territory = Territory { alone: true, ..Territory::new(100, 1, 3) };
            let picker = Picker::new(distribution, territory.picked()).unwrap();
            let mut stream = Stream::new(WorkloadName::Lookup.mix(), picker, territory, 5);
            let picked: HashSet<u64> = (0..2000).map(|_| stream.step().unwrap().id).collect();
            assert!(picked.iter().all(|id| id % 3 == 1 && *id < 100));
            assert!(picked.len() == 33 || distribution != Distribution::Uniform);
        }
    }

    #[test]
    fn every_loaded_key_is_removed_once_and_then_the_stream_ends() {
        let mut gone = HashSet::new();
        for thread in 0..3 {
            let mut stream = stream(WorkloadName::Remove, Distribution::Uniform, 100, thread);
            while let Some(step) = stream.step() {
                assert!(step.id < 100 && gone.insert(step.id));
                stream.removed();
            }
        }
        assert_eq!(gone.len(), 100);
    }

    #[test]
    fn lookups_that_are_drawn_ahead_are_those_of_the_stream() {
        fn same<const ABSENT: bool>(workload: WorkloadName) {
            let (mut one, mut other) =
                (stream(workload, Distribution::Uniform, 100, 1), stream(workload, Distribution::Uniform, 100, 1));
            assert!((0..200).all(|_| Some(Step::read::<ABSENT>(one.present())) == other.step()));
        }
        same::<false>(WorkloadName::Lookup);
        same::<true>(WorkloadName::Missing);
    }

    #[test]
    fn the_same_seed_gives_the_same_stream_and_threads_differ() {
        let all = |thread| {
            let mut stream = stream(WorkloadName::YcsbA, Distribution::Uniform, 1000, thread);
            (0..50).map(|_| stream.step().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(all(0), all(0));
        assert_ne!(all(0), all(1));
    }
}
