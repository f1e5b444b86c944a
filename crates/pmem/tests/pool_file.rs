//! Pools in real files: made, opened, locked, filled, and everything that can be wrong with them.

use std::{
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
    sync::{Arc, mpsc::channel},
    time::Duration,
};

use assay_pmem::{
    Allocation, CHUNK_BYTES, Mapped, Medium, Metered, Offset, PmemError, Pool, PoolFile, Shape, counts,
    crash::Recorder, outwait,
};

const BYTES: u64 = 4 << 20;

/// A folder in memory, where a file stands in for persistent memory; none where there is no such file system.
fn folder() -> Option<tempfile::TempDir> {
    let found = tempfile::tempdir_in("/dev/shm").ok();
    if found.is_none() {
        eprintln!("skipped: no folder can be made under /dev/shm");
    }
    found
}

fn shape() -> Shape {
    Shape { lanes: 4, ..Shape::new("list-1") }
}

fn with_pool(test: impl FnOnce(PathBuf)) {
    let Some(folder) = folder() else { return };
    let path = folder.path().join("pool");
    PoolFile::create(&path, BYTES, &shape()).unwrap();
    test(path);
}

fn refusal(path: &Path) -> PmemError {
    let error = PoolFile::open(path, "list-1").expect_err("it must be refused");
    assert!(error.to_string().len() > 20 && error.fix().len() > 20, "{error}");
    error
}

#[test]
fn what_was_committed_is_there_after_reopening_wherever_it_is_mapped() {
    with_pool(|path| {
        let first = PoolFile::open(&path, "list-1").unwrap();
        assert!(first.medium().emulated(), "tmpfs is no persistent memory");
        let mut transaction = first.begin();
        let block: Offset<u64> = transaction.alloc(100).unwrap();
        first.medium().write(block.raw(), &[9; 100]);
        first.medium().flush(block.raw(), 100);
        transaction.link(first.root(3), block).unwrap();
        transaction.commit();
        let incarnation = first.incarnation();
        drop(first);

        let again = PoolFile::open(&path, "list-1").unwrap();
        assert_eq!(again.incarnation(), incarnation + 1);
        let found = again.medium().load(again.root::<u64>(3).raw());
        assert_eq!(found, block.raw());
        let mut bytes = [0; 100];
        again.medium().read(found, &mut bytes);
        assert_eq!(bytes, [9; 100]);
        assert_eq!(again.allocated().unwrap(), [Allocation { at: found, bytes: 128 }]);
        assert_eq!(again.usage().unwrap().allocated_bytes, 128);
    });
}

#[test]
fn nobody_else_opens_a_pool_that_is_open() {
    with_pool(|path| {
        let open = PoolFile::open(&path, "list-1").unwrap();
        assert!(matches!(refusal(&path), PmemError::InUse { .. }));
        drop(open);
        PoolFile::open(&path, "list-1").unwrap();
    });
}

#[test]
fn what_is_there_is_not_overwritten() {
    with_pool(|path| {
        let error = PoolFile::create(&path, BYTES, &shape()).unwrap_err();
        assert!(matches!(error, PmemError::Exists { bytes: BYTES, .. }), "{error}");
        PoolFile::open(&path, "list-1").expect("it is as it was");
    });
}

#[test]
fn a_pool_of_another_kind_version_or_length_is_refused_by_what_was_seen() {
    with_pool(|path| {
        let error = PoolFile::open(&path, "tree-1").unwrap_err();
        assert!(error.to_string().contains("list-1") && error.to_string().contains("tree-1"), "{error}");
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.set_len(BYTES / 2).unwrap();
        assert!(matches!(refusal(&path), PmemError::Truncated { seen, wanted: BYTES } if seen == BYTES / 2));
        file.set_len(10).unwrap();
        assert!(matches!(refusal(&path), PmemError::Short { seen: 10, .. }));
        file.set_len(0).unwrap();
        file.set_len(BYTES).unwrap();
        assert!(matches!(refusal(&path), PmemError::Unfinished), "the header was cut off");
        file.write_at(b"#!/bin/sh\n", 0).unwrap();
        assert!(matches!(refusal(&path), PmemError::NotAPool { .. }));
    });
}

