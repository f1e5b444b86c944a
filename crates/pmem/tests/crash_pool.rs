//! The pool and its allocator survive every crash that was tried, and a careless user of it does not.

mod common;

use assay_pmem::{
    Medium,
    crash::{CrashCase, Explorer, Recorder, Summary, hints},
};
use common::{Action, Case, Operation, by_chance, every_action};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

/// Images of all the sampled histories together.
const IMAGES: u64 = 100_000;

fn case_by_chance(seed: u64) -> Case {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let operations = by_chance(24, || random.next_u64());
    let mut afterwards = by_chance(4, || random.next_u64());
    afterwards.iter_mut().for_each(|operation| operation.stamp += 100);
    Case { operations, afterwards }
}

#[test]
fn a_hundred_thousand_sampled_images_without_a_violation() {
    let (mut total, mut seed) = (Summary::default(), 0);
    let start = std::time::Instant::now();
    while total.images < IMAGES {
        seed += 1;
        let explorer = Explorer { seed, images: 4000, ..Explorer::default() };
        let found = explorer.explore(&case_by_chance(seed)).unwrap_or_else(|violation| panic!("{violation}"));
        total.images += found.images;
        total.nested_images += found.nested_images;
        total.moments += found.moments;
        total.exhausted += found.exhausted;
    }
    println!("{total:?} of {seed} histories in {:?}", start.elapsed());
    assert!(total.nested_images > IMAGES / 10, "{total:?}");
}

#[test]
fn short_histories_exhaustively() {
    let mut total = Summary::default();
    for first in every_action() {
        let second = Operation { action: Action::ClearNow, stamp: 50, lane: 1, ..first };
        let third = Operation { action: Action::Fill, stamp: 51, lane: 0, bytes: 40, ..first };
        let case = Case { operations: vec![first, second], afterwards: vec![third] };
        let explorer = Explorer {
            images: 5000,
            exhaustive_below: 256,
            depth: 1,
            nested_every: 16,
            nested_images: 64,
            ..Explorer::default()
        };
        let found = explorer.explore(&case).unwrap_or_else(|violation| panic!("{first:?}\n{violation}"));
        total.images += found.images;
        total.nested_images += found.nested_images;
        total.moments += found.moments;
        total.exhausted += found.exhausted;
    }
    println!("{total:?}");
}

#[test]
fn creation_is_cut_off_at_any_moment() {
    struct Creation;
    impl CrashCase for Creation {
        type Recovered = Result<assay_pmem::Pool<Recorder>, assay_pmem::PmemError>;

        fn bytes(&self) -> usize {
            1 << 18
        }

        fn set_up(&self, medium: Recorder) -> Result<(), String> {
            use assay_pmem::Medium;
            // What lay on a device before.
            (0..64).for_each(|page| medium.write(page * 4096, &[0xEE; 4096]));
            Ok(())
        }

        fn run(&self, medium: Recorder) -> Result<(), String> {
            let shape = assay_pmem::Shape { lanes: 2, zeroed: false, ..assay_pmem::Shape::new("new-1") };
            medium.begin(1);
            assay_pmem::Pool::create(medium.clone(), &shape).map_err(|error| error.to_string())?;
            medium.end(1);
            Ok(())
        }

        fn recover(&self, medium: Recorder) -> Result<Self::Recovered, String> {
            Ok(assay_pmem::Pool::open(medium, "new-1"))
        }

        fn check(&self, opened: &Self::Recovered, past: &[assay_pmem::crash::Mark]) -> Result<(), String> {
            use assay_pmem::{PmemError, crash::Mark};
            match opened {
                Ok(pool) => {
                    let blocks = pool.allocated().map_err(|error| error.to_string())?;
                    if blocks.is_empty() { Ok(()) } else { Err(format!("a new pool has {blocks:?}")) }
                }
                Err(PmemError::Unfinished | PmemError::NotAPool { .. }) if !past.contains(&Mark::End(1)) => Ok(()),
                Err(error) => Err(format!("an acknowledged pool is refused: {error}")),
            }
        }
    }
    let explorer = Explorer { images: 2000, ..Explorer::default() };
    let found = explorer.explore(&Creation).unwrap_or_else(|violation| panic!("{violation}"));
    assert!(found.images > 300, "{found:?}");
}

#[test]
fn a_pointer_that_is_moved_without_a_transaction_is_caught_with_a_small_reproducer() {
    let [fill, mut shift, stamp] = [every_action()[0], every_action()[9], every_action()[7]];
    (shift.action, shift.slot) = (Action::MoveCarelessly, 0);
    let case = Case { operations: vec![stamp, fill, shift], afterwards: vec![] };
    let violation = Explorer::default().explore(&case).expect_err("between the two stores both slots hold the block");
    let said = violation.to_string();
    assert!(said.contains("common/mod.rs") && said.contains("found State"), "{said}");
    let lost: usize =
        violation.points.iter().map(|point| point.lines.iter().filter(|line| line.contains(": 0 of")).count()).sum();
    assert!(lost <= 2, "{said}");
}

#[test]
fn the_same_seed_tries_the_same_images() {
    let explorer = Explorer { images: 500, ..Explorer::default() };
    assert_eq!(explorer.explore(&case_by_chance(5)).unwrap(), explorer.explore(&case_by_chance(5)).unwrap());
}

#[test]
fn the_pool_flushes_and_fences_nothing_in_vain() {
    let case = Case { operations: every_action(), afterwards: vec![] };
    let medium = Recorder::new(case.bytes());
    case.set_up(medium.clone()).unwrap();
    medium.start_recording();
    case.run(medium.clone()).unwrap();
    let hints = hints(&medium.stop_recording());
    let text = hints.to_string();
    let in_pool = |site: &&String| site.contains("crates/pmem/src") && !site.contains("transaction.rs");
    assert_eq!(hints.idle_flushes.keys().filter(in_pool).count(), 0, "{text}");
    assert!(hints.late_stores.is_empty(), "{text}");
    println!("{text}");
}

#[test]
fn what_another_thread_reads_before_it_is_durable_is_named() {
    let medium = Recorder::new(4096);
    medium.start_recording();
    medium.watch_reads();
    medium.play_thread(0);
    medium.write(64, &[1; 8]);
    medium.play_thread(1);
    let mut word = [0; 8];
    medium.read(64, &mut word);
    medium.play_thread(0);
    medium.persist(64, 8);
    medium.play_thread(1);
    medium.read(64, &mut word);
    let hints = hints(&medium.stop_recording());
    let counts: Vec<u64> = hints.unpersisted_reads.values().copied().collect();
    assert_eq!(counts, [1], "{hints}");
}
