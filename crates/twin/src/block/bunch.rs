//! Requests that come at once, and of which none comes back before all have ended.
//!
//! They pass the stations one behind the other, at the pace of the slowest, so that the mean one waits for half of the others
//! there, and the last for all. Where several servers share the work, chance sends some of them to the same one.

use super::network::{At, Customer, Flow, Group, STATIONS, State, largest, spaced};

/// Part of the spread of waits that is gone where stations are full, and a fixed number of customers share them.
const FULL_VARIES_LESS: f64 = 0.6;

/// The parts of reads and of writes in the drive's attention.
const TURNS: [usize; 2] = [At::ReadTurn as usize, At::WriteTurn as usize];

/// A bunch of a class at the group's stations.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bunch<'a> {
    group: &'a Group,
    customer: &'a Customer,
    /// The station that sets the pace, and time between two requests there, ns.
    slowest: usize,
    pace_ns: f64,
}

/// What meets at servers that chance chooses, while a bunch passes.
#[derive(Clone, Copy, Debug)]
struct Meeting {
    /// Mean wait of a request, ns.
    wait_ns: f64,
    /// Chance that one waits.
    chance: f64,
    /// How busy the servers are meanwhile.
    busy: f64,
}

impl<'a> Bunch<'a> {
    /// None where each request goes by itself.
    pub(super) fn of(group: &'a Group, customer: &'a Customer) -> Option<Self> {
        if customer.bunch <= 1.0 {
            return None;
        }
        let mut bunch = Self { group, customer, slowest: 0, pace_ns: 0.0 };
        // Where waits are part of that for the drive's attention, that is where the bunch waits.
        let pace = |at: usize| if spaced(group, customer, at) { 0.0 } else { bunch.pace_at(at) };
        bunch.slowest = (0..STATIONS).fold(0, |most, at| if pace(at) > pace(most) { at } else { most });
        bunch.pace_ns = bunch.pace_at(bunch.slowest);
        Some(bunch)
    }

    /// The station sets its pace, so that all of the bunch is there at once.
    pub(super) fn is_slowest(&self, at: usize) -> bool {
        at == self.slowest || TURNS.contains(&at) && TURNS.contains(&self.slowest)
    }

    /// Time that the mean operation waits at a station for others of its bunch, ns.
    pub(super) fn wait_ns(&self, at: usize) -> f64 {
        if TURNS.contains(&at) && TURNS.contains(&self.slowest) {
            // Each operation waits in the part of its kind.
            return self.half_ns() * self.customer.visits[at].stages.min(1.0);
        }
        if at == self.slowest { self.half_ns() } else { self.meeting(at).map_or(0.0, |met| met.wait_ns) }
    }

    /// Time between two requests that a station alone would let through, ns. Reads and writes share the drive's attention.
    fn pace_at(&self, at: usize) -> f64 {
        if TURNS.contains(&at) { TURNS.iter().map(|turn| self.demand_ns(*turn)).sum() } else { self.demand_ns(at) }
    }

    /// How much longer than the mean the last of a bunch stays, ns: the one that came last, or that met most of its own and
    /// of others; or one of the kind that takes longer.
    pub(super) fn last_ns(&self, flow: &Flow, state: &State) -> f64 {
        let many = self.customer.bunch;
        let met = (0..STATIONS).filter(|at| *at != self.slowest).filter_map(|at| self.meeting(at));
        let own_ns: f64 = met.map(|met| met.longest_ns(many) - met.wait_ns).sum();
        let others_ns: f64 = (0..STATIONS).map(|at| flow.chance_ns[at] * self.longer(at, state)).sum();
        let varies = 1.0 - FULL_VARIES_LESS * state.busiest().1.min(1.0);
        let met_ns = own_ns + others_ns * varies + self.customer.last_delay_ns;
        let kind_ns = self.other_kind_ns(flow);
        // Reads meet others where chance sends them, and writes do not.
        if self.reads_longer_ns(flow) >= 0.0 {
            self.half_ns().hypot(met_ns) + kind_ns
        } else {
            self.half_ns().hypot((met_ns - kind_ns).max(0.0)) + kind_ns
        }
    }

    /// How many times longer than the mean one the longest wait of a bunch for others is at a station, less one. A bunch
    /// comes to so many servers as it finds.
    fn longer(&self, at: usize, state: &State) -> f64 {
        let (servers, fork) = (self.group.servers[at], self.customer.visits[at].fork.max(1.0));
        let background = if at == At::Medium as usize { state.background } else { 0.0 };
        let busy = (state.busy[at] + background).clamp(1e-6, 0.999);
        let found = |requests: f64| servers * (1.0 - (1.0 - 1.0 / servers).powf(requests));
        let others = Meeting { wait_ns: 1.0, chance: busy, busy };
        let share = self.customer.visits[at].stages.clamp(1e-3, 1.0);
        others.longest_ns(found(self.customer.bunch * share * fork)) / others.longest_ns(found(fork)) / share - 1.0
    }

    /// How much longer than the mean the kind takes that takes longer, where the bunch holds one of it, ns.
    fn other_kind_ns(&self, flow: &Flow) -> f64 {
        let Customer { write_share, bunch, .. } = *self.customer;
        let longer_ns = self.reads_longer_ns(flow);
        let share = if longer_ns >= 0.0 { 1.0 - write_share } else { write_share };
        longer_ns.abs() * (1.0 - (1.0 - share).powf(bunch) - share)
    }

