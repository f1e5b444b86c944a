//! From what was counted in virtual time to the record.

use std::time::Instant;

use assay_instruments::{
    distribution::distribution,
    series::{Series, sum_of},
    tally::{Latencies, Sum, Tally},
};
use assay_instruments::{rfc3339, run_id};
use assay_load::objective;
use assay_record::{
    Baseline, ClassResult, CpuUse, DeviceCounters, Distribution, FORMAT_VERSION, Figure, Job, Method, NotMeasured,
    Operation, Overdue, Provenance, Record, RunInfo, Stop, Unit, Verdict, Widths, WindowOutcome,
};

use super::scene::Scene;
use crate::{
    BandWidths, Solution, TwinError,
    des::{ClassSeat, Engine},
    machine::environment,
    play::result::judge::Judged,
    simulated::{PS_PER_S, Picoseconds, Simulated},
    solve,
    stations::Machine,
};

mod judge;

/// A window that was played.
pub struct Played<'a> {
    /// The job.
    pub job: &'a Job,
    /// Targets and host.
    pub scene: &'a Scene,
    /// Everything at the end.
    pub engine: &'a Engine<Machine>,
    /// Series by class.
    pub series: Vec<Series>,
    /// When the window opened.
    pub open: Picoseconds,
    /// When it closed.
    pub close: Picoseconds,
    /// Seconds of the load that a second of virtual time stood for.
    pub lapse: f64,
    /// Why.
    pub stop: Stop,
    /// When the play began, in real time.
    pub began: Instant,
}

fn figure(value: f64, unit: Unit) -> Figure {
    Figure::new(value, unit, Provenance::Modelled, Method::Simulation)
}

