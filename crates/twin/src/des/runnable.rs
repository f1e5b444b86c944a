//! Who runs on the host's cores: threads, and workers of the kernel.

use crate::simulated::Picoseconds;

/// Threads and kernel workers that share cores as a fair scheduler lets them: where more of them can run than there are
/// cores, each has an equal part of the time. Who wakes waits for nobody's backlog, which stays with the thread whose it is.
#[derive(Clone, Debug)]
pub struct Runnable {
    cores: usize,
    /// Until when each has work.
    until: Vec<Picoseconds>,
    lock_free_at: Picoseconds,
}

impl Runnable {
    /// `cores` cores for `count` threads and workers. Where there are enough, nobody ever shares one.
    pub fn new(cores: u32, count: u32) -> Self {
        Self { cores: cores.max(1) as usize, until: vec![0; count as usize], lock_free_at: 0 }
    }

    /// A burst of `work` of one of them that may begin at `at`, of which `serial` holds the shared lock. Returns when it ends.
    #[inline(always)]
    pub fn run(&mut self, who: u32, at: Picoseconds, work: Picoseconds, serial: Picoseconds) -> Picoseconds {
        if self.until.len() <= self.cores && serial == 0 {
            return at + work;
        }
        self.share(who, at, work, serial)
    }

    #[inline(never)]
    fn share(&mut self, who: u32, at: Picoseconds, work: Picoseconds, serial: Picoseconds) -> Picoseconds {
        let mut end = at + work;
        if self.until.len() > self.cores {
            self.until[who as usize] = at;
            let running = 1 + self.until.iter().filter(|until| **until > at).count();
            if running > self.cores {
                end = at + (u128::from(work) * running as u128 / self.cores as u128) as Picoseconds;
            }
        }
        if serial > 0 {
            let locked = at.max(self.lock_free_at);
            self.lock_free_at = locked + serial;
            end += locked - at;
        }
        if let Some(until) = self.until.get_mut(who as usize) {
            *until = end;
        }
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_who_run_on_two_cores_have_two_thirds_of_one_each() {
        let mut cores = Runnable::new(2, 3);
        assert_eq!([cores.run(0, 0, 12, 0), cores.run(1, 0, 12, 0), cores.run(2, 0, 12, 0)], [12, 12, 18]);
        assert_eq!(cores.run(0, 12, 12, 0), 24, "the second one is done, and the third still runs");
    }

    #[test]
    fn who_wakes_does_not_wait_for_what_another_thread_has_yet_to_do() {
        let mut cores = Runnable::new(1, 2);
        let mut at = 0;
        for _ in 0..64 {
            at = cores.run(0, at, 10, 0);
        }
        assert_eq!((at, cores.run(1, 0, 10, 0)), (640, 20), "a part of the core, and not the 640 of the other one");
    }

    #[test]
    fn a_lock_is_held_by_one() {
        let mut cores = Runnable::new(4, 4);
        assert_eq!([cores.run(0, 0, 10, 4), cores.run(1, 0, 10, 4), cores.run(2, 0, 10, 4)], [10, 14, 18]);
    }
}
