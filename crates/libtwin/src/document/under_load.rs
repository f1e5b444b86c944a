//! Latencies of small operations beside random writes, as somebody measured them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Parameter, ParameterKind};

/// Latencies of operations of 4 KiB beside random writes that come at a rate, in steady state.
///
/// A read meets a program, an erase or a copy with a chance that grows with the writes, and then waits for what is left of
/// it, which does not depend on them: the share of reads that take longer than x is s K(x), with the writes s as a share of
/// what the drive reaches. So reads of all rates below the knee lie on one curve of the latency over `rare / s`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct UnderLoad {
    /// Random writes of 4 KiB a second that the drive reaches.
    pub writes_per_s: Parameter,
    /// Share of them from which on reads no longer lie on the curve: writes wait, and reads with them.
    pub knee: Parameter,
    /// Reads below the knee.
    pub reads: Beside,
    /// Percentiles at shares of the writes, ascending: of writes at all of them, of reads from the knee on.
    pub rows: Vec<LoadRow>,
}

/// The latency of reads over how rare a longer one is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Beside {
    /// Share of reads that take longer, over the share of the writes; ascending.
    pub rare_over_share: Vec<f64>,
    /// Latency, ns; descending.
    pub latency_ns: Vec<f64>,
    /// Growth of the logarithm of the latency with the share of the writes.
    pub rise: f64,
    /// Where it came from.
    pub kind: ParameterKind,
    /// The publication.
    pub source: String,
    /// When it appeared.
    pub date: String,
    /// Median relative error on points that the fit did not see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub residual: Option<f64>,
}

/// Percentiles at one share of the writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct LoadRow {
    /// Writes over those that the drive reaches; 1 where more is asked.
    pub share: f64,
    /// Share of reads that take longer than each of `read_ns`, descending; none below the knee.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_rare: Vec<f64>,
    /// Latencies of reads, ns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub read_ns: Vec<f64>,
    /// Share of writes that take longer than each of `write_ns`, descending.
    pub write_rare: Vec<f64>,
    /// Latencies of writes, ns.
    pub write_ns: Vec<f64>,
    /// Where it came from.
    pub kind: ParameterKind,
    /// The publication.
    pub source: String,
    /// When it appeared.
    pub date: String,
}

/// Least share of the writes that is told from none.
const SHARE_AT_LEAST: f64 = 1e-3;
/// Bands of how rare an operation is over which the mean is taken: each from half as rare, so that the few that wait for
/// long count as much as they last.
const MEAN_OCTAVES: i32 = 14;
/// Points in each of them.
const POINTS_OF_OCTAVE: i32 = 2;

impl UnderLoad {
    /// Latency of reads that a share `rare` of them exceeds while writes take a share of what the drive reaches, ns.
    pub fn read_ns(&self, share: f64, rare: f64) -> f64 {
        let beyond = || self.rows.iter().filter(|row| !row.read_ns.is_empty());
        if share >= self.knee.value && beyond().next().is_some() {
            return between(beyond().map(|row| (row.share, at(&row.read_rare, &row.read_ns, rare))), share);
        }
        let share = share.max(SHARE_AT_LEAST);
        at(&self.reads.rare_over_share, &self.reads.latency_ns, rare / share) * (self.reads.rise * share).exp()
    }

    /// The same of writes.
    pub fn write_ns(&self, share: f64, rare: f64) -> f64 {
        between(self.rows.iter().map(|row| (row.share, at(&row.write_rare, &row.write_ns, rare))), share)
    }

    /// Latency of a lone read, ns.
    pub fn idle_read_ns(&self) -> f64 {
        self.reads.latency_ns.last().copied().unwrap_or(0.0)
    }

    /// Latency of a lone write, ns.
    pub fn idle_write_ns(&self) -> f64 {
        self.write_ns(0.0, 0.5)
    }

    /// Mean time that reads (or writes) take beyond a lone one, ns.
    pub fn mean_wait_ns(&self, share: f64, write: bool) -> f64 {
        self.mean_longest_wait_ns(share, write, 1.0)
    }

    /// The same of the longest of `many`, each of which waits by itself.
    pub fn mean_longest_wait_ns(&self, share: f64, write: bool, many: f64) -> f64 {
        let idle = if write { self.idle_write_ns() } else { self.idle_read_ns() };
        let at = |rare: f64| match Self::rare_of_one(rare, many) {
            rare if write => self.write_ns(share, rare),
            rare => self.read_ns(share, rare),
        };
        let edge = |step: i32| (-f64::from(step) / f64::from(POINTS_OF_OCTAVE)).exp2();
        let steps = MEAN_OCTAVES * POINTS_OF_OCTAVE;
        let part = |step: i32| {
            let (high, low) = (edge(step), edge(step + 1));
            (high - low) * at(f64::midpoint(high, low))
        };
        let rarest = edge(steps) * at(edge(steps) / 2.0);
        ((0..steps).map(part).sum::<f64>() + rarest - idle).max(0.0)
    }

    /// How rare each of `many` is whose slowest one is so `rare`: that is `1 - (1 - rare of one)^many`.
    pub fn rare_of_one(rare: f64, many: f64) -> f64 {
        if many > 1.0 { -((-rare).ln_1p() / many).exp_m1() } else { rare }
    }

