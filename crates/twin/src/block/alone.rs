//! A class that has the group to itself, and causes neither flushes nor work in the background.
//!
//! The rules are those of [`super::together`], which searches for the waits of all stations. Of a single class the
//! waits at a given rate are known at once, because they are linear in the work that stands at a station; what is left is
//! one equation for the rate, which a secant solves in a few rounds.

use super::bunch::Bunch;
use super::network::{
    At, CLOSE_ENOUGH, Customer, Flow, Group, ROUNDS_AT_MOST, STATIONS, State, apart, close, largest, load, met,
};
use super::pace::Pace;

/// From here on a station is full, but for rounding.
const FULL: f64 = 1.0 - 1e-9;
/// Least part of a station that must be left for what comes to be served.
const LEFT_AT_LEAST: f64 = 1e-6;

/// Finds throughput and latency of the class; `flow.rate` is where it begins.
pub(super) fn settle(group: &Group, customer: &Customer, flow: &mut Flow) -> State {
    let mut pace = Pace::default();
    for _ in 0..ROUNDS_AT_MOST {
        let state = load(group, std::slice::from_ref(customer), std::slice::from_mut(flow));
        if round(group, customer, flow, &mut pace, &state) < CLOSE_ENOUGH {
            break;
        }
    }
    let state = load(group, std::slice::from_ref(customer), std::slice::from_mut(flow));
    close(customer, flow);
    state
}

/// One round; how far the class is from rest, relative.
fn round(group: &Group, customer: &Customer, flow: &mut Flow, pace: &mut Pace, state: &State) -> f64 {
    let stay = Stay::of(group, customer, flow, state);
    (flow.flush_ns, flow.queue_ns, flow.chance_ns) = (0.0, stay.queue_ns, stay.chance_ns);
    let mean_ns = stay.served_ns + flow.queue_ns;
    let settled = (mean_ns - flow.mean_ns).abs() / mean_ns.max(1.0);
    flow.mean_ns = mean_ns;
    let wanted = (customer.in_flight / (customer.think_ns + mean_ns).max(1e-6)).min(customer.rate);
    let (off, moved) = ((wanted - flow.rate).abs() / wanted.max(1e-18), (flow.rate - pace.tried).abs() / flow.rate);
    flow.rate = pace.next(flow.rate, wanted);
    // A station that is full holds the rate where it is, whatever the class would like.
    settled.max(if state.busiest().1 >= FULL { moved } else { off })
}

struct Stay {
    served_ns: f64,
    queue_ns: f64,
    chance_ns: [f64; STATIONS],
}

impl Stay {
    /// Time of an operation at all stations.
    fn of(group: &Group, customer: &Customer, flow: &Flow, state: &State) -> Self {
        let mut stay = Self { served_ns: customer.delay_ns, queue_ns: 0.0, chance_ns: [0.0; STATIONS] };
        let bunch = Bunch::of(group, customer);
        for at in 0..STATIONS {
            let visit = &customer.visits[at];
            if visit.stages == 0.0 {
                continue;
            }
            let wait = Waiting::of(group, customer, flow, at).time();
            if !(customer.behind && at == At::WriteLink as usize) {
                let waits = state.busy[at].min(1.0);
                let waited_ns = visit.stages * wait * largest(apart(visit, visit.run, group.row), waits);
                stay.queue_ns += waited_ns;
                stay.chance_ns[at] = if group.servers[at] > 1.0 { waited_ns } else { 0.0 };
                stay.queue_ns += bunch.map_or(0.0, |bunch| bunch.wait_ns(at));
                let served = if at >= At::ReadTurn as usize { 0.0 } else { visit.service_ns };
                stay.served_ns += visit.stages * (served + visit.slowest_ns);
            }
        }
        stay
    }
}

/// Waiting at a station: `w = (1 - 1 / n) u` with n peers, where `u` is the unfinished work, of which an arrival does not find its own
/// share (Schweitzer). By Little's law `u = a + c w`.
struct Waiting {
    /// Unfinished work if nobody waited, ns: what is in service, less the part of it that is done.
    a: f64,
    /// Work that a ns of waiting adds, ns.
    c: f64,
    /// Share of the work that an arrival finds.
    others: f64,
}

impl Waiting {
    fn of(group: &Group, customer: &Customer, flow: &Flow, at: usize) -> Self {
        let (visit, service) = (&customer.visits[at], customer.visits[at].service_ns);
        let busy = flow.rate * visit.stages * visit.fork / group.servers[at] * service;
        let a = busy * service * (1.0 + group.variation[at]) / 2.0;
        Self { a, c: busy, others: met(customer, 1.0, busy) }
    }

    fn time(&self) -> f64 {
        self.others * self.a / (1.0 - self.others * self.c).max(LEFT_AT_LEAST)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{
        network::{PLACES, Visit, first_guess},
        together,
    };
    use super::*;

    fn group(servers: f64, variation: f64) -> Group {
        Group {
            servers: [servers, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0],
            row: servers,
            variation: [variation, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            background_ns: 0.0,
            pause_ns: 0.0,
            buffered: f64::INFINITY,
            members: 1.0,
            flush_ns: 50_000.0,
            flush_blocks: 1.0,
            flush_drain: f64::INFINITY,
            beside: false,
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        /// One class gives what the rounds for several classes give, where those come to rest.
        #[test]
        fn the_answer_is_that_of_the_rounds(
            in_flight in 1_u32..200, think_ns in 0.0..1e6_f64, servers in 1_u32..64, service_ns in 1e3..1e5_f64,
            link_ns in 1e2..1e4_f64, fork in 1_u32..4, variation in 0.0..1.0_f64,
        ) {
            let group = group(f64::from(servers), variation);
            let mut customer = Customer {
                in_flight: f64::from(in_flight), bunch: 1.0, peers: f64::from(in_flight), think_ns, rate: f64::INFINITY, delay_ns: 5e3, ..Customer::default()
            };
            customer.visits[1] = Visit { stages: 1.0, fork: 1.0, service_ns: link_ns, ..Visit::default() };
            customer.visits[0] = Visit { stages: 1.0, fork: f64::from(fork), service_ns, ..Visit::default() };
            let begin = Flow { rate: first_guess(&group, &customer), ..Flow::default() };
            let (mut one, mut many) = (begin, [begin]);
            let state = settle(&group, &customer, &mut one);
            together::settle(&group, &[customer], &mut many, &mut [0.0; PLACES]);
            prop_assert!((one.rate / many[0].rate - 1.0).abs() < 2e-3, "{} and {}", one.rate, many[0].rate);
            prop_assert!(state.busiest().1 <= 1.0 + 1e-6);
        }
    }
}
