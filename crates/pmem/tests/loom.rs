//! Every interleaving of the one lock-free part: lending out lanes.

mod sync {
    pub(crate) use loom::{
        cell::UnsafeCell,
        sync::atomic::{AtomicBool, Ordering},
    };
}

#[path = "../src/claim.rs"]
mod claim;

use claim::Claims;
use loom::{sync::Arc, thread};

#[test]
fn a_value_is_never_lent_twice_and_hands_over_what_was_written() {
    loom::model(|| {
        let claims = Arc::new(Claims::new([0u64, 0]));
        assert_eq!(claims.len(), 2);
        let add = |claims: &Claims<u64>, hint| {
            let Some(mut claim) = claims.take(hint) else { return 0 };
            assert!(claim.index() < 2);
            // Loom's cell fails the test where two threads are here at once, or one does not see the other's writes.
            claim.with(|value| *value += 1);
            1
        };
        let other = {
            let claims = Arc::clone(&claims);
            thread::spawn(move || add(&claims, 0) + add(&claims, 1))
        };
        let mine = add(&claims, 0);
        let theirs = other.join().unwrap();
        let all: u64 =
            (0..2).map(|index| claims.take(index).unwrap()).map(|mut claim| claim.with(|value| *value)).sum();
        assert_eq!(all, mine + theirs);
        // Whoever looks while values change hands may miss one, and looks again; not everybody does.
        assert!(mine + theirs >= 2);
    });
}
