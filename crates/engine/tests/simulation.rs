//! The whole engine on simulated disks: power cuts at every I/O, of recoveries too; every I/O failing; flipped bits.

mod common;

#[path = "common/sim.rs"]
mod sim;

use assay_buffer::disk::sim::Fate;
use assay_buffer::{Grouping, Placement};
use assay_engine::{Database, Durability, EngineError, Session, Ticket, handle::Handle, log::area::BLOCK};
use rustix::io::Errno;
use sim::{DATA, GROUPING, LOG, LOGS, TIER, Workload, contents, create, open, recovered, world};

const FATES: [fn(u64) -> Fate; 4] = [|_| Fate::Lost, |_| Fate::Kept, Fate::Reordered, Fate::Torn];

/// Cuts power before every `every`-th I/O of a workload and looks what is there afterwards.
fn cut_everywhere(seed: u64, durability: Durability, rounds: usize, every: u64) -> usize {
    let world = world(seed);
    let mut workload = Workload::new(seed);
    let database = create(&world, durability).unwrap();
    world.keep_images(every);
    workload.run(&database, &world, rounds).unwrap();
    drop(database);
    let images = world.take_images();
    let mut checked = 0;
    for image in &images {
        for fate in FATES {
            let fate = fate(seed + image.io);
            // A device with power-loss protection keeps what it has taken.
            if durability == Durability::Plp && fate != Fate::Kept {
                continue;
            }
            let what = format!("seed {seed}, power cut before I/O {}, {fate:?}", image.io);
            recovered(&workload, image, &image.after(fate), durability, &what);
            checked += 1;
        }
    }
    checked
}

#[test]
fn no_acknowledged_commit_is_lost_and_none_is_half_there_wherever_power_is_cut() {
    for seed in [1, 2] {
        let checked = cut_everywhere(seed, Durability::Fdatasync, 100, 2);
        assert!(checked > 800, "seed {seed}: {checked}");
    }
}

#[test]
#[ignore = "takes minutes: `./assay test crash`"]
fn a_hundred_thousand_power_cuts_lose_nothing_and_leave_nothing_half() {
    let (mut checked, mut histories) = (0, 0);
    while checked < 100_000 {
        histories += 1;
        checked += cut_everywhere(1000 + histories, Durability::Fdatasync, 100, 2);
    }
    eprintln!("engine: {checked} images of {histories} histories");
}

#[test]
fn a_memory_below_the_pool_takes_nothing_with_it_wherever_power_is_cut() {
    for (seed, placement) in [(11, Placement::Copy), (12, Placement::InPlace), (13, Placement::Hot)] {
        TIER.set(Some(placement));
        let checked = cut_everywhere(seed, Durability::Fdatasync, 100, 6);
        assert!(checked > 200, "{placement:?}, seed {seed}: {checked}");
    }
    TIER.set(None);
}

/// Pages go to slots by their expected time of death, and what a checkpoint frees is trimmed: all that holds without it
/// holds with it.
#[test]
fn pages_that_are_grouped_and_trimmed_lose_nothing_wherever_power_is_cut_and_whatever_fails() {
    GROUPING.set(Grouping::ByDeath { unit_bytes: 32 << 10 });
    for (seed, durability) in [(41, Durability::Fdatasync), (42, Durability::Fdatasync), (43, Durability::Plp)] {
        let checked = cut_everywhere(seed, durability, 100, 2);
        assert!(checked > 150, "seed {seed}: {checked}");
    }
    TIER.set(Some(Placement::Hot));
    assert!(cut_everywhere(44, Durability::Fdatasync, 100, 6) > 200);
    TIER.set(None);
    lives(45);
    fail_everywhere(Durability::Fdatasync, 5, |world, io| world.fail(io, Errno::IO, false));
    fail_everywhere(Durability::Fdatasync, 7, |world, io| world.fail(io, Errno::IO, true));
    fail_everywhere(Durability::Fdatasync, 7, |world, io| world.fail_writes(io, Errno::NOSPC, true));
    flip_everywhere(46);
}

#[test]
fn a_device_that_keeps_what_it_took_needs_no_flush() {
    assert!(cut_everywhere(3, Durability::Plp, 100, 2) > 150);
}

