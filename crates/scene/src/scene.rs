//! The world around the actors: the host's cores and the twins' stations.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use assay_buffer::{
    disk::{Action, Completion},
    stage::{Picoseconds, World},
};
use assay_record::{Durability, DurabilityKind};
use assay_twin::{
    Driven, Host, PathKey, Stream, StreamPath, TwinError,
    des::{Cores, Queue},
    host::Demand,
    simulated::{self, Simulated, Step},
    stations::Machine,
};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

/// What a call of a path costs on the host, ps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Costs {
    read: SequentialRun,
    write: SequentialRun,
    submission: Picoseconds,
    flush: Picoseconds,
    /// Going to sleep until something has ended, and being woken.
    pub sleep: Picoseconds,
    /// Waking a device that has nothing in flight.
    pub bell: Picoseconds,
    /// From a completion until the thread that sleeps runs.
    pub wakeup: Picoseconds,
}

/// Of a call, and of each of its bytes.
#[derive(Clone, Copy, Debug, Default)]
struct SequentialRun {
    call: f64,
    byte: f64,
}

impl Costs {
    /// Those of direct requests on a host, through a file system where there is one.
    fn of(host: &Host, driven: &Driven, path: PathKey) -> Result<Self, TwinError> {
        let demand = |bytes: f64, writes: f64| {
            let durability = Durability { kind: DurabilityKind::Fdatasync, every: 1 };
            let file_system = driven.file_system.clone();
            let stream = Stream::closed("actor", writes, bytes, StreamPath::plain(path));
            Demand::of_call(host, &Stream { durability, file_system, ..stream })
        };
        let ps = 1e12 / host.clock_hz.value;
        let (small, large) = (demand(4096.0, 1.0)?, demand(8192.0, 1.0)?);
        let line = |small: f64, large: f64| {
            let byte = (large - small) / 4096.0;
            SequentialRun { call: (small - 4096.0 * byte) * ps, byte: byte * ps }
        };
        Ok(Self {
            read: line(small.read_cycles, large.read_cycles),
            write: line(small.write_cycles, large.write_cycles),
            submission: (small.submission_cycles * ps) as Picoseconds,
            flush: (small.flush_cycles * ps) as Picoseconds,
            sleep: (small.sleep_cycles * ps) as Picoseconds,
            bell: (small.bell_cycles * ps) as Picoseconds,
            wakeup: (small.wakeup_ns * 1e3) as Picoseconds,
        })
    }

    /// Of submitting a batch.
    pub fn submission(&self) -> Picoseconds {
        self.submission
    }

    /// Of one request, half of it before the device and half after.
    pub fn request(&self, action: Action, bytes: u32) -> Picoseconds {
        let of = |line: SequentialRun| (line.call + line.byte * f64::from(bytes)) as Picoseconds;
        match action {
            Action::Read => of(self.read),
            Action::Write | Action::Place(_) => of(self.write),
            // No host's figures have it: a command without bytes.
            Action::Trim => self.write.call as Picoseconds,
            Action::Flush => self.flush,
        }
    }
}

/// A request on its way.
#[derive(Clone, Copy, Debug, Default)]
struct Flight {
    machine: usize,
    lane: usize,
    token: u64,
    request: simulated::Request,
    served: bool,
}

/// A queue's completions.
#[derive(Debug, Default)]
struct Lane {
    actor: Option<usize>,
    in_flight: u32,
    done: Vec<Completion>,
}

/// What a station did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Doings {
    /// Reads.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Flushes.
    pub flushes: u64,
    /// Trims.
    pub trims: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Bytes written.
    pub written_bytes: u64,
    /// Busy time of the busiest part, ps.
    pub busy: Picoseconds,
    /// Sum of the times that requests took, ps.
    pub time: u128,
    /// Bytes written by the host and bytes copied by the drive's collection, where the drive is followed page by page.
    pub programmed: Option<[u64; 2]>,
}

/// The stations of one target.
pub struct Station {
    machine: Machine,
    /// The same where nobody else ever is: what an access takes that meets no other.
    lone: Machine,
    lone_at: Picoseconds,
    /// What a call of its path costs.
    pub costs: Costs,
    /// Loads and stores reach it, or the kernel's copies: the time that it takes is the CPU's.
    pub is_memory: bool,
    doings: Doings,
    at: Picoseconds,
    /// Requests in flight.
    pub in_flight: u32,
}

