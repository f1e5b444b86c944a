//! How many times as fast as the load what changes slowly is played.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use assay_record::Job;

use super::{Budget, scene::Scene};
use crate::{
    TwinError,
    des::Engine,
    simulated::{PS_PER_S, Picoseconds},
    stations::Machine,
};

/// Operations of a rehearsal over those of the play.
const REHEARSED: f64 = 0.1;
/// Most operations of a rehearsal over those that it was meant to take: then it is given up for a faster one.
const OVERRUN: f64 = 3.0;
const REHEARSALS_AT_MOST: usize = 4;

/// Makes the engine play all of the window in as many operations as the budget has for a long load: a load of more is
/// played in part, and every second of it is there for a shorter while, in which caches, credits and free blocks change
/// as much faster. Returns how many times as fast; 1 where the load is short, or something cannot be hastened.
///
/// How many operations a load has is what the analytic engine expects at first, and then what a short rehearsal saw:
/// where a cache takes everything for a while, a play that counted on the mean would end with the cache.
pub fn hasten(
    job: &Job,
    scene: &Scene,
    engine: &mut Engine<Machine>,
    budget: Budget,
    interrupted: &AtomicBool,
) -> Result<f64, TwinError> {
    if engine.classes.iter().any(|class| class.begin > 0) {
        return Ok(1.0);
    }
    let seconds = job.window.warmup_s + job.window.measure_s;
    let mut operations = scene.expected_ops_per_s(&engine.classes) * seconds;
    for _ in 0..REHEARSALS_AT_MOST {
        let few = budget.long * REHEARSED;
        if operations < few || interrupted.load(Relaxed) {
            break;
        }
        let mut rehearsal = scene.engine(job)?;
        let Some(factor) = faster(job, scene, &mut rehearsal, operations / few) else { return Ok(1.0) };
        let end = ((seconds / factor * PS_PER_S) as Picoseconds).max(1);
        rehearsal.run(end, (few * OVERRUN) as u64);
        let seen = rehearsal.done as f64 * factor * end as f64 / rehearsal.now.clamp(1, end) as f64;
        let whole = rehearsal.now >= end;
        operations = if whole { seen } else { seen.max(operations * OVERRUN) };
        if whole {
            break;
        }
    }
    Ok(faster(job, scene, engine, operations / budget.long).unwrap_or(1.0))
}

/// Lets an engine that has not moved play `factor` times as fast, at least 1; none where a device cannot.
fn faster(job: &Job, scene: &Scene, engine: &mut Engine<Machine>, factor: f64) -> Option<f64> {
    let factor = if engine.pages.is_empty() { factor } else { factor.round() }.max(1.0);
    if factor > 1.0 {
        if !engine.machines.iter_mut().all(|machine| machine.hasten(factor)) {
            return None;
        }
        scene.hasten(job, engine, factor);
    }
    Some(factor)
}
