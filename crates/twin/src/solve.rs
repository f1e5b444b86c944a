//! Host and device together: a fixed point between what the device gives and what the host's cores allow.

mod ahead;
pub(crate) mod commit;
pub(crate) mod extent;
mod fixed_point;
mod gather;
mod hits;
mod lane;
mod phases;
mod scan;
mod swing;
mod trail;
mod waits;

use crate::{
    BandWidths, BoundBy, Device, Host, PathKey, Percentile, Solution, Stream, StreamSolution, Target, TimeShares, Twin,
    TwinError, Utilisation,
    device_load::{DeviceAnswer, DeviceLoad},
};

use self::fixed_point::{Coupled, couple};

/// Throughput, latency and utilisation of all streams at once on a target, driven by a host.
///
/// # Errors
/// [`TwinError`] where a stream is nonsense, or asks what host or device cannot do.
pub fn solve(target: &Target, host: &Host, streams: &[Stream]) -> Result<Solution, TwinError> {
    target.validate()?;
    host.validate()?;
    let target = &*target.seated(host);
    streams.iter().try_for_each(Stream::validate)?;
    let streams = &*streams.iter().map(|stream| stream.on(target)).collect::<Result<Vec<_>, _>>()?;
    let coupled = couple(target, host, streams)?;
    let ends = phases::ends(streams, &coupled);
    if ends.len() <= 2 {
        return Ok(solution(target, host, streams, &coupled));
    }
    let window = ends[ends.len() - 1] - ends[0];
    let parts = ends.windows(2).map(|part| {
        let streams = phases::streams(streams, [part[0], part[1]]);
        let coupled = couple(target, host, &streams)?;
        Ok(((part[1] - part[0]) / window, solution(target, host, &streams, &coupled)))
    });
    Ok(phases::joined(&parts.collect::<Result<Vec<_>, TwinError>>()?))
}

fn solution(target: &Target, host: &Host, streams: &[Stream], coupled: &Coupled) -> Solution {
    let solutions = (0..streams.len()).map(|index| stream_solution(target, host, streams, coupled, index));
    Solution {
        streams: solutions.collect(),
        utilisation: vec![
            Utilisation { station: "host cores".to_owned(), value: coupled.cores_busy.min(1.0) },
            Utilisation {
                station: "device".to_owned(),
                value: coupled.answers.iter().map(|answer| answer.utilisation).fold(0.0, f64::max),
            },
        ],
    }
}

fn stream_solution(
    target: &Target,
    host: &Host,
    streams: &[Stream],
    coupled: &Coupled,
    index: usize,
) -> StreamSolution {
    let (stream, answer, seat) = (&streams[index], &coupled.answers[index], &coupled.seats[index]);
    let (mut extrapolated, mut stretch) = extent::outside(target, stream);
    if seat.unrest() > SWING_TOLD {
        stretch += seat.unrest();
        extrapolated.push(format!(
            "reads and write-back of the page cache find no rest: the answer swings by {:.0} %",
            seat.unrest() * 100.0
        ));
    }
    let band = widths(target, stream, streams.len() > 1, stretch);
    let cycles_per_op = seat.cycles(stream, host, answer);
    let mean_ns = mean(stream, answer, seat);
    let host_ns = seat.latency_ns().min((mean_ns - answer.mean_ns).max(0.0));
    StreamSolution {
        name: stream.name.clone(),
        ops_per_s: answer.ops_per_s,
        bandwidth_bytes_per_s: answer.ops_per_s * stream.size_bytes,
        mean_ns,
        p50: percentile(host_ns, answer.p50, band.latency),
        p99: percentile(host_ns, answer.p99, band.tail),
        p999: percentile(host_ns, answer.p999, band.tail),
        cycles_per_op,
        cycles_per_byte: cycles_per_op / stream.size_bytes,
        bound_by: bound(stream, coupled, index),
        time: shares(answer, seat),
        extrapolated,
        band,
    }
}

