//! A drive on this machine's clock.

use std::sync::Mutex;

use crate::{
    clock::Clock,
    drive::{DriveModel, Op},
    way::Way,
};

/// Says when the answer to a request is to be sent.
pub struct Player {
    clock: Clock,
    slow: f64,
    way: Way,
    host_ns: u64,
    drive: Mutex<Timed>,
}

struct Timed {
    drive: Box<dyn DriveModel>,
    last_ns: u64,
}

impl Player {
    /// A drive whose time passes `slow` times as slowly as this machine's; software takes `host_ns` of each request beside.
    pub fn new(clock: Clock, drive: Box<dyn DriveModel>, slow: f64, way: Way, host_ns: u64) -> Self {
        Self { clock, slow, way, host_ns, drive: Mutex::new(Timed { drive, last_ns: 0 }) }
    }

    /// When the answer to a request that was seen at `seen_ns` is to be sent.
    pub fn submit(&self, seen_ns: u64, op: Op, offset: u64, bytes: u64) -> u64 {
        self.play(seen_ns, |drive, now| drive.submit(now, op, offset, bytes))
    }

    /// When the answer to a flush is to be sent.
    pub fn flush(&self, seen_ns: u64) -> u64 {
        self.play(seen_ns, |drive, now| drive.flush(now))
    }

    /// Now, ns.
    pub fn now_ns(&self) -> u64 {
        self.clock.now_ns()
    }

    fn play(&self, seen_ns: u64, ask: impl FnOnce(&mut dyn DriveModel, u64) -> u64) -> u64 {
        let came_ns = seen_ns.saturating_sub(self.way.there_ns());
        let mut timed = self.drive.lock().expect("no thread panics");
        // Two threads may come here in another order than their requests did.
        let now_ns = ((came_ns as f64 / self.slow) as u64).max(timed.last_ns);
        timed.last_ns = now_ns;
        let done_ns = ask(&mut *timed.drive, now_ns);
        drop(timed);
        // The difference is stretched, and not the moment: a day in ns has more digits than a float.
        let takes_ns = (done_ns.saturating_sub(now_ns) as f64 * self.slow) as u64 + self.host_ns;
        (came_ns + takes_ns + self.way.there_ns()).saturating_sub(self.way.of(takes_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::drive::Fixed;

    #[test]
    fn the_way_is_part_of_the_time_and_slowness_is_not() {
        let fixed = Fixed { read_ns: 100_000, write_ns: 20_000, flush_ns: 1_000_000 };
        let way = Way::new([(0, 20_000), (75_000, 25_000)]);
        let real = Player::new(Clock::start(), Box::new(fixed), 1.0, way.clone(), 0);
        assert_eq!(real.submit(1_000_000, Op::Read, 0, 4096), 1_075_000);
        assert_eq!(real.flush(1_000_000), 1_975_000);
        let slow = Player::new(Clock::start(), Box::new(fixed), 10.0, way, 4_000);
        assert_eq!(slow.submit(2_000_000, Op::Read, 0, 4096), 2_979_000, "software is not slowed down");
    }
}
