//! Modules of memory in virtual time.
//!
//! All modules together are one station whose service depends on what is in flight: an operation that comes while n are in
//! flight takes n / X(n), with X from the analytic model at that concurrency, spread by the tails of the family. So the
//! station's throughput is the model's by construction, and what the event engine adds are mixes that change with time,
//! rates, and rare stalls.

use assay_record::Persist;
use rand_distr::{Distribution, LogNormal};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::{
    PathKey, Target, TwinError, analytic,
    device_load::{DeviceAnswer, DeviceLoad},
    document::Device,
    simulated::{Action, PS_PER_NS, Picoseconds, Request, Step},
};

/// Operations in flight that are told apart, in each direction.
const MOST: usize = 64;
/// Shares of writes that a cache tells apart.
const SHARES: usize = 16;
/// Weight of one request in the share of writes of late.
const OF_LATE: f64 = 1.0 / 256.0;
/// Standard deviations from the median to the 99th percentile of a normal distribution.
const P99_DEVIATIONS: f64 = 2.326;

#[derive(Clone, Debug)]
struct Class {
    reads: bool,
    bytes: u32,
    sequential: bool,
    fenced: bool,
    persist: Persist,
    /// Mean time by [own way in flight][other way in flight], of a cache by [in flight][share of writes], ns; NaN where
    /// not asked yet.
    mean_ns: Vec<f32>,
    spread: LogNormal<f64>,
}

/// Stations of interleaved modules of memory, or of a memory cache before memory.
#[derive(Clone, Debug)]
pub struct MemoryStation {
    target: Target,
    classes: Vec<Class>,
    in_flight: [usize; 2],
    /// Share of writes of late, where somebody asked already.
    write_share: Option<f64>,
    working_set_bytes: f64,
    busy_since: Picoseconds,
    busy: Picoseconds,
    stall: Option<(f64, f64)>,
    writes: f64,
}

impl MemoryStation {
    /// The modules of a target, idle.
    ///
    /// # Errors
    /// Where the model does not know the target.
    pub fn new(target: &Target) -> Result<Self, TwinError> {
        let stall = match &target.twin().device {
            Device::Pmem(pmem) => pmem.stall.as_ref().map(|stall| (stall.length_ns.value, stall.every_writes.value)),
            _ => None,
        };
        let granules = target.capacity_bytes() / 256.0;
        let mut station = Self {
            target: target.clone(),
            classes: Vec::new(),
            in_flight: [0; 2],
            write_share: None,
            working_set_bytes: target.capacity_bytes(),
            busy_since: 0,
            busy: 0,
            stall: stall.map(|(length_ns, every)| (length_ns, every * granules.max(1.0))),
            writes: 0.0,
        };
        let probe = Request { bytes: 64, ..Request::default() };
        station.mean_ns(&probe, 0)?;
        Ok(station)
    }

    /// Bytes that the load works on: the latency of loads and the hit ratio of a cache depend on it.
    pub fn with_working_set(mut self, bytes: f64) -> Self {
        self.working_set_bytes = if bytes > 0.0 { bytes } else { self.target.capacity_bytes() };
        self.classes.clear();
        let granules = self.working_set_bytes / 256.0;
        if let (Some(stall), Device::Pmem(pmem)) = (&mut self.stall, &self.target.twin().device) {
            stall.1 = pmem.stall.as_ref().map_or(f64::INFINITY, |stall| stall.every_writes.value) * granules.max(1.0);
        }
        self
    }

    /// Serves a request: memory has one stage.
    pub fn step(&mut self, now: Picoseconds, request: &mut Request, random: &mut Xoshiro256PlusPlus) -> Step {
        if request.action == Action::Flush {
            return Step::Done(now);
        }
        let way = usize::from(request.action == Action::Write);
        self.in_flight[way] += 1;
        let share = self.write_share.get_or_insert(way as f64);
        *share += (way as f64 - *share) * OF_LATE;
        if self.in_flight.iter().sum::<usize>() == 1 {
            self.busy_since = now;
        }
        let class = self.class(request);
        let mean_ns = self.mean_ns(request, class).unwrap_or(f64::MAX / PS_PER_NS);
        let spread = self.classes[class].spread.sample(random);
        let stall_ns = if way == 1 { self.stall_ns(request.bytes) } else { 0.0 };
        Step::Done(now + ((mean_ns * spread + stall_ns) * PS_PER_NS).max(1.0) as Picoseconds)
    }

    /// The request is done.
    pub fn complete(&mut self, now: Picoseconds, request: &Request) {
        let way = usize::from(request.action == Action::Write);
        self.in_flight[way] = self.in_flight[way].saturating_sub(usize::from(request.action != Action::Flush));
        if self.in_flight.iter().all(|count| *count == 0) {
            self.busy += now - self.busy_since.min(now);
            self.busy_since = now;
        }
    }

    /// Time with anything in flight so far, ps, up to the last time that nothing was.
    pub fn busiest(&self) -> (&'static str, Picoseconds) {
        ("memory", self.busy)
    }

    /// Wear levelling: every so many writes to a granule, one waits. Writes are taken as spread evenly.
    fn stall_ns(&mut self, bytes: u32) -> f64 {
        let Some((length_ns, every)) = self.stall else { return 0.0 };
        self.writes += (f64::from(bytes) / 256.0).max(1.0);
        if self.writes < every {
            return 0.0;
        }
        self.writes -= every;
        length_ns
    }

