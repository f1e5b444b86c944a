//! What surrounded the window: devices, the process, the system. Sampled at its edges, judged afterwards.

use assay_instruments::{
    clock::Clock,
    counters::{
        ClassThreads, DeviceSample, DeviceSampler, FrequencyProbe, HeatSample, HeatSampler, HeatUse, HelperTotals,
        LimitSample, LimitSampler, LimitUse, ProcessCounters, ProcessSnapshot, ProcessUse, Roots, SystemSample,
        SystemSampler, SystemUse, ThreadUse, attribute,
    },
    heartbeat::{Beats, Heartbeat},
    verdict::{OwnCpu, RunObservation, cpu_taken_untold},
};
use assay_record::{ClassResult, DeviceCounters, Job, NotMeasured, WindowOutcome};

use super::{controller, stage::Stage, workers::ThreadOutcome};

/// One reading of everything.
struct Reading {
    devices: DeviceSample,
    process: ProcessSnapshot,
    system: SystemSample,
    limits: LimitSample,
    heat: HeatSample,
}

/// Samplers, and what they saw at the window's edges.
pub struct Surroundings {
    clock: Clock,
    devices: DeviceSampler,
    process: ProcessCounters,
    system: SystemSampler,
    limits: LimitSampler,
    heat: HeatSampler,
    /// CPU frequency before the window, by a loop of known length.
    pub probe_before: FrequencyProbe,
    /// The same after it.
    pub probe_after: FrequencyProbe,
    heartbeat: Heartbeat,
    beats: Beats,
    opened: Option<Reading>,
    closed: Option<Reading>,
}

impl Surroundings {
    /// Ready to sample.
    pub fn new(_job: &Job, stage: &Stage, clock: Clock) -> Self {
        let probe = FrequencyProbe::run(&clock);
        Self {
            clock,
            devices: DeviceSampler::new(stage.device_names()),
            process: ProcessCounters::new(),
            system: SystemSampler::new(&Roots::default()),
            limits: LimitSampler::new(&Roots::default()),
            heat: HeatSampler::new(stage.device_names(), &Roots::default()),
            probe_before: probe,
            probe_after: probe,
            heartbeat: Heartbeat::start(clock),
            beats: Beats::default(),
            opened: None,
            closed: None,
        }
    }

    fn read(&self) -> Reading {
        Reading {
            devices: self.devices.sample(),
            process: self.process.snapshot(),
            system: self.system.sample(),
            limits: self.limits.sample(),
            heat: self.heat.sample(),
        }
    }

    /// All workers have ended.
    pub fn finished(&mut self) {
        self.probe_after = FrequencyProbe::run(&self.clock);
    }

    /// What the heartbeat saw, from before the window to its end.
    pub fn beats(&self) -> &Beats {
        &self.beats
    }

    /// Counters of the block devices over the window.
    pub fn device_counters(&self) -> Vec<DeviceCounters> {
        match (&self.opened, &self.closed) {
            (Some(opened), Some(closed)) => opened.devices.until(&closed.devices),
            _ => Vec::new(),
        }
    }

    /// What the system did over the window; none where the window never opened.
    pub fn system_use(&self) -> Option<SystemUse> {
        let (opened, closed) = (self.opened.as_ref()?, self.closed.as_ref()?);
        Some(opened.system.until(&closed.system))
    }

    /// Limits of control groups, and what was counted of them over the window.
    pub fn limit_use(&self) -> Vec<LimitUse> {
        let edges = self.opened.as_ref().zip(self.closed.as_ref());
        edges.map(|(opened, closed)| self.limits.used(&opened.limits, &closed.limits)).unwrap_or_default()
    }

    /// Temperatures over the window.
    pub fn heat_use(&self) -> Vec<HeatUse> {
        let edges = self.opened.as_ref().zip(self.closed.as_ref());
        edges.map(|(opened, closed)| self.heat.used(&opened.heat, &closed.heat)).unwrap_or_default()
    }

    /// What the process used over the window.
    pub fn process_use(&self, outcomes: &[ThreadOutcome]) -> ProcessUse {
        let ended: Vec<ThreadUse> = outcomes.iter().map(|outcome| outcome.used.clone()).collect();
        match (&self.opened, &self.closed) {
            (Some(opened), Some(closed)) => opened.process.until(&closed.process, &ended),
            _ => ProcessUse::default(),
        }
    }

    /// Kernel helpers by class.
    pub fn helpers(&self, job: &Job, outcomes: &[ThreadOutcome]) -> Vec<HelperTotals> {
        let threads =
            |index: usize| outcomes.iter().filter(move |one| one.class_index == index).map(|one| one.used.tid);
        let classes: Vec<ClassThreads> = job
            .classes
            .iter()
            .enumerate()
            .map(|(index, class)| ClassThreads {
                tids: threads(index).collect(),
                uses_ring: class.path.kind.has_ring(),
            })
            .collect();
        attribute(&self.process_use(outcomes), &classes)
    }

    /// What could not be measured, and why.
    pub fn not_measured(
        &self,
        classes: &[ClassResult],
        devices: &[DeviceCounters],
        outcomes: &[ThreadOutcome],
        window: &WindowOutcome,
    ) -> Vec<NotMeasured> {
        let missing = |what: &str, reason: &str, fix: &str| NotMeasured {
            what: what.to_owned(),
            reason: reason.to_owned(),
            fix: fix.to_owned(),
        };
        let mut list = Vec::new();
        if classes.iter().all(|class| class.cpu.instructions_per_op.is_none()) {
            list.push(missing(
                "instructions and TLB misses per operation",
                "the kernel gives no hardware performance counter to this process",
                "run on bare metal or in a machine with a virtual PMU, with kernel.perf_event_paranoid at most 1",
            ));
        }
        if classes.iter().any(|class| class.device_read_bytes.is_none()) {
            list.push(missing(
                "device bytes per class",
                "the kernel does not account I/O per thread",
                "use a kernel with CONFIG_TASK_IO_ACCOUNTING",
            ));
        }
        if devices.is_empty() {
            list.push(missing(
                "device counters",
                "no block device with counters lies under the targets",
                "measure on a file system with a block device of its own",
            ));
        }
        list.extend(cpu_taken_untold(&RunObservation {
            measured_s: window.measured_s,
            system: self.system_use().unwrap_or_default(),
            own_cpu: Some(OwnCpu::of(&self.process_use(outcomes))),
            ..RunObservation::default()
        }));
        list
    }
}

impl controller::Surroundings for Surroundings {
    fn opened(&mut self) {
        self.opened = Some(self.read());
    }

    fn closed(&mut self) {
        self.beats = self.heartbeat.stop();
        self.closed = Some(self.read());
    }
}
