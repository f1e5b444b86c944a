//! What surrounded the window.

use std::{
    path::PathBuf,
    time::{Duration, Instant},
};

use assay_record::{CpuUse, DeviceCounters, Environment, NotMeasured, Provenance, Reason, RunInfo};

use crate::{
    clock::{Clock, ClockPair},
    counters::{
        CpuTotals, DeviceSample, DeviceSampler, FrequencyProbe, HeatSample, HeatSampler, IoBytes, LimitSample,
        LimitSampler, ProcessCounters, ProcessSnapshot, ProcessUse, Roots, SystemSample, SystemSampler, ThreadUse,
        Work, cpu_use,
    },
    environment,
    heartbeat::{Beats, Heartbeat},
    identity::{rfc3339, run_id},
    verdict::{DeviceObservation, Observation, OwnCpu, OwnTraffic, RunObservation, cpu_taken_untold, judge},
};

/// A place that the work uses.
#[derive(Clone, Debug)]
pub struct WorkPlace {
    /// What lies there: `data`, `log`, `temp`.
    pub role: String,
    /// A folder, a file or a device.
    pub path: PathBuf,
}

/// What was done in the window, as far as CPU and device figures need it.
#[derive(Clone, Debug)]
pub struct Done {
    /// Operations completed.
    pub operations: u64,
    /// Bytes of payload moved; 0 where that says nothing.
    pub bytes: u64,
    /// CPU seconds that threads spent waiting for an intended start without sleeping.
    pub wait_s: f64,
    /// System calls made, as the work counts its own.
    pub system_calls: u64,
    /// Flushes asked for: each may make a file system write its journal.
    pub flushes: u64,
    /// Provenance of the figures.
    pub provenance: Provenance,
    /// Accounts of the threads that ended before [`WorkWatch::close`].
    pub ended: Vec<ThreadUse>,
    /// What a server used that this process drives; none where it does the work itself, or nobody knows.
    pub server: Option<ServerAccount>,
}

/// What a server's processes used in the window.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ServerAccount {
    /// CPU time that its threads had, and waited for.
    pub cpu: OwnCpu,
    /// Device bytes as the kernel accounts them for it; none where it does not.
    pub io: Option<IoBytes>,
}

impl ServerAccount {
    /// Of a driver and its server together.
    fn and(self, driver: OwnCpu) -> OwnCpu {
        let waited = self.cpu.waited_s.zip(driver.waited_s).map(|(server, driver)| server + driver);
        OwnCpu {
            user_s: self.cpu.user_s + driver.user_s,
            kernel_s: self.cpu.kernel_s + driver.kernel_s,
            waited_s: waited,
        }
    }
}

impl Done {
    /// Operations alone, by threads that still live.
    pub fn operations(operations: u64, provenance: Provenance) -> Self {
        Self {
            operations,
            bytes: 0,
            wait_s: 0.0,
            system_calls: 0,
            flushes: 0,
            provenance,
            ended: Vec::new(),
            server: None,
        }
    }
}

/// What the window was.
#[derive(Clone, Debug)]
pub struct WorkWindow {
    /// Its seconds.
    pub measured_s: f64,
    /// CPU of the whole process, kernel helpers included.
    pub cpu: CpuUse,
    /// Device bytes of this process as the kernel accounts them; none where it does not.
    pub io: Option<IoBytes>,
    /// Block devices beneath the places.
    pub devices: Vec<DeviceCounters>,
    /// The machine.
    pub environment: Environment,
    /// What was found against the window: the clock, the frequency, CPU time that others took, foreign load.
    pub reasons: Vec<Reason>,
    /// What could not be told of it.
    pub not_measured: Vec<NotMeasured>,
}

/// One reading of everything.
struct Reading {
    at: ClockPair,
    devices: DeviceSample,
    process: ProcessSnapshot,
    system: SystemSample,
    limits: LimitSample,
    heat: HeatSample,
}