    fn reads_longer_ns(&self, flow: &Flow) -> f64 {
        self.customer.read_longer_ns + flow.reads_wait_longer_ns
    }

    /// What the mean one waits for others at the slowest station, ns.
    fn half_ns(&self) -> f64 {
        (self.customer.bunch - 1.0) / 2.0 * self.pace_ns
    }

    /// Time of the station that an operation takes, ns.
    fn demand_ns(&self, at: usize) -> f64 {
        let visit = &self.customer.visits[at];
        let waits = !(self.customer.behind && at == At::WriteLink as usize);
        let demand_ns = visit.stages * visit.fork * visit.service_ns / self.group.servers[at];
        if waits { demand_ns * (1.0 + self.customer.crowd.denser) } else { 0.0 }
    }

    /// None at one server, to which they come in order; the drive's attention is at work while other stations are. Who waits
    /// at the dies would otherwise wait behind the others on a slower way to the host.
    fn meeting(&self, at: usize) -> Option<Meeting> {
        let visit = &self.customer.visits[at];
        let busy = self.pace_at(at) / self.pace_ns.max(1e-9);
        let before = at == At::Medium as usize && self.slowest == At::ReadLink as usize;
        if self.group.servers[at] <= 1.0 || busy <= 0.0 || TURNS.contains(&at) || before {
            return None;
        }
        let pace = self.pace_ns / visit.service_ns;
        Some(Meeting::of(busy.min(0.999), visit.service_ns, (pace, (self.customer.bunch - 1.0) * pace), visit.stages))
    }
}

/// How sharply a wait goes over from that of a few requests to that of the steady state; and requests at which half of the
/// longest wait has the tail of queues. Both are what plays of bunches give (the test below).
const TURN: f64 = 1.3;
const QUEUED: f64 = 15.0;

impl Meeting {
    /// One request comes every `pace` to servers that they keep `busy`, for so many `times`; both in services. At first a
    /// request waits for what is left of the one before it, where that came to the same server. Then queues grow with the
    /// root of the time, towards those of the steady state (M/D/1).
    fn of(busy: f64, service_ns: f64, (pace, times): (f64, f64), stages: f64) -> Self {
        let apart = 1.0 - pace.min(1.0);
        let comes = busy * times;
        let begun = comes / 2.0 / (1.0 + 0.7 * comes).sqrt() * apart;
        let steady = busy / 2.0 / (1.0 - busy) * apart;
        let wait = (begun.powf(-TURN) + steady.powf(-TURN)).powf(-1.0 / TURN);
        let overlaps = if times < 1.0 { times / 2.0 } else { 1.0 - 0.5 / times };
        Self { wait_ns: stages * wait * service_ns, chance: busy * overlaps * apart, busy }
    }

    /// Mean of the longest wait among so many, ns: of what is left of one service, which is even, or of a queue, which has an
    /// exponential tail.
    fn longest_ns(&self, many: f64) -> f64 {
        let waiting = (many * self.chance).max(1e-6);
        let even_ns = 2.0 * self.wait_ns / self.chance.max(1e-9) * (1.0 + (-waiting).exp_m1() / waiting);
        let queued_ns = self.wait_ns * largest(many, self.chance);
        let queued = self.busy * waiting / (waiting + QUEUED);
        even_ns + queued * (queued_ns - even_ns).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::{
        Xoshiro256PlusPlus,
        rand_core::{RngCore, SeedableRng},
    };

    use super::*;

    /// Mean wait, and mean of the longest, of bunches that come to servers by chance, one request every `pace`.
    fn played(many: usize, servers: usize, pace: f64) -> [f64; 2] {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(5);
        let (mut sum, mut longest) = (0.0, 0.0);
        let rounds = 4000;
        for _ in 0..rounds {
            let mut free = vec![0.0_f64; servers];
            let mut most = 0.0_f64;
            for index in 0..many {
                let server = &mut free[(random.next_u64() % servers as u64) as usize];
                let comes = index as f64 * pace;
                let waits = (*server - comes).max(0.0);
                *server = comes + waits + 1.0;
                (sum, most) = (sum + waits, most.max(waits));
            }
            longest += most;
        }
        [sum / f64::from(rounds) / many as f64, longest / f64::from(rounds)]
    }

    #[test]
    fn a_bunch_meets_at_servers_by_chance_what_a_play_of_it_meets() {
        for (many, servers, busy) in
            [(8, 64, 0.7), (32, 64, 0.3), (32, 64, 0.7), (32, 8, 0.5), (128, 64, 0.7), (256, 16, 0.8)]
        {
            let pace: f64 = 1.0 / (f64::from(servers) * busy);
            let met = Meeting::of(busy, 1.0, (pace, f64::from(many - 1) * pace), 1.0);
            let [mean, longest] = played(many as usize, servers as usize, pace);
            let seen = met.longest_ns(f64::from(many));
            assert!((met.wait_ns / mean - 1.0).abs() < 0.2, "{many} on {servers}, {busy}: {} and {mean}", met.wait_ns);
            assert!((seen / longest - 1.0).abs() < 0.3, "{many} on {servers}, {busy}: {seen} and {longest}");
        }
    }
}