/// Everything.
pub struct Scene {
    /// Stations of all targets.
    pub stations: Vec<Station>,
    cores: Cores,
    events: Queue,
    flights: Vec<Flight>,
    spare: Vec<u32>,
    lanes: Vec<Lane>,
    random: Xoshiro256PlusPlus,
    lone_random: Xoshiro256PlusPlus,
    /// Digest of all requests and their times.
    trace: u64,
}

/// A scene that disks, memory and the stage share.
#[derive(Clone)]
pub struct Shared(Arc<Mutex<Scene>>);

impl Shared {
    /// Cores of a host for `actors`, and no stations yet.
    pub fn new(host: &Host, actors: u32, seed: u64) -> Self {
        Self(Arc::new(Mutex::new(Scene {
            stations: Vec::new(),
            cores: Cores::new(host.hardware_threads() as u32, actors),
            events: Queue::default(),
            flights: Vec::new(),
            spare: Vec::new(),
            lanes: Vec::new(),
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            lone_random: Xoshiro256PlusPlus::seed_from_u64(!seed),
            trace: 0xcbf2_9ce4_8422_2325,
        })))
    }

    /// All of it, for the caller alone.
    pub fn lock(&self) -> MutexGuard<'_, Scene> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Scene {
    /// Adds the stations of a target that holds `used_bytes`; its number.
    ///
    /// # Errors
    /// Where the family has none, or the host does not know the path.
    pub fn add(&mut self, driven: &Driven, used_bytes: u64, seed: u64) -> Result<usize, TwinError> {
        let path = match &driven.target {
            target if target.is_memory() => PathKey::DaxPread,
            target if target.is_inline() => PathKey::PreadDirect,
            _ => PathKey::IoUring,
        };
        self.add_by(driven, path, used_bytes, seed)
    }

    /// The same, reached by a path.
    ///
    /// # Errors
    /// Likewise.
    pub fn add_by(&mut self, driven: &Driven, path: PathKey, used_bytes: u64, seed: u64) -> Result<usize, TwinError> {
        let is_memory = driven.target.is_memory() || driven.target.is_inline();
        let costs = Costs::of(&driven.host, driven, path)?;
        let machine = Machine::holding(&driven.target, seed, used_bytes as f64)?;
        let (lone, doings) = (machine.clone(), Doings::default());
        self.stations.push(Station { machine, lone, lone_at: 0, costs, is_memory, doings, at: 0, in_flight: 0 });
        Ok(self.stations.len() - 1)
    }

    /// Adds a lane: whose requests end together, for one who waits; its number.
    pub fn add_lane(&mut self) -> usize {
        self.lanes.push(Lane::default());
        self.lanes.len() - 1
    }

    /// What a station has done until `now`; what is in flight has taken its time until then.
    pub fn doings(&self, station: usize, now: Picoseconds) -> Doings {
        let Station { machine, doings, in_flight, .. } = &self.stations[station];
        let time = doings.time.wrapping_add(u128::from(now) * u128::from(*in_flight));
        let programmed = machine.programmed().map(|both| both.map(|bytes| bytes as u64));
        Doings { busy: machine.busiest().1, time, programmed, ..*doings }
    }

    /// Digest of all requests so far: which, where, when.
    pub fn trace(&self) -> u64 {
        self.trace
    }

    fn note(&mut self, at: Picoseconds, station: usize, request: &simulated::Request) {
        let words = [at, station as u64, request.action as u64, request.offset, u64::from(request.bytes)];
        for word in words {
            self.trace = (self.trace ^ word).wrapping_mul(0x0000_0100_0000_01b3);
        }
        let doings = &mut self.stations[station].doings;
        match request.action {
            simulated::Action::Read => {
                doings.reads += 1;
                doings.read_bytes += u64::from(request.bytes);
            }
            simulated::Action::Write => {
                doings.writes += 1;
                doings.written_bytes += u64::from(request.bytes);
            }
            simulated::Action::Flush => doings.flushes += 1,
            simulated::Action::Trim => doings.trims += 1,
        }
    }

