//! How long the way through FUSE and back takes: a question that only the mount can answer, asked by this program.

use std::{
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

use crate::stage::Stage;

/// Questions at the start, the first of them to warm up.
const FIRST: usize = 600;
const WARM: usize = 100;
/// Pause between questions while a drive is played.
const PAUSE: Duration = Duration::from_millis(25);
/// Questions in a row.
const AGAIN: usize = 2;
const MOST_NS: u64 = 60_000_000_000;

/// Asks again and again.
pub struct Probe {
    ended: Arc<AtomicBool>,
    waits: Arc<Mutex<Histogram<u64>>>,
    thread: JoinHandle<()>,
}

fn ask(at: &Path) -> Result<u64, Errno> {
    let begin = Instant::now();
    let _ = statx(CWD, at, AtFlags::STATX_FORCE_SYNC | AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BASIC_STATS)?;
    Ok(begin.elapsed().as_nanos() as u64)
}

/// The way and back when nothing else goes on, ns: one in ten of some hundred questions is quicker. Others may use the CPUs
/// meanwhile, and what is taken off too much would make the drive faster than it is.
///
/// # Errors
/// Where the mount does not answer.
pub fn floor(stage: &Stage, at: &Path) -> Result<u64, Errno> {
    stage.probe_by(rustix::thread::gettid().as_raw_nonzero().get() as u32);
    let mut waits = (0..FIRST).map(|_| ask(at)).collect::<Result<Vec<_>, _>>()?.split_off(WARM);
    stage.probe_by(0);
    waits.sort_unstable();
    Ok(waits[waits.len() / 10])
}

impl Probe {
    /// Asks from now on.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn start(stage: Arc<Stage>, at: &Path) -> std::io::Result<Self> {
        let ended = Arc::new(AtomicBool::new(false));
        let waits = Histogram::new_with_bounds(1, MOST_NS, 3).expect("bounds are in order");
        let waits = Arc::new(Mutex::new(waits));
        let (own_ended, own_waits, at) = (Arc::clone(&ended), Arc::clone(&waits), at.to_owned());
        let thread = thread::Builder::new().name("probe".to_owned()).spawn(move || {
            stage.probe_by(rustix::thread::gettid().as_raw_nonzero().get() as u32);
            while !own_ended.load(Ordering::Relaxed) {
                thread::sleep(PAUSE);
                // The first ones wake what slept since the last time: at the start nothing did.
                let Some(wait) = (0..AGAIN).map_while(|_| ask(&at).ok()).last() else { break };
                let _ = own_waits.lock().expect("no thread panics").record(wait.min(MOST_NS));
            }
        })?;
        Ok(Self { ended, waits, thread })
    }

    /// The middle of all waits so far and that of the slowest in a hundred, ns; none without any.
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
