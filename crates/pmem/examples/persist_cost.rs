//! Prints what persisting and allocating cost here, beside plain memory: `persist_cost [FOLDER]` (/dev/shm).

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::{
    alloc::{Layout, alloc, dealloc},
    hint::black_box,
    path::PathBuf,
    time::Instant,
};

use assay_path::pmem::Persister;
use assay_pmem::{Mapped, Medium, Metered, Offset, Pool, PoolFile, Shape, counts};

const ROUNDS: u64 = 200_000;
const BYTES: u64 = 256 << 20;

/// Mean nanoseconds of one call; the best of three.
fn ns(mut action: impl FnMut(u64)) -> f64 {
    let once = |action: &mut dyn FnMut(u64)| {
        let start = Instant::now();
        (0..ROUNDS).for_each(action);
        start.elapsed().as_nanos() as f64 / ROUNDS as f64
    };
    (0..3).map(|_| once(&mut action)).fold(f64::INFINITY, f64::min)
}

fn line(what: &str, ns: f64) {
    println!("{what:48} {ns:8.1} ns {:8.2} M/s", 1e3 / ns);
}

/// Words apart by a few lines, all over the pool's second half.
fn place(index: u64) -> u64 {
    BYTES / 2 + index.wrapping_mul(0x9E37_79B9_7F4A_7C15) % (BYTES / 2 - 4096) / 64 * 64
}

fn primitives(medium: &Mapped) {
    let name = medium.persister().instruction();
    line(&format!("store of 8 B ({name} is not called)"), ns(|index| medium.store(place(index), index)));
    line(&format!("store, {name}, fence"), ns(|index| medium.publish(place(index), index)));
    line(
        &format!("4 lines: store, {name} each, one fence"),
        ns(|index| {
            (0..4).for_each(|line| medium.store(place(index) + line * 64, index));
            medium.persist(place(index), 256);
        }),
    );
    line(
        "non-temporal store of 256 B, fence",
        ns(|index| {
            medium.stream(place(index) / 256 * 256, &[index as u8; 256]);
            medium.fence();
        }),
    );
}

fn transactions<M: Medium>(pool: &Pool<M>, kind: &str) {
    let fill = |free: bool, lazily: bool| {
        move |index: u64| {
            let root = pool.root::<Offset<u64>>(index as usize % 32);
            let old = Offset::<u64>::new(pool.medium().load(root.raw()));
            let mut transaction = pool.begin();
            let block: Offset<u64> = transaction.alloc(256).expect("there is space");
            pool.medium().store(block.raw(), index);
            pool.medium().flush(block.raw(), 8);
            transaction.link(root, block).expect("there is room");
            if free && !old.is_null() {
                transaction.free_now(old).expect("it is allocated");
            }
            if lazily { transaction.commit_lazily() } else { transaction.commit() }
        }
    };
    line(&format!("{kind}: allocate, link, free the old one"), ns(fill(true, false)));
    line(&format!("{kind}: allocate and link, lazily"), ns(fill(false, true)));
    line(
        &format!("{kind}: set two words"),
        ns(|index| {
            let mut transaction = pool.begin();
            transaction.set(pool.root(40), index).expect("there is room");
            transaction.set(pool.root(41), index).expect("there is room");
            transaction.commit();
        }),
    );
    line(
        &format!("{kind}: reserve and cancel, nothing persisted"),
        ns(|_| {
            let block: Offset<u64> = pool.reserve(256).expect("there is space");
            pool.cancel(black_box(block), 256);
        }),
    );
}

fn malloc() {
    let layout = Layout::from_size_align(256, 32).expect("it is one");
    line(
        "malloc of 256 B, store, free",
        ns(|index| {
            // SAFETY: the layout is not empty; what was allocated is written within and freed once.
            unsafe {
                let block = alloc(layout);
                block.cast::<u64>().write_volatile(index);
                dealloc(black_box(block), layout);
            }
        }),
    );
}

fn main() -> Result<(), assay_pmem::PmemError> {
    let folder = std::env::args().nth(1).map_or_else(|| PathBuf::from("/dev/shm"), PathBuf::from);
    let path = folder.join(format!("assay-persist-cost-{}", std::process::id()));
    let ways = Persister::available().into_iter().map(Persister::instruction).collect::<Vec<_>>();
    let pool = PoolFile::create(&path, BYTES, &Shape::new("bench-1"))?;
    // The mapping keeps it: nothing is left behind, whatever happens.
    let _ = std::fs::remove_file(&path);
    pool.medium().populate()?;
    println!("this CPU has {ways:?}; {} is emulated: {}", folder.display(), pool.medium().emulated());
    primitives(pool.medium());
    malloc();
    transactions(&pool, "pool");
    let metered = Pool::create(Metered::new(Mapped::memory(BYTES)?, 4096), &Shape::new("bench-1"))?;
    let before = counts();
    transactions(&metered, "metered pool");
    println!("counted: {:?}", counts() - before);
    Ok(())
}
