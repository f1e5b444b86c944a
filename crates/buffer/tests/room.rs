//! Room on a disk that is nearly full: changes are told to wait before a checkpoint has too little.

use std::sync::Arc;

use assay_buffer::{
    Config, Grouping, HEADER_BYTES, Pool, Worker,
    disk::{Access, Drive, TrimRange},
};
use assay_record::PathKind;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

const DISK: u64 = 16 << 20;
const PAGES: u64 = DISK / 4096 * 85 / 100;
/// Half of the disk fits into memory: far more pages than are free can be dirty.
const POOL: u64 = DISK / 2;

fn add(worker: &Worker<'_>) -> u64 {
    let writing = worker.write();
    worker.retry(|| Ok(worker.allocate(&writing)?.page())).unwrap()
}

fn change(worker: &Worker<'_>, page: u64, value: u64) {
    let writing = worker.write();
    worker
        .retry(|| {
            let mut page = worker.look(page)?.lock(&writing)?;
            page.bytes_mut()[HEADER_BYTES..HEADER_BYTES + 8].copy_from_slice(&value.to_le_bytes());
            Ok(())
        })
        .unwrap();
}

/// Dirty pages in memory were not counted, and the checkpoint that was to make room found no free place.
#[test]
fn a_checkpoint_has_room_when_changes_are_told_to_wait() {
    for (seed, grouping) in [(1, Grouping::None), (2, Grouping::ByDeath { unit_bytes: 64 << 10 })] {
        let folder = tempfile::tempdir().unwrap();
        let access = Access { path: PathKind::Pread, ..Access::default() };
        let disk = Arc::new(Drive::create(&[folder.path().join("pool")], DISK, access).unwrap());
        let config = Config { pool_bytes: POOL, workers: 1, grouping, ..Config::default() };
        let pool = Pool::create(disk, config).unwrap();
        let worker = pool.worker().unwrap();
        let pages: Vec<u64> = (0..PAGES).map(|_| add(&worker)).collect();
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

#[test]
fn ranges_of_a_trim_come_back_from_their_list() {
    let ranges = [(0, 4096), (1 << 40, u32::MAX), (u64::MAX, 0)].map(|(offset, bytes)| TrimRange { offset, bytes });
    let list: Vec<u8> = ranges.into_iter().flat_map(TrimRange::to_bytes).collect();
    assert_eq!(list.len(), 3 * TrimRange::SIZE);
    assert_eq!(TrimRange::all(&list).collect::<Vec<_>>(), ranges);
}
