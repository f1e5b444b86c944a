//! Pages against a model: whatever is done to them, they are what was written, and after reopening what the last checkpoint
//! had.

use std::{cell::RefCell, collections::BTreeMap, path::Path, sync::Arc};

use assay_buffer::{
    BufferError, Config, Exclusive, Grouping, HEADER_BYTES, PageId, Pool, Worker,
    disk::{
        Access, Disk, Drive,
        sim::{Fate, World},
    },
};
use assay_record::PathKind;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

const DISK: u64 = 16 << 20;

fn disk(path: &Path, make: bool, way: PathKind) -> Arc<dyn Disk> {
    let access = Access { path: way, ..Access::default() };
    let paths = [path.to_owned()];
    Arc::new(if make { Drive::create(&paths, DISK, access) } else { Drive::open(&paths, access) }.unwrap())
}

fn config() -> Config {
    Config { pool_bytes: 64 * 4096, workers: 3, depth: 16, ..Config::default() }
}

fn fill(page: &mut Exclusive<'_>, value: u64) {
    let bytes = &mut page.bytes_mut()[HEADER_BYTES..];
    bytes.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&value.to_le_bytes()));
}

/// The value of a page: all of its words are equal, whoever writes.
fn value(worker: &Worker<'_>, page: PageId) -> Result<u64, BufferError> {
    let words = worker.retry(|| {
        worker
            .look(page)?
            .read(|bytes| (HEADER_BYTES..bytes.len()).step_by(8).map(|at| bytes.u64(at)).collect::<Vec<_>>())
    })?;
    assert!(words.iter().all(|word| *word == words[0]), "page {page} is torn");
    Ok(words[0])
}

fn add(worker: &Worker<'_>, value: u64) -> PageId {
    let writing = worker.write();
    let page = worker.retry(|| {
        let mut page = worker.allocate(&writing)?;
        fill(&mut page, value);
        Ok(page.page())
    });
    page.unwrap()
}

fn change(worker: &Worker<'_>, page: PageId, value: u64) {
    let writing = worker.write();
    worker
        .retry(|| {
            fill(&mut worker.look(page)?.lock(&writing)?, value);
            Ok(())
        })
        .unwrap();
}

fn remove(worker: &Worker<'_>, page: PageId) {
    let writing = worker.write();
    worker
        .retry(|| {
            worker.look(page)?.lock(&writing)?.free();
            Ok(())
        })
        .unwrap();
}

fn check(worker: &Worker<'_>, model: &BTreeMap<PageId, u64>) {
    for (&page, &expected) in model {
        assert_eq!(value(worker, page).unwrap(), expected, "page {page}");
    }
    assert_eq!(worker.pool().pages(), model.len() as u64);
}

#[test]
fn pages_are_what_was_written_and_after_reopening_what_the_checkpoint_had() {
    for (way, seed) in [(PathKind::IoUring, 1), (PathKind::Libaio, 2), (PathKind::Pread, 3)] {
        lives(way, seed, config());
    }
}

/// Pages that are grouped by their time of death are as well, where units are emptied and where not.
#[test]
fn pages_that_are_grouped_are_what_was_written_and_after_reopening_what_the_checkpoint_had() {
    let ways = [(PathKind::IoUring, 4, 16 << 10), (PathKind::Libaio, 5, 64 << 10), (PathKind::Pread, 6, 1 << 20)];
    for (way, seed, unit_bytes) in ways {
        lives(way, seed, Config { grouping: Grouping::ByDeath { unit_bytes }, ..config() });
    }
}

fn lives(way: PathKind, seed: u64, config: Config) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pool");
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut durable = BTreeMap::new();
    drop(Pool::create(disk(&file, true, way), config).unwrap());
    for life in 0..5_u64 {
        let pool = Pool::open(disk(&file, false, way), config).unwrap();
        let worker = pool.worker().unwrap();
        let mut model: BTreeMap<PageId, u64> = durable.clone();
        check(&worker, &model);
        for step in 0..600_u64 {
            let number = life * 10_000 + step;
            let picked = model.keys().nth(random.next_u64() as usize % model.len().max(1)).copied();
            match (random.next_u64() % 100, picked) {
                (0..30, _) | (_, None) if model.len() < 400 => {
                    let page = add(&worker, number);
                    assert!(model.insert(page, number).is_none(), "page {page} was given out twice");
                }
                (30..60, Some(page)) => {
                    change(&worker, page, number);
                    model.insert(page, number);
                }
                (60..75, Some(page)) => {
                    remove(&worker, page);
                    model.remove(&page);
                }
                (75..99, Some(page)) => assert_eq!(value(&worker, page).unwrap(), model[&page]),
                (99, _) => {
                    let note = number.to_le_bytes().to_vec();
                    worker.checkpoint(|| note.clone(), || Ok(())).unwrap();
                    assert_eq!(pool.owner_bytes(), note);
                    durable.clone_from(&model);
                }
                _ => {}
            }
        }
        check(&worker, &model);
        let counters = worker.counters();
        assert!(counters.evicted_dirty > 0 && counters.evicted_clean > 0 && counters.faults > 0, "{counters:?}");
    }
    // No slot is lost: two checkpoints, and only what is in use and the map are left.
    let pool = Pool::open(disk(&file, false, way), config).unwrap();
    let worker = pool.worker().unwrap();
    worker.checkpoint(Vec::new, || Ok(())).unwrap();
    worker.checkpoint(Vec::new, || Ok(())).unwrap();
    let pieces = durable.keys().map(|page| page / 508).collect::<std::collections::BTreeSet<_>>().len() as u64;
    assert!(pool.used_bytes() <= (128 << 10) + (durable.len() as u64 + pieces + 8 + 1) * 4096, "{}", pool.used_bytes());
}

