//! Several logs on simulated disks: what lies beyond a gap, what one of them lost, who wrote on them together, and whose they are.

mod common;

#[path = "common/sim.rs"]
mod sim;

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering::SeqCst},
};

use assay_buffer::disk::{Disk, Memory, sim::Fate};
use assay_engine::{
    Database, Disks, Durability, EngineError, Session,
    core::{Core, Goal},
    handle::Handle,
    log::{
        Area, Log, Logs, Pace, Tail, Writer,
        record::{self, RecordKind},
    },
};
use sim::{DATA, LOG, LOGS, Workload, contents, create, open, world};

/// A life whose newest commits are in one of two logs and lack one before them in the other; then another life, which gives the
/// numbers of what was left out again, to other changes.
#[test]
fn what_lay_beyond_a_gap_is_never_taken_for_what_came_after_it() {
    LOGS.set(2);
    let world = world(41);
    let database = create(&world, Durability::Fdatasync).unwrap();
    let put = |session: &mut Session<'_, Handle<'_>>, value: &[u8]| {
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
                    let scheduler = database.scheduler().unwrap();
                    scheduler.run(3, |task| {
                        let mut session = scheduler.session().unwrap();
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

/// A transaction of a writer, until it is through: its count goes up, and it notes the counts of all others.
fn write_down(session: &mut Session<'_, Handle<'_>>, writer: u8, acknowledged: &AtomicU64) -> assay_engine::Result<()> {
    loop {
        match count_up(session, writer) {
            // Reads as well: a thread that gets no CPU for long has too old a snapshot.
            Err(error) if error.is_passing() => session.abort(),
            Err(error) => return Err(error),
            Ok(count) => {
                acknowledged.fetch_max(count, SeqCst);
                return Ok(());
            }
        }
    }
}

fn count_up(session: &mut Session<'_, Handle<'_>>, writer: u8) -> assay_engine::Result<u64> {
    session.begin()?;
    let mut noted = [0_u64; 9];
    for (other, noted) in noted.iter_mut().enumerate() {
        *noted = seen_by(session, other as u8)?[other];
    }
    noted[usize::from(writer)] += 1;
    let bytes: Vec<u8> = noted.iter().flat_map(|count| count.to_le_bytes()).collect();
    session.put(0, &[7, writer], &bytes)?;
    session.commit()?;
    Ok(noted[usize::from(writer)])
}

/// The counts that a writer has noted last.
fn seen_by(session: &mut Session<'_, Handle<'_>>, writer: u8) -> assay_engine::Result<[u64; 9]> {
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

/// Of one log commits are only nearly in order. Once a task that had only read was told as soon as the newest commit that it had
/// seen was durable, though one before that, which it may have seen as well, lay further on in the log.
#[test]
fn who_has_only_read_waits_for_all_commits_before_the_newest_that_it_saw() {
    let disk = world(47).disk(LOG);
    let area = Area::plan(&*disk, 9, sim::TAIL).unwrap();
    let tail = Tail::Volatile(Arc::new(Memory::new(sim::TAIL as usize).unwrap()));
    let log = Log::new(area, tail, Durability::Fdatasync, Pace::Asked, 0);
    let core = Core::new(Logs::of(vec![log]), 0, 0, Pace::Asked).unwrap();
    let log = core.logs.get(0).unwrap();
    let _writer = Writer::start(Arc::clone(log), disk).unwrap();
    let append = |commit| {
        let mut record = vec![0; 64];
        let position = log.reserve(0, record.len()).unwrap().unwrap();
        record::seal(&mut record, log.identity(), position, commit, RecordKind::Commit, 0);
        log.fill(0, position, &record);
        position + 64
    };
    let (older, newer) = (core.sequence.take(), core.sequence.take());
    let first = append(newer);
    log.wait(first).unwrap();
    let second = append(older);
    core.sequence.applied(older, second);
    core.sequence.applied(newer, first);
    let wrote = Goal { commit: newer, end: first, all: false };
    assert!(core.awaited(wrote).is_none());
    let read = Goal { all: true, ..wrote };
    assert_eq!(core.awaited(read).map(|(_, position)| position), Some(second));
    core.wait(read).unwrap();
    assert!(log.durable() >= second && core.durable_commit() == newer);
}
