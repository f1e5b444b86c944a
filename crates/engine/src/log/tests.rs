use std::sync::Arc;

use assay_buffer::disk::{
    Disk, Memory,
    sim::{Fate, SimDisk, World},
};
use assay_pmem::Mapped;
use rustix::io::Errno;

use super::*;

const RING: u64 = 64 << 10;
const AREA: u64 = 4 * RING;
const IDENTITY: u64 = 0x0a55_a7ed;

struct Open {
    log: Arc<Log>,
    writer: Option<Writer>,
}

fn fresh() -> Arc<SimDisk> {
    let disk = World::new(1).add("log", area::FRONT + AREA);
    Area::plan(&*disk, IDENTITY, RING).unwrap().create(&*disk).unwrap();
    disk
}

fn open(disk: &Arc<SimDisk>, durability: Durability, at: u64) -> Open {
    open_on(disk, durability, at, Tail::Volatile(Arc::new(Memory::new(RING as usize).unwrap())))
}

fn open_on(disk: &Arc<SimDisk>, durability: Durability, at: u64, tail: Tail) -> Open {
    let area = Area::open(&**disk).unwrap();
    let log = Arc::new(Log::new(area, tail, durability, Pace::Asked, at));
    let writer = Some(Writer::start(Arc::clone(&log), Arc::clone(disk) as Arc<dyn Disk>).unwrap());
    Open { log, writer }
}

/// Appends a commit whose value is `bytes` long: where it ends.
fn append(log: &Log, commit: u64, bytes: usize) -> std::result::Result<u64, Full> {
    let mut record = Vec::new();
    record::begin(&mut record);
    record::add(&mut record, &record::Change { table: 1, key: &commit.to_be_bytes(), value: Some(&vec![7; bytes]) });
    record::pad(&mut record);
    let position = log.reserve(0, record.len()).unwrap()?;
    record::seal(&mut record, log.identity(), position, commit, RecordKind::Commit, 1);
    log.fill(0, position, &record);
    Ok(position + record.len() as u64)
}

fn read(disk: &SimDisk, tail: Option<&Tail>, begin: u64) -> Result<(Vec<u64>, End)> {
    let mut found = Vec::new();
    let mut reader = Reader::new(Area::open(disk)?, disk, tail)?;
    let end = reader.read(begin, |head, _| {
        found.push(head.commit);
        Ok(())
    })?;
    Ok((found, end))
}

fn after(disk: &SimDisk, fate: Fate) -> Arc<SimDisk> {
    disk.world().image().after(fate).disk(0)
}

#[test]
fn what_was_waited_for_is_read_again_and_the_rest_is_not() {
    let disk = fresh();
    let open = open(&disk, Durability::Fdatasync, 0);
    for commit in 1..=20 {
        let end = append(&open.log, commit, 500).unwrap();
        if commit <= 10 {
            open.log.wait(end).unwrap();
        }
    }
    let (found, end) = read(&after(&disk, Fate::Lost), None, 0).unwrap();
    assert_eq!(found, (1..=10).collect::<Vec<_>>());
    assert_eq!((end.commit, end.commits), (10, 10));
    assert_eq!(open.log.written().batches, 10);
}

#[test]
fn many_rounds_go_over_what_was_forgotten() {
    let disk = fresh();
    let open = open(&disk, Durability::Plp, 0);
    let mut forgotten = 0;
    for commit in 1..=400 {
        let end = match append(&open.log, commit, 3000) {
            Ok(end) => end,
            Err(Full::Area) => {
                forgotten = open.log.durable();
                open.log.forget_before(forgotten);
                append(&open.log, commit, 3000).unwrap()
            }
            Err(Full::Ring) => panic!("every commit was waited for"),
        };
        open.log.wait(end).unwrap();
    }
    assert!(forgotten > AREA);
    let (found, end) = read(&after(&disk, Fate::Kept), None, forgotten).unwrap();
    assert_eq!(end.commit, 400);
    assert!(found.windows(2).all(|pair| pair[1] == pair[0] + 1), "{found:?}");
    assert!(append(&open.log, 401, 3000).is_ok());
}

