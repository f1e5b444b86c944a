//! A thread's way to modules of memory: what it touched, played back in virtual time beside what all others touch.

use assay_buffer::{
    disk::Completion,
    stage::{Picoseconds, Stage},
};
use assay_pmem::Touch;
use assay_record::Persist;
use assay_twin::simulated::{Action, Request};

use crate::scene::Shared;

/// What went through a port.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Bytes of lines that came from the modules.
    pub read_bytes: u64,
    /// Bytes of lines that went there.
    pub written_bytes: u64,
    /// Fences that found something to wait for.
    pub fences: u64,
    /// Time that was waited, ps.
    pub waited: Picoseconds,
    /// Time that the same would have taken with nobody else at the modules, ps.
    pub alone: Picoseconds,
}

impl Passed {
    /// Adds another's.
    pub fn add(&mut self, other: &Self) {
        self.read_bytes += other.read_bytes;
        self.written_bytes += other.written_bytes;
        self.fences += other.fences;
        self.waited += other.waited;
        self.alone += other.alone;
    }

    /// What came on top since an earlier look.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            read_bytes: self.read_bytes - earlier.read_bytes,
            written_bytes: self.written_bytes - earlier.written_bytes,
            fences: self.fences - earlier.fences,
            waited: self.waited - earlier.waited,
            alone: self.alone - earlier.alone,
        }
    }
}

/// One thread's way to a station of modules.
pub struct Port {
    scene: Shared,
    station: usize,
    /// Where it waits, and where what nobody waits for ends.
    lane: usize,
    posted: usize,
    /// Written back, and not fenced yet.
    pending: Vec<Request>,
    ended: Vec<Completion>,
    passed: Passed,
}

impl Port {
    /// To a station.
    pub fn new(scene: &Shared, station: usize) -> Self {
        let [lane, posted] = {
            let mut all = scene.lock();
            [all.add_lane(), all.add_lane()]
        };
        let (pending, ended, passed) = (Vec::new(), Vec::new(), Passed::default());
        Self { scene: scene.clone(), station, lane, posted, pending, ended, passed }
    }

    /// What went through so far.
    pub fn passed(&self) -> Passed {
        self.passed
    }

    /// Plays back what an operation touched, in its order: a read is waited for, lines that are written back are waited for
    /// by the next fence, and what falls out of the caches by nobody. The caller is an actor of the stage. Lines that were
    /// waited for as reads.
    pub fn play(&mut self, stage: &Stage, touched: impl IntoIterator<Item = Touch>) -> u64 {
        let mut lines = 0;
        for touch in touched {
            match touch {
                Touch::Read { at, bytes, near } => {
                    lines += u64::from(bytes.div_ceil(64));
                    self.passed.read_bytes += u64::from(bytes);
                    self.await_all(stage, &[read(at, bytes, near)]);
                }
                Touch::WrittenBack { at, bytes } => self.pending.push(write(at, bytes, Persist::Clwb)),
                Touch::Streamed { at, bytes } => self.pending.push(write(at, bytes, Persist::Nt)),
                Touch::PushedOut { at, bytes } => self.post(stage, write(at, bytes, Persist::None)),
                Touch::Fence => self.fence(stage),
            }
        }
        lines
    }

    fn fence(&mut self, stage: &Stage) {
        if self.pending.is_empty() {
            return;
        }
        let pending = std::mem::take(&mut self.pending);
        self.passed.fences += 1;
        self.passed.written_bytes += pending.iter().map(|request| u64::from(request.bytes)).sum::<u64>();
        self.await_all(stage, &pending);
        self.pending = pending;
        self.pending.clear();
    }

    /// All of them are under way together.
    fn await_all(&mut self, stage: &Stage, requests: &[Request]) {
        let begin = stage.now();
        let mut longest = 0;
        {
            let mut scene = self.scene.lock();
            for &request in requests {
                scene.launch(begin, (self.station, self.lane, stage.actor()), request, 0);
                longest = longest.max(scene.alone(self.station, request));
            }
        }
        loop {
            stage.await_device(Picoseconds::MAX);
            self.ended.clear();
            if self.scene.lock().reap(self.lane, &mut self.ended) == 0 {
                break;
            }
        }
        self.passed.alone += longest;
        self.passed.waited += stage.now() - begin;
    }

    fn post(&mut self, stage: &Stage, request: Request) {
        self.passed.written_bytes += u64::from(request.bytes);
        let mut scene = self.scene.lock();
        self.ended.clear();
        scene.reap(self.posted, &mut self.ended);
        scene.launch(stage.now(), (self.station, self.posted, None), request, 0);
    }
}

/// A load that is waited for; near where its block of the media is still open.
fn read(at: u64, bytes: u32, near: bool) -> Request {
    Request { action: Action::Read, offset: at, bytes, sequential: near, fenced: true, ..Request::default() }
}

fn write(at: u64, bytes: u32, persist: Persist) -> Request {
    Request { action: Action::Write, offset: at, bytes, fenced: true, persist, ..Request::default() }
}
