//! Several loads on the same modules, of which some come and go: what the station of the simulation does, on average.
//!
//! The station serves an operation in n / X(n), with the n of its own way that are in flight and those of the other way
//! beside them. Here each operation meets as many as are there on average when it comes: all others, and of its own load one
//! thread less (Schweitzer's approximation of the arrival theorem).

use super::share::{LoadPart, Rivals, Served, Sharing, beside, single};

const ROUNDS: usize = 120;
/// Rounds of the pair between two looks at who is there.
const PAIR_ROUNDS: usize = 4;
const STEP: f64 = 0.5;
const CLOSE_ENOUGH: f64 = 1e-7;
/// Ways: reads, writes.
const WAYS: usize = 2;

/// A load, and what its operations of each way meet.
struct Member {
    /// Of its reads and of its writes, beside the first load of the other way.
    met: [Option<Met>; WAYS],
    /// Time of an operation of each way, ns.
    times: [f64; WAYS],
    /// Operations per ns.
    ops: f64,
}

/// Serves all loads at once.
pub fn serve(parts: &[LoadPart], served: &mut [Served]) {
    match parts {
        [part] => served[0] = single(part),
        [one, other] if one.stays() && other.stays() && one.write_share != other.write_share => {
            served.copy_from_slice(&beside(one, other));
        }
        _ => share(parts, served),
    }
}

/// Serves loads of which several go the same way, do both, keep a rate or think.
fn share(parts: &[LoadPart], served: &mut [Served]) {
    let mut members: Vec<Member> = parts.iter().map(|part| Member::new(part, parts)).collect();
    for _ in 0..ROUNDS {
        let there = Crowd::of(parts, &members);
        let each = parts.iter().zip(&mut members);
        if each.map(|(part, member)| member.advance(part, &there)).fold(0.0, f64::max) < CLOSE_ENOUGH {
            break;
        }
    }
    let there = Crowd::of(parts, &members);
    for ((part, member), served) in parts.iter().zip(&members).zip(served) {
        *served = member.answer(part, &there);
    }
}

/// Who is at the modules: reads, writes.
#[derive(Default)]
struct Crowd {
    /// Operations, on average.
    present: [f64; WAYS],
    /// Threads that may come.
    threads: [f64; WAYS],
    /// Operations per ns.
    ops: [f64; WAYS],
}

impl Crowd {
    fn of(parts: &[LoadPart], members: &[Member]) -> Self {
        let mut all = Self::default();
        for (part, member) in parts.iter().zip(members) {
            let present = member.present(part);
            for (way, present) in present.into_iter().enumerate().filter(|(way, _)| part.share(*way) > 0.0) {
                all.present[way] += present;
                all.threads[way] += part.threads;
                all.ops[way] += member.ops * part.share(way);
            }
        }
        all
    }
}

/// Operations of a load that go one way: while nobody goes the other, and while somebody does.
struct Met {
    alone: Rivals,
    beside: Rivals,
}

impl Met {
    fn new(pair: Rivals) -> Self {
        Self { alone: pair.clone(), beside: pair }
    }

    /// Time of an operation, ns, of `own` in flight while `others` of `threads` go the other way on average, each for
    /// `stay_ns`, for a load whose threads are away for `away_ns` between two of them.
    ///
    /// Threads come and go by chance, so that nobody is there for (1 - others / threads)^threads of the time. Short
    /// operations get through while nobody is; a long one meets who was there when it began.
    fn time_ns(&mut self, own: f64, (others, threads, stay_ns): (f64, f64, f64), away_ns: f64) -> f64 {
        let nobody = if others > 0.0 { (1.0 - (others / threads).min(1.0)).powf(threads) } else { 1.0 };
        let taken = |pair: &mut Rivals, others: f64| {
            pair.set_threads([own, others]);
            pair.relax(PAIR_ROUNDS);
            own / pair.ops().max(1e-30)
        };
        let alone_ns = taken(&mut self.alone, 0.0);
        if nobody > 1.0 - 1e-9 {
            return alone_ns;
        }
        let beside_ns = taken(&mut self.beside, others / (1.0 - nobody));
        let mean_ns = nobody * alone_ns + (1.0 - nobody) * beside_ns;
        let rate = nobody / (away_ns + alone_ns) + (1.0 - nobody) / (away_ns + beside_ns);
        let changing_ns = 1.0 / rate - away_ns;
        let lasting = stay_ns / (stay_ns + mean_ns);
        lasting * changing_ns + (1.0 - lasting) * mean_ns
    }
}

