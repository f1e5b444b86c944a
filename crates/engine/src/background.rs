//! A writer in the background: dirty pages go to the disk at a steady rate, so that neither a checkpoint nor who needs a
//! frame has many of them to write at once.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use assay_buffer::stage::{self, Moment};

use crate::{
    error::{EngineError, Failure, Result},
    shared::Shared,
};

/// How often it writes.
const STEP: Duration = Duration::from_millis(10);
/// What it has not been able to write for so long is not made up for.
const OWED_AT_MOST_S: f64 = 0.1;

/// The thread, and what it has done; ended when dropped.
#[derive(Debug)]
pub(crate) struct Background {
    stop: Arc<AtomicBool>,
    written: Arc<AtomicU64>,
    thread: Option<stage::Handle>,
}

impl Background {
    /// Starts it, at so many bytes per second.
    ///
    /// # Errors
    /// Where the rate is none, or no thread can be had.
    pub fn start(shared: &Arc<Shared>, bytes_per_s: f64) -> Result<Self> {
        if !bytes_per_s.is_finite() || bytes_per_s <= 0.0 {
            let what = format!("a background writer of {bytes_per_s} bytes per second was asked for");
            return Err(EngineError::unfit(what, "name a rate above zero, or none"));
        }
        let (stop, written) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let (shared, stopped, counted) = (Arc::clone(shared), Arc::clone(&stop), Arc::clone(&written));
        let thread = stage::spawn("writer", move || {
            if let Err(error) = write(&shared, bytes_per_s, &stopped, &counted) {
                shared.core.stop(Failure::of("the background writer failed", &error));
            }
        });
        let thread = thread
            .map_err(|error| EngineError::unfit(format!("no thread could be had: {error}"), "end other processes"))?;
        Ok(Self { stop, written, thread: Some(thread) })
    }

    /// Bytes of pages that it has begun to write.
    pub fn written_bytes(&self) -> u64 {
        self.written.load(Relaxed)
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take() {
            // A failure has stopped the database already.
            thread.join();
        }
    }
}

/// Writes until it is told to stop. A write that fails leaves its page dirty: who needs the page, or the checkpoint, writes
/// it once more and is told.
fn write(shared: &Shared, bytes_per_s: f64, stop: &AtomicBool, written: &AtomicU64) -> Result<()> {
    let worker = shared.pool.brief_worker()?;
    let page = shared.pool.page_bytes() as f64;
    let (mut owed, mut last) = (0.0, Moment::now());
    while !stop.load(Relaxed) {
        stage::sleep(STEP);
        let now = Moment::now();
        owed += now.since(last).as_secs_f64() * bytes_per_s;
        last = now;
        owed = f64::min(owed, (bytes_per_s * OWED_AT_MOST_S).max(page));
        let pages = (owed / page) as u32;
        if pages == 0 {
            continue;
        }
        let begun = worker.write_back(pages).unwrap_or(0);
        owed -= f64::from(begun) * page;
        written.fetch_add((f64::from(begun) * page) as u64, Relaxed);
    }
    Ok(())
}
