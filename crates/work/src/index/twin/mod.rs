//! An index on a twin: its own code, in virtual time.
//!
//! Loading takes no virtual time. In the window each thread is an actor of the stage ([`assay_buffer::stage`]). An operation
//! in memory is done at once, on a medium that notes what goes beyond the CPU's caches ([`assay_pmem::Taped`]); that is then
//! played back through the modules, which serve all threads. On a drive its I/O takes the time of the twin's drive.

mod actor;
mod disks;
mod heat;
mod learn;
mod result;
mod window;

use std::{
    cell::Cell,
    panic::{AssertUnwindSafe, catch_unwind},
    rc::Rc,
    time::Instant,
};

use assay_buffer::stage::{self, Cpu, Stage};
use assay_index::{Factory, Index, IndexError, OnFactory, Wrap, with_factory_on};
use assay_instruments::{clock::Clock, counters::Roots, environment::capture_from};
use assay_pmem::{Mapped, Tape, Taped};
use assay_record::{Reason, WorkRecord};
use assay_scene::{Passed, Shared};

use self::{disks::TwinDisks, learn::TurnCost};
use super::{
    Watch, look_after, prepare, record,
    workers::{self, Worked},
};
use crate::index::{
    job::IndexJob,
    on_twin::{OnTwin, told},
};

/// What is around a play: the twin's station, and the tape of what is in memory.
pub(crate) struct Around {
    pub(crate) scene: Shared,
    pub(crate) station: usize,
    pub(crate) tape: Tape,
    /// Memory that this machine has to spare.
    pub(crate) memory_bytes: u64,
}

impl Around {
    /// Of a job, with so many bytes of data on the twin.
    fn new(job: &IndexJob, twin: &OnTwin, used_bytes: u64) -> Result<Self, IndexError> {
        let scene = Shared::new(&twin.data.host, job.threads, job.seed);
        let station = if job.index.in_pmem() {
            scene.lock().add(&twin.data, used_bytes, job.seed)
        } else {
            scene.lock().add_by(&twin.data, OnTwin::path(job.io()), used_bytes, job.seed)
        };
        let station = station.map_err(|error| told(&error))?;
        let memory_bytes = capture_from(&Roots::default(), &Clock::new()).memory.available_bytes;
        Ok(Self { scene, station, tape: Tape::new(twin.cache_bytes), memory_bytes })
    }
}

/// What goes beyond the caches is noted, for a play in virtual time.
struct OnTape(Tape);

impl Wrap for OnTape {
    type Medium = Taped<Mapped>;

    fn wrap(&self, mapped: Mapped) -> Taped<Mapped> {
        Taped::new(mapped, self.0.clone())
    }
}

/// Buffers on what makes and opens the index of a job, among what is around a play.
fn with_player<V: OnFactory>(job: &IndexJob, around: &Around, visit: V) -> Result<V::Out, IndexError> {
    let label = job.twin.as_ref().map_or("", |twin| twin.data.label.as_str());
    let wrap = OnTape(around.tape.clone());
    with_factory_on(&job.setup(), wrap, |_, needs| TwinDisks::new(label, around, needs), visit)
}

/// Plays a job. What operations cost is settled before: the same job gives the same play.
///
/// # Errors
/// Where it cannot be played, or the index fails.
pub(crate) fn play_on(job: &IndexJob, twin: &OnTwin, watch: &mut Watch<'_>) -> Result<WorkRecord, IndexError> {
    // As off stage, damage may be met by a panic.
    let outcome = catch_unwind(AssertUnwindSafe(|| {
        let learnt = learn::costs(job, twin, watch)?;
        let around = Around::new(job, twin, (job.keys as f64 * job.sizes.entry_bytes()) as u64)?;
        with_player(job, &around, Playing { job, twin, around: &around, learnt, watch })?
    }));
    outcome.unwrap_or_else(|panic| Err(workers::broken(&*panic)))
}

struct Playing<'a, 'w> {
    job: &'a IndexJob,
    twin: &'a OnTwin,
    around: &'a Around,
    learnt: (TurnCost, String, Option<Reason>),
    watch: &'a mut Watch<'w>,
}

impl OnFactory for Playing<'_, '_> {
    type Out = Result<WorkRecord, IndexError>;

    fn on<F: Factory>(self, factory: &F) -> Self::Out {
        let Self { job, twin, around, learnt: (cost, told, against), watch } = self;
        let began = Instant::now();
        let loaded = prepare(factory, &learn::loaded_alone(job), watch)?;
        let opened = factory.open()?;
        let mut seen = record::Seen::new(began, loaded, opened.recovery);
        seen.used_before = opened.index.used_bytes();
        heat::heat(&opened.index, job, around, near_bytes(job, twin, seen.used_before))?;
        seen.prepared = began.elapsed();
        let (worked, edges) = play(&opened.index, (job, twin, around), cost, watch)?;
        // The tape has counted in the window itself.
        let counted = IndexJob { counted_operations: 0, ..job.clone() };
        look_after(factory, opened.index, &counted, (&mut seen, &worked), watch)?;
        let record = record::record(job, &factory.about(), seen, worked);
        Ok(result::complete((job, twin, around), record, &edges, (told, against)))
    }
}

/// Bytes that the CPU's caches hold, or the pool before a drive where not all fits into it.
fn near_bytes(job: &IndexJob, twin: &OnTwin, used_bytes: u64) -> u64 {
    if job.index.in_pmem() {
        return twin.cache_bytes;
    }
    job.pool_bytes.unwrap_or(assay_index::ssd::POOL_BYTES).min(used_bytes)
}

/// Warm-up and window on a stage of their own.
fn play(
    index: &impl Index,
    (job, twin, around): (&IndexJob, &OnTwin, &Around),
    cost: TurnCost,
    watch: &mut Watch<'_>,
) -> Result<(Worked, [window::Edge; 2]), IndexError> {
    let stage = Rc::new(Stage::new(Box::new(around.scene.clone()), Cpu::Fixed { turn_ns: 0.0 }));
    let _entered = stage::enter(&stage);
    let passed = (0..job.threads).map(|_| Cell::new(Passed::default())).collect();
    let play = Play { job, around, cost, stage: &stage, phase: Cell::new(Phase::WarmUp), rests: Cell::new(0), passed };
    window::play(&play, twin, index, watch)
}

/// What an actor is at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    WarmUp,
    Window,
    Over,
}

/// A run, as it is played.
struct Play<'a> {
    job: &'a IndexJob,
    around: &'a Around,
    cost: TurnCost,
    stage: &'a Rc<Stage>,
    phase: Cell<Phase>,
    /// Actors that have nothing left to do.
    rests: Cell<u32>,
    /// What went to the modules and came from them, by thread.
    passed: Vec<Cell<Passed>>,
}