impl Member {
    fn new(part: &LoadPart, parts: &[LoadPart]) -> Self {
        let met = [0, 1].map(|way| (part.share(way) > 0.0).then(|| Met::new(pair(part, way, parts))));
        let times = [part.read.thread_ns, part.write.thread_ns];
        let mut member = Self { met, times, ops: 0.0 };
        member.ops = member.wanted(part);
        member
    }

    fn present(&self, part: &LoadPart) -> [f64; WAYS] {
        [0, 1].map(|way| self.ops * part.share(way) * self.times[way])
    }

    /// Time of an operation at the modules, ns.
    fn mean_ns(&self, part: &LoadPart) -> f64 {
        part.share(0) * self.times[0] + part.share(1) * self.times[1]
    }

    fn wanted(&self, part: &LoadPart) -> f64 {
        (part.threads / (part.think_ns + self.mean_ns(part)).max(1e-9)).min(part.rate)
    }

    /// One round beside those who are `there`; how far its operations moved, relative.
    fn advance(&mut self, part: &LoadPart, there: &Crowd) -> f64 {
        let own = self.present(part);
        let met = [0, 1].map(|way| (there.present[way] - own[way] / part.threads).max(0.0));
        for way in 0..WAYS {
            let Some(known) = &mut self.met[way] else { continue };
            let share = part.share(way);
            let away_ns = (part.think_ns + part.share(1 - way) * self.times[1 - way]) / share;
            let stay_ns = there.present[1 - way] / there.ops[1 - way].max(1e-30);
            let others = (met[1 - way], there.threads[1 - way], stay_ns);
            self.times[way] = known.time_ns(1.0 + met[way], others, away_ns);
        }
        let wanted = self.wanted(part);
        let change = (wanted - self.ops).abs() / wanted.max(1e-30);
        self.ops += STEP * (wanted - self.ops);
        change
    }

    fn answer(&self, part: &LoadPart, there: &Crowd) -> Served {
        let used = |way: usize, capacity: f64| self.ops * part.share(way) / capacity;
        let closed_ns = (part.threads / self.ops.max(1e-30) - part.think_ns).max(0.0);
        let paced = self.ops >= part.rate * (1.0 - 1e-6);
        Served {
            ops: self.ops,
            mean_ns: if paced { self.mean_ns(part).min(closed_ns) } else { closed_ns },
            alone_ns: part.share(0) * part.read.thread_ns + part.share(1) * part.write.thread_ns,
            read_used: used(0, part.read.capacity_with(there.present[0].max(1.0))),
            write_used: used(1, part.write.capacity_with(there.present[1].max(1.0))),
        }
    }
}

/// The operations of a load that go one way, beside the first load that goes the other; writes say how both slow each other.
fn pair(part: &LoadPart, way: usize, parts: &[LoadPart]) -> Rivals {
    let rival = parts.iter().find(|other| other.share(1 - way) > 0.0).unwrap_or(part);
    let sharing = if way == 1 { part.sharing } else { rival.sharing };
    let alone = |part: &LoadPart, way: usize, threads: f64| pure(part, way, threads, sharing);
    Rivals::new(alone(part, way, 1.0), alone(rival, 1 - way, 0.0))
}

fn pure(part: &LoadPart, way: usize, threads: f64, sharing: Sharing) -> LoadPart {
    LoadPart { write_share: way as f64, threads, think_ns: 0.0, rate: f64::INFINITY, sharing, ..*part }
}