impl Played<'_> {
    /// The record.
    ///
    /// # Errors
    /// Where a class did nothing at all.
    pub fn record(self) -> Result<Record, TwinError> {
        let judged: Vec<Judged> = (0..self.job.classes.len()).map(|index| self.judged(index)).collect();
        let classes: Vec<ClassResult> =
            (0..self.job.classes.len()).map(|index| self.class(index, &judged[index].widths)).collect();
        self.useless(&classes)?;
        let reasons = self.reasons(&classes, &judged);
        Ok(Record {
            version: FORMAT_VERSION,
            run: RunInfo {
                id: run_id(),
                started_at: rfc3339(self.began.elapsed()),
                assayer_version: env!("CARGO_PKG_VERSION").to_owned(),
                wall_s: self.began.elapsed().as_secs_f64(),
                prepare_s: 0.0,
            },
            job: self.job.clone(),
            environment: environment(&self.scene.host, self.scene.parts()),
            window: WindowOutcome {
                warmup_s: self.open as f64 / PS_PER_S,
                measured_s: self.seconds(),
                stop: self.stop,
                edge_skew_ns: 0,
                opened_monotonic_ns: None,
                closed_monotonic_ns: None,
                clock_drift: 0.0,
            },
            process_cpu: self.all_cpu(&classes),
            counting_cost: None,
            devices: self.devices(),
            not_measured: not_measured(),
            classes,
            verdict: Verdict::from_reasons(reasons),
        })
    }

    fn seconds(&self) -> f64 {
        ((self.close - self.open) as f64 / PS_PER_S).max(1e-12)
    }

    /// Seconds in which a class was active.
    fn active_s(&self, class: &ClassSeat) -> f64 {
        let begin = class.begin.max(self.open).min(self.close);
        ((self.close - begin) as f64 / PS_PER_S).max(1e-12)
    }

    fn useless(&self, classes: &[ClassResult]) -> Result<(), TwinError> {
        let idle = classes.iter().find(|class| class.operations == 0);
        match idle.filter(|_| self.stop != Stop::Interrupted) {
            Some(class) => Err(TwinError::field(
                format!("class {}", class.name),
                format!("without an operation in {} s of virtual time", self.seconds()),
                "use a longer window (window.measure_s), or a higher rate",
            )),
            None => Ok(()),
        }
    }

    fn class(&self, index: usize, widths: &BandWidths) -> ClassResult {
        let (class, seat, series) = (&self.job.classes[index], &self.engine.classes[index], &self.series[index]);
        let seconds = self.active_s(seat);
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
        let (operations, writes, bytes) = (series.total.count(), count(&seat.tally.writes), count(&seat.tally.bytes));
        let (rate, bandwidth) = (operations as f64 / seconds, bytes as f64 / seconds);
        let of = |sum: &Sum| modelled(sum, widths);
        let whole = service(seat, &series.total);
        let service = of(&whole);
        let response = response(seat).map(|sum| of(&sum));
        let write_service = sum(seat, |tally| tally.write_service.as_ref())
            .filter(|_| matches!(class.operation, Operation::Mix { write_percent: 1..=99 }));
        // A rate that was reached is the load's own figure, not the model's.
        let kept = seat.stream.rate_per_s.is_some_and(|asked| rate >= 0.99 * asked);
        let width = if kept { 0.01 } else { widths.bandwidth };
        ClassResult {
            name: class.name.clone(),
            operations,
            reads: operations - writes,
            writes,
            bytes,
            bandwidth: figure(bandwidth, Unit::BytesPerSecond).within(width),
            ops_rate: figure(rate, Unit::OpsPerSecond).within(width),
            asked_rate: seat
                .stream
                .rate_per_s
                .map(|rate| Figure::new(rate, Unit::OpsPerSecond, Provenance::Assumed, Method::Derived)),
            asked_depth: class.threads * class.depth,
            achieved_depth: figure(series.total.sum as f64 / 1e9 / seconds, Unit::Count),
            objective: objective(class, response.as_ref().unwrap_or(&service), rate, bandwidth),
            read_service: write_service.as_ref().map(|writes| of(&whole.without(writes))),
            write_service: write_service.as_ref().map(of),
            service,
            response,
            flush: sum(seat, |tally| tally.flush.as_ref()).map(|sum| of(&sum)),
            lateness: None,
            overdue: overdue(seat),
            cpu: self.cpu(seat, operations, bytes, seconds),
            device_read_bytes: Some(figure(seat.device_bytes[0] as f64, Unit::Bytes)),
            device_written_bytes: Some(figure(seat.device_bytes[1] as f64, Unit::Bytes)),
            baseline: Baseline {
                null_ops_per_s: figure(0.0, Unit::OpsPerSecond),
                null_cycles_per_op: figure(0.0, Unit::CyclesPerOp),
                generator_share: figure(0.0, Unit::Ratio),
            },
            errors: Default::default(),
            intervals: series.points.clone(),
            check: None,
        }
    }

    /// CPU seconds of a class in the window.
    fn cpu_s(&self, seat: &ClassSeat, seconds: f64) -> f64 {
        let own = seat.cpu as f64 / PS_PER_S;
        if !seat.spins {
            return own;
        }
        let idle = (f64::from(seat.threads) * seconds - own).max(0.0);
        let sleep_s = seat.stream.path.poll_sleep_ns / 1e9;
        let look_s = seat.costs.poll_cycles / self.scene.host.clock_hz.value;
        own + if sleep_s > 0.0 { idle * look_s / (sleep_s + look_s) } else { idle }
    }

    fn cpu(&self, seat: &ClassSeat, operations: u64, bytes: u64, seconds: f64) -> CpuUse {
        let used = self.cpu_s(seat, seconds);
        let cycles = used * self.scene.host.clock_hz.value;
        let per = |value: f64, count: u64| if count == 0 { 0.0 } else { value / count as f64 };
        let user = seat.spins || seat.stream.path.key == crate::PathKey::Pmem;
        let calls = match seat.stream.path.key {
            crate::PathKey::Pmem | crate::PathKey::Polled | crate::PathKey::Mmap | crate::PathKey::DaxMmapMsync => 0,
            crate::PathKey::Libaio => 2 * seat.submissions,
            _ => seat.submissions,
        };
        CpuUse {
            user_s: figure(if user { used } else { 0.0 }, Unit::Seconds),
            kernel_s: figure(if user { 0.0 } else { used }, Unit::Seconds),
            helper_s: figure(0.0, Unit::Seconds),
            wait_s: figure(0.0, Unit::Seconds),
            cycles_per_op: figure(per(cycles, operations), Unit::CyclesPerOp),
            cycles_per_byte: figure(per(cycles, bytes), Unit::CyclesPerByte),
            instructions_per_op: None,
            tlb_misses_per_op: None,
            context_switches_per_op: figure(per(seat.sleeps as f64, operations), Unit::PerOp),
            system_calls_per_op: figure(per((calls + seat.device_requests[2]) as f64, operations), Unit::PerOp),
            page_faults_per_op: figure(0.0, Unit::PerOp),
            counted: None,
        }
    }

    fn all_cpu(&self, classes: &[ClassResult]) -> CpuUse {
        let sum = |of: fn(&CpuUse) -> f64| classes.iter().map(|class| of(&class.cpu)).sum::<f64>();
        let operations: f64 = classes.iter().map(|class| class.operations as f64).sum();
        let bytes: f64 = classes.iter().map(|class| class.bytes as f64).sum();
        let cycles = (sum(|cpu| cpu.user_s.value) + sum(|cpu| cpu.kernel_s.value)) * self.scene.host.clock_hz.value;
        let mean = |of: fn(&CpuUse) -> f64| {
            classes.iter().map(|class| of(&class.cpu) * class.operations as f64).sum::<f64>() / operations.max(1.0)
        };
        CpuUse {
            user_s: figure(sum(|cpu| cpu.user_s.value), Unit::Seconds),
            kernel_s: figure(sum(|cpu| cpu.kernel_s.value), Unit::Seconds),
            helper_s: figure(0.0, Unit::Seconds),
            wait_s: figure(0.0, Unit::Seconds),
            cycles_per_op: figure(cycles / operations.max(1.0), Unit::CyclesPerOp),
            cycles_per_byte: figure(cycles / bytes.max(1.0), Unit::CyclesPerByte),
            instructions_per_op: None,
            tlb_misses_per_op: None,
            context_switches_per_op: figure(mean(|cpu| cpu.context_switches_per_op.value), Unit::PerOp),
            system_calls_per_op: figure(mean(|cpu| cpu.system_calls_per_op.value), Unit::PerOp),
            page_faults_per_op: figure(0.0, Unit::PerOp),
            counted: None,
        }
    }

    fn devices(&self) -> Vec<DeviceCounters> {
        let of = |index: usize| {
            let users = || self.engine.classes.iter().filter(move |class| class.machine == index);
            let sum = |of: fn(&ClassSeat) -> u64| users().map(of).sum::<u64>() as f64;
            let time: u128 = users().map(|class| class.device_time).sum();
            let (_, busy) = self.engine.machines[index].busiest();
            DeviceCounters {
                device: self.scene.labels[index].clone(),
                read_bytes: figure(sum(|class| class.device_bytes[0]), Unit::Bytes),
                written_bytes: figure(sum(|class| class.device_bytes[1]), Unit::Bytes),
                reads: figure(sum(|class| class.device_requests[0]), Unit::Count),
                writes: figure(sum(|class| class.device_requests[1]), Unit::Count),
                flushes: figure(sum(|class| class.device_requests[2]), Unit::Count),
                mean_in_flight: figure(time as f64 / PS_PER_S / self.seconds(), Unit::Count),
                utilisation: figure((busy as f64 / self.close.max(1) as f64).min(1.0), Unit::Ratio),
                held_up: Default::default(),
            }
        };
        (0..self.scene.targets.len()).map(of).collect()
    }

    /// What the analytic engine says of the same scenario; none where it cannot.
    fn solution(&self) -> Option<Solution> {
        let streams: Vec<_> = self.engine.classes.iter().map(|class| class.stream.clone()).collect();
        let first = self.engine.classes.first()?.machine;
        if self.engine.classes.iter().any(|class| class.machine != first) {
            return None;
        }
        solve(&self.scene.targets[first].1, &self.scene.host, &streams).ok()
    }
}

