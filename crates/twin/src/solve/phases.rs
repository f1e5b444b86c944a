//! A window in which write-back of the page cache begins, or a scan has read all of its data and finds them from then on: what
//! a drive and the cores have to do before it and after it differs, and nobody lives in the mean of both.

use crate::{BandWidths, Host, Percentile, Solution, Stream, StreamSolution, Target, TimeShares, TwinError};

use super::fixed_point::{Coupled, Seat, couple};

/// A part of the window shorter than this share of it is none of its own.
const SHARE_AT_LEAST: f64 = 0.03;
/// Cores that are busier hold all streams, whatever a drive does, and what a short part offers them finds no rest.
const CORES_FREE: f64 = 0.9;
/// Parts of the operations that are slower than a percentile is.
const BEYOND: [f64; 3] = [0.5, 0.01, 0.001];

/// A part of the window, and what comes to rest in it.
#[derive(Debug)]
pub(super) struct Phase {
    /// Of the window.
    pub share: f64,
    pub streams: Vec<Stream>,
    pub coupled: Coupled,
}

/// The parts of a window in which write-back begins or a scan has read all of its data; none where nothing changes in it.
///
/// # Errors
/// Where the target refuses what is asked of it in a part.
pub(super) fn parts(target: &Target, host: &Host, all: &[Stream], whole: &Coupled) -> Result<Vec<Phase>, TwinError> {
    let Some((open, close)) = window(all) else { return Ok(Vec::new()) };
    let least = SHARE_AT_LEAST * (close - open);
    let known = known(all, whole, [open, close]);
    // What writers leave in memory fills it over all of the window: their parts would each begin with what was left before.
    let writers = all.iter().any(|stream| stream.write_share > 0.0 && stream.path.key.is_buffered());
    let ends_within = |seat: &Seat| seat.scan_ends_s().is_some_and(|ends| ends < close - least);
    let scans = !writers && whole.seats.iter().any(ends_within);
    if known.len() <= 2 && !scans {
        return Ok(Vec::new());
    }
    let mut found = Vec::new();
    let mut read = vec![0.0; all.len()];
    let mut from = if scans { 0.0 } else { open };
    while let Some(next) = known.iter().copied().find(|at| *at > from + 1e-9) {
        let of = |to: f64| -> Result<Phase, TwinError> {
            let streams = streams(all, scans.then_some(&read), [from, to]);
            Ok(Phase { share: (to - from) / (close - open), coupled: couple(target, host, &streams)?, streams })
        };
        let mut part = of(next)?;
        let ends = |part: &Phase| part.coupled.seats.iter().map(Seat::scan_ends_s).collect::<Vec<_>>();
        let first = ends(&part).into_iter().flatten().fold(next, f64::min).max(from + least);
        let to = if first < next - least { first } else { next };
        if to < next {
            part = of(to)?;
        }
        for (read, ends) in read.iter_mut().zip(ends(&part)) {
            let Some(ends) = ends else { continue };
            let whole = ends <= to + least;
            *read = if whole { 1.0 } else { *read + (1.0 - *read) * (to - from) / (ends - from) };
        }
        if to > open {
            found.push(part);
        }
        from = to;
    }
    Ok(found)
}

/// Where the window of all streams opens and closes, s from the beginning of the load.
fn window(all: &[Stream]) -> Option<(f64, f64)> {
    let first = all.first()?;
    let (open, close) = (first.warmup_s, first.duration_s);
    let same = all.iter().all(|stream| (stream.warmup_s, stream.duration_s) == (open, close));
    (same && close > open).then_some((open, close))
}

/// Instants that a part ends at whatever scans do: the ends of the window, and where write-back begins within it.
fn known(all: &[Stream], whole: &Coupled, [open, close]: [f64; 2]) -> Vec<f64> {
    let least = SHARE_AT_LEAST * (close - open);
    let free = all.len() > 1 && whole.cores_busy <= CORES_FREE;
    let begins = whole.seats.iter().filter_map(Seat::write_back_begins_s).filter(|_| free);
    let mut known: Vec<f64> = begins.filter(|at| *at > open + least && *at < close - least).collect();
    known.extend([open, close]);
    known.sort_by(f64::total_cmp);
    known.dedup_by(|next, before| *next - *before < least);
    known
}

/// The streams as they are in a part of the window, at whose beginning scans have `read` so much of their data; none where
/// scans come round as they do in the whole of it.
fn streams(all: &[Stream], read: Option<&Vec<f64>>, [from, to]: [f64; 2]) -> Vec<Stream> {
    let each = all.iter().enumerate().map(|(index, stream)| {
        let scanned = read.map(|read| read[index]);
        let warm = stream.warm || scanned.is_some_and(|share| share >= 1.0);
        Stream { warmup_s: from, duration_s: to, warm, scanned, ..stream.clone() }
    });
    each.collect()
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
        assert!(window(&[]).is_none());
    }

    #[test]
    fn a_part_of_too_few_operations_says_nothing_of_a_percentile() {
        let all = joined(&[(0.999, part(10_000.0, 1e6, 0.1)), (0.001, part(100.0, 2e7, 0.1))]);
        assert_eq!(all.streams[0].p999.mid_ns, 3e6);
    }
}