#[test]
fn a_torn_tail_ends_the_log_and_what_was_durable_is_there() {
    let disk = fresh();
    let open = open(&disk, Durability::Fdatasync, 0);
    for commit in 1..=5 {
        open.log.wait(append(&open.log, commit, 900).unwrap()).unwrap();
    }
    disk.world().keep_images(1);
    for commit in 6..=12 {
        append(&open.log, commit, 900).unwrap();
    }
    open.log.wait(open.log.reserved() - HEADER as u64).unwrap();
    let mut shortest = u64::MAX;
    for image in disk.world().take_images() {
        for seed in 0..40 {
            let (found, _) = read(&image.after(Fate::Torn(seed)).disk(0), None, 0).unwrap();
            let expected: Vec<u64> = (1..=found.len() as u64).collect();
            assert_eq!(found, expected, "seed {seed}");
            assert!(found.len() >= 5, "seed {seed}");
            shortest = shortest.min(found.len() as u64);
        }
    }
    assert!(shortest < 12, "no tail was torn");
}

#[test]
fn a_lost_middle_is_named() {
    let disk = fresh();
    let open = open(&disk, Durability::Fdatasync, 0);
    let mut ends = Vec::new();
    for commit in 1..=9 {
        ends.push(append(&open.log, commit, 900).unwrap());
        open.log.wait(ends[commit as usize - 1]).unwrap();
    }
    let damaged = after(&disk, Fate::Kept);
    damaged.world().flip(0, (area::FRONT + ends[3] - 200) * 8);
    match read(&damaged, None, 0) {
        Err(EngineError::LostMiddle { lost, seen, .. }) => assert!(lost < ends[3] && seen > lost, "{lost} {seen}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_failed_flush_stops_the_log_for_good() {
    let disk = fresh();
    let open = open(&disk, Durability::Fdatasync, 0);
    disk.world().fail(disk.world().ios() + 1, Errno::IO, false);
    let end = append(&open.log, 1, 100).unwrap();
    assert!(matches!(open.log.wait(end), Err(EngineError::Stopped { .. })));
    assert!(matches!(open.log.reserve(0, 64), Err(EngineError::Stopped { .. })));
    drop(open.writer);
}

#[test]
fn the_ring_says_when_it_is_full_and_long_records_are_refused() {
    let disk = fresh();
    let open = open(&disk, Durability::Fdatasync, 0);
    let mut commit = 0;
    let full = loop {
        commit += 1;
        match append(&open.log, commit, 4000) {
            Ok(_) => assert!(commit < 100),
            Err(full) => break full,
        }
    };
    assert_eq!(full, Full::Ring);
    open.log.wait(open.log.reserved() - HEADER as u64).unwrap();
    append(&open.log, commit, 4000).unwrap();
    assert!(matches!(open.log.reserve(0, RING as usize), Err(EngineError::TooLarge { .. })));
}

#[test]
fn persistent_memory_has_what_the_drive_does_not() {
    let disk = fresh();
    let medium = || Mapped::memory(RING + tail::PMEM_HEADER).unwrap();
    let tail = Tail::Persistent(Box::new(medium()));
    assert!(tail.check(IDENTITY, true).is_err());
    tail.check(IDENTITY, false).unwrap();
    tail.claim(IDENTITY);
    tail.check(IDENTITY, true).unwrap();
    assert!(tail.check(IDENTITY + 1, true).is_err());
    assert!(tail.check(IDENTITY + 1, false).unwrap_err().to_string().contains("of another database"));
    let open = open_on(&disk, Durability::Pmem, 0, tail);
    let mut last = 0;
    for commit in 1..=30 {
        last = append(&open.log, commit, 1000).unwrap();
        assert!(open.log.durable() >= last, "durable as soon as it is filled");
        if commit == 20 {
            open.log.ask(last);
            while open.log.written().batches == 0 {
                std::thread::yield_now();
            }
        }
    }
    let drive = after(&disk, Fate::Lost);
    let (found, end) = read(&drive, Some(&open.log.tail), 0).unwrap();
    assert_eq!(found, (1..=30).collect::<Vec<_>>());
    assert_eq!(end.position, last);
    let (without, _) = read(&drive, None, 0).unwrap();
    assert_eq!(without, (1..=20).collect::<Vec<_>>());
}

/// Once it waited for one byte more, which nobody would ever write, when it came after the batch's mark was reserved and
/// before the batch was durable.
#[test]
fn a_sync_in_the_middle_of_a_batch_waits_for_that_batch_alone() {
    let area = Area::open(&*fresh()).unwrap();
    let tail = Tail::Volatile(Arc::new(Memory::new(RING as usize).unwrap()));
    let log = Log::new(area, tail, Durability::Fdatasync, Pace::Eager, 0);
    append(&log, 1, 500).unwrap();
    let end = writer::close(&log);
    let wanted = std::thread::scope(|scope| {
        scope.spawn(|| log.sync());
        let wanted = loop {
            match log.bell().wanted {
                0 => std::thread::yield_now(),
                wanted => break wanted,
            }
        };
        log.stop(Failure::new("the test has seen enough"));
        wanted
    });
    assert!(wanted <= end, "{wanted} is asked for, {end} is the end of all batches");
}

#[test]
fn another_file_is_no_log() {
    let disk = World::new(1).add("log", area::FRONT + AREA);
    assert!(matches!(Area::open(&*disk), Err(EngineError::Foreign { .. })));
    let area = Area::plan(&*disk, IDENTITY, RING).unwrap();
    area.create(&*disk).unwrap();
    assert_eq!(Area::open(&*disk).unwrap(), area);
    disk.world().flip(0, 17 * 8);
    assert!(matches!(Area::open(&*disk), Err(EngineError::Damaged { .. })));
    disk.world().flip(0, 17 * 8);
    disk.world().flip(0, 8 * 8 + 3);
    let error = Area::open(&*disk).unwrap_err();
    assert!(error.to_string().contains("version 10"), "{error}");
    assert!(Area::plan(&*disk, 1, AREA / 2).is_err());
}

#[test]
fn a_log_that_is_none_or_too_many_of_its_kind_is_damaged() {
    for (index, count) in [(0, 0), (2, 2), (0, logs::LOGS_AT_MOST + 1)] {
        let disk = World::new(1).add("log", area::FRONT + AREA);
        Area::plan(&*disk, IDENTITY, RING).unwrap().of_several(index, count).create(&*disk).unwrap();
        assert!(matches!(Area::open(&*disk), Err(EngineError::Damaged { .. })), "{index} of {count}");
    }
}

#[test]
fn threads_that_append_together_lose_nothing() {
    let disk = World::new(1).add("log", area::FRONT + (64 << 20));
    Area::plan(&*disk, IDENTITY, 1 << 20).unwrap().create(&*disk).unwrap();
    let area = Area::open(&*disk).unwrap();
    let tail = Tail::Volatile(Arc::new(Memory::new(1 << 20).unwrap()));
    let log = Arc::new(Log::new(area, tail, Durability::Fdatasync, Pace::Eager, 0));
    let writer = Writer::start(Arc::clone(&log), Arc::clone(&disk) as Arc<dyn Disk>).unwrap();
    std::thread::scope(|scope| {
        for session in 0..4 {
            let log = &log;
            scope.spawn(move || {
                let mut record = Vec::new();
                for round in 0..2000_u64 {
                    record::begin(&mut record);
                    let key = round.to_be_bytes();
                    record::add(&mut record, &record::Change { table: session as u16, key: &key, value: None });
                    record::pad(&mut record);
                    let position = loop {
                        match log.reserve(session, record.len()).unwrap() {
                            Ok(position) => break position,
                            Err(_) => std::thread::yield_now(),
                        }
                    };
                    record::seal(&mut record, IDENTITY, position, round, RecordKind::Commit, 1);
                    log.fill(session, position, &record);
                    if round % 97 == 0 {
                        log.wait(position + record.len() as u64).unwrap();
                    }
                }
            });
        }
    });
    drop(writer);
    let mut next = [0; 4];
    let mut reader = Reader::new(area, &*disk, None).unwrap();
    reader
        .read(0, |head, bytes| {
            record::changes(bytes, head, |change| {
                let at = u64::from_be_bytes(change.key.try_into().unwrap());
                assert_eq!(at, next[change.table as usize]);
                next[change.table as usize] += 1;
                Ok(())
            })
        })
        .unwrap();
    assert_eq!(next, [2000; 4]);
    assert!(log.written().batches < 8000, "commits share batches");
}

/// A log without a thread: whoever waits writes.
fn threadless(disk: &Arc<SimDisk>) -> Log {
    let tail = Tail::Volatile(Arc::new(Memory::new(RING as usize).unwrap()));
    let log = Log::new(Area::open(&**disk).unwrap(), tail, Durability::Fdatasync, Pace::Eager, 0);
    let disk = Arc::clone(disk) as Arc<dyn Disk>;
    *log.turn().direct() = turn::DirectWriter::take(&log, &disk).unwrap();
    log
}

#[test]
fn who_waits_alone_writes_himself_one_write_and_one_flush_each() {
    let disk = fresh();
    let log = threadless(&disk);
    let before = disk.world().ios();
    for commit in 1..=8 {
        log.wait(append(&log, commit, 500).unwrap()).unwrap();
    }
    assert_eq!(disk.world().ios() - before, 2 * 8);
    append(&log, 9, 500).unwrap();
    log.rest(log.reserved(), Duration::from_secs(60));
    assert_eq!(read(&after(&disk, Fate::Lost), None, 0).unwrap().0, (1..=9).collect::<Vec<_>>());
    append(&log, 10, 500).unwrap();
    assert_eq!(read(&after(&disk, Fate::Lost), None, 0).unwrap().0.len(), 9, "nobody has waited for the last");
}

#[test]
fn after_a_turn_that_failed_nobody_writes_any_more() {
    for io in [0, 1] {
        let disk = fresh();
        let log = threadless(&disk);
        log.wait(append(&log, 1, 100).unwrap()).unwrap();
        disk.world().fail(disk.world().ios() + io, Errno::IO, false);
        let end = append(&log, 2, 100).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert!(matches!(log.wait(end), Err(EngineError::Stopped { .. }))));
            }
        });
        let ios = disk.world().ios();
        assert!(log.wait(end).is_err() && log.sync().is_err());
        log.rest(end, Duration::from_secs(60));
        assert_eq!(disk.world().ios(), ios);
        assert!(log.durable() < end);
    }
}

