//! A closed network of stations that a group of equal members makes up.
//!
//! Approximate mean value analysis (Schweitzer 1979) for several classes of customers, with three corrections that drives
//! need: service that hardly varies (the residual of the one in service, Reiser 1979), requests that fork over several
//! servers and join (the mean of the largest of k waits that are each exponential with the probability of waiting), and
//! work in the background that nobody waits for but that blocks whoever arrives (programs, erases, copies).

use assay_libtwin::rules::FLUSH_SPREAD;

/// Stations that a drive has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum At {
    /// Dies, or whatever holds the bytes.
    Medium = 0,
    /// The way of reads to the host.
    ReadLink = 1,
    /// The way of writes into the drive.
    WriteLink = 2,
    /// What handles commands that read.
    ReadCommand = 3,
    /// What handles commands that write.
    WriteCommand = 4,
    /// The part of reads in what reads and writes share where both come: the drive's attention, in the currency of what each
    /// could do alone. Only waiting for it takes time; its work is that of the other stations.
    ReadTurn = 5,
    /// The part of writes in it.
    WriteTurn = 6,
}

/// How many kinds of stations there are.
pub const STATIONS: usize = 7;
/// Places where customers wait: the stations, and room in the write buffers.
pub const PLACES: usize = STATIONS + 1;
/// The wait at each place, ns: where a search begins, and what it found.
pub type Waits = [f64; PLACES];
pub(super) const ROUNDS_AT_MOST: usize = 400;
pub(super) const CLOSE_ENOUGH: f64 = 1e-7;
/// Beyond this many waits the harmonic sum continues as a logarithm.
const FORK_TERMS: usize = 16;

/// The group's servers.
#[derive(Clone, Copy, Debug)]
pub struct Group {
    /// Servers of each kind of station, all members together.
    pub servers: [f64; STATIONS],
    /// Servers of the medium that one member has.
    pub row: f64,
    /// Squared coefficient of variation of their service.
    pub variation: [f64; STATIONS],
    /// Time of one piece of background work on a server of the medium, ns.
    pub background_ns: f64,
    /// Longest that a customer waits behind such a piece, ns.
    pub pause_ns: f64,
    /// Pieces that wait for a server of the medium when the buffers are full.
    pub buffered: f64,
    /// Members.
    pub members: f64,
    /// Mean time of a flush on a member, ns.
    pub flush_ns: f64,
    /// Share of the flush in which the member serves nothing else.
    pub flush_blocks: f64,
    /// Bytes per ns at which dirty bytes leave a member during a flush; infinite where they need not.
    pub flush_drain: f64,
    /// What the members' writes wait for was measured with their latencies.
    pub beside: bool,
}

/// What an operation asks of a kind of station.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Visit {
    /// Stages one after the other, of the mean operation.
    pub stages: f64,
    /// Requests of a stage at the same time, on different servers.
    pub fork: f64,
    /// Time on one server, ns.
    pub service_ns: f64,
    /// Of them, those that lie side by side on one member; none or one where each lies for itself.
    pub run: f64,
    /// How much longer than the mean the slowest of the requests of a stage is served, ns.
    pub slowest_ns: f64,
}

impl Group {
    /// Mean time that a customer waits behind a piece of background work that is under way: what is left of it, but no
    /// longer than the pause after which it is put off, ns.
    pub(super) fn pause(&self) -> f64 {
        let (whole, most) = (self.background_ns, self.pause_ns);
        if most >= whole { whole / 2.0 } else { most * (1.0 - most / (2.0 * whole)) }
    }
}

impl Group {
    /// The group where only a share of its members is at work at once for the one class that is there; background work is
    /// done by all of them at any time.
    pub fn narrow(&mut self, customer: &mut Customer, reach: f64) {
        self.servers.iter_mut().for_each(|servers| *servers *= reach);
        customer.background *= reach;
    }
}

impl Visit {
    fn count(&self) -> f64 {
        self.stages * self.fork
    }
}

/// Requests in order that lie on few members at a time, and go on to others. Those that chance spreads are no crowd.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Crowd {
    /// How much denser they lie on those members than chance would lay them, less one.
    pub denser: f64,
    /// Requests that a member serves before they go on, over those in flight.
    pub lasts: f64,
}

