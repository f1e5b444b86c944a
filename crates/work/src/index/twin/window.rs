//! The window of a play: actors begin, time passes in pieces, and what was done is gathered at the edges.

use std::{cell::RefCell, rc::Rc, sync::atomic::Ordering::Relaxed};

use assay_buffer::stage::{Account, Picoseconds, Stage};
use assay_index::{Index, IndexError};
use assay_record::Event;
use assay_scene::{Doings, Passed};
use assay_twin::machine;

use super::{Phase, Play, actor};
use crate::index::{
    Watch,
    desk::{Desk, Series},
    job::Window,
    on_twin::OnTwin,
    outcome::ThreadOutcome,
    workers::Worked,
};

/// Pieces of a window that ends after a time: its series, and how its rate spreads.
const PIECES: u32 = 20;
/// The first piece of a window that ends after operations; later ones are longer.
const FIRST_PIECE: Picoseconds = 50_000_000;

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

/// Actors that may not outlive what they borrow: where a play breaks off they are ended.
struct Cast<'a> {
    stage: &'a Rc<Stage>,
    actors: Vec<usize>,
}

impl Drop for Cast<'_> {
    fn drop(&mut self) {
        self.stage.abandon();
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
    let mut cast = Cast { stage: play.stage, actors: Vec::new() };
    for (thread, (desk, place)) in desks.iter().zip(&outcomes).enumerate() {
        let body = move || _ = place.replace(Some(actor::body(play, index, thread, desk)));
        // SAFETY: the cast ends all actors before what they borrow ends, which was there before it.
        let actor = unsafe { play.stage.spawn_borrowing("worker", body) };
        cast.actors
            .push(actor.map_err(|error| {
                IndexError::job(format!("no stack could be had: {error}"), "ask for fewer threads")
            })?);
    }
    let (series, edges) = pass_time(play, &cast.actors, &desks, watch);
    let outcomes = outcomes.iter().map(|place| place.take().unwrap_or_else(|| Err(stopped())));
    let outcomes = outcomes.collect::<Result<Vec<_>, _>>()?;
    let window = assay_scene::window(machine::environment(&twin.data.host, [twin.data.part("data")]));
    let interrupted = watch.interrupted.load(Relaxed);
    let service = series.service();
    Ok((Worked { outcomes, window, service, intervals: series.points, interrupted }, edges))
}

/// Cannot be: an actor that was joined has left its outcome.
fn stopped() -> IndexError {
    IndexError::Interrupted { at: "playing" }
}

fn pass_time(play: &Play<'_>, actors: &[usize], desks: &[Desk], watch: &mut Watch<'_>) -> (Series, [Edge; 2]) {
    let (job, stage) = (play.job, play.stage);
    let ps = |seconds: f64| (seconds * 1e12) as Picoseconds;
    let mut until = stage.now() + ps(job.warmup_s);
    stage.play_until(until);
    let opened = until;
    let mut series = Series::new(desks);
    play.phase.set(Phase::Window);
    let first = Edge::now(play, actors);
    let mut length = match job.window {
        Window::Seconds(seconds) => ps(seconds / f64::from(PIECES)).max(1),
        Window::Operations(_) => FIRST_PIECE,
    };
    let goes_on = |piece: u32| match job.window {
        Window::Seconds(_) => piece < PIECES,
        Window::Operations(_) => true,
    };
    let mut piece = 0;
    while goes_on(piece) && play.rests.get() < job.threads && !watch.interrupted.load(Relaxed) {
        until += length;
        stage.play_until(until);
        series.gather(desks, (until - opened) as f64 / 1e12);
        piece += 1;
        if matches!(job.window, Window::Operations(_)) {
            length += length / 8;
        }
        tell(watch, &series, piece);
    }
    let last = Edge::now(play, actors);
    play.phase.set(Phase::Over);
    actors.iter().for_each(|&actor| stage.join(actor));
    (series, [first, last])
}

fn tell(watch: &mut Watch<'_>, series: &Series, piece: u32) {
    let Some(point) = series.points.last() else { return };
    let detail = format!("{:.0} operations/s (modelled)", point.operations as f64 / point.length_s.max(1e-12));
    let done = f64::from(piece.min(PIECES)) / f64::from(PIECES);
    (watch.emit)(Event::Progress { stage: "playing".to_owned(), done, detail });
}
