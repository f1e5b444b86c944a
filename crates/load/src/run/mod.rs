//! A run: prepare, warm up, measure, judge, record.

mod controller;
mod counting;
mod judge;
mod observe;
mod part;
mod readback;
mod rest;
mod result;
mod room;
mod stage;
mod workers;

pub use self::result::objective;

use std::{sync::atomic::AtomicU64, time::Instant};

use assay_instruments::{Watch, clock::Clock, counters::Roots, tally::Tally};
use assay_path::open::operation_error;
use assay_record::{Job, Record, Stop};
use assay_workload::{Milestone, drive, pin};

use self::{
    controller::{Controller, Watched},
    counting::{Afterwards, Counting},
    observe::Surroundings,
    stage::Stage,
    workers::{Floor, Stations, ThreadOutcome},
};
use crate::{
    baseline::{Ceiling, ceiling},
    error::LoadError,
    seat,
    worker::Edges,
};

/// Runs a validated job on the machine's clock.
///
/// # Errors
/// [`LoadError`] where no record can be given: the target refused, a path is not there, the target broke.
pub fn run(job: &Job, watch: &mut Watch<'_>) -> Result<Record, LoadError> {
    let began = Instant::now();
    let clock = Clock::new();
    pin::possible(job, &Roots::default())?;
    // Entered before data are made, so that their pages are the group's, and left after all else.
    let _room = room::enter(job)?;
    let stage = Stage::set(job, &clock, watch)?;
    let ceilings = ceilings(job, clock)?;
    rest::rest(job, watch)?;
    let counting = Counting::plan(job, clock);
    let prepared_s = began.elapsed().as_secs_f64();
    let tallies: Vec<Vec<Tally>> =
        job.classes.iter().map(|class| (0..class.threads).map(|_| seat::tally_for(class)).collect()).collect();
    let mut around = Surroundings::new(job, &stage, clock);
    let before = stage.files();
    let (watched, outcomes) = measure(job, watch, &stage, &tallies, &mut around, &counting, clock)?;
    broken(job, &stage, &outcomes)?;
    useless(job, &tallies, &watched, &outcomes)?;
    around.finished();
    let changes = stage.changes(&before);
    let readback = readback::look(job, stage.datasets(), &changes, clock.now());
    let finished = part::Finished {
        job,
        stage: &stage,
        ceilings: &ceilings,
        counting: &counting,
        tallies: &tallies,
        watched,
        outcomes,
        around,
        changes,
        readback,
        clock,
        prepared_s,
        began,
    };
    Ok(finished.record())
}

/// Prepares the data sets of a validated job and runs no load. They are removed again unless the job keeps them.
///
/// # Errors
/// [`LoadError`] where a target refuses or is full.
pub fn prepare(job: &Job, watch: &mut Watch<'_>) -> Result<(), LoadError> {
    Stage::set(job, &Clock::new(), watch).map(drop)
}

fn ceilings(job: &Job, clock: Clock) -> Result<Vec<Ceiling>, LoadError> {
    let of = |class| ceiling(class, seat::is_queued(class), clock);
    let measured: std::io::Result<Vec<Ceiling>> = job.classes.iter().map(of).collect();
    measured.map_err(|source| LoadError::System { action: "reserving memory for the generator's baseline", source })
}

type Measured = (Watched, Vec<ThreadOutcome>);

fn measure(
    job: &Job,
    watch: &mut Watch<'_>,
    stage: &Stage,
    tallies: &[Vec<Tally>],
    around: &mut Surroundings,
    counting: &Counting,
    clock: Clock,
) -> Result<Measured, LoadError> {
    let floor = Floor {
        clock,
        edges: Edges::default(),
        begin: AtomicU64::new(0),
        count_in_window: counting.in_window(),
        count_apart: counting.by == assay_record::CountedBy::OwnWindow,
        afterwards: Afterwards::default(),
    };
    let stations = Stations::new(stage.stations(job, tallies)?, &floor);
    let (outcomes, watched) = drive(&stations, stations.workers(), |gate| {
        gate.wait_for(Milestone::Ready);
        if gate.is_shut() {
            return None;
        }
        let controller = Controller { job, floor: &floor, gate, tallies, interrupted: watch.interrupted };
        let watched = controller.watch(around, watch.emit);
        let own_s = counting.own_window_s(watched.stop);
        floor.afterwards.decide(own_s.map(|own_s| clock.now() + clock.ns_to_ticks((own_s * 1e9) as u64)));
        Some(watched)
    })?;
    let watched = watched.expect("a worker that shuts the gate before it opens has failed");
    Ok((watched, outcomes.into_iter().flatten().collect()))
}

/// A target that broke in mid-run: the sentence names the file and the kernel's answer.
fn broken(job: &Job, stage: &Stage, outcomes: &[ThreadOutcome]) -> Result<(), LoadError> {
    let Some(outcome) = outcomes.iter().find(|outcome| outcome.faults.fatal.is_some()) else { return Ok(()) };
    let Some(fault) = &outcome.faults.fatal else { return Ok(()) };
    let class = &job.classes[outcome.class_index];
    let segments = stage.segments_of(class, outcome.thread);
    let source = fault.source.raw_os_error().map_or_else(
        || std::io::Error::new(fault.source.kind(), fault.source.to_string()),
        std::io::Error::from_raw_os_error,
    );
    Err(operation_error(segments, fault.segment, fault.write, source).into())
}

/// A class of which nothing succeeded has no figures: work not done is never a success. Only an interrupted run may have
/// classes that had no time to do anything.
fn useless(job: &Job, tallies: &[Vec<Tally>], watched: &Watched, outcomes: &[ThreadOutcome]) -> Result<(), LoadError> {
    if watched.stop == Stop::Interrupted {
        return Ok(());
    }
    for (index, (class, tallies)) in job.classes.iter().zip(tallies).enumerate() {
        if tallies.iter().any(|tally| tally.service.count() > 0) {
            continue;
        }
        let class = class.name.clone();
        let mut own = outcomes.iter().filter(|outcome| outcome.class_index == index);
        if let Some(first) = own.find_map(|outcome| outcome.faults.first.clone()) {
            return Err(LoadError::NothingWorked { class, first });
        }
        if watched.stop == Stop::Limit {
            return Err(LoadError::NothingDone { class, seconds: job.window.measure_s });
        }
    }
    Ok(())
}