#[test]
fn a_damaged_header_is_read_from_its_copy_and_two_are_refused() {
    with_pool(|path| {
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_at(&[0xff], 20).unwrap();
        PoolFile::open(&path, "list-1").expect("the copy is whole");
        file.write_at(&[0xff], 4096 + 20).unwrap();
        assert!(matches!(refusal(&path), PmemError::Damaged { .. }));
    });
}

/// It was called a pool that never held anything, to be removed.
#[test]
fn a_header_that_zeros_were_written_over_is_damage_and_no_pool_that_was_never_finished() {
    with_pool(|path| {
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        file.write_at(&[0; 4096], 0).unwrap();
        let said = refusal(&path);
        assert!(matches!(&said, PmemError::Damaged { what } if what.contains("it was opened 1 times")), "{said}");
    });
}

#[test]
fn a_damaged_table_is_refused_by_its_place() {
    with_pool(|path| {
        let file = std::fs::OpenOptions::new().write(true).open(&path).unwrap();
        let heads = 3 * 4096 + 4 * 1024;
        file.write_at(&[0x55; 8], heads).unwrap();
        let said = refusal(&path).to_string();
        assert!(said.contains("head of chunk 0"), "{said}");
    });
}

#[test]
fn sizes_and_folders_that_cannot_be_leave_nothing_behind() {
    let Some(folder) = folder() else { return };
    let path = folder.path().join("pool");
    assert!(matches!(PoolFile::create(&path, 1000, &shape()), Err(PmemError::Size { asked: 1000, .. })));
    assert!(PoolFile::create(&path, 1 << 46, &shape()).is_err(), "no machine has 64 TiB of tmpfs");
    let unnamed = Shape { layout: String::new(), ..shape() };
    assert!(matches!(PoolFile::create(&path, BYTES, &unnamed), Err(PmemError::Layout { .. })));
    assert!(!path.exists());
    assert!(matches!(PoolFile::open(&path, "list-1"), Err(PmemError::Io { .. })));
}

#[test]
fn a_full_pool_says_so_and_loses_nothing() {
    with_pool(|path| {
        let pool = PoolFile::open(&path, "list-1").unwrap();
        let mut blocks: Vec<Offset<u64>> = Vec::new();
        let full = loop {
            let mut transaction = pool.begin();
            match transaction.alloc(5000) {
                Ok(block) => {
                    transaction.commit();
                    blocks.push(block);
                }
                Err(error) => break error,
            }
        };
        assert!(matches!(full, PmemError::Full { asked: 5000, .. }), "{full}");
        let usage = pool.usage().unwrap();
        assert_eq!(usage.blocks, blocks.len() as u64);
        assert!(usage.allocated_bytes * 10 > BYTES * 8, "{usage:?}");
        for block in blocks {
            let mut transaction = pool.begin();
            transaction.free_now(block).unwrap();
            transaction.commit();
        }
        // Space of one size becomes space of another.
        let mut transaction = pool.begin();
        transaction.alloc::<u64>(10 * CHUNK_BYTES as usize).unwrap();
        transaction.commit();
        assert_eq!(pool.usage().unwrap().blocks, 1);
    });
}

