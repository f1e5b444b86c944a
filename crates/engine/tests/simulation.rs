//! The whole engine on simulated disks: power cuts at every I/O, of recoveries too; every I/O failing; flipped bits.

mod common;

#[path = "common/sim.rs"]
mod sim;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
};

use assay_buffer::Placement;
use assay_buffer::disk::{Disk, sim::Fate};
use assay_engine::{Database, Disks, Durability, EngineError, Session, forest::Hand, log::Pace};
use rustix::io::Errno;
use sim::{DATA, LOG, LOGS, TIER, Workload, contents, create, open, recovered, world};

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
fn a_memory_below_the_pool_takes_nothing_with_it_wherever_power_is_cut() {
    for (seed, placement) in [(11, Placement::Copy), (12, Placement::InPlace), (13, Placement::Hot)] {
        TIER.set(Some(placement));
        let checked = cut_everywhere(seed, Durability::Fdatasync, 100, 6);
        assert!(checked > 200, "{placement:?}, seed {seed}: {checked}");
    }
    TIER.set(None);
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
            inner.note = image.note;
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
        image.note = workload.acknowledged as u64;
        for fate in [Fate::Lost, Fate::Kept, Fate::Torn(io)] {
            let what = format!("I/O {io} failed ({ended:?}), then {fate:?}");
            recovered(&workload, &image, &image.after(fate), durability, &what);
        }
    }
    assert!(failures > 10, "{failures}");
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

/// A life whose newest commits are in one of two logs and lack one before them in the other; then another life, which gives the
/// numbers of what was left out again, to other changes.
#[test]
fn what_lay_beyond_a_gap_is_never_taken_for_what_came_after_it() {
    LOGS.set(2);
    let world = world(41);
    let database = create(&world, Durability::Fdatasync).unwrap();
    let put = |session: &mut Session<'_, Hand<'_>>, value: &[u8]| {
        session.begin()?;
        session.put(0, &[7, value[0]], value)?;
        session.commit_soon()
    };
    let mut sessions = [database.session().unwrap(), database.session().unwrap()];
    world.keep_images(1);
    let tickets: Vec<_> = (0..6).map(|number| put(&mut sessions[number % 2], &[number as u8, 1]).unwrap()).collect();
    // The second log is written first, and the first one after it.
    sessions[1].wait(tickets[5]).unwrap();
    drop(sessions);
    drop(database);
    let mut gaps = 0;
    for image in world.take_images() {
        for fate in [Fate::Lost, Fate::Kept] {
            let mut world = image.after(fate);
            let mut there = 0;
            for life in 2..6_u8 {
                let database = open(&world, Durability::Fdatasync).unwrap();
                let state = contents(&database).unwrap();
                // Of the first life a run without gaps from its beginning; of later ones all.
                let first: Vec<u8> = state.values().filter(|value| value[1] == 1).map(|value| value[0]).collect();
                assert!(first.iter().enumerate().all(|(at, &number)| at == usize::from(number)), "{first:?}");
                assert!(life == 2 || first.len() == there, "what was left out came back: {first:?}");
                assert!((2..life).all(|life| state.get(&(0, vec![7, 100 + life])) == Some(&vec![100 + life, life])));
                there = first.len();
                gaps += usize::from(life == 2 && there < 6);
                let mut session = database.session().unwrap();
                let ticket = put(&mut session, &[100 + life, life]).unwrap();
                session.wait(ticket).unwrap();
                drop(session);
                drop(database);
                world = world.image().after(Fate::Lost);
            }
        }
    }
    assert!(gaps > 2, "{gaps}");
}

/// The end of one log is gone with all its marks: by itself it looks like a power cut.
#[test]
fn a_log_whose_end_is_gone_is_named_by_what_the_others_say() {
    LOGS.set(3);
    let world = world(42);
    let mut workload = Workload::new(42);
    let database = create(&world, Durability::Fdatasync).unwrap();
    workload.run(&database, &world, 26).unwrap();
    drop(database);
    for log in LOG..LOG + 3 {
        let damaged = world.image().after(Fate::Kept);
        for (start, _) in damaged.written(log).into_iter().filter(|&(start, _)| start > 0) {
            damaged.flip(log, start * 8 + 70);
        }
        match open(&damaged, Durability::Fdatasync) {
            Err(EngineError::LostCommit { lost, seen, .. }) => assert!(lost <= seen),
            other => panic!("{:?}", other.map(|_| "it opened")),
        }
    }
}

