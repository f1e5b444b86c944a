//! What operations cost to compute on this machine: measured once by one thread with nothing to wait for, kept, and the same
//! for every play from then on.
//!
//! Memory stands in for the twin meanwhile, and lines that come from the modules in the play come from this machine's memory
//! here. What that takes is measured beside it, and taken off again.

use std::{path::Path, time::Duration};

use assay_buffer::stage::Picoseconds;
use assay_index::{Factory, Index, IndexError, OnFactory, with_factory};
use assay_instruments::{Watch, clock::Clock, counters::Roots, environment::capture_from, rfc3339};
use assay_record::Reason;
use assay_scene::{Steady, place, program, quarters};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Around, with_player};
use crate::index::{
    act::Buffers,
    job::{IndexJob, Window},
    on_twin::OnTwin,
    prepare,
    workload::{Entries, Operation, Picker, Stream},
};

/// Pieces of which the median counts.
const PIECES: u64 = 20;
/// Operations of a piece: as many as this, or fewer where keys would run out.
const PIECE: u64 = 5_000;
/// Operations before the first piece.
const WARM_UP: u64 = 20_000;
/// Steps of a walk from line to line.
const WALK: u64 = 200_000;
/// Bytes that the smallest cache holds.
const NEAR_BYTES: u64 = 8 << 10;
/// What is left of an operation's CPU time at least when lines from memory are taken off: a processor does other things while
/// it waits for them, within an operation and with the next.
const LEFT: f64 = 0.5;

/// What an operation costs to compute, ns of the play.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct TurnCost {
    pub turn_ns: f64,
    /// What a line from this machine's memory took of that.
    pub line_ns: f64,
}

impl TurnCost {
    /// Of so many operations, which waited for so many lines of the modules.
    pub fn of(&self, operations: u64, lines: u64) -> Picoseconds {
        let whole = self.turn_ns * operations as f64;
        ((whole - self.line_ns * lines as f64).max(whole * LEFT) * 1e3) as Picoseconds
    }
}

/// What was learnt, and how.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Learnt {
    /// By what it was looked up.
    key: Value,
    at: String,
    turn_ns: f64,
    line_ns: f64,
    /// Of this machine's clock when it was learnt: each process finds it anew, and differently by some millionths.
    clock_hz: f64,
    spread: f64,
    against: Option<Reason>,
    #[serde(skip)]
    kept: bool,
}

impl Learnt {
    fn into_parts(self, host_hz: f64) -> (TurnCost, String, Option<Reason>) {
        let Self { at, turn_ns, line_ns, clock_hz, spread, against, kept, .. } = self;
        let factor = clock_hz / host_hz;
        let kept = if kept { "and kept" } else { "for this run alone" };
        let told = format!(
            "{turn_ns} ns for an operation, less {line_ns} ns for each line that it waits for: learnt on this machine {at} \
             {kept} (median of {PIECES} pieces, which spread by {:.0} %), times {factor:.3} for the host's clock",
            spread * 100.0
        );
        (TurnCost { turn_ns: turn_ns * factor, line_ns: line_ns * factor }, told, against)
    }
}

/// The job as it is loaded: by one thread, so that the same keys are always in the same places. Where each thread has a
/// structure of its own they always are.
pub(super) fn loaded_alone(job: &IndexJob) -> IndexJob {
    let threads = if job.split { job.threads } else { 1 };
    IndexJob { threads, ..job.clone() }
}

/// What operations of a job cost: declared, as kept, or learnt now; with a sentence on it, and what was found against it.
pub(super) fn costs(
    job: &IndexJob,
    twin: &OnTwin,
    watch: &mut Watch<'_>,
) -> Result<(TurnCost, String, Option<Reason>), IndexError> {
    if let Some(turn_ns) = twin.turn_ns {
        let told = format!("{turn_ns} ns for every operation, as asked for");
        return Ok((TurnCost { turn_ns, line_ns: 0.0 }, told, None));
    }
    let clock = Clock::new();
    let host_hz = twin.data.host.clock_hz.value;
    let key = key(job, &clock);
    let file = twin.costs.as_deref().map(|folder| place(folder, &key));
    if let Some(known) = file.as_deref().filter(|_| !twin.learn).and_then(|file| kept(file, &key)) {
        return Ok(known.into_parts(host_hz));
    }
    let mut learnt = learn(job, twin, (key.clone(), clock.hz()), watch)?;
    if let Some(file) = file {
        assay_scene::keep(&file, &learnt).map_err(|error| {
            let seen = format!("what operations cost could not be kept in {}: {error}", file.display());
            IndexError::job(
                seen,
                "name a state folder of your own (XDG_STATE_HOME), or say what one costs (--turn 500ns)",
            )
        })?;
        // As the next run reads it: a number may lose its last digit on the way into a file and back.
        learnt = kept(&file, &key).unwrap_or(Learnt { kept: true, ..learnt });
    }
    Ok(learnt.into_parts(host_hz))
}

fn kept(file: &Path, key: &Value) -> Option<Learnt> {
    let learnt: Learnt = assay_scene::kept(file)?;
    let sound = [learnt.turn_ns, learnt.line_ns].iter().all(|ns| ns.is_finite() && *ns >= 0.0);
    let sound = sound && learnt.clock_hz.is_finite() && learnt.clock_hz > 0.0;
    (sound && learnt.key == *key).then_some(Learnt { kept: true, ..learnt })
}

