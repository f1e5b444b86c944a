//! A thread of the workload, as an actor of the stage.

use std::time::Duration;

use assay_buffer::stage;
use assay_index::{Index, IndexError, Session};
use assay_pmem::Touch;
use assay_scene::Port;

use super::{Phase, Play};
use crate::index::{
    act::Buffers,
    batch::Batch,
    desk::Desk,
    job::Window,
    outcome::ThreadOutcome,
    workload::{Entries, Picker, Stream},
};

/// Between two looks of one who has nothing left to do whether the window is over.
const REST: Duration = Duration::from_micros(100);

/// What takes virtual time in an operation: what it touched, and computing.
struct Clockwork<'a> {
    play: &'a Play<'a>,
    thread: usize,
    /// Where the index lies in memory.
    port: Option<Port>,
    touched: Vec<Touch>,
}

impl<'a> Clockwork<'a> {
    fn new(play: &'a Play<'a>, thread: usize) -> Self {
        let port = || Port::new(&play.around.scene, play.around.station);
        let port = play.job.index.in_pmem().then(port);
        Self { play, thread, port, touched: Vec::new() }
    }

    fn now(&self) -> u64 {
        self.play.stage.now()
    }

    /// Does an operation, lets it take its time, and lets others go on who are behind.
    fn turn<R>(&mut self, action: impl FnOnce() -> R) -> R {
        self.play.around.tape.run(true);
        let done = action();
        self.play.around.tape.run(false);
        let mut lines = 0;
        if let Some(port) = &mut self.port {
            self.play.around.tape.take(&mut self.touched);
            lines = port.play(self.play.stage, self.touched.drain(..));
            self.play.passed[self.thread].set(port.passed());
        }
        self.play.stage.spend(self.play.cost.of(1, lines));
        self.play.stage.turn();
        done
    }

    /// The same of operations that wait for the drive together: what they compute comes first.
    fn turn_of(&mut self, count: u64, action: impl FnOnce() -> bool) -> bool {
        self.play.stage.spend(self.play.cost.of(count, 0));
        let done = action();
        self.play.stage.turn();
        done
    }
}

/// What a thread does from first to last.
pub(super) fn body(
    play: &Play<'_>,
    index: &impl Index,
    thread: usize,
    desk: &Desk,
) -> Result<ThreadOutcome, IndexError> {
    let (job, territory) = (play.job, play.job.territory(thread as u64));
    let mut buffers = Buffers::new(Entries::new(job.sizes, job.seed), &job.sizes, thread as u64, job.scan_length);
    let mut session = index.session_of(thread % index.parts());
    let picker = Picker::new(job.distribution(), territory.picked())?;
    let mut clockwork = Clockwork::new(play, thread);
    let calm = Stream::new(job.workload.mix().without_growth(), picker.clone(), territory, job.seed ^ 0xAAAA);
    warm_up(&mut session, &mut clockwork, calm, &mut buffers);
    let before = session.moved();
    let stream = Stream::new(job.workload.mix(), picker, territory, job.seed);
    let mut outcome = if job.batch > 1 {
        let batch = Batch::new(Entries::new(job.sizes, job.seed), &job.sizes, job.batch);
        batches(&mut session, &mut clockwork, stream, (&mut buffers, batch), desk)
    } else {
        one_by_one(&mut session, &mut clockwork, stream, &mut buffers, desk)
    };
    outcome.moved = session.moved().zip(before).map(|(after, before)| after.since(&before));
    play.rests.set(play.rests.get() + 1);
    while play.phase.get() != Phase::Over {
        stage::sleep(REST);
    }
    Ok(outcome)
}

fn warm_up(session: &mut impl Session, clockwork: &mut Clockwork<'_>, mut calm: Stream, buffers: &mut Buffers) {
    while clockwork.play.phase.get() == Phase::WarmUp {
        let Some(step) = calm.step() else {
            stage::sleep(REST);
            continue;
        };
        // What fails here fails in the window too, and is counted there.
        let _ = clockwork.turn(|| buffers.act(session, &step));
    }
}

/// Operations of each thread.
fn quota(play: &Play<'_>) -> u64 {
    match play.job.window {
        Window::Operations(all) => all.div_ceil(u64::from(play.job.threads)),
        Window::Seconds(_) => u64::MAX,
    }
}

fn one_by_one(
    session: &mut impl Session,
    clockwork: &mut Clockwork<'_>,
    mut stream: Stream,
    buffers: &mut Buffers,
    desk: &Desk,
) -> ThreadOutcome {
    let (play, mut outcome, opened, mut done) =
        (clockwork.play, ThreadOutcome::new(stream.territory()), clockwork.now(), 0);
    while play.phase.get() == Phase::Window && done < quota(play) {
        let Some(step) = stream.step() else {
            outcome.exhausted = true;
            break;
        };
        let begin = clockwork.now();
        let result = clockwork.turn(|| buffers.act(session, &step));
        desk.took(step.operation, (clockwork.now() - begin) / 1000);
        outcome.look_at(&step, &result, buffers);
        done += 1;
        desk.did(done);
        if !outcome.count(&step, result, &mut stream) {
            break;
        }
    }
    ended(outcome, &stream, clockwork.now() - opened)
}

fn batches(
    session: &mut impl Session,
    clockwork: &mut Clockwork<'_>,
    mut stream: Stream,
    (buffers, mut batch): (&mut Buffers, Batch),
    desk: &Desk,
) -> ThreadOutcome {
    let (play, mut outcome, opened, mut done) =
        (clockwork.play, ThreadOutcome::new(stream.territory()), clockwork.now(), 0);
    let look_up =
        |session: &mut _, batch: &mut Batch, clockwork: &mut Clockwork<'_>, outcome: &mut _, stream: &mut _| {
            let (stage, begin) = (play.stage, clockwork.now());
            clockwork.turn_of(batch.gathered(), || {
                batch.look_up(session, || (stage.now() - begin) / 1000, outcome, desk, stream)
            })
        };
    while play.phase.get() == Phase::Window && done < quota(play) {
        let Some(step) = stream.step() else {
            outcome.exhausted = true;
            break;
        };
        done += 1;
        let goes_on = if Batch::takes(&step) {
            !batch.add(step, true) || look_up(session, &mut batch, clockwork, &mut outcome, &mut stream)
        } else {
            let begin = clockwork.now();
            let result = clockwork.turn(|| buffers.act(session, &step));
            desk.took(step.operation, (clockwork.now() - begin) / 1000);
            outcome.look_at(&step, &result, buffers);
            outcome.count(&step, result, &mut stream)
        };
        desk.did(done);
        if !goes_on {
            break;
        }
    }
    look_up(session, &mut batch, clockwork, &mut outcome, &mut stream);
    ended(outcome, &stream, clockwork.now() - opened)
}

fn ended(outcome: ThreadOutcome, stream: &Stream, worked: u64) -> ThreadOutcome {
    ThreadOutcome { territory: stream.territory(), worked_s: worked as f64 / 1e12, ..outcome }
}
