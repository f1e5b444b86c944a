//! Several classes at once, and classes that cause flushes or work in the background.
//!
//! Unknown are the waits: one at each station, and one for room in the write buffers. Whoever comes to a place meets the
//! same wait there (first come, first served), less its own share of what stands before it. The waits give the rates,
//! class by class; the rates give the work that stands at each station. A wait is right where it is that work, or, where
//! that work would let more through than the station can do, the least wait that does not. So a station that is full
//! takes the same time from all closed classes, and none of them is starved.

use assay_libtwin::rules::{FLUSH_SPREAD, KEPT};

use super::network::{
    At, CLOSE_ENOUGH, Customer, Flow, Group, ROUNDS_AT_MOST, STATIONS, State, Visit, apart, close, flush_ns, largest,
    sum,
};

/// The wait for room in the write buffers stands behind those of the stations.
const ROOM: usize = STATIONS;
const PLACES: usize = STATIONS + 1;
/// Rounds of one search for a wait.
const SEARCH_AT_MOST: usize = 60;
/// Least share of a station that is left for customers where programs and flushes take the rest.
const LEFT_AT_LEAST: f64 = 0.02;
/// What becomes of the step of a refresh when the way turns round, and when it does not; its least.
const STEP_DOWN: f64 = 0.5;
const STEP_UP: f64 = 1.1;
const STEP_AT_LEAST: f64 = 0.01;
/// Times that a search may double what it tries.
const DOUBLINGS: usize = 80;

/// Finds throughput and latency of all classes; `flows` holds where they begin.
pub(super) fn settle(group: &Group, customers: &[Customer], flows: &mut [Flow]) -> State {
    let mut search = Search::new(group, customers, flows);
    for _ in 0..ROUNDS_AT_MOST {
        search.refresh();
        let before = search.rates();
        let visited = search.visited;
        (0..PLACES).filter(|place| visited[*place]).for_each(|place| search.settle_at(place));
        if search.moved(&before) < CLOSE_ENOUGH {
            break;
        }
    }
    search.refresh();
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
}

struct Search<'a> {
    group: &'a Group,
    classes: Vec<Class<'a>>,
    waits: [f64; PLACES],
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
}

impl<'a> Search<'a> {
    fn new(group: &'a Group, customers: &'a [Customer], flows: &[Flow]) -> Self {
        let classes: Vec<Class> = customers.iter().zip(flows).map(|(one, flow)| Class::new(group, one, flow)).collect();
        let mut visited = [false; PLACES];
        for class in &classes {
            (0..STATIONS).for_each(|at| visited[at] |= class.demands[at] > 0.0);
            visited[ROOM] |= class.customer.background > 0.0 || class.customer.behind;
        }
        Self {
            group,
            classes,
            waits: [0.0; PLACES],
            visited,
            state: State::default(),
            begun: false,
            step: 1.0,
            way: 0.0,
            read_ns: 0.0,
            flush_moved: 0.0,
        }
    }

    fn rates(&self) -> Vec<f64> {
        self.classes.iter().map(|class| class.rate).collect()
    }

    /// The largest relative change of a rate, of the time in flushes, or of what the medium has to do.
    fn moved(&self, before: &[f64]) -> f64 {
        let each = self.classes.iter().zip(before).map(|(class, before)| (class.rate / before - 1.0).abs());
        each.fold(self.flush_moved.max(self.way.abs()), f64::max)
    }

    fn flows(&self) -> Vec<Flow> {
        self.classes.iter().map(|class| Flow { rate: class.rate, ..Flow::default() }).collect()
    }

