//! A window in which write-back of the page cache begins: what a drive has to do before it and after it differs, and nobody
//! lives in the mean of both.

use crate::{BandWidths, Percentile, Solution, Stream, StreamSolution, TimeShares};

use super::fixed_point::Coupled;

/// A part of the window shorter than this share of it is none of its own.
const SHARE_AT_LEAST: f64 = 0.03;
/// Cores that are busier hold all streams, whatever a drive does, and what a short part offers them finds no rest.
const CORES_FREE: f64 = 0.9;
/// Parts of the operations that are slower than a percentile is.
const BEYOND: [f64; 3] = [0.5, 0.01, 0.001];

/// Where the window of several streams is parted, s from the beginning of the load; both ends are among them. None, or
/// only these two, where nothing is parted.
pub(super) fn ends(streams: &[Stream], coupled: &Coupled) -> Vec<f64> {
    let [first, _, ..] = streams else { return Vec::new() };
    let (open, close) = (first.warmup_s, first.duration_s);
    let same = streams.iter().all(|stream| (stream.warmup_s, stream.duration_s) == (open, close));
    if !same || close <= open || coupled.cores_busy > CORES_FREE {
        return Vec::new();
    }
    let least = SHARE_AT_LEAST * (close - open);
    let begins = coupled.seats.iter().filter_map(|seat| seat.write_back_begins_s());
    let mut all: Vec<f64> = begins.filter(|at| *at > open + least && *at < close - least).collect();
    all.extend([open, close]);
    all.sort_by(f64::total_cmp);
    all.dedup_by(|next, before| *next - *before < least);
    all
}

/// The streams as they are in a part of the window.
pub(super) fn streams(all: &[Stream], [from, to]: [f64; 2]) -> Vec<Stream> {
    all.iter().map(|stream| Stream { warmup_s: from, duration_s: to, ..stream.clone() }).collect()
}

/// One answer of those of several parts, with their shares of the window.
pub(super) fn joined(parts: &[(f64, Solution)]) -> Solution {
    let longest = parts
        .iter()
        .max_by(|one, other| one.0.total_cmp(&other.0))
        .map_or_else(Solution::default, |part| part.1.clone());
    let streams = (0..longest.streams.len()).map(|index| {
        let each: Vec<(f64, &StreamSolution)> =
            parts.iter().map(|(share, part)| (*share, &part.streams[index])).collect();
        stream(&each, &longest.streams[index])
    });
    let mut all = Solution { streams: streams.collect(), ..longest.clone() };
    for (index, station) in all.utilisation.iter_mut().enumerate() {
        station.value = parts.iter().map(|(share, part)| share * part.utilisation[index].value).sum();
    }
    all
}

fn stream(parts: &[(f64, &StreamSolution)], longest: &StreamSolution) -> StreamSolution {
    let ops_per_s: f64 = parts.iter().map(|(share, part)| share * part.ops_per_s).sum();
    let by_time = |of: fn(&StreamSolution) -> f64| parts.iter().map(|(share, part)| share * of(part)).sum::<f64>();
    let by_operation = |of: fn(&StreamSolution) -> f64| {
        parts.iter().map(|(share, part)| share * part.ops_per_s * of(part)).sum::<f64>() / ops_per_s.max(1e-30)
    };
    let percentile = |beyond: f64, of: fn(&StreamSolution) -> Percentile| {
        let mut each: Vec<(f64, Percentile)> =
            parts.iter().map(|(share, part)| (share * part.ops_per_s / ops_per_s.max(1e-30), of(part))).collect();
        each.sort_by(|one, other| other.1.mid_ns.total_cmp(&one.1.mid_ns));
        let mut slower = 0.0;
        // Of the slowest part that has so many of the operations.
        let found = each.iter().find(|(share, _)| {
            slower += share;
            slower > beyond
        });
        found.or(each.last()).map_or_else(Percentile::default, |(_, found)| *found)
    };
    StreamSolution {
        ops_per_s,
        bandwidth_bytes_per_s: by_time(|part| part.bandwidth_bytes_per_s),
        mean_ns: by_operation(|part| part.mean_ns),
        p50: percentile(BEYOND[0], |part| part.p50),
        p99: percentile(BEYOND[1], |part| part.p99),
        p999: percentile(BEYOND[2], |part| part.p999),
        cycles_per_op: by_operation(|part| part.cycles_per_op),
        cycles_per_byte: by_operation(|part| part.cycles_per_byte),
        time: TimeShares {
            host_ns: by_operation(|part| part.time.host_ns),
            wait_ns: by_operation(|part| part.time.wait_ns),
            queue_ns: by_operation(|part| part.time.queue_ns),
            device_ns: by_operation(|part| part.time.device_ns),
            flush_ns: by_operation(|part| part.time.flush_ns),
        },
        extrapolated: said(parts),
        band: widest(parts),
        ..longest.clone()
    }
}

/// Everything that was said of a part, once.
fn said(parts: &[(f64, &StreamSolution)]) -> Vec<String> {
    let mut all: Vec<String> = parts.iter().flat_map(|(_, part)| part.extrapolated.clone()).collect();
    all.sort();
    all.dedup();
    all
}

fn widest(parts: &[(f64, &StreamSolution)]) -> BandWidths {
    let most = |of: fn(&BandWidths) -> f64| parts.iter().map(|(_, part)| of(&part.band)).fold(0.0, f64::max);
    BandWidths {
        bandwidth: most(|band| band.bandwidth),
        latency: most(|band| band.latency),
        tail: most(|band| band.tail),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(ops_per_s: f64, mean_ns: f64, width: f64) -> Solution {
        let [p50, p99, p999] = [1.0, 2.0, 3.0].map(|times| Percentile::around(times * mean_ns, width));
        let band = BandWidths { bandwidth: width, latency: width, tail: width };
        let said = vec![format!("{width}")];
        let stream =
            StreamSolution { ops_per_s, mean_ns, p50, p99, p999, band, extrapolated: said, ..Default::default() };
        Solution { streams: vec![stream], utilisation: Vec::new() }
    }

    #[test]
    fn parts_are_joined_by_time_and_latencies_by_operation() {
        let all = joined(&[(0.25, part(8000.0, 1e6, 0.1)), (0.75, part(400.0, 2e7, 0.3))]);
        let stream = &all.streams[0];
        assert!((stream.ops_per_s - 2300.0).abs() < 1e-6);
        // Eight in flight in both, and so in the whole window.
        assert!((stream.ops_per_s * stream.mean_ns / 1e9 - 8.0).abs() < 1e-6);
        assert_eq!(stream.p50.mid_ns, 1e6, "seven of eight operations are of the first part");
        assert_eq!(stream.p99.mid_ns, 4e7, "one in eight is of the second");
        assert_eq!(stream.band.tail, 0.3);
        assert_eq!(stream.extrapolated.len(), 2);
    }

    #[test]
    fn a_question_without_streams_is_not_parted() {
        assert!(ends(&[], &Coupled::default()).is_empty());
    }

    #[test]
    fn a_part_of_too_few_operations_says_nothing_of_a_percentile() {
        let all = joined(&[(0.999, part(10_000.0, 1e6, 0.1)), (0.001, part(100.0, 2e7, 0.1))]);
        assert_eq!(all.streams[0].p999.mid_ns, 3e6);
    }
}
