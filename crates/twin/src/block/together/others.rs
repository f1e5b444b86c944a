//! What a customer meets of other classes beyond what chance would lay in its way.

use super::{Class, Search};
use crate::block::network::{At, MemberChoice};

/// Pauses of another one, over the cycle of a customer, up to which he is met at each server on the way round, and beyond
/// which the customer is there before him.
const FOLLOWS: f64 = 0.98;
const OVERTAKES: f64 = 1.05;

impl Search<'_> {
    /// How much more of what others have in service a customer of a closed class meets at a station than somebody who comes
    /// at any time, ns an operation; below zero where it meets less. Its time apart from the waits there is its cycle. A
    /// longer service of another meets it once, wherever it was in its cycle, and then it comes no second time before the
    /// end. A shorter one meets it with the chance of service over cycle, in its middle. No more are met than are in service
    /// while the customer is away.
    pub(super) fn met_beyond_chance(&self, class: &Class, place: usize) -> f64 {
        let customer = class.customer;
        // Who waits for attention is at work elsewhere meanwhile, so that its holders come back before they have left it.
        let attention = place == At::ReadTurn as usize || place == At::WriteTurn as usize;
        if attention || customer.rate.is_finite() || count(class, place) <= 0.0 || class.rate <= 0.0 {
            return 0.0;
        }
        let visits = count(class, place);
        // Programs stop the medium as pauses do, and make no read longer.
        let left = if place == At::Medium as usize { self.serving() } else { self.left(place) };
        let servers = self.group.servers[place];
        let whole = customer.in_flight / class.rate / visits;
        let cycle = (whole - class.weights[place] * self.wait_of(class, place) / visits).max(1.0);
        let own = class.rate / customer.in_flight * class.demands[place] / left;
        let each = |other: &Class| {
            let service = other.customer.visits[place].service_ns / left;
            let rate = other.rate * count(other, place);
            let most = |busy: f64| busy / (1.0 - own).max(busy);
            let met = |whole: f64, cycle: f64, every: f64| {
                let taken = if cycle < service { taken(other, cycle, service, every) } else { service / 2.0 };
                (whole / every * (service / cycle).min(1.0)).min(most((service / every).min(1.0))) * taken
            };
            let turns = if customer.members_by == MemberChoice::Stays { 1.0 } else { servers };
            let by_chance = met(whole * turns, cycle * turns, servers / rate.max(1e-30));
            let behind = if servers > 1.0 { follows(class, other, cycle, service, 1.0 / rate.max(1e-30)) } else { 0.0 };
            let behind = if behind > 0.0 { behind * (met(whole, cycle, 1.0 / rate) - by_chance) } else { 0.0 };
            by_chance + behind - other.rate * other.demands[place] / left * other.residuals[place]
        };
        let others = self.classes.iter().filter(|other| !std::ptr::eq(*other, class) && count(other, place) > 0.0);
        others.map(each).sum()
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

/// Requests of an operation at a station.
fn count(class: &Class, place: usize) -> f64 {
    class.customer.visits[place].stages * class.customer.visits[place].fork
}

/// How far a customer stays behind another one where both go round the servers: who is quicker comes up to the one before
/// him, waits there for his end and meets him again at the next server, unless he is there first.
fn follows(class: &Class, other: &Class, cycle: f64, service: f64, every: f64) -> f64 {
    let round = class.customer.members_by == MemberChoice::Round && other.customer.members_by == MemberChoice::Round;
    if !round || cycle >= service || other.customer.rate.is_finite() {
        return 0.0;
    }
    let gap = (every - service).max(0.0) / cycle;
    ((OVERTAKES - gap) / (OVERTAKES - FOLLOWS)).clamp(0.0, 1.0)
}

/// What a service of another class, one `every` so often, takes from a customer whose cycle is shorter, ns. Who waited for
/// one is served at its end, and comes again after each of its cycles until the next one has begun: once at least. The gaps
/// between services are by chance, but for a lone customer, who always comes back after the same time.
fn taken(other: &Class, cycle: f64, service: f64, every: f64) -> f64 {
    let gap = (every - service).max(0.0) / cycle;
    let lone = other.customer.in_flight <= 1.0 && other.customer.rate.is_infinite();
    let cycles = match gap {
        _ if gap < 1e-3 => 1.0,
        _ if !lone => 1.0 / -(-1.0 / gap).exp_m1(),
        _ if gap < 1.0 => 1.0,
        _ if gap < 2.0 => 1.5 * gap - 0.5,
        _ => gap + 0.5,
    };
    (every - cycles * cycle).max(0.0)
}
