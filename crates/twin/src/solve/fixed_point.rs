//! Think times of the device's customers: CPU work, waiting for a thread, for a core, for a lock.
//!
//! A thread's own CPU is a station with `depth` customers, all cores together a station with the threads as customers
//! (both by Schweitzer's approximate mean value analysis). Throughput falls as think time rises, and think time falls with
//! throughput, so that there is one solution between no waiting and all waiting.

use crate::{
    Host, Stream, Target, TwinError,
    analytic::{DeviceAnswer, DeviceLoad, answer},
    host::Demand,
};

const ROUNDS_AT_MOST: usize = 200;
const CLOSE_ENOUGH: f64 = 1e-6;

/// What the host does to one stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seat {
    /// CPU time of an operation, ns.
    pub service_ns: f64,
    /// CPU time with waiting for core, lock and thread, ns.
    pub cpu_ns: f64,
    /// Waiting to be woken, ns.
    pub wakeup_ns: f64,
    /// Share of time in which a thread is at work.
    pub thread_busy: f64,
    demand: Demand,
}

impl Seat {
    /// Time that an operation spends in the host, ns.
    pub fn latency_ns(&self) -> f64 {
        self.cpu_ns + self.wakeup_ns
    }

    /// CPU cycles of an operation: its own, those that the core stalls, those of polling.
    pub fn cycles(&self, stream: &Stream, host: &Host, answer: &DeviceAnswer) -> f64 {
        let own = self.demand.cycles_per_op(stream);
        let per_ns = host.clock_hz.value / 1e9;
        let per_op_ns = f64::from(stream.threads) * 1e9 / answer.ops_per_s.max(1e-9);
        if stream.path.key.is_load_store() {
            return own + answer.mean_ns * per_ns;
        }
        if !stream.path.key.spins() {
            return own;
        }
        let idle_ns = (per_op_ns - self.service_ns).max(0.0);
        if stream.path.poll_sleep_ns == 0.0 {
            return own + idle_ns * per_ns;
        }
        own + idle_ns / (stream.path.poll_sleep_ns + self.demand.poll_cycles / per_ns) * self.demand.poll_cycles
    }
}

/// Host and device at their fixed point.
#[derive(Clone, Debug, Default)]
pub struct Coupled {
    /// By stream.
    pub answers: Vec<DeviceAnswer>,
    /// By stream.
    pub seats: Vec<Seat>,
    /// Share of the cores' time that is used.
    pub cores_busy: f64,
}

/// Finds the fixed point.
pub fn couple(target: &Target, host: &Host, streams: &[Stream]) -> Result<Coupled, TwinError> {
    let mut loads = super::device_loads(target, streams);
    let mut coupled = Coupled { answers: vec![DeviceAnswer::default(); streams.len()], ..Coupled::default() };
    let cores = host.cores.value * host.threads_per_core.value.max(1.0);
    for (stream, load) in streams.iter().zip(&mut loads) {
        let demand = Demand::of(host, stream)?;
        let service_ns = demand.cycles_per_op(stream) / host.clock_hz.value * 1e9;
        if stream.path.key.is_load_store() {
            load.in_flight = load.in_flight.min(cores);
        }
        load.think_ns = service_ns;
        coupled.seats.push(Seat { service_ns, cpu_ns: service_ns, demand, ..Seat::default() });
    }
    let mut step = 1.0;
    let mut before = f64::INFINITY;
    for _ in 0..ROUNDS_AT_MOST {
        answer(target, &loads, &mut coupled.answers)?;
        let change = advance(host, streams, &mut loads, &mut coupled, cores, step);
        if change < CLOSE_ENOUGH {
            break;
        }
        if change > 0.7 * before {
            step = f64::max(step * 0.7, 0.02);
        }
        before = change;
    }
    Ok(coupled)
}

/// One round: new think times from the throughputs just found. Returns the largest relative change.
fn advance(
    host: &Host,
    streams: &[Stream],
    loads: &mut [DeviceLoad],
    coupled: &mut Coupled,
    cores: f64,
    step: f64,
) -> f64 {
    let threads: f64 = streams.iter().map(|stream| f64::from(stream.threads)).sum();
    let busy: f64 = streams
        .iter()
        .zip(coupled.answers.iter().zip(&coupled.seats))
        .map(|(stream, (answer, seat))| {
            let stalled = if stream.path.key.is_load_store() { answer.mean_ns } else { 0.0 };
            answer.ops_per_s * (seat.service_ns + stalled) / 1e9
        })
        .sum();
    coupled.cores_busy = busy / cores;
    let crowded = (threads - cores).max(0.0) / threads.max(1.0);
    let core_wait = waiting(crowded * coupled.cores_busy);
    let serial: f64 = coupled
        .seats
        .iter()
        .zip(&coupled.answers)
        .map(|(seat, answer)| answer.ops_per_s * seat.demand.serial_cycles / host.clock_hz.value)
        .sum();
    let lock_wait = waiting(serial * (threads - 1.0).max(0.0) / threads.max(1.0)) - 1.0;
    let mut change: f64 = 0.0;
    for ((stream, load), (seat, answer)) in
        streams.iter().zip(loads).zip(coupled.seats.iter_mut().zip(&coupled.answers))
    {
        let lock_ns = seat.demand.serial_cycles / host.clock_hz.value * 1e9 * lock_wait;
        let held_ns = seat.service_ns * core_wait + lock_ns;
        let depth = load.in_flight / f64::from(stream.threads);
        let per_thread = answer.ops_per_s / 1e9 / f64::from(stream.threads);
        seat.thread_busy = (per_thread * held_ns).min(1.0);
        seat.cpu_ns =
            held_ns * waiting(per_thread * held_ns * (depth - 1.0).max(0.0) / depth.max(1.0)).min(depth.max(1.0));
        let asleep = if depth > 1.0 { 1.0 - seat.thread_busy } else { 1.0 };
        seat.wakeup_ns = seat.demand.wakeup_ns * asleep;
        let wanted = seat.latency_ns();
        change = change.max((wanted - load.think_ns).abs() / wanted.max(1.0));
        load.think_ns += step * (wanted - load.think_ns);
    }
    change
}

/// Factor by which a customer's stay grows while a station is `busy`, from the point of view of one that arrives.
fn waiting(busy: f64) -> f64 {
    1.0 / (1.0 - busy.min(0.999))
}