/// What costs depend on: threads and modules are compared at the same.
fn key(job: &IndexJob, clock: &Clock) -> Value {
    let job = IndexJob {
        name: String::new(),
        target: "/".into(),
        twin: None,
        threads: if job.split { job.threads } else { 1 },
        warmup_s: 0.0,
        window: Window::Operations(1),
        sample_every: Some(1),
        counted_operations: 0,
        checked_entries: 0,
        seed: 0,
        ..job.clone()
    };
    let machine = capture_from(&Roots::default(), clock);
    json!({ "job": job, "cpu": machine.cpu.model, "kernel": machine.kernel, "program": program() })
}

fn learn(
    job: &IndexJob,
    twin: &OnTwin,
    (key, clock_hz): (Value, f64),
    watch: &mut Watch<'_>,
) -> Result<Learnt, IndexError> {
    let watching = Steady::begin();
    let off_stage = IndexJob { twin: None, ..job.clone() };
    let learning = Learning { job: &off_stage, watch };
    let (pieces, line_ns) = if job.index.in_pmem() {
        with_factory(&off_stage.setup(), learning)??
    } else {
        with_player(job, &Around::new(job, twin, 0)?, learning)??
    };
    let Some([low, turn_ns, high]) = quarters(&pieces) else {
        let fix = "load more keys, or say what an operation costs (--turn 500ns)";
        return Err(IndexError::job("too few operations were done to learn what they cost", fix));
    };
    // To a tenth of a nanosecond: what is kept as text is what was played.
    let round = |ns: f64| (ns * 10.0).round() / 10.0;
    Ok(Learnt {
        key,
        at: rfc3339(Duration::ZERO),
        turn_ns: round(turn_ns),
        line_ns: round(line_ns),
        clock_hz: clock_hz.round(),
        spread: (high - low) / 2.0 / turn_ns.max(1e-9),
        against: watching.judge(),
        kept: false,
    })
}

/// One thread works off stage, where nothing takes longer than it takes here.
struct Learning<'a, 'w> {
    job: &'a IndexJob,
    watch: &'a mut Watch<'w>,
}

impl OnFactory for Learning<'_, '_> {
    /// CPU time of an operation by piece, and of a line, ns.
    type Out = Result<(Vec<f64>, f64), IndexError>;

    fn on<F: Factory>(self, factory: &F) -> Self::Out {
        let job = self.job;
        prepare(factory, &loaded_alone(job), self.watch)?;
        let index = factory.open()?.index;
        let line_ns = if job.index.in_pmem() { line_ns(index.used_bytes()) } else { 0.0 };
        let pieces = pieces(&index, job)?;
        Ok((pieces, line_ns))
    }
}

fn pieces(index: &impl Index, job: &IndexJob) -> Result<Vec<f64>, IndexError> {
    let (territory, entries) = (job.territory(0), Entries::new(job.sizes, job.seed));
    let picker = Picker::new(job.distribution(), territory.picked())?;
    let mut buffers = Buffers::new(entries, &job.sizes, 0, job.scan_length);
    let mut session = index.session_of(0);
    let mut calm = Stream::new(job.workload.mix().without_growth(), picker.clone(), territory, !job.seed);
    for _ in 0..WARM_UP {
        let Some(step) = calm.step() else { break };
        buffers.act(&mut session, &step)?;
    }
    let own = job.keys / u64::from(job.threads);
    let most = (own / (PIECES + 1)).clamp(1, PIECE);
    let mut stream = Stream::new(job.workload.mix(), picker, territory, job.seed);
    let mut found = Vec::new();
    for _ in 0..PIECES {
        let (begin, mut done) = (thread_ns(), 0_u64);
        while done < most {
            let Some(step) = stream.step() else { break };
            buffers.act(&mut session, &step)?;
            match step.operation {
                Operation::Insert => stream.added(),
                Operation::Remove => stream.removed(),
                _ => {}
            }
            done += 1;
        }
        if done > 0 {
            found.push((thread_ns() - begin) as f64 / done as f64);
        }
    }
    Ok(found)
}

/// CPU time of the calling thread, ns.
fn thread_ns() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// What a load of a line that nobody could know before takes here from among so many bytes, beyond one that is near, ns.
fn line_ns(bytes: u64) -> f64 {
    (walk_ns(bytes) - walk_ns(NEAR_BYTES)).max(0.0)
}

/// A step of a walk through so many bytes, ns.
fn walk_ns(bytes: u64) -> f64 {
    let words = (bytes / 8).clamp(NEAR_BYTES / 8, 1 << 27);
    let memory = vec![1_u64; words as usize];
    let walk = |steps: u64| {
        let (begin, mut at) = (thread_ns(), 0_u64);
        for step in 0..steps {
            // Where the next one lies depends on what was found in this one.
            let mixed = (at + memory[at as usize] + step).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            at = ((u128::from(mixed) * u128::from(words)) >> 64) as u64;
        }
        std::hint::black_box(at);
        (thread_ns() - begin) as f64 / steps as f64
    };
    walk(WALK);
    walk(WALK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_the_modules_give_are_taken_off_and_something_is_left() {
        let cost = TurnCost { turn_ns: 500.0, line_ns: 80.0 };
        assert_eq!(
            [cost.of(1, 0), cost.of(1, 2), cost.of(1, 100), cost.of(64, 0)],
            [500_000, 340_000, 250_000, 32_000_000]
        );
    }
}