#[test]
fn tasks_have_their_reads_in_flight_together() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::create(disk(&folder.path().join("pool"), true, PathKind::IoUring), config()).unwrap();
    let worker = pool.worker().unwrap();
    let pages: Vec<_> = (0..600).map(|number| add(&worker, number)).collect();
    worker.checkpoint(Vec::new, || Ok(())).unwrap();
    let seen = RefCell::new(0);
    worker
        .run(16, |task| {
            for (number, &page) in pages.iter().enumerate().skip(task).step_by(16) {
                assert_eq!(value(&worker, page).unwrap(), number as u64);
                *seen.borrow_mut() += 1;
            }
        })
        .unwrap();
    assert_eq!(*seen.borrow(), 600);
    let counters = worker.counters();
    assert!(counters.depth_sum > 3 * counters.requests, "{counters:?}");
}

#[test]
fn a_checkpoint_has_the_changes_of_one_moment_while_others_change_on() {
    const PAIRS: usize = 40;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pool");
    let pool = Pool::create(disk(&file, true, PathKind::IoUring), config()).unwrap();
    let pairs: Vec<_> = {
        let worker = pool.worker().unwrap();
        let pairs = (0..PAIRS).map(|_| (add(&worker, 0), add(&worker, 0))).collect();
        worker.checkpoint(Vec::new, || Ok(())).unwrap();
        pairs
    };
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        for thread in 0..2_usize {
            let (pool, pairs, done) = (&pool, &pairs, &done);
            scope.spawn(move || {
                let worker = pool.worker().unwrap();
                let mut number = thread as u64;
                while !done.load(std::sync::atomic::Ordering::Relaxed) {
                    number += 2;
                    // Each thread has pairs of its own; both of a pair change under one permission.
                    let (one, other) = pairs[(number as usize * 7 % PAIRS) & !1 | thread];
                    let writing = worker.write();
                    for page in [one, other] {
                        worker
                            .retry(|| {
                                fill(&mut worker.look(page)?.lock(&writing)?, number);
                                Ok(())
                            })
                            .unwrap();
                    }
                }
            });
        }
        let worker = pool.worker().unwrap();
        for _ in 0..20 {
            worker.checkpoint(Vec::new, || Ok(())).unwrap();
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
    });
    drop(pool);
    let pool = Pool::open(disk(&file, false, PathKind::IoUring), config()).unwrap();
    let worker = pool.worker().unwrap();
    for (one, other) in pairs {
        assert_eq!(value(&worker, one).unwrap(), value(&worker, other).unwrap());
    }
}

#[test]
fn what_cannot_be_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pool");
    let fresh = disk(&file, true, PathKind::IoUring);
    let refused = |config: Config| Pool::create(Arc::clone(&fresh), config).unwrap_err();
    assert!(refused(Config { pool_bytes: 1 << 50, ..config() }).to_string().contains("pages"));
    assert!(
        refused(Config { pool_bytes: 200 << 30, page_bytes: 65536, ..config() }).to_string().contains("free memory")
    );
    assert!(refused(Config { page_bytes: 5000, ..config() }).fix().contains("4096"));
    assert!(Pool::open(Arc::clone(&fresh), config()).unwrap_err().to_string().contains("only zeros"));
    drop(Pool::create(Arc::clone(&fresh), config()).unwrap());
    drop(fresh);
    let shorter = std::fs::OpenOptions::new().write(true).open(&file).unwrap();
    shorter.set_len(1 << 20).unwrap();
    let error = Pool::open(disk(&file, false, PathKind::IoUring), config()).unwrap_err();
    assert!(error.to_string().contains("has 1048576 bytes where"), "{error}");
}

