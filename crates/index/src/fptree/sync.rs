//! What latches are built on; their model test puts loom's in the place of these.

pub(crate) use std::sync::atomic::{AtomicU64, Ordering, fence};

/// Waits a little; after some turns it lets others have the CPU, who may hold what is waited for.
pub(crate) fn pause(turn: &mut u32) {
    *turn += 1;
    if *turn % 64 == 0 { std::thread::yield_now() } else { std::hint::spin_loop() }
}