/// What is sampled at the edges.
struct Samplers {
    devices: DeviceSampler,
    process: ProcessCounters,
    system: SystemSampler,
    limits: LimitSampler,
    heat: HeatSampler,
}

/// An open window.
pub struct WorkWatch {
    clock: Clock,
    samplers: Samplers,
    probe: FrequencyProbe,
    environment: Environment,
    /// Bytes of the page cache that had not been written back when it opened, of whatever file.
    dirty_bytes: u64,
    heartbeat: Heartbeat,
    opened: Reading,
}

impl WorkWatch {
    /// Describes the machine and opens the window. Open it when the threads are there and warm-up has ended.
    pub fn open(clock: Clock, places: &[WorkPlace]) -> Self {
        let targets: Vec<_> = places.iter().map(|place| (place.role.clone(), place.path.clone())).collect();
        let environment = environment::capture(&clock, &targets);
        let devices = environment.targets.iter().filter_map(|target| target.device.as_ref());
        let names: Vec<String> = devices.map(|device| device.name.clone()).collect();
        let roots = Roots::default();
        let samplers = Samplers {
            devices: DeviceSampler::new(names.iter().cloned()),
            process: ProcessCounters::new(),
            system: SystemSampler::new(&roots),
            limits: LimitSampler::new(&roots),
            heat: HeatSampler::new(names, &roots),
        };
        let probe = FrequencyProbe::run(&clock);
        let heartbeat = Heartbeat::start(clock);
        let opened = samplers.read(&clock);
        let dirty_bytes = environment::dirty_bytes(&roots);
        Self { clock, samplers, probe, environment, dirty_bytes, heartbeat, opened }
    }

    /// Begins the window anew: what was done and used since it was opened belongs to none. Describing the machine takes
    /// some tens of milliseconds, in which those who work go on warming up; this is for the moment when all are ready.
    pub fn restart(&mut self) {
        self.dirty_bytes = environment::dirty_bytes(&Roots::default());
        self.opened = self.samplers.read(&self.clock);
    }

    /// Seconds since it was opened.
    pub fn elapsed_s(&self) -> f64 {
        seconds(self.opened.at, self.clock.pair())
    }

    /// Closes the window. Close it before the threads end, or hand over their accounts.
    pub fn close(mut self, done: &Done) -> WorkWindow {
        let beats = self.heartbeat.stop();
        let closed = self.samplers.read(&self.clock);
        let used = self.opened.process.until(&closed.process, &done.ended);
        let work = Work {
            operations: done.operations,
            bytes: done.bytes,
            wait_s: done.wait_s,
            system_calls: done.system_calls,
            cpu_hz: self.clock.hz(),
            provenance: done.provenance,
        };
        let devices = self.opened.devices.until(&closed.devices);
        let run = self.observe(&closed, &devices, &used, done, &beats);
        let not_measured = cpu_taken_untold(&run).into_iter().collect();
        let reasons = judge(&Observation { run, classes: Vec::new() }).reasons;
        WorkWindow {
            measured_s: seconds(self.opened.at, closed.at),
            cpu: cpu_use(&CpuTotals::of_process(&used), &work),
            io: used.io,
            devices,
            environment: self.environment,
            reasons,
            not_measured,
        }
    }

