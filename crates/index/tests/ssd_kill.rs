//! A process that works on an index on a drive is killed at any moment, again and again: what it had made durable is there,
//! as it was at that moment, and no page is lost.

#[path = "common/child.rs"]
mod child;

use std::{io::Write, path::Path, sync::Arc, time::Duration};

use assay_btree::Tree;
use assay_buffer::{
    Config,
    disk::{Access, Drive},
};
use assay_index::{
    Index, Session,
    ssd::{HashTable, OnPool, SsdSession, Structure},
};
use child::killed;

const CHILD: &str = "ASSAY_SSD_KILL_TEST";
const KEYS: u64 = 900;
/// Turns between two moments that are made durable.
const A_ROUND: u64 = 40;
const LIVES: u64 = 6;

fn open<S: Structure>(path: &Path) -> OnPool<S>
where
    for<'a> SsdSession<'a, S>: Session,
{
    let config = Config { pool_bytes: 64 * 4096, workers: 3, depth: 8, ..Config::default() };
    let (paths, access) = ([path.to_owned()], Access::default());
    if path.exists() {
        return OnPool::open(Arc::new(Drive::open(&paths, access).unwrap()), config).unwrap();
    }
    OnPool::create(Arc::new(Drive::create(&paths, 1 << 25, access).unwrap()), config).unwrap()
}

fn key(number: u64) -> [u8; 8] {
    number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes()
}

fn value(turn: u64) -> Vec<u8> {
    turn.to_le_bytes().repeat(1 + turn as usize % 20)
}

/// Turn `n` writes key `n mod KEYS`; every third one removes it.
fn turn(session: &mut impl Session, turn: u64) {
    if turn % 3 == 0 {
        session.remove(&key(turn % KEYS)).unwrap();
    } else {
        session.upsert(&key(turn % KEYS), &value(turn)).unwrap();
    }
}

/// What a key has after so many turns, which count from 1.
fn wanted(number: u64, turns: u64) -> Option<Vec<u8>> {
    let last = turns.checked_sub((turns + KEYS - number) % KEYS).filter(|&last| last > 0)?;
    (last % 3 != 0).then(|| value(last))
}

/// Runs only as the child: goes on where it was told to, and says each moment that is durable.
#[test]
fn child() {
    let Ok(orders) = std::env::var(CHILD) else { return };
    let mut orders = orders.splitn(3, ' ');
    let (kind, from) = (orders.next().unwrap(), orders.next().unwrap().parse().unwrap());
    let path = Path::new(orders.next().unwrap());
    if kind == "btree" { work::<Tree>(path, from) } else { work::<HashTable>(path, from) }
}

fn work<S: Structure>(path: &Path, from: u64)
where
    for<'a> SsdSession<'a, S>: Session,
{
    let (index, mut out) = (open::<S>(path), std::io::stdout());
    for round in from / A_ROUND.. {
        let mut session = index.session();
        (1..=A_ROUND).for_each(|step| turn(&mut session, round * A_ROUND + step));
        drop(session);
        index.make_durable().unwrap();
        writeln!(out, "\ndurable {}", (round + 1) * A_ROUND).unwrap();
    }
}

fn survives<S: Structure>(kind: &str, sound: impl Fn(&OnPool<S>))
where
    for<'a> SsdSession<'a, S>: Session,
{
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    drop(open::<S>(&path));
    let mut turns = 0;
    for life in 0..LIVES {
        let (orders, mut said) = (format!("{kind} {turns} {}", path.display()), turns);
        killed("child", (CHILD, orders), Duration::from_micros(900 + life * 5300), |line| {
            let durable = line.strip_prefix("durable ").and_then(|number| number.parse().ok());
            said = durable.unwrap_or(said);
            durable.is_some()
        });
        let index = open::<S>(&path);
        let (mut session, mut found) = (index.session(), Vec::new());
        let mut holds = |number: u64, turns: u64| {
            session.lookup(&key(number), &mut found).unwrap().then(|| found.clone()) == wanted(number, turns)
        };
        // The moment that was being made durable may have become so.
        let is = |turns: &u64, holds: &mut dyn FnMut(u64, u64) -> bool| (0..KEYS).all(|number| holds(number, *turns));
        let found = [said, said + A_ROUND].into_iter().find(|turns| is(turns, &mut holds));
        turns = found.unwrap_or_else(|| panic!("{kind}, life {life}: not as after {said} turns"));
        drop(session);
        sound(&index);
    }
    eprintln!("{kind}: {turns} turns in {LIVES} lives");
    assert!(turns >= LIVES * A_ROUND);
}

#[test]
fn what_a_killed_process_had_made_durable_is_there() {
    survives::<Tree>("btree", |index| {
        let mut last = Vec::new();
        let visited = index.session().scan(&[], usize::MAX, &mut |key, _| {
            assert!(last.as_slice() < key);
            last = key.to_vec();
            true
        });
        assert!(visited.unwrap() as u64 <= KEYS);
    });
    survives::<HashTable>("hash", |index| {
        let (_, _, pages) = index.structure().check(&index.pool().worker().unwrap()).unwrap();
        assert_eq!(pages, index.pool().pages(), "no page is lost");
    });
}
