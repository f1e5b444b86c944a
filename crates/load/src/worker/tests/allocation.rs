//! The measured loops allocate nothing.

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
    fs,
    io::Write,
    sync::atomic::AtomicU64,
};

use assay_path::{Arena, Null, OpenParameters, Opened, Segment, SegmentKind};
use assay_record::{Arrivals, Class, Layout as DataLayout, Operation, PathKind, PathSpec, RateScope};

use super::{bench, class, durable};
use crate::worker::{BlockingLoop, QueuedLoop};

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// Counts the calls of each thread.
struct Counting;

// SAFETY: every call is handed to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller's promise is handed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        CALLS.with(|calls| calls.set(calls.get() + 1));
        // SAFETY: the caller's promise is handed on.
        unsafe { System.dealloc(start, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Calls of the allocator while `work` runs, once what is allocated on first use is there.
fn calls_of(mut work: impl FnMut(&AtomicU64) -> u64, clock: assay_instruments::clock::Clock) -> u64 {
    let mut run = |ns| work(&AtomicU64::new(clock.now() + clock.ns_to_ticks(ns)));
    run(1_000_000);
    let before = CALLS.with(Cell::get);
    let mut done = 0;
    for _ in 0..1000 {
        done = run(2_000_000);
        if done >= 10_000 {
            break;
        }
    }
    assert!(done >= 10_000, "only {done} operations");
    CALLS.with(Cell::get) - before
}

fn open_loop(class: Class) -> Class {
    Class { arrivals: Arrivals::Poisson { rate_per_s: 1e6, scope: RateScope::Total }, ..class }
}

#[test]
fn the_counter_counts() {
    let before = CALLS.with(Cell::get);
    drop(std::hint::black_box(vec![1u8; 100]));
    assert_eq!(CALLS.with(Cell::get) - before, 2);
}

#[test]
fn the_loops_allocate_nothing_on_the_null_path() {
    let mix = Operation::Mix { write_percent: 20 };
    for class in [class(mix, 1, 1), durable(class(mix, 32, 8), 3), open_loop(class(mix, 16, 1))] {
        let mut bench = bench(&class, 2);
        if let Some(schedule) = &mut bench.task.schedule {
            schedule.begin(bench.task.clock.now());
        }
        let clock = bench.task.clock;
        let mut queued = QueuedLoop::new(Null::new(class.depth), &bench.arena, class.depth, class.batch);
        let (task, tally) = (&mut bench.task, &bench.tally);
        let calls = calls_of(
            |until| {
                assert!(queued.work(task, tally, until));
                tally.service.count()
            },
            clock,
        );
        assert_eq!(calls, 0, "queued, depth {}", class.depth);
        let mut blocking = BlockingLoop::new(Null::new(1), &bench.arena);
        let before = tally.service.count();
        let calls = calls_of(
            |until| {
                assert!(blocking.work(task, tally, until));
                tally.service.count() - before
            },
            clock,
        );
        assert_eq!(calls, 0, "blocking");
    }
}

fn open<'a>(class: &Class, segments: &'a [Segment], arena: &'a Arena) -> Result<Opened, assay_path::PathError> {
    Opened::open(&OpenParameters {
        spec: &class.path,
        durability: class.durability,
        segments,
        writes: true,
        layout: DataLayout::Written,
        arena,
        depth: class.depth,
        batch: class.batch,
    })
}

#[test]
fn the_loops_allocate_nothing_on_files() {
    const BYTES: u64 = 1 << 20;
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&vec![7u8; BYTES as usize]).unwrap();
    assert_eq!(fs::metadata(file.path()).unwrap().len(), BYTES);
    let segments = [Segment { path: file.path().to_owned(), kind: SegmentKind::File, base: 0, bytes: BYTES }];
    for (kind, depth) in [(PathKind::Pread, 1), (PathKind::Mmap, 1), (PathKind::Libaio, 8), (PathKind::IoUring, 8)] {
        let mix = Operation::Mix { write_percent: 20 };
        let class = Class { path: PathSpec::plain(kind), ..class(mix, depth, 1) };
        let mut bench = bench(&class, 1);
        let share = crate::generator::FileShare { bytes: BYTES, index: 0, of: 1, stripe: 0, order: 1 };
        bench.task.generator = crate::generator::Generator::new(&class, share, 1);
        let opened = match open(&class, &segments, &bench.arena) {
            Ok(opened) => opened,
            Err(error) => {
                eprintln!("skipped {kind:?}: {error}");
                continue;
            }
        };
        let clock = bench.task.clock;
        let (task, tally, arena) = (&mut bench.task, &bench.tally, &bench.arena);
        macro_rules! count {
            ($engine:expr) => {{
                let mut engine = $engine;
                let mut run = |until: &AtomicU64| {
                    assert!(engine.work(task, tally, until));
                    tally.service.count()
                };
                calls_of(&mut run, clock)
            }};
        }
        let calls = match opened {
            Opened::Pread(path) => count!(BlockingLoop::new(path, arena)),
            Opened::Mmap(path) => count!(BlockingLoop::new(path, arena)),
            Opened::Libaio(path) => count!(QueuedLoop::new(path, arena, depth, 1)),
            Opened::Uring(path) => count!(QueuedLoop::new(path, arena, depth, 1)),
            other => panic!("{other:?}"),
        };
        assert_eq!(calls, 0, "{kind:?}");
    }
}
