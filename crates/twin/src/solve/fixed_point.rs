//! Think times of the device's customers: CPU work, waiting for a thread, for a core, for a lock.
//!
//! A thread's own CPU is a station with `depth` customers, all cores together a station with the threads as customers
//! (both by Schweitzer's approximate mean value analysis). Throughput falls as think time rises, and think time falls with
//! throughput, so that there is one solution between no waiting and all waiting.

use crate::{
    Host, Stream, Target, TwinError,
    analytic::answer,
    device_load::{DeviceAnswer, DeviceLoad},
    host::Demand,
    solve::{
        ahead,
        commit::{Journal, merges},
        gather::Batches,
        lane::SolverLane,
        swing::Swing,
        trail::Trail,
        waits::{pipe_wait, shared_wait, thread_wait, waiting},
    },
};

const ROUNDS_AT_MOST: usize = 200;
/// Times that lanes may follow the rates, and how near to rest is near enough.
const LANES_AT_MOST: usize = 24;
const LANES_CLOSE_ENOUGH: f64 = 1e-3;
const CLOSE_ENOUGH: f64 = 1e-5;
/// Rounds of the lanes at the end over which an answer that comes to no rest is seen to swing.
const SWING_ROUNDS: usize = 8;
/// A device this busy is full.
const FULL: f64 = 0.99;
/// Rounds in which the device's time is taken as what it was at the last rate; after them ends close in.
const FORESEEN_ROUNDS: usize = 12;

/// What the host does to one stream.
#[derive(Clone, Copy, Debug, Default)]
pub struct Seat {
    /// CPU time of an operation, ns.
    pub service_ns: f64,
    /// CPU time with waiting for core, lock and thread, ns.
    pub cpu_ns: f64,
    /// Waiting to be woken, ns.
    pub wakeup_ns: f64,
    /// Waiting for a worker of the kernel, ns.
    pub worker_ns: f64,
    /// Waiting for a commit of the file system's journal, ns of an operation.
    pub commit_ns: f64,
    /// Pause of its thread after an operation, ns. It belongs to nobody's latency.
    pause_ns: f64,
    /// Until as many operations have ended as are handed over at once, ns. Nobody's latency either.
    pub gather_ns: f64,
    /// How much longer than the mean the last request of a bunch stays at the device, ns.
    last_ns: f64,
    /// Time of an operation at the device in which the CPU moves its bytes, ns.
    copied_ns: f64,
    /// Threads of its own that run.
    threads: f64,
    /// Share of time in which a thread is at work.
    pub thread_busy: f64,
    /// Cycles over those of a thread that is alone in its path.
    pub crowd: f64,
    /// CPU time of an operation with what it waits for cores and locks, ns; without what its thread does to hand it over.
    held_ns: f64,
    /// What the stream's own thread does to hand an operation over to a worker of the kernel, ns; 0 where there are none.
    handing_ns: f64,
    /// The same with what it waits for that thread, ns.
    handed_ns: f64,
    demand: Demand,
    journal: Option<Journal>,
    /// CPU cycles of an operation's share of a commit, which a thread of the kernel spends.
    commit_cycles: f64,
    lane: SolverLane,
    /// Requests per second that the device served last.
    requests_per_s: f64,
    trail: Trail,
    swing: Swing,
}

impl Seat {
    /// How far the stream's operations per second moved in the last rounds, relative; 0 where they came to rest.
    pub fn unrest(&self) -> f64 {
        self.swing.share()
    }

    /// When write-back of what the stream leaves dirty begins, s from the beginning of the load.
    pub fn write_back_begins_s(&self) -> Option<f64> {
        self.lane.write_back_begins_s()
    }

    /// Time that an operation spends in the host, ns.
    pub fn latency_ns(&self) -> f64 {
        self.cpu_ns + self.wakeup_ns + self.worker_ns + self.commit_ns
    }

