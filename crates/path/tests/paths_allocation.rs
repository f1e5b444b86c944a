//! The measured loop allocates nothing: ten thousand operations of each path, and the allocator is not called once.

mod ground;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use assay_path::{Blocking, Completion, OpenParameters, Opened, Queued, Request, Wait};
use assay_record::{Durability, DurabilityKind, PathKind};
use ground::{BLOCK, Ground, available, request};

thread_local! {
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting the calls of each thread.
struct Counting;

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller keeps the contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller keeps the contract.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        CALLS.set(CALLS.get() + 1);
        // SAFETY: the caller keeps the contract.
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const OPERATIONS: u64 = 10_000;
const DEPTH: u32 = 16;
const FLUSH_EVERY: u64 = 1000;
const BLOCKS: u64 = 64;

fn blocking(path: &mut impl Blocking) {
    for index in 0..OPERATIONS {
        let offset = index * 7 % BLOCKS * u64::from(BLOCK);
        if index % 4 == 0 {
            path.write(0, offset, BLOCK, 0).unwrap();
        } else {
            path.read(0, offset, BLOCK, 0).unwrap();
        }
        if index % FLUSH_EVERY == 0 {
            path.flush().unwrap();
        }
    }
}

fn queued(path: &mut impl Queued, free: &mut Vec<u32>, into: &mut Vec<Completion>) {
    let mut index = 0;
    while index < OPERATIONS || free.len() < DEPTH as usize {
        while let Some(slot) = if index < OPERATIONS { free.pop() } else { None } {
            let offset = index * 7 % BLOCKS * u64::from(BLOCK);
            if index % FLUSH_EVERY == 0 {
                path.push_flush(0, slot);
            } else {
                let memory = (slot * BLOCK) as usize;
                path.push(Request { slot, ..request(index % 4 == 0, offset, BLOCK, memory) });
            }
            index += 1;
        }
        into.clear();
        path.submit_and_reap(Wait { at_least: 1, timeout_ns: 1_000_000_000 }, into).unwrap();
        for completion in into.iter() {
            assert!(completion.result >= 0, "{completion:?}");
            free.push(completion.slot);
        }
    }
}

fn calls_during(path: &mut Opened) -> u64 {
    let mut free: Vec<u32> = (0..DEPTH).collect();
    let mut into = Vec::with_capacity(DEPTH as usize);
    let before = CALLS.get();
    match path {
        Opened::Pread(path) => blocking(path),
        Opened::Mmap(path) => blocking(path),
        Opened::Libaio(path) => queued(path, &mut free, &mut into),
        Opened::Uring(path) => queued(path, &mut free, &mut into),
        Opened::Null(path) => queued(path, &mut free, &mut into),
        _ => panic!("a path that this test does not know"),
    }
    CALLS.get() - before
}

#[test]
fn the_counter_counts() {
    let before = CALLS.get();
    drop(std::hint::black_box(vec![1_u8; 100]));
    assert_eq!(CALLS.get() - before, 2);
}

#[test]
fn no_path_allocates_in_the_loop() {
    let ground = Ground::new(1, BLOCKS * u64::from(BLOCK));
    for (name, spec) in available(&ground) {
        let (kind, depth) = match spec.kind {
            PathKind::Mmap => (DurabilityKind::Msync, 1),
            PathKind::Pread => (DurabilityKind::Fdatasync, 1),
            _ => (DurabilityKind::Fdatasync, DEPTH),
        };
        let parameters = OpenParameters {
            durability: Durability { kind, every: FLUSH_EVERY as u32 },
            depth,
            batch: depth,
            ..ground.parameters(&spec, kind, true)
        };
        let mut path = Opened::open(&parameters).unwrap();
        assert_eq!(calls_during(&mut path), 0, "{name} calls the allocator");
    }
}
