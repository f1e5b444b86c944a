//! Several loads on the same modules: reads and writes take from each other.

use super::operation::{Access, needed, smooth_min};

const ROUNDS: usize = 24;
const STEP: f64 = 0.5;
/// How sharply waiting belongs to the fuller of the two ways.
const FULLER: i32 = 6;

/// How reads and writes share the modules: the budgets of reads and of writes, given what the other uses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Sharing {
    /// Persistent memory: either slows the other, C' = C / (1 + factor u).
    Interference {
        /// theta: reads beside writes.
        reads: f64,
        /// lambda: writes beside reads.
        writes: f64,
    },
    /// One bus: u_r + u_w is at most one, less what turning it round costs (`turn` at equal parts).
    Bus {
        /// Share lost where reads and writes are equal.
        turn: f64,
    },
}

impl Sharing {
    /// Budgets of [reads, writes] while they use `used`.
    fn budgets(self, used: [f64; 2]) -> [f64; 2] {
        match self {
            Self::Interference { reads, writes } => [1.0 / (1.0 + reads * used[1]), 1.0 / (1.0 + writes * used[0])],
            Self::Bus { turn } => {
                let all = 1.0 - 4.0 * turn * balance(used);
                [(all - used[1]).max(all * 0.5), (all - used[0]).max(all * 0.5)]
            }
        }
    }
}

/// r w / (r + w)^2: 1/4 where both are equal.
fn balance([reads, writes]: [f64; 2]) -> f64 {
    let sum = reads + writes;
    if sum > 0.0 { reads * writes / (sum * sum) } else { 0.0 }
}

/// A load on the modules.
#[derive(Clone, Copy, Debug)]
pub struct LoadPart {
    /// Reads.
    pub read: Access,
    /// Writes.
    pub write: Access,
    /// Share of writes, 0..=1.
    pub write_share: f64,
    /// Threads.
    pub threads: f64,
    /// Time away from the modules per operation, ns.
    pub think_ns: f64,
    /// Operations per ns at most.
    pub rate: f64,
    /// How this load's reads and writes are slowed.
    pub sharing: Sharing,
}

/// What a load gets.
#[derive(Clone, Copy, Debug, Default)]
pub struct Served {
    /// Operations per ns.
    pub ops: f64,
    /// Mean time at the modules, ns.
    pub mean_ns: f64,
    /// Mean time at the modules were they idle otherwise, ns.
    pub alone_ns: f64,
    /// Share of the modules' read capacity that it uses.
    pub read_used: f64,
    /// Share of the modules' write capacity that it uses.
    pub write_used: f64,
}

impl LoadPart {
    /// Time of an operation while the modules do not limit, ns.
    fn own_ns(&self) -> f64 {
        let reads = (1.0 - self.write_share) * self.read.crowded_ns(self.threads);
        reads + self.write_share * self.write.crowded_ns(self.threads)
    }

    fn offered(&self) -> f64 {
        self.threads / (self.think_ns + self.own_ns()).max(1e-9)
    }

    fn sharpness(&self) -> f64 {
        self.read.sharpness * (1.0 - self.write_share) + self.write.sharpness * self.write_share
    }

    /// Threads at the modules while `ops` are served. Those that keep a rate wait for their schedule elsewhere.
    fn present(&self, ops: f64) -> f64 {
        let here = (self.threads - ops * self.think_ns).clamp(0.0, self.threads);
        if self.keeps_rate(ops) { here.min(ops * self.own_ns()) } else { here }
    }

    /// Share of its operations that go a way: 0 reads, 1 writes.
    pub(super) fn share(&self, way: usize) -> f64 {
        if way == 1 { self.write_share } else { 1.0 - self.write_share }
    }

    /// Its threads only read or only write, and are never away.
    pub(super) fn stays(&self) -> bool {
        (self.write_share == 0.0 || self.write_share == 1.0) && self.think_ns == 0.0 && self.rate.is_infinite()
    }

    fn keeps_rate(&self, ops: f64) -> bool {
        ops >= self.rate * (1.0 - 1e-9)
    }
}

#[derive(Clone)]
struct State {
    ops: f64,
    /// Operations per ns of this load alone that fill the modules: [reads, writes].
    capacity: [f64; 2],
}

