//! Several classes at once, and classes that cause flushes or work in the background.
//!
//! Unknown are the waits: one at each station, and one for room in the write buffers. Whoever comes to a place meets the
//! same wait there (first come, first served), less its own share of what stands before it. The waits give the rates,
//! class by class; the rates give the work that stands at each station. A wait is right where it is that work, or, where
//! that work would let more through than the station can do, the least wait that does not. So a station that is full
//! takes the same time from all closed classes, and none of them is starved.

mod itself;
mod others;

use assay_libtwin::rules::{FLUSH_SPREAD, KEPT};

use super::network::{
    At, CLOSE_ENOUGH, Customer, Flow, Group, PLACES, ROUNDS_AT_MOST, STATIONS, State, Waits, apart, close, flush_ns,
    largest, meets_program, order_statistic, spaced, sum,
};
use super::probe::{ClassSeen, Probe};

/// The wait for room in the write buffers stands behind those of the stations.
const ROOM: usize = STATIONS;
/// Least share of a station that is left for customers where programs and flushes take the rest.
const LEFT_AT_LEAST: f64 = 0.02;
/// What becomes of the step of a refresh when the way turns round, and when it does not; its least.
const STEP_DOWN: f64 = 0.5;
const STEP_UP: f64 = 1.1;
const STEP_AT_LEAST: f64 = 0.01;

/// Finds throughput and latency of all classes; `flows` and `waits` hold where they begin.
pub(super) fn settle(group: &Group, customers: &[Customer], flows: &mut [Flow], waits: &mut Waits) -> State {
    let mut search = Search::new(group, customers, flows, waits);
    for _ in 0..ROUNDS_AT_MOST {
        search.refresh();
        search.remember();
        let visited = search.visited;
        (0..PLACES).filter(|place| visited[*place]).for_each(|place| search.settle_at(place));
        if search.moved() < CLOSE_ENOUGH {
            break;
        }
    }
    search.refresh();
    *waits = search.waits;
    search.report(flows)
}

/// A class in the search.
#[derive(Clone, Copy, Debug)]
struct Class<'a> {
    customer: &'a Customer,
    rate: f64,
    flush_ns: f64,
    /// Time of an operation that no wait is part of, ns.
    bare_ns: f64,
    /// How many times an operation meets each wait: stages, and what a fork waits longer.
    weights: [f64; PLACES],
    /// Waiting behind programs beyond what the weights make of it, ns: however many dies are asked, the longest of their
    /// pauses is one pause.
    paused_ns: f64,
    /// Time of a server that an operation takes at each station, ns.
    demands: [f64; STATIONS],
    /// What is left on average of an operation in service at each station, ns.
    residuals: [f64; STATIONS],
    /// What of each wait is a customer of the class itself, ns. Searches keep to what the last refresh found, so that
    /// rates fall as waits rise, without jumps.
    itself: [f64; PLACES],
    /// Part of the way that a refresh goes to it, and the way that the last one went, ns.
    steps: [f64; PLACES],
    ways: [f64; PLACES],
}

struct Search<'a> {
    group: &'a Group,
    classes: Vec<Class<'a>>,
    waits: Waits,
    visited: [bool; PLACES],
    /// What refreshes saw, brought together; searches keep to it.
    state: State,
    begun: bool,
    /// Part of the way that a refresh goes to what it sees, and the way that the last one went.
    step: f64,
    way: f64,
    /// Mean time of the medium for what customers ask of it, ns.
    read_ns: f64,
    flush_moved: f64,
    /// How far what of a wait is a customer itself lay from what was seen, over the time of an operation.
    itself_moved: f64,
    /// Kept, so that no search takes room anew.
    probe: Probe,
    rates_before: Vec<f64>,
}

impl<'a> Search<'a> {
    fn new(group: &'a Group, customers: &'a [Customer], flows: &[Flow], waits: &Waits) -> Self {
        let classes: Vec<Class> = customers.iter().zip(flows).map(|(one, flow)| Class::new(group, one, flow)).collect();
        let mut visited = [false; PLACES];
        for class in &classes {
            (0..STATIONS).for_each(|at| visited[at] |= class.demands[at] > 0.0 && !spaced(group, class.customer, at));
            visited[ROOM] |= class.customer.background > 0.0 || class.customer.behind;
        }
        Self {
            group,
            classes,
            waits: *waits,
            visited,
            state: State::default(),
            begun: false,
            step: 1.0,
            way: 0.0,
            read_ns: 0.0,
            flush_moved: 0.0,
            itself_moved: 0.0,
            probe: Probe::default(),
            rates_before: Vec::new(),
        }
    }

