//! Whether what threads saw of one key can have happened in some order: Wing and Gong's search, key by key.

use std::collections::HashSet;

/// What was done to a key, and what came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    Insert(u64, bool),
    Update(u64, bool),
    Upsert(u64, bool),
    Remove(bool),
    Lookup(Option<u64>),
}

/// One operation of one thread; times are ticks of one counter.
#[derive(Clone, Copy, Debug)]
pub struct Past {
    pub key: u64,
    pub began: u64,
    pub ended: u64,
    pub did: Did,
}

/// The key's value afterwards, if the operation can have happened to it.
fn step(state: Option<u64>, did: Did) -> Option<Option<u64>> {
    let there = state.is_some();
    match did {
        Did::Insert(value, done) => (done != there).then_some(if done { Some(value) } else { state }),
        Did::Update(value, done) => (done == there).then_some(if done { Some(value) } else { state }),
        Did::Upsert(value, added) => (added != there).then_some(Some(value)),
        Did::Remove(done) => (done == there).then_some(None),
        Did::Lookup(seen) => (seen == state).then_some(state),
    }
}

/// Histories of all threads on one key: whether there is an order in which each operation happened between its beginning
/// and its end, and all saw what they saw.
///
/// # Errors
/// Of each thread, the operations about the farthest place that an order leads to.
pub fn order(threads: &[Vec<Past>]) -> Result<(), Vec<Vec<Past>>> {
    let mut seen = HashSet::new();
    let mut farthest = vec![0; threads.len()];
    let mut open = vec![(farthest.clone(), None)];
    while let Some((at, state)) = open.pop() {
        if at.iter().zip(threads).all(|(&done, all)| done == all.len()) {
            return Ok(());
        }
        if !seen.insert((at.clone(), state)) {
            continue;
        }
        if at.iter().sum::<usize>() > farthest.iter().sum() {
            farthest.clone_from(&at);
        }
        let next = |thread: usize| threads[thread].get(at[thread]);
        let first_end = (0..threads.len()).filter_map(next).map(|past| past.ended).min().unwrap_or(u64::MAX);
        for thread in 0..threads.len() {
            let Some(past) = next(thread).filter(|past| past.began < first_end || past.ended == first_end) else {
                continue;
            };
            if let Some(state) = step(state, past.did) {
                let mut at = at.clone();
                at[thread] += 1;
                open.push((at, state));
            }
        }
    }
    let about = |(past, &at): (&Vec<Past>, &usize)| past[at.saturating_sub(5)..past.len().min(at + 3)].to_vec();
    Err(threads.iter().zip(&farthest).map(about).collect())
}

#[test]
fn an_order_is_found_where_there_is_one_and_only_there() {
    let past = |began, ended, did| Past { key: 0, began, ended, did };
    let is_linear = |threads: &[Vec<Past>]| order(threads).is_ok();
    let insert = past(0, 10, Did::Insert(1, true));
    assert!(is_linear(&[vec![insert], vec![past(5, 6, Did::Lookup(None))]]));
    assert!(is_linear(&[vec![insert], vec![past(5, 6, Did::Lookup(Some(1)))]]));
    assert!(!is_linear(&[vec![insert], vec![past(11, 12, Did::Lookup(None))]]), "a lost insert");
    assert!(!is_linear(&[vec![insert], vec![past(5, 6, Did::Insert(2, true))]]), "inserted twice");
    let stale = vec![past(20, 21, Did::Lookup(Some(2))), past(22, 23, Did::Lookup(Some(1)))];
    assert!(!is_linear(&[vec![insert, past(12, 30, Did::Update(2, true))], stale]), "new, then old");
}
