//! Every twin of the catalog is played, or refused in a sentence; what is played obeys what queues obey.

mod common;

use assay_libtwin::{Error, Op, Twin};
use common::{Load, drives, files, open, play};

const SEED: u64 = 17;

#[test]
fn every_drive_is_played_and_memory_is_refused() {
    let (mut played, mut refused) = (0, 0);
    for (name, text) in files() {
        match Twin::open(&text, SEED) {
            Ok(twin) => {
                let about = twin.describe();
                assert!(about.capacity_bytes > 0 && about.floor_read_ns > 1000, "{about}");
                played += 1;
            }
            Err(error) => {
                assert!(matches!(error, Error::NotADrive { .. }), "{name}: {error}");
                assert!(error.to_string().contains(&name) && !error.fix().is_empty(), "{name}: {error}");
                refused += 1;
            }
        }
    }
    assert!(played > 60 && refused > 5, "{played} played, {refused} refused");
}

#[test]
fn nonsense_is_refused_in_a_sentence() {
    assert!(matches!(Twin::open("", SEED), Err(Error::Document(_))));
    assert!(matches!(Twin::open("{\"version\": 1}", SEED), Err(Error::Document(_))));
    let text = files().into_iter().find(|(name, _)| name == "gp3").unwrap().1;
    let other = text.replace("version = 1", "version = 2");
    assert!(matches!(Twin::open(&other, SEED), Err(Error::Version { seen: 2, .. })));
}

#[test]
fn a_twin_is_the_same_in_toml_and_json() {
    for (name, text) in drives() {
        let document = assay_libtwin::document::read(&text).unwrap();
        let json = serde_json::to_string(&document).unwrap();
        let one = play(&mut Twin::open(&text, SEED).unwrap(), Load::reads(4), 500);
        let other = play(&mut Twin::open(&json, SEED).unwrap(), Load::reads(4), 500);
        assert_eq!(one, other, "{name}");
    }
}

#[test]
fn the_same_requests_have_the_same_answers_also_after_a_reset() {
    for (name, text) in drives() {
        let mut twin = Twin::open(&text, SEED).unwrap();
        let load = Load { writes: 0.4, flush_every: 16, ..Load::reads(8) };
        let first = play(&mut twin, load, 2000);
        twin.reset();
        assert_eq!(first, play(&mut twin, load, 2000), "{name} (seed {SEED})");
        let other = play(&mut Twin::open(&text, SEED + 1).unwrap(), load, 2000);
        assert_ne!(first, other, "{name}: the seed does nothing");
    }
}

#[test]
fn later_requests_do_not_change_earlier_answers_and_none_is_answered_before_it_came() {
    for (name, text) in drives() {
        let mut alone = Twin::open(&text, SEED).unwrap();
        let mut busy = alone.clone();
        let first = alone.submit(7, Op::Read, 1 << 30, 4096);
        assert_eq!(first, busy.submit(7, Op::Read, 1 << 30, 4096), "{name}");
        for index in 0..64 {
            let now = 7 + index * 100;
            let op = [Op::Read, Op::Write, Op::Trim][(index % 3) as usize];
            assert!(busy.submit(now, op, index << 20, 8192) >= now, "{name}: {op:?}");
            assert!(busy.flush(now) >= now, "{name}");
        }
    }
}

#[test]
fn clocks_may_begin_anywhere_and_stand_still() {
    let mut twin = open("970evoplus", SEED);
    let early = twin.submit(0, Op::Read, 0, 4096);
    twin.reset();
    let late = 1_700_000_000_000_000_000;
    assert_eq!(twin.submit(late, Op::Read, 0, 4096), late + early);
    // A clock that goes back is one that stands still.
    assert!(twin.submit(late - 1_000_000, Op::Read, 1 << 30, 4096) >= late);
}

#[test]
fn answers_spread_where_drives_do() {
    for name in ["970evoplus", "p4610", "gp3", "disk-7200"] {
        let mut seen = play(&mut open(name, SEED), Load { writes: 0.3, ..Load::reads(1) }, 20_000);
        seen.sort_unstable();
        let (median, rare) = (seen[seen.len() / 2], seen[seen.len() * 99 / 100]);
        assert!(rare as f64 > 1.3 * median as f64, "{name}: p50 {median} ns, p99 {rare} ns (seed {SEED})");
    }
}

#[test]
fn a_bucket_gives_its_rate_and_no_more() {
    let (count, load) = (30_000, Load::reads(64));
    let mut twin = open("gp3", SEED);
    let end = common::end_of(&mut twin, load, count);
    let rate = count as f64 / (end as f64 / 1e9);
    assert!((rate / 3000.0 - 1.0).abs() < 0.02, "{rate}");
}

#[test]
fn reads_in_order_find_what_was_read_ahead() {
    let mut twin = open("p4610", SEED);
    let chance = play(&mut twin, Load::reads(1), 2000);
    twin.reset();
    let order = play(&mut twin, Load { in_order: true, ..Load::reads(1) }, 2000);
    let mean = |seen: &[u64]| seen.iter().sum::<u64>() as f64 / seen.len() as f64;
    assert!(mean(&order) < 0.5 * mean(&chance), "{} ns and {} ns", mean(&order), mean(&chance));
}

#[test]
fn flushes_that_wait_are_one_and_block_a_consumer_drive() {
    let mut twin = open("970evoplus", SEED);
    twin.submit(0, Op::Write, 0, 4096);
    let first = twin.flush(100_000);
    let second = twin.flush(200_000);
    let third = twin.flush(300_000);
    assert!(first > 100_000 + 400_000 && second > first + 400_000, "{first} {second}");
    assert_eq!(second, third, "who waits shares the next one");
    assert!(twin.submit(350_000, Op::Read, 1 << 30, 4096) > first, "a read waits for the flush");
    let safe = open("p4610", SEED).flush(0);
    assert!(safe < 100_000, "a drive whose buffer survives: {safe}");
}