    fn remember(&mut self) {
        self.rates_before.clear();
        self.rates_before.extend(self.classes.iter().map(|class| class.rate));
    }

    /// The largest relative change of a rate, of the time in flushes, or of what the medium has to do.
    fn moved(&self) -> f64 {
        let each = self.classes.iter().zip(&self.rates_before).map(|(class, before)| (class.rate / before - 1.0).abs());
        each.fold(self.flush_moved.max(self.itself_moved).max(self.way.abs()), f64::max)
    }

    /// Takes in what follows the rates slowly: how busy stations are, and what flushes take. Half of the way, because
    /// flushes slow down who causes them.
    fn refresh(&mut self) {
        let seen = sum(self.group, self.classes.iter().map(|class| (class.customer, class.rate)));
        self.state = if self.begun { self.nearer(seen) } else { seen };
        self.begun = true;
        self.read_ns = self.mean_of_medium();
        let dirty: f64 = self.classes.iter().map(|class| class.customer.dirty_bytes * class.rate).sum();
        (self.flush_moved, self.itself_moved) = (0.0, 0.0);
        let (run, pause_ns) = (self.mean_run(), self.pause());
        for index in 0..self.classes.len() {
            for place in (0..PLACES).filter(|place| self.visited[*place]) {
                let seen = self.itself(&self.classes[index], place);
                self.itself_moved = self.itself_moved.max(self.classes[index].near(place, seen));
            }
            let wait = self.wait_of(&self.classes[index], At::Medium as usize);
            let class = &mut self.classes[index];
            let wanted = flush_ns(self.group, &self.state, class.customer, dirty, class.flush_ns, wait);
            let next = if class.flush_ns > 0.0 { f64::midpoint(class.flush_ns, wanted) } else { wanted };
            self.flush_moved = self.flush_moved.max((next - class.flush_ns).abs() / next.max(1.0));
            class.flush_ns = next;
            class.weigh(self.group, &self.state, run, pause_ns);
        }
    }

    /// The state on its way to what was seen. Programs slow down the writes that cause them, so that all of the way
    /// overshoots where few are in flight: whenever the way turns round, less of it is gone.
    fn nearer(&mut self, seen: State) -> State {
        let at = |state: &State| state.background + state.busy[At::Medium as usize];
        let way = at(&seen) - at(&self.state);
        let turned = way * self.way < 0.0;
        self.step = if turned { (self.step * STEP_DOWN).max(STEP_AT_LEAST) } else { (self.step * STEP_UP).min(1.0) };
        self.way = way;
        let between = |before: f64, now: f64| before + self.step * (now - before);
        let mut state = seen;
        state.background = between(self.state.background, seen.background);
        state.busy[At::Medium as usize] = between(self.state.busy[At::Medium as usize], seen.busy[At::Medium as usize]);
        state.stopped = f64::midpoint(self.state.stopped, seen.stopped);
        for turn in [At::ReadTurn as usize, At::WriteTurn as usize] {
            state.busy[turn] = f64::midpoint(self.state.busy[turn], seen.busy[turn]);
        }
        state
    }

    /// Share of a station's time that flushes and programs leave for what customers wait for. Programs that are put off
    /// for reads take no more than a pause from each of them.
    fn left(&self, place: usize) -> f64 {
        if let Some(other) = other_turn(place) {
            return (1.0 - self.state.busy[other].min(KEPT)) * self.serving();
        }
        if place != At::Medium as usize {
            return self.serving();
        }
        let least = self.read_ns / (self.read_ns + self.group.pause_ns).max(1e-9);
        (1.0 - self.state.background).max(least).max(LEFT_AT_LEAST) * self.serving()
    }

    /// Mean time that a customer waits behind background work that is under way. Where nothing puts that off, pieces queue at
    /// a server behind one another. They come to the servers in turn, as many at once as an operation causes, so that the
    /// time between two of them at one server varies as much less as there are such bursts in a round (Kingman 1961). No more of
    /// them queue than the buffers hold, and those that are on their way there.
    fn pause(&self) -> f64 {
        let alone = self.group.pause();
        if self.group.pause_ns.is_finite() {
            return alone;
        }
        let busy = self.state.background.min(1.0 - LEFT_AT_LEAST);
        let pieces = |class: &Class| class.customer.in_flight * class.customer.background / self.group.servers[0];
        let queued = self.group.buffered + self.classes.iter().map(pieces).sum::<f64>();
        let most = alone.max((queued - 0.5) * self.group.background_ns);
        (alone * (1.0 + busy / (1.0 - busy) * self.burst())).min(most)
    }