    fn class(&mut self, request: &Request) -> usize {
        let reads = request.action == Action::Read;
        let same = |class: &Class| {
            class.reads == reads
                && class.bytes == request.bytes
                && class.sequential == request.sequential
                && class.fenced == request.fenced
                && class.persist == request.persist
        };
        if let Some(index) = self.classes.iter().position(same) {
            return index;
        }
        self.classes.push(Class {
            reads,
            bytes: request.bytes,
            sequential: request.sequential,
            fenced: request.fenced,
            persist: request.persist,
            mean_ns: vec![f32::NAN; (MOST + 1) * (MOST + 1)],
            spread: spread(&self.target, request),
        });
        self.classes.len() - 1
    }

    fn mean_ns(&mut self, request: &Request, class: usize) -> Result<f64, TwinError> {
        let class = if self.classes.is_empty() { self.class(request) } else { class };
        if matches!(self.target, Target::Cache { .. }) {
            return self.cached_ns(class);
        }
        let own = usize::from(!self.classes[class].reads);
        let scale = self.in_flight[own].max(1) as f64 / self.in_flight[own].clamp(1, MOST) as f64;
        let (mine, others) = (self.in_flight[own].clamp(1, MOST), self.in_flight[1 - own].min(MOST));
        let place = mine * (MOST + 1) + others;
        let known = self.classes[class].mean_ns[place];
        if !known.is_nan() {
            return Ok(f64::from(known) * scale);
        }
        let mean_ns = self.ask(class, mine as f64, others as f64)?;
        self.classes[class].mean_ns[place] = mean_ns as f32;
        Ok(mean_ns * scale)
    }

    /// The same of a cache. What it writes behind depends on the share of writes among all accesses, so that reads and
    /// writes are one load there.
    fn cached_ns(&mut self, class: usize) -> Result<f64, TwinError> {
        let all = self.in_flight.iter().sum::<usize>().max(1);
        let step = (self.write_share.unwrap_or(0.0) * SHARES as f64).round() as usize;
        let (known, scale) = (all.min(MOST), all as f64 / all.min(MOST) as f64);
        let place = known * (MOST + 1) + step;
        if self.classes[class].mean_ns[place].is_nan() {
            let write_share = step as f64 / SHARES as f64;
            let load = DeviceLoad { write_share, ..self.load(&self.classes[class], known as f64) };
            let mut answers = [DeviceAnswer::default()];
            analytic::answer(&self.target, &[load], &mut answers)?;
            self.classes[class].mean_ns[place] = answers[0].mean_ns as f32;
        }
        Ok(f64::from(self.classes[class].mean_ns[place]) * scale)
    }

    /// Mean time of an operation of a class with `mine` of its way in flight and `others` of the other.
    fn ask(&self, class: usize, mine: f64, others: f64) -> Result<f64, TwinError> {
        let own = &self.classes[class];
        let rival = self.classes.iter().find(|class| class.reads != own.reads).filter(|_| others > 0.0);
        let mut loads = vec![self.load(own, mine)];
        loads.extend(rival.map(|rival| self.load(rival, others)));
        let mut answers = vec![DeviceAnswer::default(); loads.len()];
        analytic::answer(&self.target, &loads, &mut answers)?;
        Ok(answers[0].mean_ns)
    }

    fn load(&self, class: &Class, in_flight: f64) -> DeviceLoad {
        DeviceLoad {
            write_share: if class.reads { 0.0 } else { 1.0 },
            size_bytes: f64::from(class.bytes.max(1)),
            sequential: class.sequential,
            in_flight,
            threads: in_flight,
            bunch: 1.0,
            think_ns: 0.0,
            rate_per_s: f64::INFINITY,
            flushes_per_op: 0.0,
            working_set_bytes: self.working_set_bytes,
            duration_s: 0.0,
            path: PathKey::Pmem,
            persist: class.persist,
            fenced: class.fenced,
        }
    }
}

/// Spread of one operation about its mean, from the family's 99th percentile half way to saturation.
fn spread(target: &Target, request: &Request) -> LogNormal<f64> {
    let ratios = match &target.twin().device {
        Device::Pmem(pmem) if request.action == Action::Write => Some(&pmem.write_tail),
        Device::Pmem(pmem) => Some(&pmem.read_tail),
        Device::Dram(dram) => Some(&dram.tail),
        Device::Nvdimm(nvdimm) => Some(&nvdimm.memory.tail),
        Device::Cxl(cxl) => Some(&cxl.tail),
        _ => None,
    };
    let sigma = ratios.map_or(0.0, |ratios| ratios.p99.value.max(1.0).ln() / P99_DEVIATIONS).clamp(0.0, 1.5);
    // The mean of exp(N(mu, sigma)) is exp(mu + sigma^2 / 2): mu makes it 1.
    LogNormal::new(-0.5 * sigma * sigma, sigma).unwrap_or_else(|_| unit())
}

fn unit() -> LogNormal<f64> {
    match LogNormal::new(0.0, 0.0) {
        Ok(one) => one,
        Err(_) => unreachable!("a spread of 0 is a distribution"),
    }
}