impl State {
    fn used(&self, part: &LoadPart) -> [f64; 2] {
        [self.ops * (1.0 - part.write_share) / self.capacity[0], self.ops * part.write_share / self.capacity[1]]
    }
}

/// Serves two loads that stay, of which one reads and the other one writes.
pub(super) fn beside(one: &LoadPart, other: &LoadPart) -> [Served; 2] {
    let mut rivals = Rivals::new(*one, *other);
    rivals.relax(ROUNDS);
    rivals.answers()
}

/// Reads alone and writes alone, whose threads never leave the modules.
#[derive(Clone)]
pub(super) struct Rivals {
    parts: [LoadPart; 2],
    states: [State; 2],
}

impl Rivals {
    /// At the beginning each does what it would do alone.
    pub(super) fn new(one: LoadPart, other: LoadPart) -> Self {
        let parts = [one, other];
        Self { states: parts.map(|part| State { ops: part.offered().min(part.rate), capacity: [1.0; 2] }), parts }
    }

    /// So many threads from now on.
    pub(super) fn set_threads(&mut self, threads: [f64; 2]) {
        self.parts.iter_mut().zip(threads).for_each(|(part, threads)| part.threads = threads);
    }

    /// Operations of the first per ns.
    pub(super) fn ops(&self) -> f64 {
        self.states[0].ops
    }

    /// What both get.
    fn answers(&self) -> [Served; 2] {
        let rooms = rooms(&self.parts, &self.states);
        std::array::from_fn(|index| answer(&self.parts[index], &self.states[index], rooms[index]))
    }

    /// Comes nearer to what both get.
    pub(super) fn relax(&mut self, rounds: usize) {
        let (parts, states) = (&self.parts, &mut self.states);
        for _ in 0..rounds {
            let present = crowd(parts, states);
            for (part, state) in parts.iter().zip(states.iter_mut()) {
                state.capacity = capacities(part, present);
            }
            let rooms = rooms(parts, states);
            for ((part, state), room) in parts.iter().zip(states.iter_mut()).zip(rooms) {
                let wanted = smooth_min(part.offered(), room, part.sharpness()).min(part.rate);
                state.ops += STEP * (wanted - state.ops);
            }
        }
    }
}

/// Operations per ns beyond which a mix does not get: those of the faster of its two kinds alone. Six published modules
/// gave 15.4 GiB/s of reads and 10.3 of writes at 256 B, and 31.9 of reads alone; no mix on persistent memory was seen
/// above its parts. The rule matters where so many threads crowd that either kind alone loses to its own collapse.
fn faster_kind(part: &LoadPart) -> f64 {
    let alone = |write_share: f64| single(&LoadPart { write_share, ..*part }).ops;
    alone(0.0).max(alone(1.0))
}

/// One load: reads and writes of the same threads.
pub(super) fn single(part: &LoadPart) -> Served {
    let mut state = State { ops: part.offered().min(part.rate), capacity: [1.0; 2] };
    let mut room = f64::INFINITY;
    let pure = part.write_share == 0.0 || part.write_share == 1.0;
    let interferes = matches!(part.sharing, Sharing::Interference { .. });
    let most = if pure || !interferes { f64::INFINITY } else { faster_kind(part) };
    let rounds = if pure && part.think_ns == 0.0 { 1 } else { ROUNDS };
    for round in 0..rounds {
        let present = crowd(std::slice::from_ref(part), std::slice::from_ref(&state));
        state.capacity = capacities(part, present);
        let budgets = if pure { [1.0; 2] } else { part.sharing.budgets(state.used(part)) };
        room = room_within(part, &state, budgets);
        let wanted = smooth_min(part.offered(), room, part.sharpness()).min(part.rate).min(most);
        let step = if rounds == 1 || round == 0 { 1.0 } else { STEP };
        let change = step * (wanted - state.ops);
        state.ops += change;
        if change.abs() < 1e-9 * state.ops {
            break;
        }
    }
    answer(part, &state, room)
}