impl Crowd {
    /// Share of the members' time that goes to what others leave behind the crowd, of the `others` that they take anywhere.
    /// As long as the crowd is there n of its requests are always queued, and a backlog x of others grows by what they
    /// bring less what first come, first served gives them, `others - x / (x + n)`. It comes to rest with a time constant
    /// of `n / (1 - others)^2` services, and in the mean over the time of the crowd is that part of the way.
    pub(super) fn gathered(&self, others: f64) -> f64 {
        let times = self.lasts * (1.0 - others);
        if times <= 1e-6 { 0.0 } else { others * (1.0 + (-times).exp_m1() / times) }
    }
}

/// Which member a customer comes to next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemberChoice {
    /// Chance chooses one each time.
    #[default]
    Chance,
    /// A lone one goes on to the next with each request.
    Round,
    /// A lone one comes back to the same for the requests of a chunk.
    Stays,
}

/// A class of customers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Customer {
    /// How many.
    pub in_flight: f64,
    /// Of them, those that come at once; 1 where each comes by itself.
    pub bunch: f64,
    /// Of them, those among whom one finds itself on the servers that it meets: all, but for streams that go round the
    /// members evenly.
    pub peers: f64,
    /// How its requests crowd on few members.
    pub crowd: Crowd,
    /// Nothing of chance is in its way: its requests come to every station one after the other, in the same time.
    pub regular: bool,
    /// Which members its customers come to.
    pub members_by: MemberChoice,
    /// Time away from the group between two operations, ns.
    pub think_ns: f64,
    /// Operations per ns at most.
    pub rate: f64,
    /// Time in the drives outside of all queues, ns.
    pub delay_ns: f64,
    /// How much longer than the mean operation the last one of a bunch is outside of all queues, ns.
    pub last_delay_ns: f64,
    /// How much longer a read stays than a write where none waits, ns.
    pub read_longer_ns: f64,
    /// Share of its operations that write.
    pub write_share: f64,
    /// What an operation asks of the stations.
    pub visits: [Visit; STATIONS],
    /// Pieces of background work that an operation causes.
    pub background: f64,
    /// Flushes per operation.
    pub flushes: f64,
    /// Bytes that an operation leaves dirty on each member.
    pub dirty_bytes: f64,
    /// Writes go to the page cache: nobody waits for the device unless a flush says so.
    pub behind: bool,
    /// Time that the writes before a flush take when it makes them go out, ns.
    pub before_flush_ns: f64,
}

impl Customer {
    /// It reads and writes, so that both meet in the drive's attention.
    pub(super) fn turns(&self) -> bool {
        self.visits[At::ReadTurn as usize].stages > 0.0 && self.visits[At::WriteTurn as usize].stages > 0.0
    }
}

/// What becomes of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Flow {
    /// Operations per ns.
    pub rate: f64,
    /// Mean time in the group, ns.
    pub mean_ns: f64,
    /// Waiting in queues, ns.
    pub queue_ns: f64,
    /// In flushes, ns per operation.
    pub flush_ns: f64,
    /// Of what it waits in queues, what chance sends it behind at one of several servers of each station, its own bunch
    /// apart, ns.
    pub chance_ns: [f64; STATIONS],
    /// How much longer than a write a read of the class waits for others, ns.
    pub reads_wait_longer_ns: f64,
}

/// The group at rest in its load.
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    /// Share of time in which the servers of each station serve customers.
    pub busy: [f64; STATIONS],
    /// Share of time in which the medium does background work.
    pub background: f64,
    /// Share of time in which flushes stop the members.
    pub stopped: f64,
    /// Flushes per ns.
    pub flushes: f64,
}

impl State {
    /// Share of the drive's attention that is taken.
    fn turns(&self) -> f64 {
        self.busy[At::ReadTurn as usize] + self.busy[At::WriteTurn as usize]
    }

    /// Mean time for which a flush stops the members, ns.
    pub(super) fn stop_ns(&self) -> f64 {
        if self.flushes > 0.0 { self.stopped / self.flushes } else { 0.0 }
    }

