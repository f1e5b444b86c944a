//! Who runs on the host's cores: threads, and workers of the kernel.

use crate::simulated::Picoseconds;

/// Threads and kernel workers that share cores as a fair scheduler lets them: where more of them can run than there are
/// cores, each has an equal part of the time. Who wakes waits for nobody's backlog, which stays with the thread whose it is.
#[derive(Clone, Debug)]
pub struct Runnable {
    cores: usize,
    /// From when until when each has work. What follows from one event is laid down at once: a worker's burst is known
    /// while the thread that hands it over still runs, and takes no core before it begins.
    spans: Vec<[Picoseconds; 2]>,
    /// What happens now; work may be laid down for later.
    pub now: Picoseconds,
    lock_free_at: Picoseconds,
}

impl Runnable {
    /// `cores` cores for `count` threads and workers. Where there are enough, nobody ever shares one.
    pub fn new(cores: u32, count: u32) -> Self {
        Self { cores: cores.max(1) as usize, spans: vec![[0; 2]; count as usize], now: 0, lock_free_at: 0 }
    }

    /// A burst of `work` of one of them that may begin at `at`, of which `serial` holds the shared lock. Returns when it ends.
    #[inline(always)]
    pub fn run(&mut self, who: u32, at: Picoseconds, work: Picoseconds, serial: Picoseconds) -> Picoseconds {
        if self.spans.len() <= self.cores && serial == 0 {
            return at + work;
        }
        self.share(who, at, work, serial)
    }

    #[inline(never)]
    fn share(&mut self, who: u32, at: Picoseconds, work: Picoseconds, serial: Picoseconds) -> Picoseconds {
        let mut end = at + work;
        if self.spans.len() > self.cores {
            let [from, until] = self.spans[who as usize];
            self.spans[who as usize] = [if until < at { at } else { from }, at];
            // What others will have to do at an instant that lies ahead is not known yet: who goes on until then finds as many
            // as there are now.
            let running = self.beside(who, if until == at { at.min(self.now) } else { at });
            if running > self.cores {
                end = at + (u128::from(work) * running as u128 / self.cores as u128) as Picoseconds;
            }
        }
        if serial > 0 {
            let locked = at.max(self.lock_free_at);
            self.lock_free_at = locked + serial;
            end += locked - at;
        }
        if let Some(span) = self.spans.get_mut(who as usize) {
            span[1] = end;
        }
        end
    }

    /// One and all others that have work at `at`.
    fn beside(&self, who: u32, at: Picoseconds) -> usize {
        let others = self.spans.iter().enumerate().filter(|(other, _)| *other != who as usize);
        1 + others.filter(|(_, [from, until])| *from <= at && *until > at).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_who_run_on_two_cores_have_two_thirds_of_one_each() {
        let mut cores = Runnable::new(2, 3);
        assert_eq!([cores.run(0, 0, 12, 0), cores.run(1, 0, 12, 0), cores.run(2, 0, 12, 0)], [12, 12, 18]);
        cores.now = 12;
        assert_eq!(cores.run(0, 12, 12, 0), 24, "the second one is done, and the third still runs");
    }

    /// What follows a first part was laid down as if nobody else went on, so that two cores did the work of three.
    #[test]
    fn who_goes_on_in_what_lies_ahead_finds_as_many_as_there_are_now() {
        let mut cores = Runnable::new(1, 3);
        let ends = [cores.run(0, 0, 10, 0), cores.run(1, 0, 10, 0), cores.run(2, 0, 10, 0)];
        assert_eq!((ends, cores.run(2, 30, 10, 0)), ([10, 20, 30], 60), "three of them, as at first");
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
    fn who_has_not_begun_yet_takes_no_core() {
        let mut cores = Runnable::new(1, 3);
        assert_eq!([cores.run(0, 0, 10, 0), cores.run(1, 10, 10, 0)], [10, 20], "one hands over to the other");
        assert_eq!(cores.run(2, 0, 5, 0), 10, "half of the core, beside the first of them");
    }

    #[test]
    fn a_lock_is_held_by_one() {
        let mut cores = Runnable::new(4, 4);
        assert_eq!([cores.run(0, 0, 10, 4), cores.run(1, 0, 10, 4), cores.run(2, 0, 10, 4)], [10, 14, 18]);
    }
}