/// Threads of tasks write on several logs and note what they have seen of each other: after a power cut all that was
/// acknowledged is there, and all that anybody had seen.
#[test]
fn threads_on_several_logs_lose_nothing_and_nothing_that_was_seen() {
    for seed in 0..40 {
        LOGS.set(2 + seed as usize % 2);
        let world = world(50 + seed);
        let options = assay_engine::Options { pace: Pace::Eager, ..sim::options(Durability::Fdatasync) };
        let database = Database::create(sim::disks(&world, Durability::Fdatasync), &options, 1, seed).unwrap();
        let acknowledged: [[AtomicU64; 3]; 3] = Default::default();
        let ended = AtomicBool::new(false);
        std::thread::scope(|scope| {
            for (thread, acknowledged) in acknowledged.iter().enumerate() {
                let (database, ended) = (&database, &ended);
                scope.spawn(move || {
                    let crew = database.crew().unwrap();
                    crew.run(3, |task| {
                        let mut session = crew.session().unwrap();
                        while write_down(&mut session, (3 * thread + task) as u8, &acknowledged[task]).is_ok() {}
                        ended.store(true, SeqCst);
                    })
                });
            }
            let begun = || acknowledged.iter().flatten().all(|count| count.load(SeqCst) > 2);
            while !begun() && !ended.load(SeqCst) {
                std::thread::yield_now();
            }
            world.cut_power(world.ios() + 7 * seed % 31);
        });
        drop(database);
        let after =
            world.image().after([Fate::Lost, Fate::Kept, Fate::Reordered(seed), Fate::Torn(seed)][seed as usize % 4]);
        let database = open(&after, Durability::Fdatasync).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let mut session = database.session().unwrap();
        session.begin().unwrap();
        let mut rows = [[0_u64; 9]; 9];
        for (writer, row) in rows.iter_mut().enumerate() {
            *row = seen_by(&mut session, writer as u8).unwrap();
        }
        let all = acknowledged.iter().flatten().enumerate();
        for (writer, acknowledged) in all {
            let said = acknowledged.load(SeqCst);
            assert!(rows[writer][writer] >= said, "seed {seed}, writer {writer}: {said} acknowledged, {rows:?}");
            assert!(said > 2, "seed {seed}, writer {writer} was cut off too early");
            for other in 0..9 {
                assert!(
                    rows[writer][other] <= rows[other][other],
                    "seed {seed}: {writer} saw more of {other}: {rows:?}"
                );
            }
        }
    }
}

/// A transaction of a writer: its count goes up, and it notes the counts of all others.
fn write_down(session: &mut Session<'_, Hand<'_>>, writer: u8, acknowledged: &AtomicU64) -> assay_engine::Result<()> {
    loop {
        session.begin()?;
        let mut noted = [0_u64; 9];
        for (other, noted) in noted.iter_mut().enumerate() {
            *noted = seen_by(session, other as u8)?[other];
        }
        noted[usize::from(writer)] += 1;
        let bytes: Vec<u8> = noted.iter().flat_map(|count| count.to_le_bytes()).collect();
        match session.put(0, &[7, writer], &bytes).and_then(|()| session.commit()) {
            Err(error) if error.is_passing() => session.abort(),
            Err(error) => return Err(error),
            Ok(()) => {
                acknowledged.fetch_max(noted[usize::from(writer)], SeqCst);
                return Ok(());
            }
        }
    }
}

/// The counts that a writer has noted last.
fn seen_by(session: &mut Session<'_, Hand<'_>>, writer: u8) -> assay_engine::Result<[u64; 9]> {
    let (mut value, mut counts) = (Vec::new(), [0; 9]);
    if session.get(0, &[7, writer], &mut value)? {
        for (count, bytes) in counts.iter_mut().zip(value.chunks_exact(8)) {
            *count = u64::from_le_bytes(bytes.try_into().unwrap());
        }
    }
    Ok(counts)
}

/// Once its checkpoints forgot where the log goes on, and the next life read the log of the first one again.
#[test]
fn a_database_that_goes_without_its_log_for_a_life_reads_no_old_one_afterwards() {
    for logs in [1, 2] {
        LOGS.set(logs);
        let world = world(43);
        let mut workload = Workload::new(43);
        let database = create(&world, Durability::Fdatasync).unwrap();
        workload.run(&database, &world, 10).unwrap();
        database.close().unwrap();
        let disks = || sim::disks(&world, Durability::Fdatasync);
        let without = Database::open(disks(), &sim::options(Durability::None)).unwrap();
        workload.run(&without, &world, 10).unwrap();
        without.close().unwrap();
        let again = open(&world, Durability::Fdatasync).unwrap();
        assert_eq!(contents(&again).unwrap(), workload.states[workload.acknowledged]);
        assert_eq!(again.recovered().commits, 0);
    }
}

#[test]
fn logs_that_are_swapped_missing_or_of_another_number_are_named() {
    LOGS.set(2);
    let world = world(44);
    drop(create(&world, Durability::Fdatasync).unwrap());
    let other = sim::world(45);
    drop(Database::create(sim::disks(&other, Durability::Fdatasync), &sim::options(Durability::Fdatasync), 2, 99));
    let said = |logs: Vec<Arc<dyn Disk>>| {
        let disks = Disks { data: world.disk(DATA), logs, tails: Vec::new() };
        let options = sim::options(Durability::Fdatasync);
        Database::open(disks, &options).err().map_or_else(String::new, |error| error.to_string())
    };
    let ours = |log: usize| world.disk(LOG + log) as Arc<dyn Disk>;
    let swapped = said(vec![ours(1), ours(0)]);
    assert!(swapped.contains("is number 2 of 2, and number 1 of 2"), "{swapped}");
    assert!(said(vec![ours(0)]).contains("has 2 logs, and 1 were named"));
    assert!(said(vec![ours(0), ours(0)]).contains("is number 1 of 2, and number 2 of 2"));
    assert!(said(vec![ours(0), other.disk(LOG + 1)]).contains("belongs to another database"));
    LOGS.set(1);
    let single = sim::world(46);
    drop(create(&single, Durability::Fdatasync).unwrap());
    assert!(said(vec![single.disk(LOG), ours(1)]).contains("is number 1 of 1"));
    assert!(said(vec![ours(0), ours(1)]).is_empty(), "and as they belong they are opened");
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
