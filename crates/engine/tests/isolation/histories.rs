//! Histories of threads, recorded and held against what a snapshot is.

use super::*;

/// A step of a transaction that read and wrote: the commit it saw, what it read, and the commit it made.
struct Step {
    snapshot: u64,
    commit: u64,
    reads: Vec<(u64, u64)>,
    writes: Vec<(u64, u64)>,
}

/// Every value is written once, so what was read tells who wrote it: each transaction read exactly the newest values of
/// its snapshot, and nobody wrote between its snapshot and its commit what it wrote.
#[test]
fn recorded_histories_are_those_of_snapshots() {
    for seed in 0..3 {
        let database = Database::new(Pace::Eager);
        let steps = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for thread in 0..4_u64 {
                let (database, steps) = (&database, &steps);
                scope.spawn(move || play(database, seed * 16 + thread, steps));
            }
        });
        check(&mut steps.into_inner().unwrap(), seed);
    }
}

fn play(database: &Database, seed: u64, steps: &Mutex<Vec<Step>>) {
    let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut session = database.session();
    for round in 0..400_u64 {
        session.begin().unwrap();
        let mut step = Step { snapshot: 0, commit: 0, reads: Vec::new(), writes: Vec::new() };
        let mut lost = false;
        for _ in 0..4 {
            let key = chance.next_u64() % 6;
            if chance.next_u64() % 2 == 0 && !step.writes.iter().any(|(written, _)| *written == key) {
                step.reads.push((key, get(&mut session, &key.to_be_bytes()).unwrap_or(0)));
            } else {
                let value = seed << 32 | round << 8 | key | 1 << 63;
                lost = put(&mut session, &key.to_be_bytes(), value).is_err();
                step.writes.retain(|(written, _)| *written != key);
                step.writes.push((key, value));
            }
            if lost {
                break;
            }
        }
        if lost {
            session.abort();
            continue;
        }
        step.snapshot = session.snapshot();
        let ticket = session.commit_soon().unwrap();
        step.commit = ticket.commit;
        session.wait(ticket).unwrap();
        steps.lock().unwrap().push(step);
    }
}

fn check(steps: &mut Vec<Step>, seed: u64) {
    // Those that only read come with the newest commit that they saw.
    steps.retain(|step| !step.writes.is_empty());
    steps.sort_by_key(|step| step.commit);
    let mut versions: BTreeMap<u64, Vec<(u64, u64)>> = BTreeMap::new();
    for step in &*steps {
        for (key, value) in &step.writes {
            let last = versions.get(key).and_then(|versions| versions.last()).map_or(0, |(commit, _)| *commit);
            assert!(last <= step.snapshot, "seed {seed}: {key} changed at {last}, after {}", step.snapshot);
            versions.entry(*key).or_default().push((step.commit, *value));
        }
    }
    for step in &*steps {
        for (key, value) in &step.reads {
            let seen = versions.get(key).and_then(|all| all.iter().rfind(|(commit, _)| *commit <= step.snapshot));
            assert_eq!(*value, seen.map_or(0, |(_, value)| *value), "seed {seed}: {key} at {}", step.snapshot);
        }
    }
    assert!(steps.len() > 300, "seed {seed}: {} committed", steps.len());
}
