//! Once it is open, a twin asks for no memory.

mod common;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use assay_libtwin::Op;

struct Counting;

static ASKED: AtomicU64 = AtomicU64::new(0);

// SAFETY: everything is left to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.fetch_add(1, Relaxed);
        // SAFETY: as the caller promised.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller promised.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

// Alone in its program: another test's memory would count.
#[test]
fn submissions_and_flushes_allocate_nothing() {
    for (name, text) in common::drives() {
        let mut twin = assay_libtwin::Twin::open(&text, 3).unwrap();
        let before = ASKED.load(Relaxed);
        let mut chance = 1_u64;
        for index in 0..200_000_u64 {
            chance = chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let op = [Op::Read, Op::Write, Op::Write, Op::Trim][(chance >> 62) as usize];
            twin.submit(index * 50, op, (chance % (1 << 37)) & !4095, 4096 << ((chance >> 40) & 7));
            if index % 100 == 0 {
                twin.flush(index * 50);
            }
        }
        assert_eq!(ASKED.load(Relaxed) - before, 0, "{name}");
    }
}
