//! Random scenarios of one to four classes on twins of the catalog, played and solved.
//!
//! A scenario is drawn from a seed alone, so that one that stands out can be played again.

#![allow(dead_code, reason = "shared by tests and the sweep: each takes a part")]

use std::{path::PathBuf, sync::atomic::AtomicBool};

use assay_record::{Job, Record};
use assay_twin::{
    Budget, Device, Driven, Host, Solution, TWIN_VERSION, Target, Twin, TwinError, Watch, document::StripeKind,
    play_within, streams_of,
};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};
use serde_json::{Value, json};

/// Operations that a scenario is played for: enough that chance moves a class by less than a percent.
pub const BUDGET: Budget = Budget { settled: 120_000, at_most: 600_000, long: 120_000.0 };
/// Seconds before figures are taken.
pub const WARMUP_S: f64 = 2.0;
/// Seconds of figures.
pub const MEASURE_S: f64 = 10.0;

/// What the catalog holds.
pub struct Catalog {
    drives: Vec<Twin>,
    memories: Vec<Twin>,
    hosts: Vec<Host>,
}

fn documents<T: serde::de::DeserializeOwned>(folder: &str) -> Vec<T> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../catalog").join(folder);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    let read = |path: &PathBuf| {
        assay_twin::document::parse_file(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    paths.iter().filter(|path| path.extension().is_some_and(|end| end == "toml")).map(read).collect()
}

impl Catalog {
    /// All twins but rotating disks and volumes, which have one station each.
    pub fn read() -> Self {
        let (mut drives, mut memories) = (Vec::new(), Vec::new());
        for twin in documents::<Twin>("twins") {
            match &twin.device {
                Device::Pmem(_) | Device::Dram(_) => memories.push(twin),
                Device::Nand(_) | Device::OptaneSsd(_) | Device::CloudInstance(_) => drives.push(twin),
                _ => {}
            }
        }
        Self { drives, memories, hosts: documents("hosts") }
    }

    /// The drive of a name.
    pub fn drive(&self, name: &str) -> &Twin {
        let found = self.drives.iter().find(|twin| twin.name == name);
        found.unwrap_or_else(|| panic!("the catalog has no drive {name}"))
    }

    /// Modules of memory as a block device.
    #[allow(dead_code, reason = "not every test asks for it")]
    pub fn blocks(&self, name: &str, modules: u32) -> Target {
        let found = self.memories.iter().find(|twin| twin.name == name);
        let twin = found.unwrap_or_else(|| panic!("the catalog has no memory {name}"));
        Target::Block { memory: Box::new(Target::Device { twin: Box::new(twin.clone()), modules }) }
    }

    /// The host of a name.
    pub fn host(&self, name: &str) -> &Host {
        let found = self.hosts.iter().find(|host| host.name == name);
        found.unwrap_or_else(|| panic!("the catalog has no host {name}"))
    }
}

/// A scenario, and in a few words what it is.
pub struct Scenario {
    /// The seed that it was drawn from.
    pub seed: u64,
    /// Words to group by: how many classes, and what they meet.
    pub kinds: Vec<String>,
    /// What it is, for people.
    pub words: String,
    /// The job.
    pub job: Job,
}

/// A class in both engines.
#[derive(Clone, Debug)]
pub struct Pair {
    /// Its name.
    pub name: String,
    /// Operations per second, simulated.
    pub simulated: f64,
    /// Operations per second, solved.
    pub solved: f64,
    /// Operations that the simulated figure rests on.
    pub operations: u64,
    /// The rate that it asked for, operations per second.
    pub asked: Option<f64>,
    /// In flight at most.
    pub in_flight: f64,
    /// Mean latency by the solution, ns.
    pub solved_mean_ns: f64,
    /// Mean response time from when an operation was begun, simulated, ns.
    pub simulated_mean_ns: f64,
}

impl Pair {
    /// How many times the larger of the two figures is the smaller one.
    pub fn apart(&self) -> f64 {
        (self.simulated / self.solved).max(self.solved / self.simulated)
    }
}

struct Draw<'a> {
    random: Xoshiro256PlusPlus,
    catalog: &'a Catalog,
}

