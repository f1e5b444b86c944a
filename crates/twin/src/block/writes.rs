//! How much a drive is written to, and what that does to latencies where somebody measured it.

use assay_libtwin::rules::UNIT_BYTES;

use super::{percentile::RANKS, pieces::Pieces};
use crate::{
    Percentile,
    device_load::{DeviceAnswer, DeviceLoad},
    document::{Nand, UnderLoad},
};

/// Writes of all loads beside which an operation is served.
#[derive(Clone, Copy, Debug)]
pub struct Writes<'a> {
    known: &'a UnderLoad,
    standing: Standing,
    waits_ns: [f64; 2],
}

/// Where a drive stands beside its writes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Standing {
    /// What is written, of what the drive reaches.
    pub share: f64,
    /// Share of the time in which the drive is beyond its knee.
    pub beyond: f64,
}

/// Just below the knee, as a share of it.
const BELOW: f64 = 1.0 - 1e-9;

impl<'a> Writes<'a> {
    /// Writes of this share of what each drive sustains; none where nobody measured the drive beside writes.
    pub fn at(drive: &'a Nand, standing: Standing) -> Option<Self> {
        let known = drive.under_load.as_ref()?;
        Some(Self { known, standing, waits_ns: waits_ns(known, standing, [1.0; 2]) })
    }

    /// The share that the writes of answers have of what each of `count` drives sustains, at most 1.
    pub fn share_of(
        drive: &Nand,
        count: f64,
        loads: &[DeviceLoad],
        pieces: &[Pieces],
        answers: &[DeviceAnswer],
    ) -> f64 {
        let Some(known) = &drive.under_load else { return 0.0 };
        let each = loads.iter().zip(pieces).zip(answers).map(|((load, piece), answer)| {
            let bytes = answer.ops_per_s.max(0.0).min(load.rate_per_s) * load.write_share * piece.write.total() / count;
            bytes / UNIT_BYTES * weight(drive, load.sequential)
        });
        (each.sum::<f64>() / known.writes_per_s.value).min(1.0)
    }

    /// Mean time that an operation takes longer beside the writes, ns: where it asks several drives it waits for the slowest,
    /// and where it reads before it writes, for both.
    pub fn wait_ns(&self, load: &DeviceLoad, pieces: &Pieces) -> f64 {
        let [reads_ns, writes_ns] = self.longest_ns(load, pieces, [1.0; 2]);
        (1.0 - load.write_share) * reads_ns + load.write_share * writes_ns
    }

    /// How much longer than the mean operation the last one of a bunch waits for it, ns.
    pub fn last_ns(&self, load: &DeviceLoad, pieces: &Pieces) -> f64 {
        if load.bunch <= 1.0 {
            return 0.0;
        }
        let kinds = [1.0 - load.write_share, load.write_share];
        let longest_ns = self.longest_ns(load, pieces, kinds.map(|share| (share * load.bunch).max(1.0)));
        let there = kinds.map(|share| (share * load.bunch).min(1.0));
        (there[0] * longest_ns[0]).max(there[1] * longest_ns[1]) - self.wait_ns(load, pieces)
    }

    /// Mean wait of the longest of so many reads, and of so many writes, of a load, ns.
    fn longest_ns(&self, load: &DeviceLoad, pieces: &Pieces, many: [f64; 2]) -> [f64; 2] {
        let longest = |kind: usize, requests: f64| match requests {
            requests if requests <= 1.0 => self.waits_ns[kind],
            _ => waits_ns(self.known, self.standing, [requests; 2])[kind],
        };
        let reads_ns = if load.write_share < 1.0 { longest(0, many[0] * pieces.read.fork) } else { 0.0 };
        let fetches = load.write_share > 0.0 && pieces.fetching > 0.0;
        let fetched_ns = if fetches { pieces.fetching * longest(0, many[1] * pieces.fetch.fork) } else { 0.0 };
        let written_ns = if load.write_share > 0.0 { longest(1, many[1] * pieces.write.fork) } else { 0.0 };
        // Of writes through the page cache only a flush waits, for all of them at once.
        let waiting = if load.is_behind() { load.flushes_per_op / load.write_share.max(1e-9) } else { 1.0 };
        let written_ns = written_ns * waiting;
        [reads_ns, fetched_ns + written_ns]
    }

    /// Percentiles as they were measured beside so many writes, for what waits behind other requests on top of them.
    pub fn percentiles(&self, load: &DeviceLoad, pieces: &Pieces, answer: &mut DeviceAnswer) {
        let reads = 1.0 - load.write_share;
        let queue_ns = answer.queue_ns.min(answer.mean_ns);
        let alone_ns = (answer.mean_ns - queue_ns - answer.flush_ns - self.wait_ns(load, pieces)).max(0.0);
        for (rank, seen) in RANKS.iter().zip([&mut answer.p50, &mut answer.p99, &mut answer.p999]) {
            let rare = rank.rare();
            let beyond = if reads > 0.0 {
                self.read_beyond_ns((rare / reads).min(1.0), pieces.read.fork)
            } else {
                self.written_beyond_ns(rare, pieces)
            };
            // What writes wait for was measured with them: they are taken into the buffer, or wait for room in it.
            let queued = if reads == 0.0 { 0.0 } else { queue_ns * rank.folds() };
            let mid = (alone_ns + answer.flush_ns + queued + beyond.max(0.0)).max(0.0);
            *seen = Percentile::around(mid, BESIDE_WIDTH);
        }
    }

    /// How much longer than a lone read the slowest of `fork` reads takes that a share `rare` of such operations exceeds, ns.
    fn read_beyond_ns(&self, rare: f64, fork: f64) -> f64 {
        self.known.read_ns(self.standing.share, UnderLoad::rare_of_one(rare, fork)) - self.known.idle_read_ns()
    }

    /// The same of writes. Where they read first, one of the two is rare, and the other as it mostly is.
    fn written_beyond_ns(&self, rare: f64, pieces: &Pieces) -> f64 {
        let written = |rare: f64| {
            self.known.write_ns(self.standing.share, UnderLoad::rare_of_one(rare, pieces.write.fork))
                - self.known.idle_write_ns()
        };
        if pieces.fetching <= 0.0 {
            return written(rare);
        }
        let fetched = |rare: f64| self.read_beyond_ns(rare, pieces.fetch.fork);
        (fetched(rare) + written(MOSTLY)).max(fetched(MOSTLY) + written(rare))
    }
}

/// Half of all take longer than what is mostly seen.
const MOSTLY: f64 = 0.5;

/// Mean wait of the longest of so many reads, and of so many writes, ns.
fn waits_ns(known: &UnderLoad, Standing { share, beyond }: Standing, many: [f64; 2]) -> [f64; 2] {
    let knee = known.knee.value;
    let mean = |share: f64| [0, 1].map(|kind| known.mean_longest_wait_ns(share, kind == 1, many[kind]));
    match beyond {
        0.0 => mean(share.min(knee * BELOW)),
        1.0 => mean(share.max(knee)),
        _ => {
            let (below, above) = (mean(knee * BELOW), mean(knee));
            [0, 1].map(|kind| (1.0 - beyond) * below[kind] + beyond * above[kind])
        }
    }
}

/// Half of the width of percentiles that were measured, beyond the band of the twin.
const BESIDE_WIDTH: f64 = 0.05;

/// What a write in order counts for beside one at random, which makes the drive copy.
fn weight(drive: &Nand, sequential: bool) -> f64 {
    let copies = drive.collection.write_amplification.as_ref().map_or(1.0, |known| known.value.max(1.0));
    if sequential { 1.0 / copies } else { 1.0 }
}