    /// Time between two operations of a customer of the device, ns. A worker's queue lies before the device's customers.
    fn think_ns(&self) -> f64 {
        let offloaded_ns = self.offloaded_ns();
        let beside_ns = offloaded_ns * (1.0 - 1.0 / self.beside());
        let away_ns = self.cpu_ns - beside_ns + self.wakeup_ns + self.commit_ns + self.pause_ns + self.gather_ns;
        let in_order_ns = (self.held_ns - offloaded_ns) * self.lane.in_order();
        (away_ns * self.lane.per_request + in_order_ns + self.lane.waits_longer_ns(self.last_ns)).max(0.0)
    }

    /// Work of an operation with what it waits for cores, locks and the thread that hands it over, ns.
    fn worked_ns(&self) -> f64 {
        self.held_ns + self.handed_ns
    }

    /// Operations per second of a stream that waits for no device: all who work do, or its own threads hand over as many, or
    /// they fill the `cores`.
    fn alone_per_s(&self, stream: &Stream, cores: f64) -> f64 {
        let busy_ns = if self.lane.reads_ahead { self.worked_ns() } else { self.cpu_ns };
        let cycle_ns = busy_ns - self.handed_ns + self.handing_ns + self.pause_ns;
        let handed = self.threads / self.handing_ns.max(1e-3);
        let working = (at_work(stream, self) / cycle_ns.max(1e-3)).min(cores / self.service_ns.max(1e-3));
        working.min(handed) * 1e9
    }

    /// Operations of one request that are worked on at once.
    fn beside(&self) -> f64 {
        if self.demand.workers.is_finite() { self.lane.side_by_side } else { 1.0 }
    }

    /// Work of an operation that another thread than its own does, ns.
    fn offloaded_ns(&self) -> f64 {
        self.held_ns * if self.demand.workers.is_finite() { 1.0 } else { self.demand.offloaded }
    }

    /// Takes in what the device answered to its requests, as an answer to the stream's operations, which may be `alone`.
    fn take(&mut self, stream: &Stream, answer: &mut DeviceAnswer, alone: bool) {
        (self.requests_per_s, self.last_ns) = (answer.ops_per_s, answer.last_ns);
        self.copied_ns = if stream.path.is_copied() { answer.mean_ns / self.lane.per_request } else { 0.0 };
        answer.ops_per_s = self.lane.operations(answer.ops_per_s);
        let served = stream.in_flight().min(self.demand.workers);
        // Of the time of a thread, what is not its own work is waiting for the device.
        let ops_per_s = answer.ops_per_s;
        let cycle_ns = |threads: f64| threads / ops_per_s * 1e9;
        let free = stream.rate_per_s.is_some_and(|rate| ops_per_s >= 0.99 * rate);
        if self.lane.reads_ahead {
            let each = self.lane.per_request;
            let closed = (cycle_ns(served) - self.worked_ns() - self.pause_ns).max(0.0);
            let own = f64::from(stream.threads);
            let wait_ns =
                if free { ahead::wait_at_rate(answer, ops_per_s, own, (each, self.lane.used_ahead)) } else { closed };
            match self.spacing_ns(stream, answer).filter(|_| alone && !free) {
                Some(spacing_ns) => {
                    let held_ns = self.worked_ns();
                    ahead::wait_in_bunches(answer, wait_ns, (each, self.lane.used_ahead), (spacing_ns, held_ns))
                }
                None => ahead::wait(answer, wait_ns, each),
            }
        } else if self.lane.is_behind() {
            answer.mean_ns = if free { 0.0 } else { (cycle_ns(served) - self.cpu_ns - self.pause_ns).max(0.0) };
        } else {
            for part in [&mut answer.mean_ns, &mut answer.queue_ns, &mut answer.flush_ns] {
                *part /= self.lane.per_request;
            }
        }
        answer.queue_ns = answer.queue_ns.min(answer.mean_ns);
        let waiting = stream.in_flight() - served;
        let waits = self.demand.workers.is_finite() && waiting > 0.0 && !free;
        self.worker_ns = if waits { waiting / answer.ops_per_s * 1e9 } else { 0.0 };
    }