/// What a thread gave back stayed with it until it gave more back, and a pool was full of it for everybody else.
#[test]
fn whole_chunks_that_a_thread_freed_can_be_had_though_it_does_nothing_more() {
    let pool = Pool::create(Mapped::memory(BYTES).unwrap(), &shape()).unwrap();
    let bytes = 40 * CHUNK_BYTES as usize;
    let mut transaction = pool.begin();
    let block: Offset<u64> = transaction.alloc(bytes).unwrap();
    transaction.commit();
    let (to_here, from_idle) = channel();
    let (to_idle, from_here) = channel::<()>();
    std::thread::scope(|scope| {
        let pool = &pool;
        scope.spawn(move || {
            let mut transaction = pool.begin();
            transaction.free(block).unwrap();
            transaction.commit();
            to_here.send(()).unwrap();
            from_here.recv().unwrap();
        });
        from_idle.recv().unwrap();
        assert!(outwait(Duration::from_secs(60)), "nobody stays pinned");
        let again = pool.begin().alloc::<u64>(bytes).map(Offset::raw);
        to_idle.send(()).unwrap();
        assert_eq!(again.unwrap(), block.raw());
    });
}

#[test]
fn what_is_not_allocated_cannot_be_freed() {
    let pool = Pool::create(Mapped::memory(BYTES).unwrap(), &shape()).unwrap();
    let mut transaction = pool.begin();
    let block: Offset<u64> = transaction.alloc(64).unwrap();
    transaction.commit();
    for wrong in [0, 8, block.raw() + 8, block.raw() + 64, BYTES, u64::MAX] {
        let mut transaction = pool.begin();
        assert!(matches!(transaction.free(Offset::<u64>::new(wrong)), Err(PmemError::BadFree { .. })), "{wrong:#x}");
    }
    let mut twice = pool.begin();
    twice.free(block).unwrap();
    assert!(matches!(twice.free(block), Err(PmemError::BadFree { .. })));
    twice.commit();
    assert!(matches!(pool.begin().free(block), Err(PmemError::BadFree { .. })));
}

#[test]
fn a_dropped_transaction_changes_nothing() {
    let pool = Pool::create(Mapped::memory(BYTES).unwrap(), &shape()).unwrap();
    let mut transaction = pool.begin();
    let block: Offset<u64> = transaction.alloc(64).unwrap();
    transaction.link(pool.root(0), block).unwrap();
    drop(transaction);
    assert_eq!(pool.medium().load(pool.root::<u64>(0).raw()), 0);
    assert!(pool.allocated().unwrap().is_empty());
    let mut again = pool.begin();
    assert_eq!(again.alloc::<u64>(64).unwrap(), block, "the block went back");
}

#[test]
fn a_transaction_has_a_bound() {
    let pool = Pool::create(Mapped::memory(BYTES).unwrap(), &shape()).unwrap();
    let mut transaction = pool.begin();
    for _ in 0..assay_pmem::MOST_CHANGES {
        transaction.set(pool.root(1), 5).unwrap();
    }
    assert!(matches!(transaction.set(pool.root(1), 6), Err(PmemError::LogFull { .. })));
    transaction.commit();
    assert_eq!(pool.medium().load(pool.root::<u64>(1).raw()), 5);
}

#[test]
#[should_panic(expected = "outside of a pool")]
fn a_damaged_offset_panics_and_touches_nothing() {
    let pool = Pool::create(Mapped::memory(BYTES).unwrap(), &shape()).unwrap();
    pool.medium().load(1 << 40);
}

#[test]
fn a_block_waits_for_its_readers() {
    let pool = Pool::create(Mapped::memory(BYTES).unwrap(), &shape()).unwrap();
    let allocate = || {
        let mut transaction = pool.begin();
        let block: Offset<u64> = transaction.alloc(32768).unwrap();
        transaction.commit();
        block
    };
    let block = allocate();
    let reader = assay_pmem::pin();
    let mut transaction = pool.begin();
    transaction.free(block).unwrap();
    transaction.commit();
    assert!(pool.allocated().unwrap().is_empty(), "a crash would find it free");
    let others: Vec<_> = (0..40).map(|_| allocate()).collect();
    assert!(!others.contains(&block), "somebody may still read it");
    drop(reader);
}