    /// Pieces of background work that come at once, over the servers that take them in turn. They come over the link one after
    /// the other, so that no more of them queue than the servers take longer for.
    fn burst(&self) -> f64 {
        let (mut pieces, mut bursts) = (0.0, 0.0);
        for class in &self.classes {
            let each = class.rate * class.customer.background;
            let once = class.customer.background / class.customer.visits[At::WriteLink as usize].fork.max(1.0);
            let server_ns = class.customer.background * self.group.background_ns / self.group.servers[0];
            let queued =
                if server_ns > 0.0 { (1.0 - class.demands[At::WriteLink as usize] / server_ns).max(0.0) } else { 0.0 };
            (pieces, bursts) = (pieces + each, bursts + each * once.max(1.0) * queued);
        }
        if pieces > 0.0 { (bursts / pieces / self.group.row).min(1.0) } else { 0.0 }
    }

    /// Servers side by side that a request takes which another one finds at the medium.
    fn mean_run(&self) -> f64 {
        let (mut runs, mut work) = (0.0, 0.0);
        for class in &self.classes {
            let asked = class.rate * class.demands[At::Medium as usize];
            (runs, work) = (runs + asked * class.customer.visits[At::Medium as usize].run.max(1.0), work + asked);
        }
        if work > 0.0 { runs / work } else { 1.0 }
    }

    fn mean_of_medium(&self) -> f64 {
        let visit = |class: &Class| class.customer.visits[At::Medium as usize];
        let (mut count, mut time) = (0.0, 0.0);
        for class in &self.classes {
            let asked = class.rate * visit(class).stages * visit(class).fork;
            (count, time) = (count + asked, time + asked * visit(class).service_ns);
        }
        if count > 0.0 { time / count } else { 0.0 }
    }

    /// Share of time in which no flush stops the members.
    fn serving(&self) -> f64 {
        (1.0 - self.state.stopped).max(LEFT_AT_LEAST)
    }

    /// The wait that a class meets: a customer does not find itself.
    fn wait_of(&self, class: &Class, place: usize) -> f64 {
        (self.waits[place] - class.itself[place]).max(0.0)
    }

    fn queue(&self, class: &Class) -> f64 {
        let limited = class.rate >= class.customer.rate * (1.0 - 1e-9);
        let stop_ns = if limited { class.stopped_by_chance(self) } else { class.stopped(self) };
        (self.waits_but(class, PLACES) + class.paused_ns).max(0.0) + stop_ns
    }

    /// Finds the wait at a place while all others stay.
    fn settle_at(&mut self, place: usize) {
        let mut probe = std::mem::take(&mut self.probe);
        self.prepare(&mut probe, place);
        probe.settle();
        self.waits[place] = probe.wait_ns;
        self.classes.iter_mut().zip(&probe.classes).for_each(|(class, seen)| class.rate = seen.rate);
        self.probe = probe;
    }

    /// What stays while the wait at a place is searched.
    fn prepare(&self, probe: &mut Probe, place: usize) {
        let (left, serving) = (self.left(place), self.serving());
        probe.wait_ns = self.waits[place];
        probe.room = place == ROOM;
        probe.most_ns = if place == ROOM { self.longest_for_room() } else { f64::INFINITY };
        probe.shares = [if other_turn(place).is_some() { left } else { serving }, left];
        let programs = if place == At::Medium as usize { self.state.background.min(1.0) } else { 0.0 };
        probe.pause_ns = programs * self.pause() / serving;
        let behind = self.classes.iter().any(|class| class.customer.behind);
        probe.classes.clear();
        probe.classes.extend(self.classes.iter().map(|class| self.seen(class, place, behind)));
    }

    /// Longest that a write waits for room, ns: until all writes that are in flight have been programmed, in the half of the dies'
    /// time that reads leave at least.
    fn longest_for_room(&self) -> f64 {
        let writers = self.classes.iter().filter(|class| class.weights[ROOM] > 0.0);
        let work = writers.map(|class| class.customer.in_flight * self.work(class, ROOM) / class.weights[ROOM]);
        work.sum::<f64>() / (KEPT * self.serving())
    }