    /// Time between two requests that a device full of this stream's has served, ns; none where it is not.
    fn spacing_ns(&self, stream: &Stream, answer: &DeviceAnswer) -> Option<f64> {
        let is_full = answer.utilisation >= FULL && stream.threads == stream.in_flight() as u32;
        is_full.then(|| 1e9 / self.requests_per_s / self.lane.per_request.min(1.0))
    }

    /// Time on the stream's own threads, or the kernel's workers, of which each has some operations in flight.
    fn hold(&mut self, stream: &Stream, answer: &DeviceAnswer, held_ns: f64, in_flight: f64) {
        let threads = at_work(stream, self);
        let depth = in_flight * self.beside() / threads;
        self.held_ns = held_ns;
        let own_ns = held_ns * (1.0 - self.demand.offloaded);
        let per_thread = answer.ops_per_s / 1e9 / threads;
        self.thread_busy = (per_thread * own_ns).min(1.0);
        let wait = if self.lane.reads_ahead { pipe_wait } else { thread_wait };
        let waits = wait(per_thread * own_ns, depth.max(1.0));
        // The thread that hands over is a station before the workers, with all that it has in flight as customers.
        let handing = self.handing_ns / self.threads;
        let handed = wait(answer.ops_per_s / 1e9 * handing, (in_flight * self.beside() / self.threads).max(1.0));
        self.handed_ns = self.handing_ns * handed;
        self.cpu_ns = own_ns * waits + (held_ns - own_ns) + self.handed_ns;
        let asleep = if depth > 1.0 { 1.0 - self.thread_busy } else { 1.0 };
        self.wakeup_ns = self.demand.wakeup_ns * asleep / self.lane.per_sleep();
        self.gather(stream, answer, own_ns);
    }

    /// What handing over several operations at once makes of the time on the thread, and until its slots are used again.
    fn gather(&mut self, stream: &Stream, answer: &DeviceAnswer, own_ns: f64) {
        let batches = Batches::of(stream, answer).filter(|_| !self.lane.reads_ahead && !self.lane.is_behind());
        let Some(batches) = batches else { return };
        if self.demand.workers.is_finite() {
            self.gather_ns = batches.gather_cached_ns(self.lane.per_request, self.demand.workers);
            return;
        }
        self.cpu_ns = self.cpu_ns.max(batches.held_ns(own_ns));
        self.gather_ns = batches.gather_ns(own_ns);
    }

    /// Waiting for the journal where the stream's file grows; flushes that share a commit share its flush of the device.
    fn commit(&mut self, stream: &Stream, load: &mut DeviceLoad, answer: &DeviceAnswer) {
        let Some(journal) = self.journal else { return };
        let commit = self.demand.commit.unwrap_or_default();
        let flushes = stream.write_share / f64::from(stream.durability.every.max(1));
        let away_ns = (self.cpu_ns + self.wakeup_ns + self.pause_ns + answer.mean_ns - answer.flush_ns) / flushes;
        let journal = if journal.is_merged() {
            Journal::of_flushes(answer.flush_ns / load.flushes_per_op.max(1e-12))
        } else {
            journal
        };
        let found = journal.at(answer.ops_per_s * flushes, load.in_flight, away_ns);
        self.commit_ns = flushes * found.wait_ns;
        load.flushes_per_op = flushes / found.group;
        let others = commit.cycles_per_waiter * (1.0 - 1.0 / found.group);
        self.commit_cycles = flushes * (commit.cycles / found.group + others);
    }

    /// CPU cycles of an operation: its own, those that the core stalls, those of polling.
    pub fn cycles(&self, stream: &Stream, host: &Host, answer: &DeviceAnswer) -> f64 {
        let own = self.demand.cycles_per_op(stream) * self.crowd + self.commit_cycles;
        let per_ns = host.clock_hz.value / 1e9;
        let per_op_ns = f64::from(stream.threads) * 1e9 / answer.ops_per_s.max(1e-9);
        if stream.path.is_copied() {
            return own + self.copied_ns * per_ns;
        }
        if !stream.path.key.spins() {
            return own;
        }
        let idle_ns = (per_op_ns - self.service_ns - self.pause_ns).max(0.0);
        if stream.path.poll_sleep_ns == 0.0 {
            return own + idle_ns * per_ns;
        }
        own + idle_ns / (stream.path.poll_sleep_ns + self.demand.poll_cycles / per_ns) * self.demand.poll_cycles
    }
}