impl Draw<'_> {
    fn below(&mut self, count: usize) -> usize {
        (self.random.next_u64() % count as u64) as usize
    }

    fn of<T: Copy>(&mut self, among: &[T]) -> T {
        among[self.below(among.len())]
    }

    fn percent(&mut self, chance: usize) -> bool {
        self.below(100) < chance
    }

    fn target(&mut self, memory: bool) -> (Target, &'static str) {
        if memory {
            let (index, modules) = (self.below(self.catalog.memories.len()), self.of(&[1, 2, 4, 6]));
            let twin = Box::new(self.catalog.memories[index].clone());
            return (Target::Device { twin, modules }, "memory");
        }
        let index = self.below(self.catalog.drives.len());
        let one = Target::device(self.catalog.drives[index].clone());
        let (layout, what) = match self.below(8) {
            0 => (StripeKind::Interleave, "interleaved"),
            1 => (StripeKind::Raid0, "raid0"),
            2 => (StripeKind::Raid5, "raid5"),
            3 => (StripeKind::Raid10, "raid10"),
            _ => return (one, "drive"),
        };
        let chunk_bytes = if layout == StripeKind::Interleave { 16 << 10 } else { 512 << 10 };
        (Target::Stripe { member: Box::new(one), count: 4, chunk_bytes, layout, missing: 0 }, what)
    }

    fn path(&mut self, memory: bool, buffered: bool) -> (Value, bool) {
        if memory {
            let path = self.of(&[("pmem", false), ("pread", false)]);
            return (json!({"kind": path.0, "direct": path.1}), true);
        }
        let kind =
            if buffered { self.of(&["pread", "io_uring", "pread"]) } else { self.of(&["pread", "libaio", "io_uring"]) };
        let mut path = json!({"kind": kind, "direct": !buffered});
        if !buffered && kind == "io_uring" && self.percent(25) {
            path["poll"] = json!("iopoll");
        }
        (path, kind == "pread")
    }

    /// A scan, point reads, background writes, a log, or a mix.
    fn class(&mut self, index: usize, memory: bool, buffered: bool) -> Value {
        let (path, blocking) = self.path(memory, buffered);
        let kind = self.below(5);
        let (operation, pattern, sizes): (Value, &str, &[u64]) = match kind {
            0 => (json!({"kind": "read"}), "sequential", &[65_536, 131_072, 524_288]),
            1 => (json!({"kind": "read"}), "uniform", &[4096, 4096, 16_384]),
            2 => (json!({"kind": "write"}), "uniform", &[4096, 16_384]),
            3 => (json!({"kind": "write"}), "sequential", &[4096, 16_384, 131_072]),
            _ => (json!({"kind": "mix", "write_percent": self.of(&[10, 30, 50])}), "uniform", &[4096, 16_384]),
        };
        let threads = if kind == 3 { 1 } else { self.of(&[1, 1, 2, 4, 8, 16]) };
        let depth = if blocking { 1 } else { self.of(&[1, 4, 16, 64]) };
        let flushed = kind == 3 && !memory && self.percent(30);
        let durability = if flushed { "fdatasync" } else { "none" };
        json!({
            "name": format!("{}{index}", ["scan", "point", "write", "log", "mix"][kind]),
            "dataset": format!("data{index}"),
            "path": path,
            "operation": operation,
            "pattern": {"kind": pattern},
            "size": self.of(sizes),
            "threads": threads,
            "depth": depth,
            "durability": {"kind": durability},
        })
    }
}