    /// Takes in what follows the rates slowly: how busy stations are, and what flushes take. Half of the way, because
    /// flushes slow down who causes them.
    fn refresh(&mut self) {
        let customers: Vec<Customer> = self.classes.iter().map(|class| *class.customer).collect();
        let seen = sum(self.group, &customers, &self.flows());
        self.state = if self.begun { self.nearer(seen) } else { seen };
        self.begun = true;
        self.read_ns = self.mean_of_medium();
        let dirty: f64 = self.classes.iter().map(|class| class.customer.dirty_bytes * class.rate).sum();
        self.flush_moved = 0.0;
        let run = self.mean_run();
        for index in 0..self.classes.len() {
            for place in 0..STATIONS {
                self.classes[index].itself[place] = self.itself(&self.classes[index], place);
            }
            let wait = self.wait_of(&self.classes[index], At::Medium as usize);
            let class = &mut self.classes[index];
            let wanted = flush_ns(self.group, &self.state, class.customer, dirty, class.flush_ns, wait);
            let next = if class.flush_ns > 0.0 { f64::midpoint(class.flush_ns, wanted) } else { wanted };
            self.flush_moved = self.flush_moved.max((next - class.flush_ns).abs() / next.max(1.0));
            class.flush_ns = next;
            class.weigh(self.group, &self.state, run);
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

    /// Work of a class that stands at a station, ns: the part of the one in service that is left, and what waits.
    fn unfinished(&self, class: &Class, place: usize) -> f64 {
        class.rate * class.demands[place] * (class.residuals[place] + self.wait_of(class, place))
    }

    /// The wait that a class meets: a customer does not find itself.
    fn wait_of(&self, class: &Class, place: usize) -> f64 {
        (self.waits[place] - class.itself[place]).max(0.0)
    }

    /// What of a wait is a customer itself: Schweitzer's share of the work of its own class, which waits as long.
    fn itself(&self, class: &Class, place: usize) -> f64 {
        let share = class.rate * class.demands[place] / (class.many() * self.left(place));
        share * (class.residuals[place] + self.waits[place]) / (1.0 + share)
    }

    /// How much longer the wait at a station is than the work that stands there, ns.
    fn excess(&self, place: usize) -> f64 {
        let work: f64 = self.classes.iter().map(|class| self.unfinished(class, place)).sum();
        let pause =
            if place == At::Medium as usize { self.state.background.min(1.0) * self.group.pause() } else { 0.0 };
        self.waits[place] - work / self.left(place) - pause / self.serving()
    }

    /// What is asked of a place over what it can do.
    fn load(&self, place: usize) -> f64 {
        let at = |at: usize| self.classes.iter().map(|class| class.rate * class.demands[at]).sum::<f64>();
        match other_turn(place) {
            Some(_) => at(place) / self.left(place),
            None if place == ROOM => self.asked_of_buffers(at) / self.serving(),
            None => at(place) / self.serving(),
        }
    }

    /// Writes wait for room where the dies have more to do than they can, or the page cache fills faster than the link
    /// empties it.
    fn asked_of_buffers(&self, at: impl Fn(usize) -> f64) -> f64 {
        let piece_ns = self.group.background_ns / self.group.servers[0];
        let programs: f64 = self.classes.iter().map(|class| class.rate * class.customer.background * piece_ns).sum();
        let dies = at(At::Medium as usize) + programs;
        let behind = self.classes.iter().any(|class| class.customer.behind);
        if behind { dies.max(at(At::WriteLink as usize)) } else { dies }
    }

    /// Tries a wait: all rates follow.
    fn attempt(&mut self, place: usize, wait_ns: f64) {
        self.waits[place] = wait_ns;
        for index in 0..self.classes.len() {
            let class = &self.classes[index];
            self.classes[index].rate = class.closed(self.stay(class)).min(class.customer.rate);
        }
    }

    /// Time of an operation in the group, ns.
    fn stay(&self, class: &Class) -> f64 {
        class.bare_ns + class.flush_ns + self.queue(class)
    }

    fn queue(&self, class: &Class) -> f64 {
        let places = (0..PLACES).filter(|place| class.weights[*place] > 0.0);
        let waits: f64 = places.map(|place| class.weights[place] * self.wait_of(class, place)).sum();
        (waits + class.paused_ns).max(0.0) + class.met(self)
    }

    /// Finds the wait at a place while all others stay.
    fn settle_at(&mut self, place: usize) {
        let before = self.waits[place];
        self.attempt(place, before);
        if self.rests(place) {
            return;
        }
        let least = self.least(place, before);
        self.attempt(place, least);
        if place != ROOM && self.excess(place) < 0.0 {
            self.follow_work(place, least, before);
        }
    }

    fn rests(&self, place: usize) -> bool {
        let (wait, load) = (self.waits[place], self.load(place));
        let full = (load - 1.0).abs() < 1e-8;
        let excess = if place == ROOM { wait } else { self.excess(place) };
        let near = 1e-8 * wait.max(1.0);
        load < 1.0 + 1e-8 && (excess.abs() < near || full && excess > 0.0)
    }

    /// The least wait that does not ask more of a place than it can do: a secant for one over the load, which grows about
    /// linearly with the wait.
    fn least(&mut self, place: usize, guess: f64) -> f64 {
        self.attempt(place, 0.0);
        if self.load(place) <= 1.0 {
            return 0.0;
        }
        let idle = |search: &mut Self, wait: f64| {
            search.attempt(place, wait);
            1.0 / search.load(place) - 1.0
        };
        let low = (0.0, 1.0 / self.load(place) - 1.0);
        let high = self.first_above(low.0, guess, idle);
        self.root(low, high, idle)
    }

    /// The wait that is the work which stands at the station, above `least`.
    fn follow_work(&mut self, place: usize, least: f64, guess: f64) {
        let excess = |search: &mut Self, wait: f64| {
            search.attempt(place, wait);
            search.excess(place)
        };
        let low = (least, self.excess(place));
        let high = self.first_above(least, guess, excess);
        let wait = self.root(low, high, excess);
        self.attempt(place, wait);
    }

    /// A wait above `least` where `value` is no longer negative.
    fn first_above(&mut self, least: f64, guess: f64, value: impl Fn(&mut Self, f64) -> f64) -> (f64, f64) {
        let mut step = (guess - least).max(least * 0.1).max(1.0);
        let mut found = (least + step, value(self, least + step));
        for _ in 0..DOUBLINGS {
            if found.1 >= 0.0 {
                break;
            }
            step *= 2.0;
            found = (least + step, value(self, least + step));
        }
        found
    }

    /// Where `value` is zero between two waits, by false position in the Illinois way.
    fn root(&mut self, low: (f64, f64), high: (f64, f64), value: impl Fn(&mut Self, f64) -> f64) -> f64 {
        let (mut low, mut high, mut side) = (low, high, 0);
        for _ in 0..SEARCH_AT_MOST {
            if high.0 - low.0 <= 1e-10 * high.0 || high.1.abs() < 1e-12 {
                break;
            }
            let share = (-low.1 / (high.1 - low.1)).clamp(0.001, 0.999);
            let middle = low.0 + share * (high.0 - low.0);
            let seen = value(self, middle);
            if seen < 0.0 {
                low = (middle, seen);
                high.1 *= if side < 0 { 0.5 } else { 1.0 };
                side = -1;
            } else {
                high = (middle, seen);
                low.1 *= if side > 0 { 0.5 } else { 1.0 };
                side = 1;
            }
        }
        high.0
    }

    fn report(&self, flows: &mut [Flow]) -> State {
        for (class, flow) in self.classes.iter().zip(flows.iter_mut()) {
            let queue_ns = self.queue(class);
            let mean_ns = class.bare_ns + class.flush_ns + queue_ns;
            *flow = Flow { rate: class.rate, mean_ns, queue_ns, flush_ns: class.flush_ns };
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
        }
    }

    fn weigh(&mut self, group: &Group, state: &State, run: f64) {
        for at in 0..STATIONS {
            let visit = &self.customer.visits[at];
            let others = if at == At::Medium as usize { run } else { 1.0 };
            let (stages, fork) = (visit.stages, apart(visit, others, group.row));
            let waits = (state.busy[at] + if at == At::Medium as usize { state.background } else { 0.0 }).min(1.0);
            self.weights[at] = if unseen(self.customer, at) { 0.0 } else { stages * largest(fork, waits) };
        }
        let Visit { stages, fork, .. } = self.customer.visits[At::Medium as usize];
        let programs = state.background.clamp(0.0, 1.0);
        let weight = self.weights[At::Medium as usize];
        self.paused_ns = group.pause() * (stages * (1.0 - (1.0 - programs).powf(fork)) - weight * programs);
        let writes = self.customer.visits[At::WriteLink as usize].stages;
        let fills = self.customer.background > 0.0 && group.background_ns > 0.0 || self.customer.behind;
        self.weights[ROOM] = if fills { writes } else { 0.0 };
    }

    fn many(&self) -> f64 {
        self.customer.peers.max(1.0)
    }

    /// Rate of a closed class whose operations stay for `stay_ns`.
    fn closed(&self, stay_ns: f64) -> f64 {
        self.customer.in_flight / (self.customer.think_ns + stay_ns).max(1e-6)
    }

    /// Who flushes waits for its own flush, which is counted apart; all others meet what is left of it.
    fn met(&self, search: &Search) -> f64 {
        if self.customer.flushes > 0.0 || self.customer.behind {
            return 0.0;
        }
        let left = search.group.flush_ns * (1.0 + FLUSH_SPREAD * FLUSH_SPREAD) / 2.0;
        search.state.stopped * left / search.serving()
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

/// Writes that go to the page cache do not wait for the link.
fn unseen(customer: &Customer, at: usize) -> bool {
    customer.behind && at == At::WriteLink as usize
}