/// Host and device at their fixed point.
#[derive(Clone, Debug, Default)]
pub struct Coupled {
    /// By stream, and after them those of write-back.
    pub answers: Vec<DeviceAnswer>,
    /// By stream.
    pub seats: Vec<Seat>,
    /// Share of the cores' time that is used.
    pub cores_busy: f64,
    /// Streams whose writes are written back by loads of their own, in the order of those loads.
    written_back: Vec<usize>,
}

/// Finds the fixed point.
pub fn couple(target: &Target, host: &Host, streams: &[Stream]) -> Result<Coupled, TwinError> {
    let mut loads = super::device_loads(target, streams);
    let mut coupled = Coupled { answers: vec![DeviceAnswer::default(); streams.len()], ..Coupled::default() };
    let cores = host.hardware_threads();
    let holding = streams.iter().filter(|stream| stream.path.holds_core()).map(|stream| stream.threads).sum();
    for (stream, load) in streams.iter().zip(&mut loads) {
        let demand = Demand::of(host, stream)?;
        let service_ns = demand.cycles_per_op(stream) / host.clock_hz.value * 1e9;
        let mut threads = f64::from(stream.threads);
        if stream.path.holds_core() {
            threads = host.running(stream.threads, holding);
            load.in_flight = threads;
        }
        load.in_flight = load.in_flight.min(demand.workers);
        load.think_ns = service_ns + stream.think_ns;
        if stream.zeroes() {
            load.size_bytes *= 1.0 + stream.write_share;
        }
        let lane = SolverLane::of(host, stream, load);
        let journal = journal(target, host, load, &demand)?;
        let pause_ns = stream.think_ns;
        let (cpu_ns, crowd) = (service_ns, 1.0);
        let seat = Seat { service_ns, cpu_ns, pause_ns, threads, crowd, demand, journal, lane, ..Seat::default() };
        coupled.seats.push(seat);
    }
    write_back(streams, &mut loads, &mut coupled);
    for round in 1..=LANES_AT_MOST {
        rest(target, host, streams, &mut loads, &mut coupled, cores)?;
        if follow(streams, &mut loads, &mut coupled, cores) < LANES_CLOSE_ENOUGH {
            coupled.seats.iter_mut().for_each(|seat| seat.swing = Swing::default());
            break;
        }
        if round > LANES_AT_MOST - SWING_ROUNDS {
            let each = coupled.seats.iter_mut().zip(&coupled.answers);
            each.for_each(|(seat, answer)| seat.swing.take(answer.ops_per_s));
        }
    }
    Ok(coupled)
}

/// Adds loads that write back what streams of reads and writes leave in the page cache.
fn write_back(streams: &[Stream], loads: &mut Vec<DeviceLoad>, coupled: &mut Coupled) {
    for (index, stream) in streams.iter().enumerate() {
        if let Some(behind) = coupled.seats[index].lane.write_back(stream, &loads[index]) {
            loads.push(behind);
            coupled.answers.push(DeviceAnswer::default());
            coupled.written_back.push(index);
        }
    }
}

/// Rounds until think times move no more.
fn rest(
    target: &Target,
    host: &Host,
    streams: &[Stream],
    loads: &mut [DeviceLoad],
    coupled: &mut Coupled,
    cores: f64,
) -> Result<(), TwinError> {
    coupled.seats.iter_mut().for_each(|seat| seat.trail = Trail::default());
    for _ in 0..ROUNDS_AT_MOST {
        ask(target, streams, loads, coupled)?;
        if advance(host, streams, loads, coupled, cores) < CLOSE_ENOUGH {
            break;
        }
        if let Some(answer) = coupled.seats.first().and_then(|seat| seat.trail.jump()) {
            coupled.answers[0] = answer;
            seat_all(host, streams, loads, coupled, cores);
            break;
        }
    }
    Ok(())
}