    /// The busiest station, and how busy.
    pub fn busiest(&self) -> (At, f64) {
        let all = [
            (At::Medium, self.busy[0] + self.background),
            (At::ReadLink, self.busy[1]),
            (At::WriteLink, self.busy[2]),
            (At::ReadCommand, self.busy[3]),
            (At::WriteCommand, self.busy[4]),
            if self.busy[5] >= self.busy[6] { (At::ReadTurn, self.turns()) } else { (At::WriteTurn, self.turns()) },
        ];
        all.into_iter().fold((At::Medium, 0.0), |most, next| if next.1 > most.1 { next } else { most })
    }
}

/// Mean of the largest of `fork` waits, over their mean, where each waits with the chance `waits` and then exponentially.
pub fn largest(fork: f64, waits: f64) -> f64 {
    if fork <= 1.0 {
        return 1.0;
    }
    let chance = waits.clamp(1e-6, 1.0);
    let terms = fork.min(FORK_TERMS as f64);
    let whole = terms.floor();
    let (mut sum, mut idle) = (0.0, 1.0);
    for term in 1..=whole as usize {
        idle *= 1.0 - chance;
        sum += (1.0 - idle) / term as f64;
    }
    sum += (terms - whole) * (1.0 - idle * (1.0 - chance)) / (whole + 1.0);
    if fork > terms {
        sum += (fork / terms).ln();
    }
    sum / chance
}

/// Waits that a request meets which are not one another's: servers that lie side by side are held by the same requests
/// before it. Of a row of servers, runs of `run` and of `others` meet with the chance `run + others - 1` over the row, and
/// then share so many servers that each of the other runs stands for `others` over that many waits.
pub(super) fn apart(visit: &Visit, others: f64, row: f64) -> f64 {
    let (run, others) = (visit.run.max(1.0), others.max(1.0));
    visit.fork / run * (run + others - 1.0).min(row.max(run)) / others
}

/// Chance that a stage meets a program at a medium that spends the share `programs` of its time on them. Drives program their
/// dies in turn, so that the programs under way lie side by side, as the servers of a run do ([`apart`]).
pub(super) fn meets_program(visit: &Visit, programs: f64, row: f64) -> f64 {
    let (run, under_way) = (visit.run.max(1.0), programs * row);
    let of_run = under_way.min(1.0) * (run + under_way.max(1.0) - 1.0) / row.max(run);
    1.0 - (1.0 - of_run.min(1.0)).powf(visit.fork / run)
}

/// Share of the work of its own class at a station that an operation meets there, where `own` of the station's work is of
/// the class. It does not meet itself (Schweitzer), and as long as there is room what it meets of its own bunch is counted apart
/// ([`super::bunch`]). Nor do the requests of a regular class meet one another at a station that they have for themselves: each
/// takes as long as the one before it, and whoever waits once comes later from then on. Beside other classes, and where the
/// station is full, they meet as chance will.
pub(super) fn met(customer: &Customer, own: f64, busy: f64) -> f64 {
    let alone = if customer.regular { own.powi(REGULAR) * (1.0 - busy.min(1.0).powi(FULLER)) } else { 0.0 };
    let full = (busy * (1.0 + customer.crowd.denser)).min(1.0).powi(FULLER);
    let bunch = ((customer.bunch.max(1.0) - 1.0) / customer.in_flight.max(1.0)).min(1.0);
    (1.0 - 1.0 / customer.peers.max(1.0)) * (1.0 - bunch * (1.0 - full)) * (1.0 - alone)
}

/// Waits that are part of another one. Command, attention and link take a request one after the other and in the same order,
/// and none takes longer than attention: who has waited for that comes to the link when it is free, and what the command
/// made it wait it would have waited there. Writes whose latencies are known beside others go past attention to the link.
pub(super) fn spaced(group: &Group, customer: &Customer, at: usize) -> bool {
    let turn = match at {
        _ if at == At::ReadCommand as usize || at == At::ReadLink as usize => At::ReadTurn,
        _ if at == At::WriteTurn as usize => return group.beside,
        _ if (at == At::WriteCommand as usize || at == At::WriteLink as usize) && !group.beside => At::WriteTurn,
        _ => return false,
    };
    customer.visits[turn as usize].stages > 0.0
}

/// How sharply their order is lost beside others.
const REGULAR: i32 = 8;
/// How sharply what holds of a station with room no longer does as it fills.
pub(super) const FULLER: i32 = 12;

