//! What a customer meets of other classes beyond what chance would lay in its way.

use super::{Class, ROOM, Search, itself::OTHERS_AT_MOST};
use crate::block::{
    bunch::Bunch,
    network::{At, Group, MemberChoice},
};

/// Pauses of another one, over the cycle of a customer, up to which he is met at each server on the way round, and beyond
/// which the customer is there before him.
const FOLLOWS: f64 = 0.98;
const OVERTAKES: f64 = 1.05;

/// A customer of a closed class that comes to a station again and again.
struct Comer<'a> {
    group: &'a Group,
    class: &'a Class<'a>,
    place: usize,
    /// Time between two of its visits, and that time but for what it waits there, ns.
    whole: f64,
    cycle: f64,
    /// Share of a server's time that it takes itself.
    own: f64,
    servers: f64,
    /// Share of its time in which the station serves.
    left: f64,
    /// How far writes are from waiting for room.
    room: f64,
}

impl Search<'_> {
    /// How much more of what others have in service a customer of a closed class meets at a station than somebody who comes
    /// at any time, ns an operation; below zero where it meets less. Its time apart from the waits there is its cycle. A
    /// longer service of another meets it once, wherever it was in its cycle, and then it comes no second time before the
    /// end. A shorter one meets it with the chance of service over cycle, in its middle. No more are met than are in service
    /// while the customer is away; of the longer ones, at a server that it always comes to, than are in flight.
    pub(super) fn met_beyond_chance(&self, class: &Class, place: usize) -> f64 {
        if class.customer.rate.is_finite() || count(class, place) <= 0.0 || class.rate <= 0.0 {
            return 0.0;
        }
        let comer = self.comer(class, place);
        let others = self.classes.iter().filter(|other| !std::ptr::eq(*other, class) && count(other, place) > 0.0);
        let waits = |other: &Class| if other.weights[place] > 0.0 { self.wait_of(other, place) } else { 0.0 };
        others.map(|other| comer.meets(other) - comer.by_chance(other, waits(other))).sum()
    }

    fn comer<'c>(&'c self, class: &'c Class<'c>, place: usize) -> Comer<'c> {
        // Programs stop the medium as pauses do, and make no read longer.
        let left = if place == At::Medium as usize { self.serving() } else { self.left(place) };
        let visits = count(class, place);
        let whole = class.customer.in_flight / class.rate / visits;
        Comer {
            group: self.group,
            class,
            place,
            whole,
            cycle: (whole - class.weights[place] * self.wait_of(class, place) / visits).max(1.0),
            own: class.rate / class.customer.in_flight * class.demands[place] / left,
            servers: self.group.servers[place],
            left,
            room: self.room_at(ROOM),
        }
    }

    /// Longest that a customer can wait where all others stand before it, ns.
    pub(super) fn longest(&self, class: &Class, place: usize) -> f64 {
        let before = |other: &Class| {
            let others = other.customer.in_flight - f64::from(u8::from(std::ptr::eq(other, class)));
            others.max(0.0) * other.customer.visits[place].service_ns * count(other, place)
        };
        self.classes.iter().map(before).sum::<f64>() / self.left(place)
    }
}

