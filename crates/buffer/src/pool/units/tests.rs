//! Slots by groups: none is given out twice, and none that a checkpoint refers to.

use std::collections::{BTreeSet, HashSet};

use proptest::prelude::*;

use super::*;
use crate::pool::slots::Slots;

const PAGE: u64 = 4096;
const BEGINS: u64 = 128 << 10;

fn grouped(count: u64, unit_slots: u64) -> Slots {
    let units = Units::new(unit_slots * PAGE, PAGE, BEGINS, count, count).unwrap();
    Slots::new(count).unwrap().grouped(Some(units))
}

fn units(slots: &Slots) -> &Units {
    slots.units().unwrap()
}

/// What is done to slots.
#[derive(Clone, Debug)]
enum Step {
    Take { group: usize, want: u32 },
    Release { at: usize },
    Leave { at: usize },
    Checkpoint,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (0..=GROUPS, 1_u32..70).prop_map(|(group, want)| Step::Take { group, want }),
        2 => any::<usize>().prop_map(|at| Step::Release { at }),
        3 => any::<usize>().prop_map(|at| Step::Leave { at }),
        1 => Just(Step::Checkpoint),
    ]
}

fn pick(from: &mut BTreeSet<u64>, at: usize) -> Option<u64> {
    let slot = *from.iter().nth(at % from.len().max(1))?;
    from.remove(&slot);
    Some(slot)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_slot_is_given_out_twice_and_none_that_the_checkpoint_has(
        steps in prop::collection::vec(step(), 1..300),
        count in 700_u64..1500,
        unit_slots in prop::sample::select(vec![8_u64, 16, 24, 32, 64]),
    ) {
        let slots = grouped(count, unit_slots);
        // Slots that are in use, and those that only the last durable checkpoint still refers to.
        let (mut used, mut leaving) = (BTreeSet::new(), BTreeSet::new());
        for step in steps {
            match step {
                Step::Take { group, want } => match slots.take_for(group, want) {
                    Some(run) => {
                        prop_assert!(run.count >= 1 && run.count <= want);
                        for slot in run.first..run.first + u64::from(run.count) {
                            prop_assert!(slot < count, "{slot}");
                            prop_assert!(!leaving.contains(&slot), "{slot} is the checkpoint's");
                            prop_assert!(used.insert(slot), "{slot} was given out twice");
                        }
                    }
                    None => prop_assert_eq!((used.len() + leaving.len()) as u64, count, "there was one"),
                },
                Step::Release { at } => {
                    if let Some(slot) = pick(&mut used, at) {
                        slots.release(slot);
                    }
                }
                Step::Leave { at } => {
                    if let Some(slot) = pick(&mut used, at) {
                        slots.release_later(slot);
                        leaving.insert(slot);
                    }
                }
                Step::Checkpoint => {
                    slots.release_outgoing();
                    leaving.clear();
                }
            }
            prop_assert_eq!(slots.used(), (used.len() + leaving.len()) as u64);
        }
    }
}

#[test]
fn each_group_fills_units_of_its_own_from_one_end_to_the_other() {
    let slots = grouped(1024, 32);
    let mut seen = HashSet::new();
    for group in 0..3 {
        let mut at = None;
        for _ in 0..4 {
            let run = slots.take_for(group, 8).unwrap();
            assert_eq!(run.count, 8);
            assert_eq!(*at.get_or_insert(run.first), run.first, "one behind the other");
            at = Some(run.first + 8);
        }
        let first = at.unwrap() - 32;
        assert_eq!((BEGINS + first * PAGE) % (32 * PAGE), 0, "aligned on the disk");
        assert!(seen.insert(first), "no group shares a unit");
    }
}

#[test]
fn a_dead_unit_is_filled_before_a_hole_of_another() {
    let slots = grouped(1024, 32);
    let all: Vec<_> = std::iter::from_fn(|| slots.take_for(1, 32)).collect();
    let whole = all.iter().filter(|run| run.count == 32).nth(20).unwrap();
    slots.release(all[3].first);
    (whole.first..whole.first + 32).for_each(|slot| slots.release(slot));
    assert_eq!(slots.take_for(2, 32).unwrap().first, whole.first);
    assert_eq!(slots.take_for(2, 32).unwrap().first, all[3].first, "then the holes");
    assert!(slots.take_for(2, 32).is_none());
}

#[test]
fn pages_of_one_pace_are_of_one_group_and_quicker_ones_of_a_later() {
    let slots = grouped(4096, 32);
    let units = units(&slots);
    assert_eq!(units.expected(7), 0, "a stranger");
    let pace = |page: u64, every: u64| {
        for _ in 0..20 {
            units.clock.fetch_add(every, Relaxed);
            units.written(page);
        }
        units.clock.fetch_add(every, Relaxed);
        units.expected(page)
    };
    let [slow, medium, quick] = [(1, 6000), (2, 1500), (3, 40)].map(|(page, every)| pace(page, every));
    assert!(slow < medium && medium < quick && quick == GROUPS - 1, "{slow}, {medium}, {quick}");
}

#[test]
fn units_that_are_too_few_are_refused() {
    let error = Units::new(1 << 20, PAGE, BEGINS, 2000, 2000).unwrap_err();
    assert!(error.to_string().contains("has 6") && error.fix().contains("smaller"), "{error}");
}
