//! Pages in two memories: whatever goes up and down, they are what was written.

use std::{
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use assay_buffer::{
    Config, HEADER_BYTES, Lower, PageId, Placement, Pool, Tier, Worker,
    disk::{Access, Disk, Drive, Memory},
};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

const PAGES: u64 = 400;

/// Memory that counts what is done with it.
#[derive(Debug)]
struct Counted {
    memory: Memory,
    touched: AtomicU64,
    up: AtomicU64,
    down: AtomicU64,
}

// SAFETY: a mapping that lives as long as the value.
unsafe impl Lower for Counted {
    fn start(&self) -> *mut u8 {
        self.memory.start()
    }

    fn bytes(&self) -> usize {
        self.memory.bytes()
    }

    fn touched(&self, at: usize, bytes: usize) {
        assert!(at + bytes <= self.bytes());
        self.touched.fetch_add(1, Relaxed);
    }

    unsafe fn copy_up(&self, at: usize, to: *mut u8, bytes: usize) {
        self.up.fetch_add(1, Relaxed);
        // SAFETY: the caller's promise.
        unsafe { to.copy_from_nonoverlapping(self.start().add(at), bytes) };
    }

    unsafe fn copy_down(&self, at: usize, from: *const u8, bytes: usize) {
        self.down.fetch_add(1, Relaxed);
        // SAFETY: the caller's promise.
        unsafe { self.start().add(at).copy_from_nonoverlapping(from, bytes) };
    }
}

fn disk(path: &Path, make: bool) -> Arc<dyn Disk> {
    let (access, paths) = (Access::default(), [path.to_owned()]);
    Arc::new(if make { Drive::create(&paths, 16 << 20, access) } else { Drive::open(&paths, access) }.unwrap())
}

fn value(worker: &Worker<'_>, page: PageId) -> u64 {
    let read = worker.retry(|| {
        let words = worker.look(page)?.read(|bytes| [HEADER_BYTES, bytes.len() - 8].map(|at| bytes.u64(at)))?;
        Ok(words)
    });
    let [first, last] = read.unwrap();
    assert_eq!(first, last, "page {page} is torn");
    first
}

fn change(worker: &Worker<'_>, page: PageId, change: impl Fn(u64) -> u64) {
    let writing = worker.write();
    let changed = worker.retry(|| {
        let mut held = worker.look(page)?.lock(&writing)?;
        let bytes = &mut held.bytes_mut()[HEADER_BYTES..];
        let value = change(u64::from_le_bytes(bytes[..8].try_into().unwrap()));
        bytes.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&value.to_le_bytes()));
        Ok(())
    });
    changed.unwrap();
}

/// Threads count pages up while others read them; every count is there, and after reopening those of the checkpoint.
fn count(placement: Placement, seed: u64) -> [u64; 3] {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pages");
    let config = Config { pool_bytes: 64 * 4096, workers: 4, depth: 16, ..Config::default() };
    let memory = Memory::new(128 * 4096).unwrap();
    let [touched, up, down] = [(); 3].map(|()| AtomicU64::new(0));
    let memory = Arc::new(Counted { memory, touched, up, down });
    let tier = Tier { memory: Arc::clone(&memory) as _, placement, touched_bytes: 1024 };
    let pool = Pool::create(disk(&path, true), config).unwrap().over(tier).unwrap();
    {
        let worker = pool.worker().unwrap();
        for _ in 0..PAGES {
            let writing = worker.write();
            worker.retry(|| worker.allocate(&writing).map(drop)).unwrap();
        }
    }
    let changes: Vec<AtomicU64> = (0..=PAGES).map(|_| AtomicU64::new(0)).collect();
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let (pool, changes) = (&pool, &changes);
            scope.spawn(move || {
                let worker = pool.worker().unwrap();
                let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed ^ thread);
                for round in 0..6_000 {
                    // Half of the accesses go to an eighth of the pages.
                    let among = if chance.next_u64() % 2 == 0 { PAGES } else { PAGES / 8 };
                    let page = chance.next_u64() % among + 1;
                    if chance.next_u64() % 4 == 0 {
                        change(&worker, page, |value| value + 1);
                        changes[page as usize].fetch_add(1, Relaxed);
                    } else {
                        value(&worker, page);
                    }
                    if thread == 0 && round % 2_000 == 1_999 {
                        worker.checkpoint(Vec::new, || Ok(())).unwrap();
                    }
                }
            });
        }
    });
    let check = |worker: &Worker<'_>| {
        for page in 1..=PAGES {
            assert_eq!(value(worker, page), changes[page as usize].load(Relaxed), "page {page}, seed {seed}");
        }
    };
    {
        let worker = pool.worker().unwrap();
        check(&worker);
        worker.checkpoint(Vec::new, || Ok(())).unwrap();
        assert!(pool.pages_below() > 0 && pool.pages_below() <= 128);
    }
    drop(pool);
    let pool = Pool::open(disk(&path, false), config).unwrap();
    check(&pool.worker().unwrap());
    [&memory.touched, &memory.up, &memory.down].map(|count| count.load(Relaxed))
}

#[test]
fn pages_that_go_up_and_down_are_what_was_written() {
    let [copied, in_place, hot] = [Placement::Copy, Placement::InPlace, Placement::Hot].map(|placement| {
        let seed = 5;
        println!("{placement:?}, seed {seed}");
        count(placement, seed)
    });
    println!("touched, up, down: copy {copied:?}, in place {in_place:?}, hot {hot:?}");
    assert_eq!(copied[0], 0, "what is copied is never read below");
    assert!(in_place[0] > hot[0] && hot[0] > 0);
    assert!(copied[1] > hot[1] && hot[1] > in_place[1] && in_place[1] > 0, "pages that are changed go up");
    assert!([copied, in_place, hot].iter().all(|[_, _, down]| *down > 0));
}
