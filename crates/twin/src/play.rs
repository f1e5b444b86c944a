//! A job on twins: the same load, the same record, in virtual time.

mod lapse;
mod result;
mod scene;

use std::{sync::atomic::Ordering::Relaxed, time::Instant};

use assay_instruments::{Watch, series::Series};
use assay_record::{Event, Job, Record, Stop};

use self::{result::Played, scene::Scene};
use crate::{
    TwinError,
    des::Engine,
    simulated::{PS_PER_S, Picoseconds},
    stations::Machine,
};

/// How many operations a job is played for.
#[derive(Clone, Copy, Debug)]
pub struct Budget {
    /// After which the figures of a target without slow transients are settled.
    pub settled: u64,
    /// At most, where caches fill and credits run out, and nothing can be hastened.
    pub at_most: u64,
    /// That a long load is expected to take, where what changes slowly is hastened.
    pub long: f64,
}

impl Default for Budget {
    fn default() -> Self {
        Self { settled: 2_000_000, at_most: 40_000_000, long: 12_000_000.0 }
    }
}

/// Operations between two looks at an interrupt.
const OPERATIONS_BETWEEN_LOOKS: u64 = 1 << 20;

/// Plays a job whose targets are twins.
///
/// # Errors
/// [`TwinError`] where a twin or the host cannot do what the job asks, or the document is not one.
pub fn play(job: &Job, watch: &mut Watch<'_>) -> Result<Record, TwinError> {
    play_within(job, watch, Budget::default())
}

/// The same for as many operations as a budget gives.
///
/// # Errors
/// Likewise.
pub fn play_within(job: &Job, watch: &mut Watch<'_>, budget: Budget) -> Result<Record, TwinError> {
    let began = Instant::now();
    let scene = Scene::new(job)?;
    let mut engine = scene.engine(job)?;
    let slow = |machine: &Machine| machine.is_transient(scene.writes);
    let transient = !engine.pages.is_empty() || engine.machines.iter().any(slow);
    let lapse = if transient { lapse::hasten(job, &scene, &mut engine, budget, watch.interrupted)? } else { 1.0 };
    let mut film = Film { job, engine: &mut engine, series: Vec::new(), open: 0, close: 0, lapse, stop: Stop::Limit };
    film.run(watch, if transient { budget.at_most } else { budget.settled });
    let Film { series, open, close, stop, .. } = film;
    let played = Played { job, scene: &scene, engine: &engine, series, open, close, lapse, stop, began };
    played.record()
}

/// Says whether a job on twins can be played, without playing it.
///
/// # Errors
/// What [`play`] would refuse it for.
pub fn admit(job: &Job) -> Result<(), TwinError> {
    Scene::new(job)?.engine(job).map(|_| ())
}

/// The classes of a job on twins as the analytic engine sees them.
///
/// # Errors
/// What [`play`] would refuse it for.
pub fn streams_of(job: &Job) -> Result<Vec<crate::Stream>, TwinError> {
    let engine = Scene::new(job)?.engine(job)?;
    Ok(engine.classes.into_iter().map(|class| class.stream).collect())
}

/// The window, as it is played.
struct Film<'a> {
    job: &'a Job,
    engine: &'a mut Engine<Machine>,
    series: Vec<Series>,
    open: Picoseconds,
    close: Picoseconds,
    /// Seconds of the load that a second of virtual time stands for.
    lapse: f64,
    stop: Stop,
}

impl Film<'_> {
    fn run(&mut self, watch: &mut Watch<'_>, operations: u64) {
        let window = &self.job.window;
        let lapse = self.lapse;
        let ps = |seconds: f64| (seconds / lapse * PS_PER_S) as Picoseconds;
        self.series = self.engine.classes.iter().map(|_| Series::new(1)).collect();
        self.warm_up(watch, ps(window.warmup_s), operations / 2);
        self.open = self.engine.now;
        self.engine.recording = true;
        let (end, step) = (self.open + ps(window.measure_s), ps(f64::from(window.interval_ms) / 1e3));
        let (mut cut, mut at) = (self.open, self.open);
        let enough = self.engine.done.saturating_add(operations);
        while at < end {
            let edge = (cut + step).min(end);
            self.engine.run(edge, OPERATIONS_BETWEEN_LOOKS.min(enough.saturating_sub(self.engine.done)));
            at = self.engine.now;
            if at >= edge {
                self.cut(watch, cut, at);
                cut = at;
            }
            if let Some(stop) = self.stopped(watch, enough) {
                self.stop = stop;
                break;
            }
        }
        self.close = at;
        // What rounding leaves of the window is no interval.
        if at > cut + step / 100 {
            self.cut(watch, cut, at);
        }
        self.engine.settle(self.open, operations);
    }

    fn warm_up(&mut self, watch: &Watch<'_>, until: Picoseconds, operations: u64) {
        let enough = self.engine.done.saturating_add(operations);
        while self.engine.now < until && self.engine.done < enough && !watch.interrupted.load(Relaxed) {
            let left = enough - self.engine.done;
            self.engine.run(until, left.min(OPERATIONS_BETWEEN_LOOKS));
        }
    }

    fn stopped(&self, watch: &Watch<'_>, enough: u64) -> Option<Stop> {
        if watch.interrupted.load(Relaxed) {
            return Some(Stop::Interrupted);
        }
        if self.engine.classes.iter().all(|class| class.full) {
            return Some(Stop::Bytes);
        }
        (self.engine.done >= enough).then_some(Stop::Operations)
    }

    fn cut(&mut self, watch: &mut Watch<'_>, from: Picoseconds, at: Picoseconds) {
        let seconds = |time: Picoseconds| time as f64 / PS_PER_S;
        let at_s = seconds(at - self.open) * self.lapse;
        let mut classes = Vec::with_capacity(self.series.len());
        for (index, series) in self.series.iter_mut().enumerate() {
            let tallies = std::slice::from_ref(&self.engine.classes[index].tally);
            series.cut(tallies, at_s, seconds(at - from));
            classes.push(series.sample(&self.job.classes[index].name));
        }
        (watch.emit)(Event::Interval { at_s, classes });
    }
}
