//! Waiting for those who may still look at what was given back.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use crossbeam_epoch::pin;

/// Looks that come one after the other, before time is given to others between two.
const LOOKS: u32 = 16;
const PAUSE: Duration = Duration::from_micros(100);

/// Waits until everybody who is pinned now has let go, so that all that was given back before can be used again; whether
/// that came to be within `limit`. Who calls this must not be pinned: it would wait for itself.
///
/// A pool that seems to be full may be full of blocks that were given back, and that a thread could still look at which was
/// put to sleep while it was pinned.
pub fn outwait(limit: Duration) -> bool {
    let passed = Arc::new(AtomicBool::new(false));
    let mark = Arc::clone(&passed);
    // What is deferred is done in the order in which it was, so all before it is done when this is.
    pin().defer(move || mark.store(true, Ordering::Release));
    let end = Instant::now() + limit;
    for look in 0.. {
        pin().flush();
        if passed.load(Ordering::Acquire) {
            return true;
        }
        if Instant::now() >= end {
            break;
        }
        if look >= LOOKS {
            thread::sleep(PAUSE);
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn who_is_pinned_is_waited_for_and_not_for_ever() {
        let (to_pinned, from_here) = channel();
        let (to_here, from_pinned) = channel();
        thread::scope(|scope| {
            scope.spawn(move || {
                let guard = pin();
                to_here.send(()).unwrap();
                from_here.recv().unwrap();
                drop(guard);
            });
            from_pinned.recv().unwrap();
            assert!(!outwait(Duration::from_millis(20)), "another thread is pinned");
            to_pinned.send(()).unwrap();
            assert!(outwait(Duration::from_secs(60)));
        });
    }
}
