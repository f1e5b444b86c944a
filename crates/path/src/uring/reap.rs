//! Reaping, the same for every path that owns a ring.

use std::io;

use io_uring::{cqueue, squeue};

use super::ring::Ring;
use crate::{Completion, Wait};

/// Patience with a device when a path is closed: so many waits without an answer, of so many
/// nanoseconds each.
const SETTLE_ROUNDS: u32 = 300;
const SETTLE_NS: u64 = 100_000_000;

/// A path with a ring: what it must say, and what it gets for that.
pub(crate) trait Reaps {
    /// Entries of its submission ring.
    type Submission: squeue::EntryMarker;
    /// Entries of its completion ring.
    type Completed: cqueue::EntryMarker + Into<cqueue::Entry>;

    /// The ring.
    fn ring(&mut self) -> &mut Ring<Self::Submission, Self::Completed>;

    /// Operations pushed and not yet handed out.
    fn pending(&self) -> u32;

    /// Hands out what has finished, without a system call; returns how many.
    fn drain(&mut self, into: &mut Vec<Completion>) -> u32;

    /// Hands out what has finished; enters the kernel only where that is too little, or where the ring holds back. What
    /// was pushed goes with the same call.
    #[inline(always)]
    fn reap_ring(&mut self, wait: Wait, into: &mut Vec<Completion>) -> io::Result<u32> {
        let room = (into.capacity() - into.len()) as u32;
        let wanted = wait.at_least.min(self.pending()).min(room);
        let mut count = self.drain(into);
        let idle = self.pending() == 0;
        let ring = self.ring();
        if count >= wanted && ring.queued() == 0 && (count > 0 || idle || !ring.holds_back()) {
            return Ok(count);
        }
        loop {
            let at_least = wanted.saturating_sub(count);
            self.ring().submit_and_wait(Wait { at_least, timeout_ns: wait.timeout_ns })?;
            let more = self.drain(into);
            count += more;
            // Without a limit a wait comes back empty only after a signal, which the caller wants to see.
            if count >= wanted || wait.timeout_ns != u64::MAX || more == 0 && self.ring().queued() == 0 {
                return Ok(count);
            }
        }
    }

    /// Waits for everything in flight: the kernel must not write into memory that is given back. A device that does not
    /// answer for half a minute does not hold up the process any longer.
    fn settle_all(&mut self) {
        let mut into = Vec::with_capacity(self.pending() as usize);
        let mut barren = 0;
        while self.pending() > 0 && barren < SETTLE_ROUNDS {
            let wait = Wait { at_least: self.pending(), timeout_ns: SETTLE_NS };
            match self.reap_ring(wait, &mut into) {
                Ok(0) => barren += 1,
                Ok(_) => barren = 0,
                Err(_) => return,
            }
            into.clear();
        }
    }
}