    fn observe(
        &self,
        closed: &Reading,
        devices: &[DeviceCounters],
        used: &ProcessUse,
        done: &Done,
        beats: &Beats,
    ) -> RunObservation {
        // Whose bytes are whose can be told on a single device with a kernel that accounts.
        let io = match done.server {
            None => used.io,
            Some(server) => used.io.zip(server.io).map(|(driver, server)| driver.plus(server)),
        };
        let own = io.filter(|_| devices.len() == 1).map(|io| OwnTraffic {
            read_bytes: io.read,
            // What was dirty before the window may have been written in it.
            written_bytes: io.written.saturating_add(self.dirty_bytes),
            flushes: done.flushes,
            read_requests_at_most: None,
        });
        let observe =
            |counters: &DeviceCounters| DeviceObservation { counters: counters.clone(), copies_on_write: false, own };
        let measured_s = seconds(self.opened.at, closed.at);
        RunObservation {
            measured_s,
            asked_s: measured_s,
            clock_drift: self.clock.drift(self.opened.at, closed.at),
            devices: devices.iter().map(observe).collect(),
            frequency_before: Some(self.probe),
            frequency_after: Some(FrequencyProbe::run(&self.clock)),
            system: self.opened.system.until(&closed.system),
            limits: self.samplers.limits.used(&self.opened.limits, &closed.limits),
            heat: self.samplers.heat.used(&self.opened.heat, &closed.heat),
            own_cpu: Some(done.server.map_or(OwnCpu::of(used), |server| server.and(OwnCpu::of(used)))),
            cpus: self.environment.cpu.logical,
            stood_still_s: beats.stood_still_s(&self.clock, self.opened.at.ticks, closed.at.ticks),
            clock_excursion_s: beats.excursion_ns as f64 * 1e-9,
            suspended_s: beats.suspended_ns as f64 * 1e-9,
            usable_cpus: beats.cpus,
            ..RunObservation::default()
        }
    }
}

impl Samplers {
    fn read(&self, clock: &Clock) -> Reading {
        Reading {
            devices: self.devices.sample(),
            process: self.process.snapshot(),
            system: self.system.sample(),
            limits: self.limits.sample(),
            heat: self.heat.sample(),
            at: clock.pair(),
        }
    }
}

fn seconds(from: ClockPair, to: ClockPair) -> f64 {
    to.monotonic_ns.saturating_sub(from.monotonic_ns) as f64 / 1e9
}

/// Identity of a run that began at `began` and prepared for so long.
pub fn work_run(began: Instant, prepared: Duration) -> RunInfo {
    RunInfo {
        id: run_id(),
        started_at: rfc3339(began.elapsed()),
        assayer_version: env!("CARGO_PKG_VERSION").to_owned(),
        wall_s: began.elapsed().as_secs_f64(),
        prepare_s: prepared.as_secs_f64(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_counts_the_cpu_that_was_used_in_it() {
        let watch = WorkWatch::open(Clock::new(), &[]);
        let mut value = 1_u64;
        while watch.elapsed_s() < 0.05 {
            value = std::hint::black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        let window = watch.close(&Done::operations(1000, Provenance::Measured));
        assert!(window.measured_s >= 0.05);
        let cpu_s = window.cpu.user_s.value + window.cpu.kernel_s.value;
        assert!(cpu_s > 0.0 && window.cpu.cycles_per_op.value > 0.0, "{cpu_s} s of CPU");
        assert!(window.devices.is_empty() && !window.environment.kernel.is_empty());
    }

    /// A window of 0.2 s was charged what its threads had used before it.
    #[test]
    fn what_was_used_before_a_window_began_anew_is_not_its_own() {
        let mut watch = WorkWatch::open(Clock::new(), &[]);
        let used_s = |watch: &WorkWatch| {
            let used = watch.opened.process.until(&watch.samplers.process.snapshot(), &[]);
            used.user_s + used.kernel_s
        };
        let mut value = 1_u64;
        while used_s(&watch) < 0.5 {
            for _ in 0..100_000 {
                value = std::hint::black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
            }
        }
        let before_s = used_s(&watch);
        watch.restart();
        let window = watch.close(&Done::operations(1, Provenance::Measured));
        let own_s = window.cpu.user_s.value + window.cpu.kernel_s.value;
        assert!(own_s < before_s, "{own_s} s of CPU after {before_s} s");
    }

    #[test]
    fn a_place_on_a_file_system_is_described() {
        let place = WorkPlace { role: "data".to_owned(), path: std::env::temp_dir() };
        let window = WorkWatch::open(Clock::new(), &[place]).close(&Done::operations(1, Provenance::Measured));
        let facts = &window.environment.targets[0];
        assert_eq!(facts.target, "data");
        assert!(facts.file_system.is_some());
    }
}