impl Scenario {
    /// The scenario of a seed; none where the host does not know a path of it, or a rate cannot be given.
    pub fn draw(catalog: &Catalog, seed: u64) -> Option<Self> {
        let mut draw = Draw { random: Xoshiro256PlusPlus::seed_from_u64(seed), catalog };
        let memory = draw.percent(12);
        let (target, what) = draw.target(memory);
        let index = draw.below(catalog.hosts.len());
        let host = catalog.hosts[index].clone();
        let file_system = (!memory && draw.percent(40)).then(|| draw.of(&["ext4", "xfs"]));
        let cached = !memory && draw.percent(30);
        let count = draw.of(&[1, 2, 3, 4]);
        let classes: Vec<Value> = (0..count)
            .map(|index| {
                let buffered = cached && draw.percent(70);
                draw.class(index, memory, buffered)
            })
            .collect();
        let room = target.capacity_bytes() * 0.8 / count as f64;
        let bytes = f64::min(draw.of(&[8.0, 32.0, 128.0]) * (1u64 << 30) as f64, room) as u64 & !0xf_ffff;
        let name = format!("{} ({what})", target.twin().name);
        let label = format!("{name} on {}{}", host.name, file_system.map_or(String::new(), |name| format!(", {name}")));
        let driven =
            Driven { version: TWIN_VERSION, label: name, target, host, file_system: file_system.map(Into::into) };
        let mut job = json!({
            "version": assay_record::FORMAT_VERSION,
            "name": "scenario",
            "seed": seed,
            "targets": [{"id": "t", "kind": "twin", "twin": driven}],
            "datasets": (0..count).map(|index| json!({"name": format!("data{index}"), "target": "t", "bytes": bytes})).collect::<Vec<_>>(),
            "classes": classes,
            "window": {"warmup_s": WARMUP_S, "measure_s": MEASURE_S, "interval_ms": 1000},
            "cache": "cold",
        });
        let blocks = memory && as_blocks(&mut job, seed);
        let rated = draw.rate(&mut job)?;
        let batched = batches(&mut job, seed);
        let mut kinds = vec![format!("{count} classes"), if blocks { "block memory" } else { what }.to_owned()];
        kinds.extend(batched.then(|| "batches".to_owned()));
        kinds.extend(rated.then(|| "rates".to_owned()));
        kinds.extend(cached.then(|| "page cache".to_owned()));
        kinds.extend(file_system.map(|_| "file system".to_owned()));
        let job: Job = serde_json::from_value(job).unwrap_or_else(|error| panic!("scenario {seed}: {error}"));
        let words = format!("{label}: {}", job.classes.iter().map(said).collect::<Vec<_>>().join("; "));
        Some(Self { seed, kinds, words, job })
    }

    /// A scenario of classes that are written out, on one drive of the catalog.
    pub fn written(catalog: &Catalog, drive: &str, host: &str, file_system: Option<&str>, classes: &[Value]) -> Self {
        let target = Target::device(catalog.drive(drive).clone());
        Self::on(target, catalog.host(host), file_system, classes)
    }

    /// The same on any target.
    pub fn on(target: Target, host: &Host, file_system: Option<&str>, classes: &[Value]) -> Self {
        let (label, host) = (format!("{} on {}", target.twin().name, host.name), host.clone());
        let file_system = file_system.map(Into::into);
        let driven = Driven { version: TWIN_VERSION, label: label.clone(), target, host, file_system };
        let name = |index: usize| format!("data{index}");
        let mut classes = classes.to_vec();
        for (index, class) in classes.iter_mut().enumerate() {
            class["dataset"] = json!(name(index));
        }
        let data = (0..classes.len()).map(|index| json!({"name": name(index), "target": "t", "bytes": 8u64 << 30}));
        let job = json!({
            "version": assay_record::FORMAT_VERSION,
            "name": "scenario",
            "seed": 7,
            "targets": [{"id": "t", "kind": "twin", "twin": driven}],
            "datasets": data.collect::<Vec<_>>(),
            "classes": classes,
            "window": {"warmup_s": WARMUP_S, "measure_s": MEASURE_S, "interval_ms": 1000},
            "cache": "cold",
        });
        let job: Job = serde_json::from_value(job).unwrap_or_else(|error| panic!("{label}: {error}"));
        Self { seed: 7, kinds: Vec::new(), words: label, job }
    }

    /// Both engines' figures by class.
    ///
    /// # Errors
    /// Where one of the engines refuses.
    pub fn compare(&self) -> Result<Vec<Pair>, TwinError> {
        let solution = solved(&self.job)?;
        let record = self.play()?;
        let streams = streams_of(&self.job)?;
        let pair = |(index, class): (usize, &assay_record::ClassResult)| Pair {
            name: class.name.clone(),
            simulated: class.ops_rate.value,
            solved: solution.streams[index].ops_per_s,
            operations: class.operations,
            asked: streams[index].rate_per_s,
            in_flight: streams[index].in_flight(),
            solved_mean_ns: solution.streams[index].mean_ns,
            simulated_mean_ns: class.service.mean_ns,
        };
        Ok(record.classes.iter().enumerate().map(pair).collect())
    }