    /// A write, or a trim, that takes no time: what lies there before a play begins.
    pub fn lay(&mut self, station: usize, request: &simulated::Request) {
        self.stations[station].machine.lay(request);
    }

    /// Sends a request of an actor on its way.
    pub fn launch(
        &mut self,
        at: Picoseconds,
        (station, lane, actor): (usize, usize, Option<usize>),
        request: simulated::Request,
        token: u64,
    ) {
        self.note(at, station, &request);
        self.stations[station].doings.time = self.stations[station].doings.time.wrapping_sub(u128::from(at));
        self.stations[station].in_flight += 1;
        let flight = Flight { machine: station, lane, token, request, served: false };
        let id = match self.spare.pop() {
            Some(id) => {
                self.flights[id as usize] = flight;
                id
            }
            None => {
                self.flights.push(flight);
                self.flights.len() as u32 - 1
            }
        };
        (self.lanes[lane].actor, self.lanes[lane].in_flight) = (actor, self.lanes[lane].in_flight + 1);
        self.events.push(at, id);
    }

    /// Time that an access to memory takes, begun at `at`.
    pub fn access(&mut self, at: Picoseconds, station: usize, mut request: simulated::Request) -> Picoseconds {
        self.note(at, station, &request);
        let Station { machine, doings, at: last, .. } = &mut self.stations[station];
        // Actors take turns of some microseconds: one may be a little behind another.
        let now = at.max(*last);
        *last = now;
        let mut arrives = now;
        let end = loop {
            match machine.step(arrives, &mut request, &mut self.random) {
                Step::Done(at) => break at,
                Step::At(at) => arrives = at,
            }
        };
        machine.complete(now, &request);
        doings.time += u128::from(end - now);
        end - now
    }

    /// Time that an access takes on a station that serves nobody else.
    pub fn alone(&mut self, station: usize, mut request: simulated::Request) -> Picoseconds {
        let Station { lone, lone_at, .. } = &mut self.stations[station];
        let begin = *lone_at;
        let mut arrives = begin;
        let end = loop {
            match lone.step(arrives, &mut request, &mut self.lone_random) {
                Step::Done(at) => break at,
                Step::At(at) => arrives = at,
            }
        };
        lone.complete(end, &request);
        *lone_at = end;
        end - begin
    }

    /// Hands out what has ended for a lane; what is left in flight.
    pub fn reap(&mut self, lane: usize, into: &mut Vec<Completion>) -> u32 {
        into.append(&mut self.lanes[lane].done);
        self.lanes[lane].in_flight
    }

    /// What a lane has in flight or not reaped.
    pub fn in_flight(&self, lane: usize) -> u32 {
        self.lanes[lane].in_flight + self.lanes[lane].done.len() as u32
    }
}

impl World for Shared {
    fn next_at(&mut self) -> Picoseconds {
        self.lock().events.next_at()
    }

    fn happen(&mut self) -> Option<usize> {
        let mut scene = self.lock();
        let Scene { stations, events, flights, spare, lanes, random, .. } = &mut *scene;
        let event = events.pop()?;
        let flight = &mut flights[event.id as usize];
        let station = &mut stations[flight.machine];
        if !flight.served {
            match station.machine.step(event.at, &mut flight.request, random) {
                Step::Done(at) => {
                    flight.served = true;
                    events.push(at, event.id);
                }
                Step::At(at) => events.push(at, event.id),
            }
            return None;
        }
        station.machine.complete(event.at, &flight.request);
        station.in_flight -= 1;
        station.doings.time = station.doings.time.wrapping_add(u128::from(event.at));
        let lane = &mut lanes[flight.lane];
        lane.in_flight -= 1;
        lane.done.push(Completion { token: flight.token, result: Ok(()) });
        spare.push(event.id);
        lane.actor
    }

    fn work(&mut self, begin: Picoseconds, work: Picoseconds) -> (Picoseconds, Picoseconds) {
        let end = self.lock().cores.run(begin, work, 0);
        (end - work, end)
    }

    fn sleep(&self) -> Picoseconds {
        self.lock().stations.first().map_or(0, |station| station.costs.sleep)
    }
}
