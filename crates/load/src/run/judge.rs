//! Fills in what the rules of the verdict look at.

use assay_instruments::{
    compress::{Compressibility, sample_file},
    counters::{Roots, WriteCache, plausible_hz},
    environment::usable_memory_bytes,
    verdict::{
        Beneath, ClassObservation, CountingSeen, DeviceObservation, ExtentSurvey, FlushObservation, Observation,
        OwnCpu, OwnTraffic, RunObservation, depth_reached, judge, kernel_accounts,
    },
};
use assay_path::prepare::PreparedDataset;
use assay_record::{
    Arrivals, Class, ClassResult, DeviceCounters, Layout, Operation, Pattern, Reason, TargetKind, WindowOutcome,
};

use super::{
    observe::Surroundings,
    part::{Finished, Part},
};
use crate::{
    arrivals::total_rate,
    generator::{largest_size, reads, writes},
    seat::is_queued,
};

/// The reasons that the rules find.
pub fn judged(
    finished: &Finished<'_>,
    parts: &[Part<'_>],
    classes: &[ClassResult],
    window: &WindowOutcome,
    devices: &[DeviceCounters],
) -> Judged {
    let observe = Observe { around: &finished.around, finished };
    let observation = Observation {
        run: observe.run(parts, classes, window, devices),
        classes: observe.classes(parts, classes, devices),
    };
    let depths = observation.classes.iter().map(|class| depth_reached(&observation.run, class)).collect();
    Judged { reasons: judge(&observation).reasons, depths }
}

/// What a run is said to be.
pub struct Judged {
    /// All that speaks against it, and notes.
    pub reasons: Vec<Reason>,
    /// Mean operations in flight of each class, as far as the devices' counters tell.
    pub depths: Vec<f64>,
}

struct Observe<'a> {
    around: &'a Surroundings,
    finished: &'a Finished<'a>,
}