    fn seen(&self, class: &Class, place: usize, behind: bool) -> ClassSeen {
        ClassSeen {
            rate: class.rate,
            in_flight: class.customer.in_flight,
            most: class.customer.rate,
            apart_ns: class.customer.think_ns + class.bare_ns + class.flush_ns + class.stopped(self),
            others_ns: self.waits_but(class, place) + class.paused_ns,
            weight: class.weights[place],
            itself_ns: class.itself[place],
            demand_ns: if place == ROOM { 0.0 } else { class.demands[place] },
            residual_ns: if place == ROOM { 0.0 } else { class.residuals[place] },
            asks_ns: self.asks(class, place, behind),
        }
    }

    /// What an operation adds to the load of a place. Writes wait for room where the dies have more to do than they can, or
    /// where the page cache (of any class) fills faster than the link empties it.
    fn asks(&self, class: &Class, place: usize, behind: bool) -> [f64; 2] {
        if place != ROOM {
            return [class.demands[place], 0.0];
        }
        let programs_ns = class.customer.background * self.group.background_ns / self.group.servers[0];
        let link_ns = if behind { class.demands[At::WriteLink as usize] } else { 0.0 };
        [class.demands[At::Medium as usize] + programs_ns, link_ns]
    }

    /// Waiting at all places but one (or at all of them), ns.
    fn waits_but(&self, class: &Class, place: usize) -> f64 {
        let places = (0..PLACES).filter(|other| *other != place && class.weights[*other] > 0.0);
        places.map(|other| class.weights[other] * self.wait_of(class, other)).sum()
    }

    /// Waiting where chance chooses one of several servers of each station, but for others of its own bunch, ns.
    fn by_chance(&self, class: &Class) -> [f64; STATIONS] {
        let mut waited = [0.0; STATIONS];
        for at in (0..STATIONS).filter(|at| self.group.servers[*at] > 1.0 && class.weights[*at] > 0.0) {
            waited[at] = class.weights[at] * (self.wait_of(class, at) - self.bunched(class, at)).max(0.0);
        }
        waited[At::Medium as usize] += class.paused_ns.max(0.0);
        waited
    }

    /// How much longer than a write a read of the class waits for others, ns. Those that fetch before they write do both.
    fn reads_wait_longer(&self, class: &Class) -> f64 {
        let writes = class.customer.write_share;
        let waited = |places: [usize; 4]| {
            let each =
                places.map(|place| class.weights[place] * (self.wait_of(class, place) - self.bunched(class, place)));
            each.into_iter().map(|wait| wait.max(0.0)).sum::<f64>()
        };
        let reads_ns = waited([At::Medium, At::ReadLink, At::ReadCommand, At::ReadTurn].map(|at| at as usize));
        let writes_ns = waited([At::WriteLink as usize, At::WriteCommand as usize, At::WriteTurn as usize, ROOM]);
        if writes <= 0.0 || writes >= 1.0 { 0.0 } else { reads_ns / (1.0 - writes) - writes_ns / writes }
    }

    fn report(&self, flows: &mut [Flow]) -> State {
        for (class, flow) in self.classes.iter().zip(flows.iter_mut()) {
            let queue_ns = self.queue(class);
            let mean_ns = class.bare_ns + class.flush_ns + queue_ns;
            let (chance_ns, reads_wait_longer_ns) = (self.by_chance(class), self.reads_wait_longer(class));
            *flow =
                Flow { rate: class.rate, mean_ns, queue_ns, flush_ns: class.flush_ns, chance_ns, reads_wait_longer_ns };
            close(class.customer, flow);
        }
        self.state
    }
}

impl<'a> Class<'a> {
    fn new(group: &Group, customer: &'a Customer, flow: &Flow) -> Self {
        let (mut demands, mut residuals) = ([0.0; STATIONS], [0.0; STATIONS]);
        let mut bare_ns = customer.delay_ns;
        for (at, demand) in demands.iter_mut().enumerate() {
            let visit = &customer.visits[at];
            *demand = visit.stages * visit.fork * visit.service_ns / group.servers[at];
            residuals[at] = visit.service_ns * (1.0 + group.variation[at]) / 2.0;
            if !unseen(customer, at) {
                let served = if at >= At::ReadTurn as usize { 0.0 } else { visit.service_ns };
                bare_ns += visit.stages * (served + visit.slowest_ns);
            }
        }
        // Attention works while the other stations do, so that of an operation nothing is left there that is longer than
        // the time until its customer comes back. With more, the time that a lone customer spends would fall with its rate.
        for at in [At::ReadTurn, At::WriteTurn] {
            let attention = &mut residuals[at as usize];
            *attention = attention.min(customer.think_ns + bare_ns);
        }
        Self {
            customer,
            rate: flow.rate,
            flush_ns: flow.flush_ns,
            bare_ns,
            weights: [0.0; PLACES],
            paused_ns: 0.0,
            demands,
            residuals,
            itself: [0.0; PLACES],
            steps: [1.0; PLACES],
            ways: [0.0; PLACES],
        }
    }