/// Mean latency. Little's law closes it where the load is closed: what the rounds of the fixed point leave open is a wait.
/// Operations that overlap ([`DeviceAnswer::overlap`]) are longer than the time between two of a customer.
fn mean(stream: &Stream, answer: &DeviceAnswer, seat: &fixed_point::Seat) -> f64 {
    let sum = seat.latency_ns() + answer.mean_ns * answer.overlap.max(1.0);
    if stream.path.holds_core() {
        return sum;
    }
    // What waits for others of its batch has ended.
    let away_ns = stream.think_ns + seat.gather_ns;
    let closed = (stream.in_flight() / answer.ops_per_s.max(1e-9) * 1e9 - away_ns).max(0.0);
    if stream.rate_per_s.is_some_and(|rate| answer.ops_per_s >= 0.99 * rate) { sum.min(closed) } else { closed }
}

fn shares(answer: &DeviceAnswer, seat: &fixed_point::Seat) -> TimeShares {
    TimeShares {
        host_ns: seat.service_ns,
        wait_ns: seat.latency_ns() - seat.service_ns - seat.commit_ns,
        queue_ns: answer.queue_ns,
        device_ns: (answer.mean_ns - answer.queue_ns - answer.flush_ns).max(0.0),
        flush_ns: answer.flush_ns + seat.commit_ns,
    }
}

/// Half-widths of a stream's figures; `several` says that it is not alone.
pub(crate) fn widths(target: &Target, stream: &Stream, several: bool, stretch: f64) -> BandWidths {
    let band = &target.twin().band;
    let least = band.joined.as_ref().map_or(0.0, |joined| {
        let mixes = stream.write_share > 0.0 && stream.write_share < 1.0;
        let alone = !several && !mixes;
        let whole = stream.path.key == PathKey::Pmem && stream.size_bytes >= granule_bytes(target.twin());
        let kinds = [
            (several, Some(&joined.several)),
            (stream.path.key.is_buffered(), Some(&joined.page_cache)),
            (mixes, Some(&joined.mix)),
            (alone && whole, joined.granules.as_ref()),
            (alone && !whole, joined.calls_or_lines.as_ref()),
        ];
        let apply = kinds.into_iter().filter(|(applies, _)| *applies).filter_map(|(_, width)| width);
        apply.map(|width| width.value).fold(0.0, f64::max)
    });
    BandWidths {
        bandwidth: band.bandwidth.value.max(least) + stretch,
        latency: band.latency.value.max(least) + stretch,
        tail: band.tail.value + 2.0 * stretch,
    }
}

/// What the medium reads and writes at once, bytes; below it the time of an operation is not that of its bytes.
fn granule_bytes(twin: &Twin) -> f64 {
    if let Device::Pmem(pmem) = &twin.device { pmem.granule_bytes.value } else { 0.0 }
}

fn percentile(host_ns: f64, device: Percentile, width: f64) -> Percentile {
    let own = Percentile::around(host_ns + device.mid_ns, width);
    Percentile {
        low_ns: own.low_ns.min(host_ns + device.low_ns),
        mid_ns: own.mid_ns,
        high_ns: own.high_ns.max(host_ns + device.high_ns),
    }
}

/// A swing of an answer below this share says less than any band does.
const SWING_TOLD: f64 = 0.01;

/// A station is what sets the pace where it is busy beyond this share.
const BUSY: f64 = 0.9;

fn bound(stream: &Stream, coupled: &Coupled, index: usize) -> BoundBy {
    let (answer, seat) = (&coupled.answers[index], &coupled.seats[index]);
    if stream.rate_per_s.is_some_and(|rate| answer.ops_per_s >= 0.99 * rate) {
        return BoundBy::Rate;
    }
    if coupled.cores_busy > BUSY && coupled.cores_busy >= answer.utilisation {
        return BoundBy::HostCpu;
    }
    if seat.thread_busy > BUSY && seat.thread_busy >= answer.utilisation {
        return BoundBy::Path;
    }
    answer.bound_by
}

/// By how much the cycles of each stream are stretched because others are busy in the same path.
pub(crate) fn crowds(target: &Target, host: &Host, streams: &[Stream]) -> Result<Vec<f64>, TwinError> {
    Ok(couple(target, host, streams)?.seats.iter().map(|seat| seat.crowd).collect())
}

/// Loads of all streams as the device sees them.
fn device_loads(target: &Target, streams: &[Stream]) -> Vec<DeviceLoad> {
    let capacity = target.capacity_bytes();
    streams.iter().map(|stream| DeviceLoad::of(stream, capacity)).collect()
}