/// Latencies of the window, and of what was due in it and ended after it.
fn sum(seat: &ClassSeat, of: fn(&Tally) -> Option<&Latencies>) -> Option<Sum> {
    sum_of([&seat.tally, &seat.overdue.tally].into_iter().map(of))
}

fn response(seat: &ClassSeat) -> Option<Sum> {
    let mut sum = sum(seat, |tally| tally.response.as_ref())?;
    sum.at_least.add(seat.overdue.response);
    Some(sum)
}

fn service(seat: &ClassSeat, window: &Sum) -> Sum {
    let mut sum = window.clone();
    if let Some(after) = sum_of(std::iter::once(Some(&seat.overdue.tally.service))) {
        sum.merge(&after);
    }
    sum.at_least.add(seat.overdue.service);
    sum
}

fn overdue(seat: &ClassSeat) -> Option<Overdue> {
    let (completed, missing) = (seat.overdue.completed(), seat.overdue.missing());
    let waited_s = seat.overdue.waited as f64 / PS_PER_S;
    (completed + missing > 0).then_some(Overdue { completed, missing, waited_s })
}

fn modelled(sum: &Sum, widths: &BandWidths) -> Distribution {
    let widths = Widths { latency: widths.latency, tail: widths.tail };
    Distribution { widths: Some(widths), ..distribution(sum, Provenance::Modelled) }
}

fn not_measured() -> Vec<NotMeasured> {
    let of = |what: &str, reason: &str| NotMeasured {
        what: what.to_owned(),
        reason: reason.to_owned(),
        fix: "measure on a machine".to_owned(),
    };
    vec![
        of("instructions and TLB misses per operation", "a twin knows what its host's paths cost, not why"),
        of("page faults per operation", "a twin counts their cost among the cycles of the path"),
        of("the generator's own cost", "virtual time does not pass while an operation is drawn"),
    ]
}
