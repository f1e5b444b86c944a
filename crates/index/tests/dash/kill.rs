//! A process that works on a table is killed at any moment, again and again; what it said is done must be there.

use std::{io::Write, path::Path, time::Duration};

use crate::{
    child::killed,
    common::{key_bytes, value_bytes},
};
use assay_index::{
    Index, Session,
    dash::{Dash, DashShape, Directory, Extendible, Linear},
};
use assay_pmem::{Mapped, PoolFile, Shape};

const CHILD: &str = "ASSAY_DASH_KILL_TEST";
const KEYS: u64 = 1500;
const ROUNDS: u64 = 8;

/// Turn `n` stores stamp `n` under key `n mod KEYS`; every third turn removes it instead.
fn turn<D: Directory>(table: &Dash<Mapped, D>, turn: u64) {
    let (mut session, key) = (table.session(), key_bytes(turn % KEYS));
    if turn % 3 == 0 {
        session.remove(&key).unwrap();
    } else {
        session.upsert(&key, &value_bytes(turn, turn % 5 == 0)).unwrap();
    }
}

/// What the key should hold after so many turns.
fn wanted(key: u64, turns: u64) -> Option<Vec<u8>> {
    let last = (turns + KEYS - key) / KEYS * KEYS;
    let last = (last + key).checked_sub(KEYS).filter(|&last| last > 0)?;
    (last % 3 != 0).then(|| value_bytes(last, last % 5 == 0))
}

fn open<D: Directory>(path: &Path) -> Dash<Mapped, D> {
    Dash::open(PoolFile::open(path, D::LAYOUT).unwrap().split().0).unwrap()
}

/// Runs only as the child: says each turn once it is done.
#[test]
fn child() {
    let Ok(what) = std::env::var(CHILD) else { return };
    let (kind, path) = what.split_once(':').unwrap();
    match kind {
        "eh" => work::<Extendible>(Path::new(path)),
        _ => work::<Linear>(Path::new(path)),
    }
}

fn work<D: Directory>(path: &Path) {
    let (file, _lock) = PoolFile::open(path, D::LAYOUT).unwrap().split();
    let table: Dash<Mapped, D> = Dash::open(file).unwrap();
    let start: u64 = std::fs::read_to_string(path.with_extension("turns")).unwrap().parse().unwrap();
    let mut out = std::io::stdout();
    for number in start + 1.. {
        turn(&table, number);
        writeln!(out, "done {number}").unwrap();
    }
}

fn survives<D: Directory>(kind: &str) {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("skipped: no folder can be made under /dev/shm");
        return;
    };
    let path = folder.path().join("pool");
    let file = PoolFile::create(&path, 32 << 20, &Shape { lanes: 4, ..Shape::new(D::LAYOUT) }).unwrap();
    drop(Dash::<Mapped, D>::create(file.split().0, &DashShape::tiny()).unwrap());
    let mut done = 0;
    for round in 0..ROUNDS {
        std::fs::write(path.with_extension("turns"), done.to_string()).unwrap();
        let said = last_turn(&format!("{kind}:{}", path.display()), Duration::from_millis(3 + round * 7)).max(done);
        let table: Dash<Mapped, D> = open(&path);
        let (mut session, mut value) = (table.session(), Vec::new());
        // The turn that was cut off happened or not.
        let mut holds = |key: u64, turns: u64| {
            let found = session.lookup(&key_bytes(key), &mut value).unwrap().then(|| value.clone());
            found == wanted(key, turns)
        };
        done = if holds((said + 1) % KEYS, said + 1) { said + 1 } else { said };
        for key in 0..KEYS {
            assert!(holds(key, done), "round {round}: key {key} after {done} turns");
        }
        drop(session);
        table.verify().unwrap_or_else(|what| panic!("round {round}: {what}"));
    }
    eprintln!("{kind}: {done} turns in {ROUNDS} lives");
    assert!(done > ROUNDS, "it did too little to say anything");
}

#[test]
fn what_a_killed_process_said_is_there_and_nothing_leaked() {
    survives::<Extendible>("eh");
    survives::<Linear>("lh");
}

/// The last turn that the child said before it was killed.
fn last_turn(what: &str, after: Duration) -> u64 {
    let mut last = 0;
    killed("kill::child", (CHILD, what), after, |line| {
        let turn = line.strip_prefix("done ").and_then(|number| number.parse().ok());
        last = turn.unwrap_or(last);
        turn.is_some()
    });
    last
}