/// Threads at the modules that [read, write].
fn crowd(parts: &[LoadPart], states: &[State]) -> [f64; 2] {
    let mut present = [0.0; 2];
    for (part, state) in parts.iter().zip(states) {
        let here = part.present(state.ops);
        let [reads, writes] = times(part, state, here);
        present[0] += here * reads / (reads + writes).max(1e-12);
        present[1] += here * writes / (reads + writes).max(1e-12);
    }
    present
}

/// Time of an operation in its reads and in its writes, ns, while `here` threads are at the modules: what each takes alone,
/// and what is waited beyond that, which belongs to the way that is fuller. Threads that do both gather where they wait, so
/// that a stream of both can crowd the modules as much as its writes alone.
fn times(part: &LoadPart, state: &State, here: f64) -> [f64; 2] {
    let threads = part.threads;
    let own =
        [(1.0 - part.write_share) * part.read.crowded_ns(threads), part.write_share * part.write.crowded_ns(threads)];
    let waits = (here / state.ops.max(1e-30) - own[0] - own[1]).max(0.0);
    let used = state.used(part);
    let budgets = part.sharing.budgets(used);
    let [reads, writes] = [(used[0] / budgets[0]).powi(FULLER), (used[1] / budgets[1]).powi(FULLER)];
    let reading = if reads + writes > 0.0 { reads / (reads + writes) } else { 1.0 - part.write_share };
    [own[0] + waits * reading, own[1] + waits * (1.0 - reading)]
}

fn capacities(part: &LoadPart, present: [f64; 2]) -> [f64; 2] {
    [part.read.capacity_with(present[0].max(1.0)), part.write.capacity_with(present[1].max(1.0))]
}

fn room_within(part: &LoadPart, state: &State, budgets: [f64; 2]) -> f64 {
    let within = |way: usize, share: f64| {
        if share > 0.0 { budgets[way] * state.capacity[way] / share } else { f64::INFINITY }
    };
    within(0, 1.0 - part.write_share).min(within(1, part.write_share))
}

/// Operations per ns that each load has room for beside the others.
fn rooms(parts: &[LoadPart; 2], states: &[State; 2]) -> [f64; 2] {
    let used: [[f64; 2]; 2] = std::array::from_fn(|index| states[index].used(&parts[index]));
    let total = used.iter().fold([0.0; 2], |sum, own| [sum[0] + own[0], sum[1] + own[1]]);
    let pressure: [[f64; 2]; 2] = std::array::from_fn(|index| pressure(&parts[index], &states[index]));
    let pushed = pressure.iter().fold([0.0; 2], |sum, own| [sum[0] + own[0], sum[1] + own[1]]);
    let room = |index: usize| {
        let (part, state) = (&parts[index], &states[index]);
        let budgets = part.sharing.budgets(total);
        let mut own = [0.0; 2];
        for way in 0..2 {
            let fair = budgets[way] * pressure[index][way] / pushed[way].max(1e-12);
            let left = budgets[way] - (total[way] - used[index][way]);
            own[way] = fair.max(left);
        }
        room_within(part, state, own)
    };
    std::array::from_fn(room)
}

/// How hard a load would press on each way were it alone.
fn pressure(part: &LoadPart, state: &State) -> [f64; 2] {
    let wanted = part.offered().min(part.rate);
    [
        (wanted * (1.0 - part.write_share) / state.capacity[0]).min(1.0),
        (wanted * part.write_share / state.capacity[1]).min(1.0),
    ]
}

fn answer(part: &LoadPart, state: &State, room: f64) -> Served {
    let closed = part.threads / state.ops.max(1e-30) - part.think_ns;
    let asked = needed(state.ops, room, part.sharpness()) * (part.think_ns + part.own_ns()) / state.ops.max(1e-30);
    // With a rate fewer meet at the modules than without one: nobody waits longer than there.
    let free = part.threads / smooth_min(part.offered(), room, part.sharpness()).max(1e-30) - part.think_ns;
    let limited = part.keeps_rate(state.ops);
    let mean_ns = if limited { (asked - part.think_ns).min(closed).min(free) } else { closed };
    let [read_used, write_used] = state.used(part);
    let alone_ns = (1.0 - part.write_share) * part.read.thread_ns + part.write_share * part.write.thread_ns;
    Served { ops: state.ops, mean_ns: mean_ns.max(0.0), alone_ns, read_used, write_used }
}