/// Lets all lanes see the rates that were found; how far the one that moved most did.
fn follow(streams: &[Stream], loads: &mut [DeviceLoad], coupled: &mut Coupled, cores: f64) -> f64 {
    let (own, behind) = loads.split_at_mut(streams.len());
    let (answers, written) = coupled.answers.split_at(streams.len());
    let mut most = 0.0_f64;
    for ((index, load), answer) in coupled.written_back.iter().zip(behind).zip(written) {
        let lane = &mut coupled.seats[*index].lane;
        most = most.max(lane.follow_mixed(&streams[*index], (&mut own[*index], &answers[*index]), (load, answer)));
    }
    let each = streams.iter().zip(own).zip(coupled.seats.iter_mut().zip(answers));
    let moves = each.map(|((stream, load), (seat, answer))| {
        let alone = seat.alone_per_s(stream, cores);
        seat.lane.follow(stream, load, answer, alone)
    });
    moves.fold(most, f64::max)
}

/// Where the flushes of a stream meet: in the journal of a file that grows, or in the kernel's flush of the device.
fn journal(target: &Target, host: &Host, load: &DeviceLoad, demand: &Demand) -> Result<Option<Journal>, TwinError> {
    if let Some(commit) = &demand.commit {
        return Journal::of(target, load, commit, host.clock_hz.value).map(Some);
    }
    let meet = load.flushes_per_op > 0.0 && load.in_flight > 1.0 && merges(target);
    Ok(meet.then(|| Journal::of_flushes(0.0)))
}

/// Asks the device, in operations of the streams.
fn ask(target: &Target, streams: &[Stream], loads: &[DeviceLoad], coupled: &mut Coupled) -> Result<(), TwinError> {
    for (seat, answer) in coupled.seats.iter().zip(&mut coupled.answers) {
        answer.ops_per_s = seat.requests_per_s;
    }
    answer(target, loads, &mut coupled.answers)?;
    for (stream, (seat, answer)) in streams.iter().zip(coupled.seats.iter_mut().zip(&mut coupled.answers)) {
        seat.take(stream, answer, streams.len() == 1);
    }
    Ok(())
}

/// One round: new think times from the throughputs just found. Returns the largest relative change.
fn advance(host: &Host, streams: &[Stream], loads: &mut [DeviceLoad], coupled: &mut Coupled, cores: f64) -> f64 {
    seat_all(host, streams, loads, coupled, cores);
    let waited = loads.iter().zip(&coupled.seats).filter(|(_, seat)| !seat.lane.is_behind());
    let changes = waited.map(|(load, seat)| {
        let wanted = seat.think_ns();
        (wanted - load.think_ns).abs() / wanted.max(1.0)
    });
    let change = changes.fold(0.0, f64::max);
    if streams.len() == 1 && !coupled.seats[0].lane.is_behind() {
        let wanted_ns = coupled.seats[0].think_ns();
        let (trail, answer) = (&mut coupled.seats[0].trail, &coupled.answers[0]);
        let next = trail.alone(loads[0].think_ns, wanted_ns, answer);
        let early = trail.rounds <= FORESEEN_ROUNDS && change >= CLOSE_ENOUGH;
        loads[0].think_ns =
            if early { foreseen(&streams[0], &loads[0], &coupled.seats[0], &coupled.answers[0]) } else { next };
        return change;
    }
    let waited = loads.iter_mut().zip(&mut coupled.seats).filter(|(_, seat)| !seat.lane.is_behind());
    for (load, seat) in waited {
        load.think_ns = seat.trail.next(load.think_ns, seat.think_ns());
    }
    change
}

