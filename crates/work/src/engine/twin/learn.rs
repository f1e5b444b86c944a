//! What turns cost on this machine: measured once by a play of their own, kept, and the same for every run from then on.
//!
//! Times that are taken from the machine's clock while one plays are never the same twice, and policies whose difference is
//! small change places by it. So a short play measures turns, the median over the pieces of its window counts, and the play
//! that is judged takes that for every turn. Costs are kept by what may change them: the program, the CPU, the clock of the
//! host that is played, and the job without its twins, its lengths and its seed. Drives are thus compared at the same costs.

use std::path::{Path, PathBuf};

use assay_buffer::stage::{Account, Cpu, TurnCosts};
use assay_instruments::{Watch, rfc3339};
use assay_instruments::{clock::Clock, counters::Roots, environment::capture_from};
use assay_record::Reason;
use assay_scene::{Steady, place, program, quarters};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{play, result::Edge};
use crate::{
    engine::{job::EngineJob, on_twins::OnTwins},
    error::{Result, WorkError},
};

/// Seconds of the play that learns, at most: warm-up and window.
const WARMUP_S: f64 = 0.1;
const WINDOW_S: f64 = 0.5;
/// Turns in a piece of the window below which it says nothing.
const TURNS_AT_LEAST: u64 = 20;

/// What was computed in a window, piece by piece: mean time of a turn.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Computed {
    worker_ns: Vec<f64>,
    log_ns: f64,
    rest_ns: f64,
}

impl Computed {
    pub fn of(edges: &[Edge]) -> Self {
        let pieces = edges.windows(2).map(|two| two[1].workers.since(&two[0].workers));
        let worker_ns = pieces.filter(|piece| piece.turns >= TURNS_AT_LEAST).filter_map(|piece| mean_ns(&piece));
        let (first, last) = (&edges[0], &edges[edges.len() - 1]);
        let [all, workers, log] =
            [last.all.since(&first.all), last.workers.since(&first.workers), last.log_writer.since(&first.log_writer)];
        let rest = Account {
            computed: all.computed - workers.computed - log.computed,
            turns: all.turns - workers.turns - log.turns,
            ..Account::default()
        };
        Self {
            worker_ns: worker_ns.collect(),
            log_ns: mean_ns(&log).unwrap_or(0.0),
            rest_ns: mean_ns(&rest).unwrap_or(0.0),
        }
    }
}

fn mean_ns(account: &Account) -> Option<f64> {
    (account.turns > 0).then(|| account.computed as f64 / 1e3 / account.turns as f64)
}

/// What turns cost, and how that is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Learnt {
    /// By what it was looked up.
    key: Value,
    at: String,
    worker_ns: f64,
    log_ns: f64,
    rest_ns: f64,
    /// Half the distance between the quarters of the pieces, by the median.
    spread: f64,
    pieces: usize,
    against: Option<Reason>,
    #[serde(skip)]
    kept: bool,
}

impl Learnt {
    fn of(computed: &Computed, key: Value, against: Option<Reason>) -> Result<Self> {
        let Some([low, worker_ns, high]) = quarters(&computed.worker_ns) else {
            return Err(WorkError::job(
                "too few turns were played to learn what they cost",
                "ask for a longer window, or say what a turn costs (--turn 2us)",
            ));
        };
        // To a tenth of a nanosecond: what is kept as text is what was played.
        let round = |ns: f64| (ns * 10.0).round() / 10.0;
        Ok(Self {
            key,
            at: rfc3339(std::time::Duration::ZERO),
            worker_ns: round(worker_ns),
            log_ns: round(computed.log_ns),
            rest_ns: round(computed.rest_ns),
            spread: (high - low) / 2.0 / worker_ns.max(1e-9),
            pieces: computed.worker_ns.len(),
            against,
            kept: false,
        })
    }

    /// For a play: the costs, a sentence on them, and what was found against them.
    pub fn into_parts(self) -> (Cpu, String, Option<Reason>) {
        let Self { at, worker_ns, log_ns, rest_ns, spread, pieces, .. } = &self;
        let kept = if self.kept { "and kept" } else { "for this run alone" };
        let told = format!(
            "{worker_ns} ns for a turn, {log_ns} ns for one of the log's writer, {rest_ns} ns for one of others: learnt on \
             this machine {at} {kept} (median of {pieces} pieces, which spread by {:.0} %), scaled to the host's clock",
            spread * 100.0
        );
        let costs = TurnCosts { worker_ns: *worker_ns, log_ns: *log_ns, rest_ns: *rest_ns };
        (Cpu::Learnt(costs), told, self.against)
    }
}

/// What is said of costs that were asked for.
pub(super) fn declared(turn_ns: f64) -> String {
    format!("{turn_ns} ns for every turn, as asked for")
}

/// What turns of a job cost: as kept, or learnt now.
pub(super) fn costs(job: &EngineJob, twins: &OnTwins, watch: &mut Watch<'_>) -> Result<Learnt> {
    let clock = Clock::new();
    let key = key(job, twins, &clock);
    let place = twins.costs.as_deref().map(|folder| place(folder, &key));
    if let Some(known) = place.as_deref().filter(|_| !twins.learn).and_then(|place| kept(place, &key)) {
        return Ok(known);
    }
    let short =
        EngineJob { warmup_s: job.warmup_s.min(WARMUP_S), duration_s: job.duration_s.min(WINDOW_S), ..job.clone() };
    let watching = Steady::begin();
    let factor = clock.hz() / twins.data.host.clock_hz.value;
    let (_, computed) = play(&short, twins, Cpu::Measured { factor }, watch)?;
    let learnt = Learnt::of(&computed, key.clone(), watching.judge())?;
    let Some(place) = place else { return Ok(learnt) };
    keep(&place, &learnt)?;
    // As the next run reads it: a number may lose its last digit on the way into a file and back.
    Ok(kept(&place, &key).unwrap_or(Learnt { kept: true, ..learnt }))
}

/// What costs depend on.
fn key(job: &EngineJob, twins: &OnTwins, clock: &Clock) -> Value {
    let (tail, tier) = (twins.tail.is_some(), twins.tier.is_some());
    let job = EngineJob {
        name: String::new(),
        target: PathBuf::new(),
        log_target: None,
        tail_target: None,
        twins: None,
        warmup_s: 0.0,
        duration_s: 0.0,
        seed: 0,
        ..job.clone()
    };
    let machine = capture_from(&Roots::default(), clock);
    json!({
        "job": job,
        "tail": tail,
        "tier": tier,
        "host_clock_hz": twins.data.host.clock_hz.value,
        "cpu": machine.cpu.model,
        "kernel": machine.kernel,
        "program": program(),
    })
}

fn kept(place: &Path, key: &Value) -> Option<Learnt> {
    let learnt: Learnt = assay_scene::kept(place)?;
    let sound = [learnt.worker_ns, learnt.log_ns, learnt.rest_ns].iter().all(|ns| ns.is_finite() && *ns >= 0.0);
    (sound && learnt.key == *key).then_some(Learnt { kept: true, ..learnt })
}

fn keep(place: &Path, learnt: &Learnt) -> Result<()> {
    assay_scene::keep(place, learnt).map_err(|error| {
        let what = format!("what turns cost could not be kept in {}: {error}", place.display());
        WorkError::job(what, "name a state folder of your own (XDG_STATE_HOME), or say what a turn costs (--turn 2us)")
    })
}