#[test]
fn a_page_freed_between_a_miss_and_its_reading_is_not_called_damage() {
    let folder = tempfile::tempdir().unwrap();
    let pool = Pool::create(disk(&folder.path().join("pool"), true, PathKind::IoUring), config()).unwrap();
    let worker = pool.worker().unwrap();
    let first = add(&worker, 1);
    (0..300).for_each(|number| assert_ne!(add(&worker, number), first));
    assert!(!pool.is_resident(first));
    let mut tries = 0;
    let mut freed = false;
    let stop = worker.look(first).map(|_| ()).unwrap_err();
    remove(&worker, first);
    worker.overcome(stop, &mut tries).unwrap();
    // An attempt that finds the number gone goes back to where it came from.
    let answer = worker.retry(|| {
        if std::mem::replace(&mut freed, true) {
            return Ok(7);
        }
        worker.look(first).map(|_| 0)
    });
    assert_eq!(answer.unwrap(), 7);
}

/// Sixteen pages that lie one behind the other on a disk, each with its number.
fn neighbours(seed: u64) -> (std::sync::Arc<World>, Vec<PageId>) {
    let world = World::new(seed);
    let pool = Pool::create(world.add("pages", 4 << 20), config()).unwrap();
    let worker = pool.worker().unwrap();
    let pages = (0..16).map(|number| add(&worker, number)).collect();
    worker.checkpoint(Vec::new, || Ok(())).unwrap();
    (world, pages)
}

/// Whoever waits for a page that was asked for together with others is not told of an error that those had: the page is
/// asked for again by itself.
#[test]
fn a_failed_request_for_many_pages_costs_nobody_a_page_that_can_be_read() {
    let (world, pages) = neighbours(3);
    for wanted in 0..pages.len() {
        let world = world.image().after(Fate::Kept);
        let pool = Pool::open(world.disk(0), config()).unwrap();
        let worker = pool.worker().unwrap();
        let (opened, before) = (world.ios(), worker.counters());
        world.fail(opened, rustix::io::Errno::IO, false);
        worker.prefetch_all(&pages);
        assert_eq!(worker.counters().requests - before.requests, 1, "they lie one behind the other");
        assert_eq!(value(&worker, pages[wanted]).unwrap(), wanted as u64);
        worker.settle().unwrap();
        assert!(pages.iter().all(|&page| pool.is_resident(page)), "every one was asked for again");
    }
}

/// A bit that flipped in one of many pages that come by one request: that page is named, and all others are there.
#[test]
fn a_flipped_bit_in_a_request_for_many_pages_is_named_with_its_page() {
    let (world, pages) = neighbours(5);
    let mut named = 0;
    for slot in 0..24 {
        let world = world.image().after(Fate::Kept);
        world.flip(0, ((128 << 10) + slot * 4096 + 3000) * 8);
        let Ok(pool) = Pool::open(world.disk(0), config()) else { continue };
        let worker = pool.worker().unwrap();
        worker.prefetch_all(&pages);
        worker.settle().unwrap();
        let missing: Vec<_> = pages.iter().filter(|&&page| !pool.is_resident(page)).collect();
        assert!(missing.len() <= 1, "{missing:?}");
        let Some(&&page) = missing.first() else { continue };
        let told = value(&worker, page).unwrap_err().to_string();
        assert!(told.contains(&format!("page {page}, at ")) && told.contains("checksum"), "{told}");
        named += 1;
    }
    assert_eq!(named, pages.len(), "each of them once");
}

/// Dirty pages in memory were not counted, and the checkpoint that was to make room found no free place.
#[test]
fn a_checkpoint_has_room_when_changes_are_told_to_wait() {
    const PAGES: u64 = DISK / 4096 * 85 / 100;
    for (seed, grouping) in [(1, Grouping::None), (2, Grouping::ByDeath { unit_bytes: 64 << 10 })] {
        let folder = tempfile::tempdir().unwrap();
        // Half of the disk fits into memory: far more pages than are free can be dirty.
        let config = Config { pool_bytes: DISK / 2, workers: 1, grouping, ..Config::default() };
        let pool = Pool::create(disk(&folder.path().join("pool"), true, PathKind::Pread), config).unwrap();
        let worker = pool.worker().unwrap();
        let pages: Vec<u64> = (0..PAGES).map(|page| add(&worker, page)).collect();
        worker.checkpoint(Vec::new, || Ok(())).unwrap();
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        for round in 0..30 {
            let mut changes = 0;
            while !pool.is_short() {
                change(&worker, pages[(random.next_u64() % PAGES) as usize], round);
                changes += 1;
            }
            assert!(changes > 50, "seed {seed}, round {round}: only {changes} changes were let in");
            worker
                .checkpoint(Vec::new, || Ok(()))
                .unwrap_or_else(|error| panic!("seed {seed}, round {round}: {error}"));
        }
    }
}
