//! A drive's attention: what reads and writes share where both come.

use super::{Server, ps};
use crate::{
    document::Nand,
    request::Picoseconds,
    rules::{KEPT, penalty_ns},
};

/// Requests over which the share of writes is taken.
const REMEMBERED: f64 = 256.0;
/// Time over which is counted how much of the attention each of the two takes, ps, and the weight of the last such time.
const COUNTED: Picoseconds = 500_000_000;
const OF_LATE: f64 = 0.25;

/// Two queues, of reads and of writes, each in order of arrival. Each has what the other does not take, and at least its
/// part ([`KEPT`]). A command begins when the work of those before it is done; its own work it does elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    servers: [Server; 2],
    /// Share of the attention that each has taken of late, work since that was counted, and when.
    taken: [f64; 2],
    work: [f64; 2],
    counted: Picoseconds,
    /// Share of writes that make the drive copy among the last requests.
    copying: f64,
    /// Reads came, writes came: one kind alone has only its own limits.
    came: [bool; 2],
    penalty: f64,
}

impl Attention {
    /// Of an idle flash drive.
    pub fn new(drive: &Nand) -> Self {
        Self { penalty: ps(penalty_ns(drive)) as f64, ..Self::plain() }
    }

    /// Of an idle drive where a mix costs nothing beyond its parts.
    pub fn plain() -> Self {
        Self {
            servers: [Server::default(); 2],
            taken: [0.0; 2],
            work: [0.0; 2],
            counted: 0,
            copying: 0.0,
            came: [false; 2],
            penalty: 0.0,
        }
    }

    /// When a command of `work` that arrives at `now` may begin; a write that `copies` is one at random.
    #[inline]
    pub fn admit(&mut self, now: Picoseconds, write: bool, copies: bool, work: f64) -> Picoseconds {
        self.copying += (f64::from(u8::from(copies)) - self.copying) / REMEMBERED;
        let kind = usize::from(write);
        self.came[kind] = true;
        if self.came != [true; 2] {
            return now;
        }
        let work = work + self.penalty * 4.0 * self.copying * (1.0 - self.copying);
        self.count(now, kind, work);
        let begin = now.max(self.servers[kind].free_at());
        let left = 1.0 - self.taken[1 - kind].min(KEPT);
        self.servers[kind].serve(now, (work / left) as Picoseconds);
        begin
    }

    /// Admits nobody for `time` from `begin` on.
    pub fn stop(&mut self, begin: Picoseconds, time: Picoseconds) {
        self.servers.iter_mut().for_each(|server| server.stop(begin, time));
    }

    #[inline]
    fn count(&mut self, now: Picoseconds, kind: usize, work: f64) {
        self.work[kind] += work;
        let passed = now.saturating_sub(self.counted);
        if passed < COUNTED {
            return;
        }
        for kind in 0..2 {
            self.taken[kind] += OF_LATE * (self.work[kind] / passed as f64 - self.taken[kind]);
        }
        (self.work, self.counted) = ([0.0; 2], now);
    }

    /// Reads and writes came, and share the drive.
    #[inline]
    pub fn is_shared(&self) -> bool {
        self.came == [true; 2]
    }

    /// Time spent on commands of the kind that took more.
    pub fn busy(&self) -> Picoseconds {
        self.servers[0].busy().max(self.servers[1].busy())
    }
}