impl Comer<'_> {
    /// Time of a server that a class takes at once, ns: a bunch where it is the slowest station takes it as one long service.
    fn service(&self, class: &Class) -> f64 {
        class.customer.visits[self.place].service_ns * self.at_once(class) / self.left
    }

    /// Requests of a class that come to a server at once, with nobody of it there before or after them. Where several bunches
    /// are in flight, one follows the other; where writes wait for room, they come as that is there.
    fn at_once(&self, class: &Class) -> f64 {
        let alone = class.customer.bunch >= class.customer.in_flight;
        let room = if class.weights[ROOM] > 0.0 { self.room } else { 1.0 };
        let slowest = Bunch::of(self.group, class.customer).is_some_and(|bunch| bunch.is_slowest(self.place));
        if !alone || !slowest {
            return 1.0;
        }
        let whole = (class.customer.bunch * count(class, self.place) / self.servers).max(1.0);
        1.0 + (whole - 1.0) * room
    }

    /// With each operation it comes once, and always to the same server.
    fn is_sure(&self) -> bool {
        self.servers == 1.0 && count(self.class, self.place) == 1.0
    }

    /// What chance lays of another class in its way, ns a visit: what is in service. Where it meets each of the longer ones
    /// once, those that wait behind one another are among them.
    fn by_chance(&self, other: &Class, wait_ns: f64) -> f64 {
        let longer = if self.is_sure() { (1.0 - self.cycle / self.service(other)).max(0.0) } else { 0.0 };
        let busy = other.rate * other.demands[self.place] / self.left;
        let behind_ns = (self.at_once(other) - 1.0) / 2.0 * other.customer.visits[self.place].service_ns / self.left;
        let waited_ns = longer * (wait_ns - behind_ns).max(0.0);
        busy * (other.residuals[self.place] + behind_ns) + busy.min(OTHERS_AT_MOST) * waited_ns
    }

    /// What it meets of another class, ns a visit.
    fn meets(&self, other: &Class) -> f64 {
        let every = self.at_once(other) / (other.rate * count(other, self.place)).max(1e-30);
        let service = self.service(other);
        if self.at_once(other) > 1.0 {
            // It takes all servers at the same time.
            return self.meets_every(other, 1.0, self.servers * every);
        }
        let turns = if self.class.customer.members_by == MemberChoice::Stays { 1.0 } else { self.servers };
        let anywhere = self.meets_every(other, turns, self.servers * every);
        if self.servers == 1.0 || !(goes_round(self.class) && goes_round(other)) {
            return anywhere;
        }
        if alone_ns(self.class) < alone_ns(other) {
            let each_time = self.meets_every(other, 1.0, every).max(every - self.cycle);
            return anywhere + stays_behind(every, service, self.cycle) * (each_time - anywhere);
        }
        // The other one comes up to it, and does not stand in its way.
        anywhere * (1.0 - stays_behind(self.whole, self.service(self.class), every))
    }

    /// What it meets of another class at a server that it comes to once in so many turns, where that has one service of the
    /// class `every` so often.
    fn meets_every(&self, other: &Class, turns: f64, every: f64) -> f64 {
        let (cycle, service) = (self.cycle * turns, self.service(other));
        let busy = (service / every).min(1.0);
        let longer = cycle < service;
        let together = self.at_once(other) > 0.5 * other.customer.in_flight && other.customer.bunch > 1.0;
        let ahead = if longer && self.is_sure() { other.customer.in_flight / self.at_once(other) } else { 1.0 };
        let most = busy / (1.0 - self.own).max(busy) * ahead;
        let taken = if longer { taken(goes_alone(other) || together, cycle, service, every) } else { service / 2.0 };
        (self.whole * turns / every * (service / cycle).min(1.0)).min(most) * taken
    }
}

/// Requests of an operation at a station.
fn count(class: &Class, place: usize) -> f64 {
    class.customer.visits[place].stages * class.customer.visits[place].fork
}

/// Time of an operation that waits for nobody, ns.
fn alone_ns(class: &Class) -> f64 {
    class.customer.think_ns + class.bare_ns + class.flush_ns
}

/// It is lone, and comes as soon as it can.
fn goes_alone(class: &Class) -> bool {
    class.customer.in_flight <= 1.0 && class.customer.rate.is_infinite()
}

/// It is lone, and goes round the servers.
fn goes_round(class: &Class) -> bool {
    class.customer.members_by == MemberChoice::Round && class.customer.rate.is_infinite()
}

/// How far a customer that comes back after `cycle` stays behind another one, of whom a server has one service `every` so
/// often, where both go round the servers: who is quicker comes up to the one before him, waits there for his end and meets
/// him again at the next server, unless he is there first.
fn stays_behind(every: f64, service: f64, cycle: f64) -> f64 {
    let gap = (every - service).max(0.0) / cycle;
    ((OVERTAKES - gap) / (OVERTAKES - FOLLOWS)).clamp(0.0, 1.0)
}

/// What a service of another class, one `every` so often, takes from a customer whose cycle is shorter, ns. Who waited for
/// one is served at its end, and comes again after each of its cycles until the next one has begun: once at least. The gaps
/// between services are by chance, but for a lone customer, who always comes back after the same time.
fn taken(lone: bool, cycle: f64, service: f64, every: f64) -> f64 {
    let gap = (every - service).max(0.0) / cycle;
    let cycles = match gap {
        _ if gap < 1e-3 => 1.0,
        _ if !lone => 1.0 / -(-1.0 / gap).exp_m1(),
        _ if gap < 1.0 => 1.0,
        _ if gap < 2.0 => 1.5 * gap - 0.5,
        _ => gap + 0.5,
    };
    (every - cycles * cycle).max(0.0)
}