impl Observe<'_> {
    fn run(
        &self,
        parts: &[Part<'_>],
        classes: &[ClassResult],
        window: &WindowOutcome,
        devices: &[DeviceCounters],
    ) -> RunObservation {
        let job = self.finished.job;
        let process = self.around.process_use(&self.finished.outcomes);
        let observe_device = |counters: &DeviceCounters| DeviceObservation {
            own: Some(self.own_traffic(&counters.device, parts, classes)),
            counters: counters.clone(),
            copies_on_write: self.copies_on_write(&counters.device),
        };
        RunObservation {
            cache: job.cache,
            measured_s: window.measured_s,
            asked_s: job.window.measure_s,
            stop: Some(window.stop),
            edge_skew_ns: window.edge_skew_ns,
            clock_drift: window.clock_drift,
            memory_bytes: usable_memory_bytes(&Roots::default()),
            llc_bytes: self.finished.stage.environment.cpu.llc_bytes,
            devices: devices.iter().map(observe_device).collect(),
            unattributed_read_bytes: process.unattributed_io.map_or(0, |io| io.read),
            frequency_before: Some(self.around.probe_before),
            frequency_after: Some(self.around.probe_after),
            system: self.around.system_use().unwrap_or_default(),
            limits: self.around.limit_use(),
            heat: self.around.heat_use(),
            own_cpu: Some(OwnCpu::of(&process)),
            cpus: self.finished.stage.environment.cpu.logical,
            flushes: devices.iter().map(|counters| self.flushes(counters, parts, classes)).collect(),
            plausible_hz: self.plausible_hz(),
            ..self.beats()
        }
    }

    /// What the heartbeat saw.
    fn beats(&self) -> RunObservation {
        let (beats, watched) = (self.around.beats(), &self.finished.watched);
        RunObservation {
            stood_still_s: beats.stood_still_s(&self.finished.clock, watched.open, watched.close),
            clock_excursion_s: beats.excursion_ns as f64 * 1e-9,
            suspended_s: beats.suspended_ns as f64 * 1e-9,
            usable_cpus: beats.cpus,
            ..RunObservation::default()
        }
    }

    /// Flushes that the classes asked a device for, in equal shares where their data lie on several, and those that it saw.
    fn flushes(&self, counters: &DeviceCounters, parts: &[Part<'_>], classes: &[ClassResult]) -> FlushObservation {
        let mut seen = FlushObservation {
            device: counters.device.clone(),
            cache: WriteCache::of(&counters.device, &Roots::default()),
            seen: counters.flushes.value as u64,
            ..FlushObservation::default()
        };
        for (part, class) in parts.iter().zip(classes) {
            let Some(dataset) = self.finished.stage.dataset_of(part.class) else { continue };
            let here = dataset.device_names.contains(&counters.device);
            if !here || !kernel_accounts(part.class.path.kind, None) {
                continue;
            }
            let members = dataset.device_names.len() as u64;
            let (asked, through) = (class.flush.as_ref().map_or(0, |one| one.count), durable_writes(part.class, class));
            seen.asked += asked / members;
            seen.through += through / members;
            if asked + through > 0 {
                seen.in_flight = seen.in_flight.saturating_add(part.class.threads.saturating_mul(part.class.depth));
            }
        }
        seen
    }

    /// Frequencies between which this machine's CPUs can have run.
    fn plausible_hz(&self) -> Option<(f64, f64)> {
        let seen = [self.finished.clock.tsc_hz(), self.around.probe_before.hz, self.around.probe_after.hz];
        plausible_hz(&Roots::default(), &seen)
    }

    fn counting(&self, part: &Part<'_>, result: &ClassResult) -> Option<CountingSeen> {
        let counting = self.finished.counting;
        let cost = counting.cost?;
        let switches_per_op = result.cpu.context_switches_per_op.value;
        let threads_ns = f64::from(part.class.threads) * part.elapsed_s * 1e9;
        Some(CountingSeen {
            added_ns_per_op: counting.in_window().then(|| cost.added_ns(switches_per_op)),
            ns_per_op: result.service.mean_ns.min(threads_ns / result.operations.max(1) as f64),
            switch_ns: (cost.switch_plain_ns, cost.switch_added_ns),
            switches_per_op,
            two_instruments: part.totals(counting, result.operations).two_instruments(),
        })
    }

    /// What the classes moved through one device. A class whose data lie on several devices moves an equal share through
    /// each. Writes of the warm-up may reach the device in the window: they count in proportion to its length.
    fn own_traffic(&self, device: &str, parts: &[Part<'_>], classes: &[ClassResult]) -> OwnTraffic {
        let window = &self.finished.job.window;
        let late = 1.0 + window.warmup_s / window.measure_s;
        let mut own = OwnTraffic { read_requests_at_most: Some(0), ..OwnTraffic::default() };
        for (part, class) in parts.iter().zip(classes) {
            let Some(dataset) = self.finished.stage.dataset_of(part.class) else { continue };
            if !dataset.device_names.iter().any(|name| name == device) {
                continue;
            }
            let share = 1.0 / dataset.device_names.len() as f64;
            let (read, written) = bytes_by_kind(class);
            let accounted = |figure: &Option<assay_record::Figure>| figure.as_ref().map_or(0.0, |figure| figure.value);
            own.read_bytes += (accounted(&class.device_read_bytes).max(read as f64) * share) as u64;
            own.written_bytes += (accounted(&class.device_written_bytes).max(written as f64) * share * late) as u64;
            own.flushes += class.flush.as_ref().map_or(0, |flush| flush.count) + durable_writes(part.class, class);
            let requests = self.read_requests(part.class, class, device);
            own.read_requests_at_most = own.read_requests_at_most.zip(requests).map(|(sum, more)| sum + more);
        }
        own
    }

    /// Btrfs and ZFS write new places instead of old ones, and metadata with them.
    fn copies_on_write(&self, device: &str) -> bool {
        self.finished.stage.environment.targets.iter().any(|target| {
            let here = target
                .device
                .as_ref()
                .is_some_and(|facts| facts.name == device || facts.members.iter().any(|member| member == device));
            here && target
                .file_system
                .as_ref()
                .is_some_and(|system| matches!(system.kind.as_str(), "btrfs" | "zfs" | "bcachefs"))
        })
    }

    /// Direct reads become as many requests as the device's largest request asks for; buffered reads, nobody knows.
    fn read_requests(&self, class: &Class, result: &ClassResult, device: &str) -> Option<u64> {
        if result.reads == 0 {
            return Some(0);
        }
        if !class.path.direct {
            return None;
        }
        let facts = self.finished.stage.environment.targets.iter().filter_map(|target| target.device.as_ref());
        let largest = facts.filter(|facts| facts.name == device).map(|facts| u64::from(facts.max_sectors_kb) * 1024);
        let largest = largest.max().filter(|bytes| *bytes > 0)?;
        // An extent boundary may cut each of them once more.
        Some(result.reads * (largest_size(&class.size).div_ceil(largest) + 1))
    }

    fn classes(
        &self,
        parts: &[Part<'_>],
        results: &[ClassResult],
        devices: &[DeviceCounters],
    ) -> Vec<ClassObservation> {
        let mut seen: Vec<_> = parts.iter().zip(results).map(|(part, class)| self.class(part, class)).collect();
        let hz = self.finished.clock.hz();
        // Of the window alone: what was due in it and done later counts where it was cut off.
        for ((class, part), series) in seen.iter_mut().zip(parts).zip(&self.finished.watched.series) {
            class.in_service = part.in_service(series.total.sum as f64, hz);
        }
        let shares: Vec<_> = seen.iter().map(|class| beneath(class, &seen, devices)).collect();
        seen.iter_mut().zip(shares).for_each(|(class, share)| class.beneath = share);
        seen
    }

    fn layers_of(&self, class: &Class) -> Vec<assay_record::Layer> {
        let Some(dataset) = self.finished.job.dataset_of(class) else { return Vec::new() };
        let targets = self.finished.stage.environment.targets.iter();
        targets.filter(|facts| facts.target == dataset.target).flat_map(|facts| facts.layers.iter().cloned()).collect()
    }

    fn class(&self, part: &Part<'_>, result: &ClassResult) -> ClassObservation {
        let (class, stage) = (part.class, self.finished.stage);
        let declared = self.finished.job.dataset_of(class);
        let kind = declared.and_then(|dataset| self.finished.job.target_of(dataset)).map(|target| target.kind);
        let mut seen = ClassObservation::new(&class.name, class.path.clone(), kind.unwrap_or(TargetKind::Null));
        if let (Some(dataset), Some(declared)) = (stage.dataset_of(class), declared) {
            seen.layout = dataset.layout;
            seen.content = declared.content;
            self.dataset(&mut seen, dataset);
            // What lies where it trimmed is nobody's data any more.
            seen.compressibility = seen.compressibility.filter(|_| class.operation != Operation::Trim);
            seen.changes = self.finished.changes.get(&dataset.name).copied().unwrap_or_default();
            seen.readback = self.finished.readback.get(&dataset.name).cloned().filter(|_| writes(class.operation));
        }
        asked(&mut seen, class);
        done(&mut seen, part, result, self.finished.clock.hz());
        seen.layers = self.layers_of(class);
        seen.durable = seen.flushes > 0 || durable_writes(class, result) > 0;
        seen.counting = self.counting(part, result);
        let file_system = self.file_system_of(class);
        seen.file_system.clone_from(&file_system);
        seen.emulated |= matches!(file_system.as_deref(), Some("tmpfs" | "ramfs" | "hugetlbfs"));
        if kernel_accounts(class.path.kind, file_system.as_deref()) {
            seen.device_read_bytes = result.device_read_bytes.as_ref().map(|figure| figure.value as u64);
            seen.device_written_bytes = result.device_written_bytes.as_ref().map(|figure| figure.value as u64);
        }
        seen
    }

    fn file_system_of(&self, class: &Class) -> Option<String> {
        let target = &self.finished.job.dataset_of(class)?.target;
        let facts = self.finished.stage.environment.targets.iter().find(|facts| facts.target == *target)?;
        Some(facts.file_system.as_ref()?.kind.clone())
    }

    fn dataset(&self, seen: &mut ClassObservation, dataset: &PreparedDataset) {
        let index = self.finished.stage.datasets().iter().position(|other| other.name == dataset.name);
        let bytes: u64 = dataset.files.iter().flatten().map(|segment| segment.bytes).sum();
        let share = |resident: Option<u64>| resident.map(|resident| resident as f64 / bytes.max(1) as f64);
        let at = |list: &[Option<u64>]| index.and_then(|index| list.get(index).copied().flatten());
        seen.dataset_bytes = bytes;
        seen.resident_before = share(at(&self.finished.stage.resident_before));
        seen.extents = dataset.extents.as_ref().filter(|survey| survey.supported).map(|survey| ExtentSurvey {
            written: survey.written,
            unwritten: survey.unwritten,
            hole: survey.holes,
        });
        seen.repeated_extents = dataset.extents.as_ref().map_or(0, |survey| survey.repeated);
        seen.devices.clone_from(&dataset.device_names);
        seen.compressibility = sample(dataset);
    }
}

/// What the devices beneath a class moved, in proportion to what it asked of all that the classes on them asked.
fn beneath(class: &ClassObservation, all: &[ClassObservation], devices: &[DeviceCounters]) -> Option<Beneath> {
    let ours = || devices.iter().filter(|one| class.devices.contains(&one.device));
    ours().next()?;
    let shares = |bytes: fn(&ClassObservation) -> u64| {
        let beside = all.iter().filter(|other| other.devices.iter().any(|name| class.devices.contains(name)));
        bytes(class) as f64 / beside.map(bytes).sum::<u64>().max(1) as f64
    };
    let read: f64 = ours().map(|one| one.read_bytes.value).sum();
    let written: f64 = ours().map(|one| one.written_bytes.value).sum();
    Some(Beneath {
        read_bytes: read * shares(|class| class.read_bytes),
        written_bytes: written * shares(|class| class.written_bytes),
    })
}

/// Samples of the first file of a data set. What a growing file holds is what its class just wrote.
fn sample(dataset: &PreparedDataset) -> Option<Compressibility> {
    use assay_path::SegmentKind::{BlockDevice, File};
    let segment = dataset.files.first()?.first()?;
    // Preallocated space that nothing was written to yet is no data.
    if !matches!(segment.kind, File | BlockDevice) || dataset.layout == Layout::Preallocated {
        return None;
    }
    let bytes =
        segment.path.metadata().ok().filter(std::fs::Metadata::is_file).map_or(segment.bytes, |file| file.len());
    sample_file(&segment.path, segment.base, bytes.min(segment.bytes)).ok().flatten()
}

fn asked(seen: &mut ClassObservation, class: &Class) {
    seen.sequential = class.pattern == Pattern::Sequential;
    (seen.threads, seen.depth, seen.batch) = (class.threads, class.depth, class.batch);
    seen.asked_rate = total_rate(&class.arrivals, class.threads);
    seen.burst = match class.arrivals {
        Arrivals::Burst { burst, .. } => burst.saturating_mul(class.threads),
        _ => 1,
    };
    seen.poisson = matches!(class.arrivals, Arrivals::Poisson { .. });
    seen.objective = class.objective.map(|objective| objective.metric);
}

fn done(seen: &mut ClassObservation, part: &Part<'_>, result: &ClassResult, hz: f64) {
    let latency = result.response.as_ref().unwrap_or(&result.service);
    let (read_bytes, written_bytes) = bytes_by_kind(result);
    let cpu_s = result.cpu.user_s.value + result.cpu.kernel_s.value - part.wait_s(hz);
    seen.achieved_depth = result.achieved_depth.value;
    seen.active_s = part.elapsed_s;
    (seen.reads, seen.writes) = (result.reads, result.writes);
    (seen.read_bytes, seen.written_bytes) = (read_bytes, written_bytes);
    seen.flushes = result.flush.as_ref().map_or(0, |flush| flush.count);
    seen.null_ops_per_s = Some(part.ceiling.ops_per_s);
    let thread_seconds = f64::from(part.class.threads) * part.elapsed_s;
    seen.busy_share = (thread_seconds > 0.0).then(|| (cpu_s / thread_seconds).clamp(0.0, 1.0));
    seen.submit_share = is_queued(part.class).then(|| part.submit_share());
    seen.intervals.clone_from(&result.intervals);
    seen.latencies = latency.count;
    seen.overdue = result.overdue;
    // A pause that lasts too long delays no operation that anybody waits for.
    seen.lateness = if part.class.think.is_none() { part.lateness() } else { None };
    seen.errors.clone_from(&result.errors);
    seen.check.clone_from(&result.check);
    seen.emulated = part.outcomes.iter().any(|one| one.emulated);
    seen.played = assay_instruments::environment::played();
}

/// Bytes of reads and of writes. Where a class mixes sizes, both have the same mix.
fn bytes_by_kind(result: &ClassResult) -> (u64, u64) {
    let operations = (result.reads + result.writes).max(1);
    let written = (u128::from(result.bytes) * u128::from(result.writes) / u128::from(operations)) as u64;
    (result.bytes - written, written)
}

/// Writes that carry their durability themselves each make the device write through its cache.
fn durable_writes(class: &Class, result: &ClassResult) -> u64 {
    use assay_record::DurabilityKind::{ODsync, RwfDsync};
    debug_assert!(reads(class.operation) || result.reads == 0);
    if matches!(class.durability.kind, ODsync | RwfDsync) { result.writes } else { 0 }
}