/// Little's law: what a closed class does not spend away it spends here.
pub(super) fn close(customer: &Customer, flow: &mut Flow) {
    if flow.rate >= customer.rate * (1.0 - 1e-9) {
        return;
    }
    let stay = (customer.in_flight / flow.rate - customer.think_ns).max(0.0);
    flow.queue_ns = (flow.queue_ns + stay - flow.mean_ns).max(0.0);
    flow.mean_ns = stay;
}

pub(super) fn first_guess(group: &Group, customer: &Customer) -> f64 {
    let alone: f64 = customer.visits.iter().map(|visit| visit.stages * visit.service_ns).sum();
    let latency = customer.delay_ns + alone + customer.think_ns;
    let demand = (0..STATIONS).fold(0.0, |most: f64, at| {
        let visit = &customer.visits[at];
        most.max(visit.count() * visit.service_ns / group.servers[at])
    });
    let limit = 1.0 / demand.max(customer.background * group.background_ns / group.servers[0]).max(1e-12);
    (customer.in_flight / latency.max(1e-3)).min(limit).min(customer.rate)
}

pub(super) fn load(group: &Group, customers: &[Customer], flows: &mut [Flow]) -> State {
    let at = |flows: &[Flow]| sum(group, customers.iter().zip(flows).map(|(customer, flow)| (customer, flow.rate)));
    let mut state = at(flows);
    let most = state.busiest().1;
    if most > 1.0 {
        // Service that does not vary lets the approximation promise more than a server can do where customers are few.
        flows.iter_mut().for_each(|flow| flow.rate /= most);
        state = at(flows);
    }
    state
}

/// The group's state with each class at a rate.
pub(super) fn sum<'a>(group: &Group, classes: impl Iterator<Item = (&'a Customer, f64)>) -> State {
    let mut state = State::default();
    let (mut dirty, mut others) = (0.0, false);
    for (customer, rate) in classes {
        for at in 0..STATIONS {
            let visit = &customer.visits[at];
            state.busy[at] += rate * visit.count() * visit.service_ns / group.servers[at];
        }
        state.background += rate * customer.background * group.background_ns / group.servers[0];
        state.flushes += rate * customer.flushes;
        dirty += rate * customer.dirty_bytes;
        others |= customer.flushes == 0.0;
    }
    // Members stop as well while what is dirty goes out. Who flushes waits for that anyway: it is in the length of the flush.
    let drains = if state.flushes > 0.0 && others { dirty / group.flush_drain } else { 0.0 };
    state.stopped = ((state.flushes * group.flush_ns + drains) * group.flush_blocks).min(0.95);
    state
}

/// Programs of a flush that follow one another: the data, then the map that says where it is.
const FLUSH_PHASES: f64 = 2.0;

/// Time that an operation of the class spends in flushes: the slowest member's, whose programs wait for the reads that are
/// queued at their dies, and the dirty bytes of all.
pub(super) fn flush_ns(
    group: &Group,
    state: &State,
    customer: &Customer,
    dirty_rate: f64,
    before_ns: f64,
    medium_wait: f64,
) -> f64 {
    if customer.flushes == 0.0 {
        return 0.0;
    }
    // A drive that need not write anything answers each flush in the same time.
    let writes = group.flush_blocks > 0.0;
    let slowest = if writes { 1.0 + FLUSH_SPREAD * order_statistic(group.members) } else { 1.0 };
    let between_ns = before_ns / customer.flushes;
    let drain = (dirty_rate * between_ns / group.flush_drain).min(between_ns * 0.5);
    let waits = if writes {
        FLUSH_PHASES
            * medium_wait
            * (1.0 - state.stopped)
            * largest(FORK_TERMS as f64, (state.busy[0] + state.background).min(1.0))
    } else {
        0.0
    };
    customer.flushes * (customer.before_flush_ns + group.flush_ns * slowest + waits + drain)
}

/// Mean of the largest of n standard normals: 0.56, 1.03, 1.42 and 1.77 at 2, 4, 8 and 16; this is within 7 % of them.
pub(super) fn order_statistic(members: f64) -> f64 {
    if members <= 1.0 { 0.0 } else { 0.564 * members.log2().powf(0.87) }
}