    /// The record of the simulation.
    ///
    /// # Errors
    /// Where the twin refuses.
    pub fn play(&self) -> Result<Record, TwinError> {
        let interrupted = AtomicBool::new(false);
        play_within(&self.job, &mut Watch { emit: &mut |_| {}, interrupted: &interrupted }, BUDGET)
    }
}

/// What the analytic engine says of a job on one target.
///
/// # Errors
/// Where it refuses.
pub fn solved(job: &Job) -> Result<Solution, TwinError> {
    let driven = Driven::parse(job.targets[0].twin.as_ref().unwrap_or(&Value::Null))?;
    assay_twin::solve(&driven.target, &driven.host, &streams_of(job)?)
}

impl Draw<'_> {
    /// Gives a third of the classes a rate: a share of what they reach without one. True where one has.
    fn rate(&mut self, job: &mut Value) -> Option<bool> {
        let plain: Job = serde_json::from_value(job.clone()).unwrap_or_else(|error| panic!("scenario: {error}"));
        let found = solved(&plain).ok()?;
        let mut rated = false;
        for (index, stream) in found.streams.iter().enumerate() {
            if !self.percent(35) {
                continue;
            }
            rated = true;
            let rate = (stream.ops_per_s * self.of(&[0.1, 0.3, 0.7])).max(50.0).round();
            let kind = self.of(&["fixed", "poisson"]);
            job["classes"][index]["arrivals"] = json!({"kind": kind, "rate_per_s": rate, "scope": "total"});
        }
        Some(rated)
    }
}

/// Lets a third of the classes that have several operations in flight and no rate hand them over in batches, by chance of
/// its own, so that all else of a scenario is what it is without. True where one does.
fn batches(job: &mut Value, seed: u64) -> bool {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xba7c);
    let mut batched = false;
    for class in job["classes"].as_array_mut().into_iter().flatten() {
        let depth = class["depth"].as_u64().unwrap_or(1);
        let [chance, share] = [random.next_u64() % 3, random.next_u64() % 3];
        if chance == 0 && depth > 1 && class.get("arrivals").is_none() {
            class["batch"] = json!(depth >> share);
            batched |= depth >> share > 1;
        }
    }
    batched
}

/// Makes a block device of the memory of every third scenario on memory, with the paths of one, by chance of its own. True
/// where it does.
fn as_blocks(job: &mut Value, seed: u64) -> bool {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed ^ 0xb10c);
    if random.next_u64() % 3 > 0 {
        return false;
    }
    let target = &mut job["targets"][0]["twin"]["target"];
    *target = json!({"kind": "block", "memory": target.take()});
    for class in job["classes"].as_array_mut().into_iter().flatten() {
        let kind = if random.next_u64() % 4 == 0 { "io_uring" } else { "pread" };
        class["path"] = json!({"kind": kind, "direct": random.next_u64() % 2 == 0});
        if kind == "io_uring" {
            class["depth"] = json!(4);
        }
    }
    true
}

fn said(class: &assay_record::Class) -> String {
    let rate = match &class.arrivals {
        assay_record::Arrivals::Closed => String::new(),
        assay_record::Arrivals::Fixed { rate_per_s, .. } => format!(" at {rate_per_s}/s"),
        assay_record::Arrivals::Poisson { rate_per_s, .. } => format!(" at {rate_per_s}/s (Poisson)"),
        assay_record::Arrivals::Burst { rate_per_s, .. } => format!(" at {rate_per_s}/s (bursts)"),
    };
    let way = if class.path.direct { "direct" } else { "buffered" };
    let sync = if class.durability.kind == assay_record::DurabilityKind::None { "" } else { " synced" };
    let size = assay_load::generator::largest_size(&class.size);
    let write = match class.operation {
        assay_record::Operation::Mix { write_percent } => format!(" {write_percent} % writes"),
        _ => String::new(),
    };
    let many = if class.batch > 1 { format!("{}/{}", class.depth, class.batch) } else { class.depth.to_string() };
    format!("{}{write} {size} B {}x{many} {:?} {way}{sync}{rate}", class.name, class.threads, class.path.kind)
}