    /// What of a wait is a customer itself, on its way to what was `seen`; how far that is, over the time of an operation. A
    /// class that keeps out of its own way does so no longer once the station is full, and that leaves it as it was: whenever
    /// the way turns round, less of it is gone.
    fn near(&mut self, place: usize, seen: f64) -> f64 {
        let way = seen - self.itself[place];
        let step = &mut self.steps[place];
        let turned = way * self.ways[place] < 0.0;
        *step = if turned { (*step * STEP_DOWN).max(STEP_AT_LEAST) } else { (*step * STEP_UP).min(1.0) };
        self.ways[place] = way;
        self.itself[place] += *step * way;
        way.abs() * self.rate / self.customer.in_flight
    }

    fn weigh(&mut self, group: &Group, state: &State, run: f64, pause_ns: f64) {
        for at in 0..STATIONS {
            let visit = &self.customer.visits[at];
            let others = if at == At::Medium as usize { run } else { 1.0 };
            let (stages, fork) = (visit.stages, apart(visit, others, group.row));
            let waits = (state.busy[at] + if at == At::Medium as usize { state.background } else { 0.0 }).min(1.0);
            // What a flush makes go out waits for the link as other writes do.
            let stages = if unseen(self.customer, at) { self.customer.flushes } else { stages };
            self.weights[at] = if spaced(group, self.customer, at) { 0.0 } else { stages * largest(fork, waits) };
        }
        let visit = &self.customer.visits[At::Medium as usize];
        let programs = state.background.clamp(0.0, 1.0);
        let weight = self.weights[At::Medium as usize];
        let met = visit.stages * meets_program(visit, programs, group.row);
        self.paused_ns = pause_ns * (met - weight * programs);
        let writes = self.customer.visits[At::WriteLink as usize].stages;
        let fills = self.customer.background > 0.0 && group.background_ns > 0.0 || self.customer.behind;
        self.weights[ROOM] = if fills { writes } else { 0.0 };
    }

    /// What an operation that comes at any time meets of flushes. Who flushes waits for its own, which is counted apart.
    fn stopped_by_chance(&self, search: &Search) -> f64 {
        if self.customer.flushes > 0.0 || self.customer.behind {
            return 0.0;
        }
        let left = search.state.stop_ns() * (1.0 + FLUSH_SPREAD * FLUSH_SPREAD) / 2.0;
        search.state.stopped * left / search.serving()
    }

    /// What an operation of a closed class meets of them. A customer that a flush stops comes no second time before its end:
    /// each stop takes from it what is left when it comes, at any time within its cycle, and nothing where the stop is over.
    fn stopped(&self, search: &Search) -> f64 {
        let cycle_ns = self.customer.think_ns + self.bare_ns + self.flush_ns + search.waits_but(self, PLACES);
        let cycle_ns = (cycle_ns + self.paused_ns).max(1.0);
        // Who waits for a member meets others that are not done, and the slowest as often as not: half of the way is assumed.
        let slowest = 1.0 + 0.5 * FLUSH_SPREAD * order_statistic(search.group.members);
        let (stop_ns, by_chance) = (search.state.stop_ns() * slowest, self.stopped_by_chance(search));
        if by_chance == 0.0 || cycle_ns >= stop_ns {
            return by_chance;
        }
        let lost = (search.state.flushes * (stop_ns - cycle_ns / 2.0)).min(1.0 - LEFT_AT_LEAST);
        by_chance.min(cycle_ns * lost / (1.0 - lost))
    }
}

/// What takes the rest of the drive's attention beside a part of it.
fn other_turn(place: usize) -> Option<usize> {
    match place {
        _ if place == At::ReadTurn as usize => Some(At::WriteTurn as usize),
        _ if place == At::WriteTurn as usize => Some(At::ReadTurn as usize),
        _ => None,
    }
}

/// Writes that go to the page cache do not wait for the link, but for what a flush makes go out.
fn unseen(customer: &Customer, at: usize) -> bool {
    customer.behind && at == At::WriteLink as usize
}
