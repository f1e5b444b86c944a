//! What is left of a store after a crash.

use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    error::SoakError,
    job::SoakJob,
    journal,
    store::{Store, StoreHandle, Visit},
    turn::{Keys, SlotState},
};

const EXAMPLES: usize = 5;

/// What was counted, in the form that `assayer verify` has too.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Counted {
    /// The job's name.
    pub name: String,
    /// Keys that an acknowledged turn had changed.
    pub acknowledged: u64,
    /// Those that are as they should be.
    pub found: u64,
    /// Always 0: a store has no torn entries, they would be corrupt.
    pub torn: u64,
    /// Those that are as an earlier turn left them.
    pub lost: u64,
    /// Keys that hold what no turn wrote there, or a turn that had not begun.
    pub corrupt: u64,
    /// The first of what is not as it should be.
    pub examples: Vec<String>,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Finding {
    /// One entry.
    pub datasets: Vec<Counted>,
    /// Turns that were acknowledged, of all threads.
    pub turns: u64,
    /// What the store says of its own structure.
    pub structure: String,
}

impl Finding {
    /// Nothing is lost or corrupt.
    pub fn whole(&self) -> bool {
        self.datasets.iter().all(|one| one.lost == 0 && one.corrupt == 0)
    }
}

/// Looks at a store.
pub(crate) struct Check<'a> {
    pub job: &'a SoakJob,
}

impl Visit for Check<'_> {
    type Out = Finding;

    fn visit<S: Store>(self, store: &S) -> Result<Finding, SoakError> {
        let acknowledged = journal::read(&self.job.journal, self.job.threads)?;
        let (mut counted, _) = count(self.job, store, &acknowledged)?;
        let structure = match store.examine() {
            None => "it has no check of its own".to_owned(),
            Some(Ok(seen)) => seen,
            Some(Err(wrong)) => {
                counted.corrupt += 1;
                counted.examples.push(wrong.clone());
                wrong
            }
        };
        Ok(Finding { datasets: vec![counted], turns: acknowledged.iter().sum(), structure })
    }
}

/// Compares a store with what was acknowledged: what was counted, and how many turns of each thread it holds.
pub(crate) fn count<S: Store>(
    job: &SoakJob,
    store: &S,
    acknowledged: &[u64],
) -> Result<(Counted, Vec<u64>), SoakError> {
    let name = job.name.clone();
    let mut counted = Counted { name, acknowledged: 0, found: 0, torn: 0, lost: 0, corrupt: 0, examples: Vec::new() };
    let mut handle = store.handle()?;
    let mut holds = Vec::with_capacity(acknowledged.len());
    for (thread, done) in (0..).zip(acknowledged) {
        let keys = Keys { thread, keys: job.keys };
        let seen = look(&mut handle, keys)?;
        let turns = held(keys, &seen, *done, store.batch());
        judge(keys, &seen, (*done, turns), &mut counted);
        holds.push(turns);
    }
    Ok((counted, holds))
}

/// What each key of a thread holds.
fn look(handle: &mut impl StoreHandle, keys: Keys) -> Result<Vec<SlotState>, SoakError> {
    let (mut key, mut value) = (Vec::new(), Vec::new());
    (0..keys.keys)
        .map(|slot| {
            keys.key(slot, &mut key);
            let there = handle.get(&key, &mut value)?;
            Ok(keys.seen(slot, there.then_some(value.as_slice())))
        })
        .collect()
}

/// The number of turns that explains best what is there: those acknowledged, or some of the batch under way as well.
fn held(keys: Keys, seen: &[SlotState], done: u64, batch: u64) -> u64 {
    let wrong = |turns: &u64| (0..).zip(seen).filter(|(slot, seen)| keys.wanted(*slot, *turns) != **seen).count();
    (done..=done + batch).min_by_key(wrong).unwrap_or(done)
}

fn judge(keys: Keys, seen: &[SlotState], (done, turns): (u64, u64), counted: &mut Counted) {
    for (slot, seen) in (0..).zip(seen) {
        let wanted = keys.wanted(slot, turns);
        let was_acknowledged = keys.last(slot, done) > 0;
        counted.acknowledged += u64::from(was_acknowledged);
        if *seen == wanted {
            counted.found += u64::from(was_acknowledged);
            continue;
        }
        let older = match seen {
            SlotState::Nothing => true,
            SlotState::Turn(turn) => *turn < keys.last(slot, turns),
            SlotState::Foreign => false,
        };
        // Of what was not acknowledged nothing can be lost, but it must not be there in part.
        let lost = older && was_acknowledged;
        *if lost { &mut counted.lost } else { &mut counted.corrupt } += 1;
        if counted.examples.len() < EXAMPLES {
            let thread = keys.thread;
            counted.examples.push(format!(
                "key {slot} of thread {thread}, which had {done} turns acknowledged, holds {seen:?} and not {wanted:?}"
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEYS: Keys = Keys { thread: 1, keys: 8 };

    fn after(turns: u64) -> Vec<SlotState> {
        (0..KEYS.keys).map(|slot| KEYS.wanted(slot, turns)).collect()
    }

    fn judged(seen: &[SlotState], done: u64, batch: u64) -> Counted {
        let mut counted =
            Counted { name: String::new(), acknowledged: 0, found: 0, torn: 0, lost: 0, corrupt: 0, examples: vec![] };
        judge(KEYS, seen, (done, held(KEYS, seen, done, batch)), &mut counted);
        counted
    }

    #[test]
    fn the_turn_under_way_may_be_there() {
        for state in [after(40), after(41)] {
            let counted = judged(&state, 40, 1);
            assert_eq!((counted.acknowledged, counted.found, counted.lost, counted.corrupt), (8, 8, 0, 0));
        }
    }

    #[test]
    fn what_an_earlier_state_holds_is_lost() {
        let counted = judged(&after(37), 40, 1);
        assert!(counted.lost >= 2 && counted.corrupt == 0, "{counted:?}");
        assert!(!counted.examples.is_empty());
    }

    #[test]
    fn a_turn_beyond_the_one_under_way_is_corrupt() {
        let counted = judged(&after(44), 40, 1);
        assert!(counted.corrupt >= 1, "{counted:?}");
        assert_eq!(judged(&after(44), 40, 8).corrupt, 0);
    }

    #[test]
    fn a_foreign_value_is_corrupt() {
        let mut state = after(40);
        state[3] = SlotState::Foreign;
        assert_eq!((judged(&state, 40, 1).corrupt, judged(&state, 40, 1).lost), (1, 0));
    }
}
