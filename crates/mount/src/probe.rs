//! How long the way through FUSE and back takes: a question that only the mount can answer, asked by this program.

use std::{
    collections::VecDeque,
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, JoinHandle},
    time::{Duration, Instant},
};

use hdrhistogram::Histogram;
use rustix::{
    fs::{AtFlags, CWD, StatxFlags, statx},
    io::Errno,
};

use crate::{stage::Stage, way::Way};

/// For so long answers to questions are held at the start, ns: who waits for long wakes up later than who has just begun to.
const HELD_NS: [u64; 8] = [0, 10_000, 20_000, 40_000, 80_000, 160_000, 320_000, 640_000];
/// Questions of each of these, the first of them to warm up.
const FIRST: usize = 160;
const WARM: usize = 40;
/// Pause between questions while a drive is played.
const PAUSE: Duration = Duration::from_millis(50);
/// The way is what the last of these say.
const LAST: usize = 31;
/// Of them, so many in a hundred are quicker than the way: some meet a request, and wait for it.
const QUICKER: usize = 35;
/// Questions in a row.
const AGAIN: usize = 2;
const MOST_NS: u64 = 60_000_000_000;

/// Asks again and again.
pub struct Probe {
    ended: Arc<AtomicBool>,
    waits: Arc<Mutex<Histogram<u64>>>,
    thread: JoinHandle<()>,
}

/// How much longer an answer took than it was held, ns.
fn ask(at: &Path, held_ns: u64) -> Result<u64, Errno> {
    let begin = Instant::now();
    let _ = statx(CWD, at, AtFlags::STATX_FORCE_SYNC | AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS)?;
    Ok((begin.elapsed().as_nanos() as u64).saturating_sub(held_ns))
}

/// The way and back when nothing else goes on: the middle of some hundred questions for each time that an answer may be held.
///
/// # Errors
/// Where the mount does not answer.
pub fn learn(stage: &Stage, at: &Path) -> Result<Way, Errno> {
    let mut points = Vec::with_capacity(HELD_NS.len());
    for held_ns in HELD_NS {
        stage.probe_by(thread_id(), held_ns);
        let mut ways = (0..FIRST).map(|_| ask(at, held_ns)).collect::<Result<Vec<_>, _>>()?.split_off(WARM);
        let middle = ways.len() / 2;
        points.push((held_ns, *ways.select_nth_unstable(middle).1));
    }
    stage.probe_by(0, 0);
    Ok(Way::new(points))
}

/// What so many of the waits are quicker than.
fn usual(waits: &VecDeque<u64>) -> u64 {
    let mut waits: Vec<u64> = waits.iter().copied().collect();
    let rank = waits.len() * QUICKER / 100;
    *waits.select_nth_unstable(rank).1
}

fn thread_id() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

impl Probe {
    /// Asks from now on, about requests that take so long as a whole, ns, and says how much longer the way has become.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn start(stage: Arc<Stage>, at: &Path, way: Way, whole_ns: u64) -> std::io::Result<Self> {
        let ended = Arc::new(AtomicBool::new(false));
        let waits = Histogram::new_with_bounds(1, MOST_NS, 3).expect("bounds are in order");
        let waits = Arc::new(Mutex::new(waits));
        let first_ns = way.of(whole_ns);
        let held_ns = whole_ns.saturating_sub(first_ns).min(HELD_NS[HELD_NS.len() - 1]);
        let (own_ended, own_waits, at) = (Arc::clone(&ended), Arc::clone(&waits), at.to_owned());
        let thread = thread::Builder::new().name("probe".to_owned()).spawn(move || {
            stage.probe_by(thread_id(), held_ns);
            let (mut last, mut longer_ns) = (VecDeque::with_capacity(LAST), 0);
            while !own_ended.load(Ordering::Relaxed) {
                thread::sleep(PAUSE);
                // The first ones wake what slept since the last time: at the start nothing did.
                let Some(wait) = (0..AGAIN).map_while(|_| ask(&at, held_ns).ok()).last() else { break };
                // An answer that was late is late, and no longer way.
                let wait = wait.saturating_sub(stage.holder.uncounted_late_ns());
                let left = wait.saturating_add_signed(-longer_ns).min(MOST_NS);
                let _ = own_waits.lock().expect("no thread panics").record(left);
                last.truncate(LAST - 1);
                last.push_front(wait);
                if last.len() == LAST {
                    longer_ns = usual(&last) as i64 - first_ns as i64;
                    way.is_longer_by(longer_ns);
                }
            }
        })?;
        Ok(Self { ended, waits, thread })
    }

    /// The middle of all waits so far and that of the slowest in a hundred, less what the way was known to be longer, ns;
    /// none without any.
    pub fn waits(&self) -> Option<(u64, u64)> {
        let waits = self.waits.lock().expect("no thread panics");
        (!waits.is_empty()).then(|| (waits.value_at_quantile(0.5), waits.value_at_quantile(0.99)))
    }

    /// Asks no more.
    pub fn end(self) {
        self.ended.store(true, Ordering::Relaxed);
        let _ = self.thread.join();
    }
}