#[test]
fn without_a_log_the_last_checkpoint_is_there_whole() {
    let world = world(4);
    let mut workload = Workload::new(4);
    let database = create(&world, Durability::None).unwrap();
    world.keep_images(5);
    workload.run(&database, &world, 60).unwrap();
    drop(database);
    let mut seen = std::collections::BTreeSet::new();
    for image in world.take_images() {
        for fate in FATES {
            let fate = fate(image.io);
            let database = open(&image.after(fate), Durability::None).unwrap();
            let state = contents(&database).unwrap();
            let commits = workload.commits_in(&state, 0);
            seen.insert(
                commits.unwrap_or_else(|| panic!("before I/O {}, {fate:?}: a state between commits", image.io)),
            );
        }
    }
    assert!(seen.len() > 2, "{seen:?}");
}

#[test]
fn of_several_logs_no_acknowledged_commit_is_lost_and_none_is_half_there_wherever_power_is_cut() {
    for (seed, logs) in [(21, 2), (22, 3)] {
        LOGS.set(logs);
        let checked = cut_everywhere(seed, Durability::Fdatasync, 80, 2);
        assert!(checked > 800, "{logs} logs: {checked}");
    }
    LOGS.set(2);
    assert!(cut_everywhere(23, Durability::Plp, 80, 2) > 150);
}

#[test]
fn a_recovery_that_is_cut_off_itself_comes_to_the_same() {
    cut_recoveries(6, 60, 41);
}

#[test]
fn a_recovery_of_several_logs_that_is_cut_off_itself_comes_to_the_same() {
    for (seed, logs) in [(24, 2), (25, 3)] {
        LOGS.set(logs);
        cut_recoveries(seed, 40, 61);
    }
}

fn cut_recoveries(seed: u64, rounds: usize, every: u64) {
    let world = world(seed);
    let mut workload = Workload::new(seed);
    let database = create(&world, Durability::Fdatasync).unwrap();
    world.keep_images(every);
    workload.run(&database, &world, rounds).unwrap();
    drop(database);
    for image in world.take_images() {
        let first = image.after(Fate::Torn(image.io));
        let base = first.image();
        let what = format!("power cut before I/O {}", image.io);
        first.keep_images(1);
        let commits = recovered(&workload, &image, &first, Durability::Fdatasync, &what);
        for inner in first.take_images() {
            let what = format!("{what}, and before I/O {} of the recovery", inner.io);
            let mut inner = inner;
            inner.mark = image.mark;
            for fate in FATES {
                let again = recovered(&workload, &inner, &inner.after(fate(inner.io)), Durability::Fdatasync, &what);
                assert_eq!(again, commits, "{what}");
            }
        }
        drop(base);
    }
}

/// After a crash and a recovery the database goes on, crashes again, and has everything of both lives.
#[test]
fn lives_follow_each_other() {
    lives(8);
}

#[test]
fn lives_with_several_logs_follow_each_other() {
    for (seed, logs) in [(26, 2), (27, 2), (28, 3), (29, 5)] {
        LOGS.set(logs);
        lives(seed);
    }
}

fn lives(seed: u64) {
    let mut world = world(seed);
    let mut workload = Workload::new(seed);
    drop(create(&world, Durability::Fdatasync).unwrap());
    for life in 0..25_u64 {
        let database = open(&world, Durability::Fdatasync).unwrap_or_else(|error| panic!("life {life}: {error}"));
        let state = contents(&database).unwrap();
        let commits = workload.commits_in(&state, workload.acknowledged as u64);
        workload.states.truncate(commits.unwrap_or_else(|| panic!("life {life}")) + 1);
        world.cut_power(world.ios() + 20 + 13 * life % 90);
        let ended = workload.run(&database, &world, 100);
        assert!(ended.is_err(), "life {life}: power was not cut");
        drop(database);
        let image = world.image();
        world = image.after(FATES[life as usize % 4](life));
    }
    assert!(workload.acknowledged > 200, "{}", workload.acknowledged);
}