    /// What is wrong with it, if anything.
    pub fn fault(&self) -> Option<&'static str> {
        let curve = |rare: &[f64], ns: &[f64]| rare.len() == ns.len() && !ns.is_empty() && sound(rare) && sound(ns);
        let rows = self.rows.iter().all(|row| {
            curve(&row.write_rare, &row.write_ns)
                && (row.read_ns.is_empty() && row.read_rare.is_empty() || curve(&row.read_rare, &row.read_ns))
        });
        match () {
            () if self.rows.is_empty() => Some("give at least one row"),
            () if !self.rows.windows(2).all(|pair| pair[0].share < pair[1].share) => Some("give ascending shares"),
            () if !rows || !curve(&self.reads.rare_over_share, &self.reads.latency_ns) => {
                Some("give as many latencies as shares, all above 0")
            }
            () => None,
        }
    }
}

fn sound(values: &[f64]) -> bool {
    values.iter().all(|value| value.is_finite() && *value > 0.0)
}

/// The value over `x` at `wanted`: logarithms are interpolated, and the ends hold beyond them. `x` rises or falls.
fn at(x: &[f64], values: &[f64], wanted: f64) -> f64 {
    let rises = x.first() < x.last();
    let after = x.iter().position(|x| if rises { *x >= wanted } else { *x <= wanted });
    match after {
        None => values.last().copied().unwrap_or(0.0),
        Some(0) => values.first().copied().unwrap_or(0.0),
        Some(index) => {
            let part = (wanted / x[index - 1]).ln() / (x[index] / x[index - 1]).ln();
            values[index - 1] * (values[index] / values[index - 1]).powf(part)
        }
    }
}

/// The value of rows at a share: logarithms between two rows, and the first or last one beyond them.
fn between(rows: impl Iterator<Item = (f64, f64)>, share: f64) -> f64 {
    let mut before: Option<(f64, f64)> = None;
    for (at, value) in rows {
        if at >= share {
            let Some((low, first)) = before else { return value };
            return first * (value / first).powf((share - low) / (at - low));
        }
        before = Some((at, value));
    }
    before.map_or(0.0, |(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(share: f64, read_ns: &[f64], write_ns: &[f64]) -> LoadRow {
        LoadRow {
            share,
            read_rare: if read_ns.is_empty() { Vec::new() } else { vec![0.5, 0.01] },
            read_ns: read_ns.to_vec(),
            write_rare: vec![0.5, 0.01],
            write_ns: write_ns.to_vec(),
            kind: ParameterKind::Assumed,
            source: "a test".to_owned(),
            date: "2026-11".to_owned(),
        }
    }

    fn known() -> UnderLoad {
        UnderLoad {
            writes_per_s: Parameter::assumed(1e5, "a test", "2026-11"),
            knee: Parameter::assumed(0.95, "a test", "2026-11"),
            reads: Beside {
                rare_over_share: vec![0.01, 0.1, 1.0, 2.0],
                latency_ns: vec![400e3, 300e3, 150e3, 60e3],
                rise: 0.0,
                kind: ParameterKind::Assumed,
                source: "a test".to_owned(),
                date: "2026-11".to_owned(),
                residual: None,
            },
            rows: vec![row(0.1, &[], &[10e3, 12e3]), row(1.0, &[5e6, 6e6], &[4e6, 6e6])],
        }
    }

    #[test]
    fn a_rare_read_beside_few_writes_is_a_frequent_one_beside_many() {
        let load = known();
        assert!((load.read_ns(0.1, 0.01) / load.read_ns(0.5, 0.05) - 1.0).abs() < 1e-9);
        assert_eq!(load.read_ns(0.1, 0.5), 60e3);
        assert_eq!((load.read_ns(1.0, 0.5), load.write_ns(1.0, 0.01)), (5e6, 6e6));
        assert!(load.read_ns(0.9, 0.001) < 0.5e6 && load.fault().is_none());
    }

    #[test]
    fn waits_grow_with_the_writes() {
        let load = known();
        let waits = [0.0, 0.1, 0.3, 0.6, 0.9, 1.0].map(|share| load.mean_wait_ns(share, false));
        assert!(waits.windows(2).all(|pair| pair[0] <= pair[1]), "{waits:?}");
        assert!(waits[0] < 1e3, "{waits:?}");
    }

    /// A mean over equal shares of the reads misses the few that take 100 times as long: four parts of ten here.
    #[test]
    fn the_few_that_wait_for_long_count_in_the_mean() {
        let mut load = known();
        load.reads.rare_over_share = vec![0.001, 0.01, 0.1, 1.0];
        load.reads.latency_ns = vec![6e6, 2e6, 100e3, 60e3];
        let wait = load.mean_wait_ns(0.9, false);
        let drawn = (0..100_000).map(|index| load.read_ns(0.9, (f64::from(index) + 0.5) / 1e5)).sum::<f64>() / 1e5;
        assert!((wait / (drawn - 60e3) - 1.0).abs() < 0.05, "{wait} for {}", drawn - 60e3);
    }
}