#[test]
fn those_who_wait_take_turns_at_writing_and_nobody_waits_for_ever() {
    let disk = World::new(1).add("log", area::FRONT + (64 << 20));
    Area::plan(&*disk, IDENTITY, RING).unwrap().create(&*disk).unwrap();
    let log = threadless(&disk);
    std::thread::scope(|scope| {
        for session in 0..4 {
            let log = &log;
            scope.spawn(move || {
                let mut record = Vec::new();
                for round in 0..500_u64 {
                    record::begin(&mut record);
                    let key = (round * 4 + session as u64).to_be_bytes();
                    record::add(&mut record, &record::Change { table: 0, key: &key, value: None });
                    record::pad(&mut record);
                    let position = log.reserve(session, record.len()).unwrap().unwrap();
                    record::seal(&mut record, IDENTITY, position, round, RecordKind::Commit, 1);
                    log.fill(session, position, &record);
                    let end = position + record.len() as u64;
                    log.wait(end).unwrap();
                    assert!(log.durable() >= end);
                }
            });
        }
    });
    let (found, _) = read(&after(&disk, Fate::Lost), None, 0).unwrap();
    assert_eq!(found.len(), 2000);
    assert!(log.written().batches <= 2000);
}

#[test]
fn a_commit_that_nobody_waits_for_is_written_all_the_same() {
    let disk = fresh();
    let tail = Tail::Volatile(Arc::new(Memory::new(RING as usize).unwrap()));
    let log = Arc::new(Log::new(Area::open(&*disk).unwrap(), tail, Durability::Fdatasync, Pace::Eager, 0));
    let _writer = Writer::start(Arc::clone(&log), Arc::clone(&disk) as Arc<dyn Disk>).unwrap();
    let end = append(&log, 1, 100).unwrap();
    log.expect(end);
    while log.durable() < end {
        std::thread::yield_now();
    }
}
