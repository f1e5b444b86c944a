//! A drive's attention: what reads and writes share where both come.

use super::{Server, ps};
use crate::{block::nand, document::Nand, simulated::Picoseconds};

/// Requests over which the share of writes is taken.
const REMEMBERED: f64 = 256.0;

/// One server that all commands pass in order of arrival. A command begins when the work of those before it is done; its
/// own work it does elsewhere (see [`nand::attend`]).
#[derive(Clone, Copy, Debug)]
pub struct Attention {
    server: Server,
    /// Share of writes that make the drive copy among the last requests.
    copying: f64,
    /// Reads came, writes came: one kind alone has only its own limits.
    came: [bool; 2],
    penalty: f64,
}

impl Attention {
    /// Of an idle flash drive.
    pub fn new(drive: &Nand) -> Self {
        Self { penalty: ps(nand::penalty_ns(drive)) as f64, ..Self::plain() }
    }

    /// Of an idle drive where a mix costs nothing beyond its parts.
    pub fn plain() -> Self {
        Self { server: Server::default(), copying: 0.0, came: [false; 2], penalty: 0.0 }
    }

    /// When a command of `work` that arrives at `now` may begin; a write that `copies` is one at random.
    #[inline]
    pub fn admit(&mut self, now: Picoseconds, write: bool, copies: bool, work: f64) -> Picoseconds {
        self.copying += (f64::from(u8::from(copies)) - self.copying) / REMEMBERED;
        self.came[usize::from(write)] = true;
        if self.came != [true; 2] {
            return now;
        }
        let begin = now.max(self.server.free_at());
        let penalty = self.penalty * 4.0 * self.copying * (1.0 - self.copying);
        self.server.serve(now, (work + penalty) as Picoseconds);
        begin
    }

    /// Time spent on commands.
    pub fn busy(&self) -> Picoseconds {
        self.server.busy()
    }
}
