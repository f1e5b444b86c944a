//! The window of a play: what was done is gathered at its edges.

use std::{cell::RefCell, sync::atomic::Ordering::Relaxed};

use assay_buffer::stage::{Account, Picoseconds};
use assay_index::{Index, IndexError};
use assay_record::Event;
use assay_scene::{Cast, Doings, PIECES, Passed, PlayLength};
use assay_twin::machine;
use assay_workload::Observe;

use super::{Phase, Play, actor};
use crate::index::{
    Watch,
    desk::{Desk, Series},
    job::Window,
    on_twin::OnTwin,
    outcome::ThreadOutcome,
    workers::Worked,
};

/// Everything at one edge of the window.
pub(super) struct Edge {
    pub at: Picoseconds,
    pub used: Account,
    pub passed: Passed,
    pub done: Doings,
    pub lines: [u64; 2],
}

impl Edge {
    fn now(play: &Play<'_>, actors: &[usize]) -> Self {
        let (stage, around) = (play.stage, play.around);
        let (mut used, mut passed) = (Account::default(), Passed::default());
        actors.iter().for_each(|&actor| used.add(&stage.account(actor)));
        play.passed.iter().for_each(|one| passed.add(&one.get()));
        let done = around.scene.lock().doings(around.station, stage.now());
        Self { at: stage.now(), used, passed, done, lines: around.tape.lines() }
    }
}

/// Plays warm-up and window on an index.
pub(super) fn play(
    play: &Play<'_>,
    twin: &OnTwin,
    index: &impl Index,
    watch: &mut Watch<'_>,
) -> Result<(Worked, [Edge; 2]), IndexError> {
    let job = play.job;
    let desks: Vec<Desk> = (0..job.threads).map(|_| Desk::new(job.workload.mix())).collect();
    let outcomes: Vec<RefCell<Option<Result<ThreadOutcome, IndexError>>>> =
        desks.iter().map(|_| RefCell::default()).collect();
    let bodies = desks.iter().zip(&outcomes).enumerate().map(|(thread, (desk, place))| {
        Box::new(move || _ = place.replace(Some(actor::body(play, index, thread, desk)))) as Box<dyn FnOnce() + '_>
    });
    let cast = Cast::begin(play.stage, bodies.collect());
    let cast =
        cast.map_err(|error| IndexError::job(format!("no stack could be had: {error}"), "ask for fewer threads"))?;
    let interrupted = watch.interrupted;
    let goes_on = || play.rests.get() < job.threads && !interrupted.load(Relaxed);
    let length = match job.window {
        Window::Seconds(seconds) => PlayLength::Seconds(seconds),
        Window::Operations(_) => PlayLength::UntilDone,
    };
    let mut seen =
        Seen { play, actors: cast.actors(), desks: &desks, series: Series::new(&desks), edges: Vec::new(), watch };
    cast.play(job.warmup_s, length, &goes_on, &mut seen);
    let (series, edges) = (seen.series, seen.edges);
    cast.join();
    let outcomes = outcomes.iter().map(|place| place.take().unwrap_or_else(|| Err(stopped())));
    let outcomes = outcomes.collect::<Result<Vec<_>, _>>()?;
    let window = assay_scene::window(machine::environment(&twin.data.host, [twin.data.part("data")]));
    let interrupted = interrupted.load(Relaxed);
    let service = series.service();
    let Ok(edges) = edges.try_into() else { unreachable!("a window has two edges") };
    Ok((Worked { outcomes, window, service, intervals: series.points, interrupted }, edges))
}

/// Cannot be: an actor that was joined has left its outcome.
fn stopped() -> IndexError {
    IndexError::Interrupted { at: "playing" }
}

/// What is seen of a window while it is played.
struct Seen<'a, 'w> {
    play: &'a Play<'a>,
    actors: &'a [usize],
    desks: &'a [Desk],
    series: Series,
    edges: Vec<Edge>,
    watch: &'a mut Watch<'w>,
}

impl Observe for Seen<'_, '_> {
    fn open(&mut self) {}

    fn begin(&mut self) {
        self.play.phase.set(Phase::Window);
        self.edges.push(Edge::now(self.play, self.actors));
    }

    fn interval(&mut self, at_s: f64) {
        self.series.gather(self.desks, at_s);
        let Some(point) = self.series.points.last() else { return };
        let detail = format!("{:.0} operations/s (modelled)", point.operations as f64 / point.length_s.max(1e-12));
        let done = (self.series.points.len() as f64 / f64::from(PIECES)).min(1.0);
        (self.watch.emit)(Event::Progress { stage: "playing".to_owned(), done, detail });
    }

    fn close(&mut self, _at_s: f64) {
        self.edges.push(Edge::now(self.play, self.actors));
        self.play.phase.set(Phase::Over);
    }
}