/// The think time of a stream that is alone, if the device took as long at any rate as it did at the one just found, and
/// cores and locks were as busy: T = C + O w with the own work O on a thread, C that is not, and the factor w of
/// [`thread_wait`] at the rate n / (T + D). That is a quadratic equation for T.
fn foreseen(stream: &Stream, load: &DeviceLoad, seat: &Seat, answer: &DeviceAnswer) -> f64 {
    let ahead = seat.lane.per_request;
    let beside = seat.beside();
    let depth = load.in_flight * beside / at_work(stream, seat);
    let limited = stream.rate_per_s.is_some_and(|rate| answer.ops_per_s >= 0.999 * rate);
    if depth <= 1.0 || limited {
        return seat.think_ns();
    }
    let own = seat.held_ns * (1.0 - seat.demand.offloaded) * ahead / beside;
    let rest =
        (seat.held_ns * seat.demand.offloaded / beside + seat.handed_ns + seat.wakeup_ns + seat.commit_ns) * ahead;
    let device = (load.in_flight * ahead * 1e9 / answer.ops_per_s - load.think_ns).max(0.0);
    let unseen = 1.0 - 0.5 / depth;
    let full = load.in_flight * own * unseen / at_work(stream, seat);
    let (half, constant) = ((device - full - own - rest) / 2.0, (own + rest) * (device - full) + 0.5 * full * own);
    let think = (half * half + constant).sqrt() - half;
    think.min(rest + own * (1.0 + 0.5 * unseen / (1.0 - unseen)).min(depth))
}

/// Time of each stream's operations in the host at the throughputs that the answers hold.
fn seat_all(host: &Host, streams: &[Stream], loads: &mut [DeviceLoad], coupled: &mut Coupled, cores: f64) {
    let per_ns = host.clock_hz.value / 1e9;
    let crowd = crowding(streams, coupled, cores);
    let threads: f64 = streams.iter().zip(&coupled.seats).map(|(stream, seat)| at_work(stream, seat)).sum();
    let busy = busy_threads(coupled);
    coupled.cores_busy = busy / cores;
    let core_wait = shared_wait(threads, coupled.cores_busy, cores);
    let serial: f64 = coupled
        .seats
        .iter()
        .zip(&coupled.answers)
        .map(|(seat, answer)| answer.ops_per_s * seat.demand.serial_cycles * seat.crowd / host.clock_hz.value)
        .sum();
    let lock_wait = waiting(serial * (threads - 1.0).max(0.0) / threads.max(1.0)) - 1.0;
    let answers = coupled.seats.iter_mut().zip(&coupled.answers);
    for ((stream, load), (seat, answer)) in streams.iter().zip(loads.iter_mut()).zip(answers) {
        seat.crowd = 1.0 + seat.demand.crowding * crowd;
        seat.service_ns = seat.demand.cycles_per_op(stream) / per_ns * seat.crowd;
        seat.handing_ns = if seat.demand.workers.is_finite() {
            seat.demand.submission_cycles / stream.bunch() / per_ns * seat.crowd * core_wait
        } else {
            0.0
        };
        let held_ns =
            seat.service_ns * core_wait - seat.handing_ns + seat.demand.serial_cycles * seat.crowd / per_ns * lock_wait;
        let many = if seat.lane.is_behind() { at_work(stream, seat) } else { load.in_flight };
        seat.hold(stream, answer, held_ns, many);
        seat.commit(stream, load, answer);
    }
}

/// Threads that do a stream's work: its own, or the kernel's workers.
fn at_work(stream: &Stream, seat: &Seat) -> f64 {
    if seat.demand.workers.is_finite() { seat.demand.workers.min(stream.in_flight()) } else { seat.threads }
}

/// Threads that are busy on average.
fn busy_threads(coupled: &Coupled) -> f64 {
    let each = coupled.answers.iter().zip(&coupled.seats);
    each.map(|(answer, seat)| answer.ops_per_s * (seat.service_ns + seat.copied_ns) / 1e9).sum()
}

/// Threads that are busy in a path where they crowd one another.
fn crowding(streams: &[Stream], coupled: &Coupled, cores: f64) -> f64 {
    let each = streams.iter().zip(coupled.answers.iter().zip(&coupled.seats));
    let busy: f64 = each
        .filter(|(_, (_, seat))| seat.demand.crowding > 0.0)
        .map(|(_, (answer, seat))| answer.ops_per_s * seat.service_ns / 1e9)
        .sum();
    busy.min(cores)
}