fn fail_everywhere(durability: Durability, every: u64, fail: impl Fn(&assay_buffer::disk::sim::World, u64)) {
    let healthy = world(9);
    let database = create(&healthy, durability).unwrap();
    let first = healthy.ios();
    Workload::new(9).run(&database, &healthy, 30).unwrap();
    drop(database);
    let mut failures = 0;
    for io in (first..healthy.ios()).step_by(every as usize) {
        let world = world(9);
        let mut workload = Workload::new(9);
        let database = create(&world, durability).unwrap();
        fail(&world, io);
        let ended = workload.run(&database, &world, 30);
        match &ended {
            Ok(()) => {}
            Err(EngineError::Stopped { .. } | EngineError::Buffer(_)) => failures += 1,
            Err(error) => panic!("I/O {io} failed, and that came out as: {error}"),
        }
        drop(database);
        world.heal();
        let mut image = world.image();
        image.mark = workload.acknowledged as u64;
        for fate in [Fate::Lost, Fate::Kept, Fate::Torn(io)] {
            let what = format!("I/O {io} failed ({ended:?}), then {fate:?}");
            recovered(&workload, &image, &image.after(fate), durability, &what);
        }
    }
    assert!(failures > 10, "{failures}");
}

/// One row of so many bytes, committed and not waited for.
fn put(session: &mut Session<'_, Handle<'_>>, key: u8, bytes: usize) -> Ticket {
    session.begin().unwrap();
    session.put(0, &[7, key], &vec![key; bytes]).unwrap();
    session.commit_soon().unwrap()
}

/// A batch of two commits, of which the second begins at a block's beginning, two blocks behind the mark: the first takes
/// `first` bytes. Returns where the batch begins and where the first commit ends.
fn two_in_a_batch(database: &Database, first: usize) -> (u64, u64) {
    let mut session = database.session().unwrap();
    let ticket = put(&mut session, 1, 10);
    session.wait(ticket).unwrap();
    let begin = ticket.end.next_multiple_of(BLOCK);
    let end = put(&mut session, 2, first).end;
    let last = put(&mut session, 3, 10);
    session.wait(last).unwrap();
    (begin, end)
}

/// The first commit of a batch is lost, the second one is whole. After a recovery a short commit takes the place of the
/// first: its batch ends where the second begins, which must not be read as what comes next.
#[test]
fn what_a_torn_batch_left_whole_is_never_taken_for_what_came_after_it() {
    let some = 6000;
    let (begin, end) = two_in_a_batch(&create(&world(47), Durability::Fdatasync).unwrap(), some);
    let first = some + (begin + 2 * BLOCK - end) as usize;
    let world = world(47);
    let database = create(&world, Durability::Fdatasync).unwrap();
    world.keep_images(1);
    assert_eq!(two_in_a_batch(&database, first), (begin, begin + 2 * BLOCK));
    drop(database);
    let mut torn = 0;
    for image in world.take_images() {
        for fate in (0..32).map(Fate::Torn) {
            let after = image.after(fate);
            let database = open(&after, Durability::Fdatasync).unwrap();
            let mut state = contents(&database).unwrap();
            torn += usize::from(state.len() == 1);
            let mut session = database.session().unwrap();
            let ticket = put(&mut session, 9, 10);
            session.wait(ticket).unwrap();
            drop(session);
            drop(database);
            state.insert((0, vec![7, 9]), vec![9; 10]);
            let again = open(&after.image().after(Fate::Lost), Durability::Fdatasync).unwrap();
            assert_eq!(contents(&again).unwrap(), state, "power cut before I/O {}, {fate:?}", image.io);
        }
    }
    assert!(torn >= 16, "{torn}");
}

#[test]
fn whichever_io_fails_nothing_acknowledged_is_lost() {
    fail_everywhere(Durability::Fdatasync, 5, |world, io| world.fail(io, Errno::IO, false));
}

#[test]
fn a_disk_that_fails_for_good_loses_nothing_acknowledged() {
    fail_everywhere(Durability::Fdatasync, 7, |world, io| world.fail(io, Errno::IO, true));
}

#[test]
fn a_full_disk_in_the_middle_of_a_transaction_loses_nothing() {
    fail_everywhere(Durability::Fdatasync, 7, |world, io| world.fail_writes(io, Errno::NOSPC, true));
}

#[test]
fn of_several_logs_whichever_io_fails_nothing_acknowledged_is_lost() {
    LOGS.set(2);
    fail_everywhere(Durability::Fdatasync, 5, |world, io| world.fail(io, Errno::IO, false));
    fail_everywhere(Durability::Fdatasync, 11, |world, io| world.fail(io, Errno::IO, true));
    LOGS.set(3);
    fail_everywhere(Durability::Fdatasync, 11, |world, io| world.fail_writes(io, Errno::NOSPC, true));
}

