//! Long scans on a pool that is much smaller than what they go through, whole and in pieces, against a model: older versions,
//! deleted rows and a transaction's own changes lie among the rows.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use assay_buffer::{
    Config,
    disk::{Disk, sim::World},
};
use assay_engine::{Database, Disks, Durability, Options, Session, handle::Handle, log::Pace};

type Model = BTreeMap<Vec<u8>, Vec<u8>>;

const ROWS: u32 = 6000;
const TABLE: u16 = 0;

fn database() -> Database {
    let disk: Arc<dyn Disk> = World::new(3).add("data", 16 << 20);
    let options = Options {
        pool: Config { page_bytes: 4096, pool_bytes: 96 * 4096, workers: 8, depth: 16, ..Config::default() },
        durability: Durability::None,
        pace: Pace::Asked,
        tail_bytes: 32 << 10,
        versions_bytes: 4 << 20,
        recovery_threads: 1,
        tier: None,
        write_rate_bytes_per_s: None,
    };
    Database::create(Disks { data: disk, logs: Vec::new(), tails: Vec::new() }, &options, 1, 7).unwrap()
}

fn key(row: u32) -> [u8; 4] {
    row.to_be_bytes()
}

fn put(session: &mut Session<'_, Handle<'_>>, model: &mut Model, row: u32, value: &[u8]) {
    session.put(TABLE, &key(row), value).unwrap();
    model.insert(key(row).to_vec(), value.to_vec());
}

fn delete(session: &mut Session<'_, Handle<'_>>, model: &mut Model, row: u32) {
    session.delete(TABLE, &key(row)).unwrap();
    model.remove(&key(row)[..]);
}

/// Every second number is a row.
fn filled(database: &Database) -> Model {
    let (mut session, mut model) = (database.session().unwrap(), Model::new());
    for first in (0..ROWS).step_by(50) {
        session.begin().unwrap();
        (first..first + 50).step_by(2).for_each(|row| put(&mut session, &mut model, row, &[row as u8; 150]));
        session.commit().unwrap();
    }
    model
}

fn scanned(session: &mut Session<'_, Handle<'_>>, from: u32, below: u32, down: bool, most: usize) -> Vec<Vec<u8>> {
    let mut seen = Vec::new();
    let visit = |key: &[u8], value: &[u8]| {
        seen.push([key, value].concat());
        seen.len() < most
    };
    session.scan(TABLE, &key(from), &key(below), down, visit).unwrap();
    seen
}

fn expected(model: &Model, from: u32, below: u32, down: bool, most: usize) -> Vec<Vec<u8>> {
    let range = (Bound::Included(key(from).to_vec()), Bound::Excluded(key(below).to_vec()));
    let rows = model.range(range).map(|(key, value)| [key.as_slice(), value].concat());
    if down { rows.rev().take(most).collect() } else { rows.take(most).collect() }
}

/// All of it at once, up to a row in the middle, and in pieces that go on where the last one ended.
fn compare(session: &mut Session<'_, Handle<'_>>, model: &Model) {
    for down in [false, true] {
        for most in [usize::MAX, 1, 2001] {
            assert_eq!(scanned(session, 0, ROWS, down, most), expected(model, 0, ROWS, down, most));
        }
        for piece in [700, 1500] {
            let mut firsts: Vec<_> = (0..ROWS).step_by(piece).collect();
            if down {
                firsts.reverse();
            }
            for from in firsts {
                let below = (from + piece as u32).min(ROWS);
                let seen = scanned(session, from, below, down, usize::MAX);
                assert_eq!(seen, expected(model, from, below, down, usize::MAX), "{from}..{below}, down: {down}");
            }
        }
        assert_eq!(scanned(session, ROWS - 1, 0, down, usize::MAX), Vec::<Vec<u8>>::new());
    }
}

/// Changes at places spread over all rows: replaced, deleted, and added ones.
fn change(session: &mut Session<'_, Handle<'_>>, model: &mut Model, first: u32, mark: u8) {
    for row in (first..ROWS - 80).step_by(80) {
        put(session, model, row, &[mark; 120]);
        delete(session, model, row + 2);
        put(session, model, row + 5, &[mark; 40]);
    }
}

#[test]
fn a_long_scan_sees_its_snapshot_and_its_own_changes() {
    let database = database();
    let mut model = filled(&database);
    let (mut reader, mut writer) = (database.session().unwrap(), database.session().unwrap());
    reader.begin().unwrap();
    compare(&mut reader, &model);

    let mut newer = model.clone();
    writer.begin().unwrap();
    change(&mut writer, &mut newer, 0, 1);
    compare(&mut writer, &newer);
    writer.commit().unwrap();
    compare(&mut reader, &model);

    change(&mut reader, &mut model, 30, 2);
    compare(&mut reader, &model);
    reader.abort();
    reader.begin().unwrap();
    compare(&mut reader, &newer);
}