/// A killed process found it: the block was freed, its chunk's bitmap was read for the first time, the block was given
/// out, and only then did the wait for its readers end and give it out again.
#[test]
fn a_block_freed_in_a_chunk_that_nobody_had_looked_at_is_not_given_out_twice() {
    let medium = Recorder::new(BYTES as usize);
    let allocate = |pool: &Pool<Recorder>| {
        let mut transaction = pool.begin();
        let block: Offset<u64> = transaction.alloc(32768).unwrap();
        transaction.commit();
        block
    };
    let pool = Pool::create(medium.clone(), &shape()).unwrap();
    let blocks: Vec<_> = (0..8).map(|_| allocate(&pool)).collect();
    drop(pool);
    let pool = Pool::open(medium, "list-1").unwrap();
    for block in &blocks {
        let mut transaction = pool.begin();
        transaction.free(*block).unwrap();
        transaction.commit();
    }
    let mut held: Vec<_> = (0..10).map(|_| allocate(&pool)).collect();
    for _ in 0..1000 {
        assay_pmem::pin().flush();
    }
    held.extend((0..10).map(|_| allocate(&pool)));
    held.sort_by_key(|block| block.raw());
    assert!(held.windows(2).all(|pair| pair[0] != pair[1]), "{held:?}");
    assert_eq!(pool.allocated().unwrap().len(), held.len());
}

#[test]
fn threads_allocate_and_free_at_once_and_nothing_is_lost() {
    let pool = Arc::new(Pool::create(Mapped::memory(16 << 20).unwrap(), &shape()).unwrap());
    let work = |thread: u64| {
        let pool = Arc::clone(&pool);
        move || {
            let mut held: Vec<Offset<u64>> = Vec::new();
            for turn in 0..2000u64 {
                let mut transaction = pool.begin();
                if turn % 3 == 2 {
                    let block = held.swap_remove((turn as usize * 7) % held.len());
                    assert_eq!(pool.medium().load(block.raw()), thread << 32 | block.raw(), "somebody else has it too");
                    transaction.free(block).unwrap();
                } else {
                    let block = transaction.alloc([40, 256, 1500, 70_000][(turn % 41 / 13) as usize]).unwrap();
                    pool.medium().store(block.raw(), thread << 32 | block.raw());
                    held.push(block);
                }
                transaction.commit();
                if held.len() > 20 {
                    let mut transaction = pool.begin();
                    held.drain(..10).for_each(|block| transaction.free(block).unwrap());
                    transaction.commit();
                }
            }
            held
        }
    };
    let threads: Vec<_> = (1..=3).map(|thread| std::thread::spawn(work(thread))).collect();
    let mut held: Vec<u64> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).map(Offset::raw).collect();
    held.sort_unstable();
    let found: Vec<u64> = pool.allocated().unwrap().iter().map(|block| block.at).collect();
    assert_eq!(found, held);
}

#[test]
fn the_fences_of_a_commit_are_as_documented() {
    let pool = Pool::create(Metered::new(Mapped::memory(BYTES).unwrap(), 64), &shape()).unwrap();
    let fences = |action: &dyn Fn()| {
        let before = counts();
        action();
        (counts() - before).fences
    };
    let fill = |root: usize, old: u64, lazily: bool| {
        let mut transaction = pool.begin();
        let block: Offset<u64> = transaction.alloc(64).unwrap();
        transaction.link(pool.root(root), block).unwrap();
        if old != 0 {
            transaction.free_now(Offset::<u64>::new(old)).unwrap();
        }
        if lazily { transaction.commit_lazily() } else { transaction.commit() }
    };
    let set = |words: usize| {
        let mut transaction = pool.begin();
        (0..words).for_each(|root| transaction.set(pool.root(10 + root), 1).unwrap());
        transaction.commit();
    };
    fill(0, 0, false);
    let old = pool.medium().load(pool.root::<u64>(0).raw());
    let found = [
        fences(&|| set(1)),
        fences(&|| set(2)),
        fences(&|| fill(1, 0, false)),
        fences(&|| fill(0, old, false)),
        fences(&|| fill(2, 0, true)),
    ];
    assert_eq!(found, [2, 4, 3, 3, 2]);
}