#[test]
fn flipped_bits_are_named_and_never_returned() {
    flip_everywhere(11);
}

#[test]
fn flipped_bits_of_several_logs_are_named_and_never_returned() {
    for (seed, logs) in [(31, 2), (32, 3)] {
        LOGS.set(logs);
        flip_everywhere(seed);
    }
}

fn flip_everywhere(seed: u64) {
    let world = world(seed);
    let mut workload = Workload::new(seed);
    let database = create(&world, Durability::Fdatasync).unwrap();
    workload.run(&database, &world, 40).unwrap();
    drop(database);
    let image = world.image();
    let (mut named, mut harmless) = (0, 0);
    for disk in [DATA].into_iter().chain(LOG..LOG + LOGS.get()) {
        for (round, &(start, end)) in world.written(disk).iter().enumerate().step_by(3) {
            for bit in [start * 8 + 77, (start + end) * 4 + 3, end * 8 - 1] {
                let damaged = image.after(Fate::Kept);
                damaged.flip(disk, bit);
                let found = open(&damaged, Durability::Fdatasync).and_then(|database| contents(&database));
                match found {
                    Ok(state) => {
                        // Nothing that was acknowledged before the last batch; of a flip in that one nobody can tell
                        // that it is not where power was cut.
                        let least = workload.acknowledged.saturating_sub(3) as u64;
                        assert!(workload.commits_in(&state, least).is_some(), "disk {disk}, bit {bit}, block {round}");
                        harmless += 1;
                    }
                    Err(error) => {
                        let words = error.to_string();
                        assert!(!words.is_empty() && !error.fix().is_empty());
                        named += 1;
                    }
                }
            }
        }
    }
    assert!(named > 10 && harmless > 0, "{named} named, {harmless} harmless");
}

#[test]
fn a_disk_that_lies_about_flushes_is_found_out_or_keeps_a_prefix() {
    let world = world(12);
    let mut workload = Workload::new(12);
    let database = create(&world, Durability::Fdatasync).unwrap();
    workload.run(&database, &world, 20).unwrap();
    world.lie();
    workload.run(&database, &world, 20).unwrap();
    drop(database);
    let (mut found_out, image) = (0, world.image());
    for seed in 0..60 {
        match open(&image.after(Fate::Reordered(seed)), Durability::Fdatasync).and_then(|it| contents(&it)) {
            Ok(state) => assert!(workload.commits_in(&state, 0).is_some(), "seed {seed}"),
            Err(_) => found_out += 1,
        }
    }
    assert!(found_out > 0);
}

#[test]
fn a_database_that_was_closed_has_nothing_to_carry_out() {
    let world = world(13);
    let mut workload = Workload::new(13);
    let database = create(&world, Durability::Fdatasync).unwrap();
    workload.run(&database, &world, 20).unwrap();
    database.close().unwrap();
    let database = open(&world, Durability::Fdatasync).unwrap();
    assert!(database.recovered().closed && database.recovered().commits == 0);
    assert_eq!(contents(&database).unwrap(), workload.states[workload.acknowledged]);
    drop(database);
    let crashed = open(&world, Durability::Fdatasync).unwrap();
    assert!(!crashed.recovered().closed);
}

#[test]
fn parts_that_are_missing_or_of_others_are_named() {
    let world = world(14);
    drop(create(&world, Durability::Fdatasync).unwrap());
    let without = assay_engine::Disks { data: world.disk(DATA), logs: Vec::new(), tails: Vec::new() };
    let said = assay_engine::Database::open(without, &sim::options(Durability::None)).err().unwrap().to_string();
    assert!(said.contains("has a log"), "{said}");
    let said = open(&world, Durability::Pmem).err().unwrap().to_string();
    assert!(said.contains("persistent memory"), "{said}");
    let other = sim::world(15);
    drop(assay_engine::Database::create(
        sim::disks(&other, Durability::Fdatasync),
        &sim::options(Durability::Fdatasync),
        2,
        99,
    ));
    let mixed = assay_engine::Disks { data: world.disk(DATA), logs: vec![other.disk(LOG)], tails: Vec::new() };
    let said = assay_engine::Database::open(mixed, &sim::options(Durability::Fdatasync)).err().unwrap().to_string();
    assert!(said.contains("belongs to another database"), "{said}");
    assert!(open(&sim::world(16), Durability::Fdatasync).is_err());
}
