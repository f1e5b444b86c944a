//! A job in, events out, as the measuring program does it.

use std::{
    io::{self, Read, Write},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use assay_index::IndexError;
use assay_record::{Event, FORMAT_VERSION, WorkRecord};
use assay_soak::{SoakError, SoakJob};
use assay_work::index::{IndexJob, Watch};
use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

use crate::{
    Task, TpccJob,
    error::RivalError,
    run::{self, TpccFailure},
};

/// Largest job that is read, bytes.
const JOB_BYTES_AT_MOST: u64 = 1 << 20;

/// How a command ends when it cannot do what it should.
#[derive(Debug)]
pub struct Failure {
    /// What was seen.
    pub reason: String,
    /// What to do.
    pub fix: String,
    /// 1 failed, 2 bad job, 3 interrupted, 4 not possible here.
    pub exit_code: u8,
}

impl From<IndexError> for Failure {
    fn from(error: IndexError) -> Self {
        Self { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() }
    }
}

impl From<RivalError> for Failure {
    fn from(error: RivalError) -> Self {
        Self { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() }
    }
}

impl From<TpccFailure> for Failure {
    fn from(error: TpccFailure) -> Self {
        match error {
            TpccFailure::Rival(error) => error.into(),
            TpccFailure::Tpcc(error) => {
                Self { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() }
            }
        }
    }
}

impl From<SoakError> for Failure {
    fn from(error: SoakError) -> Self {
        Self { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() }
    }
}

fn broken(error: &io::Error) -> Failure {
    let fix = "free space where it goes, or keep its reader running".to_owned();
    Failure { reason: format!("standard output cannot be written: {error}"), fix, exit_code: 1 }
}

/// Writes one value as one line, and flushes it.
///
/// # Errors
/// Where nobody reads any more, or the disk is full.
pub fn line<T: serde::Serialize>(value: &T) -> Result<(), Failure> {
    let mut text = serde_json::to_vec(value).map_err(|error| broken(&error.into()))?;
    text.push(b'\n');
    let mut out = io::stdout().lock();
    out.write_all(&text).and_then(|()| out.flush()).map_err(|error| broken(&error))
}

/// Runs `index JOB` or `tpcc JOB`; the exit code.
///
/// # Errors
/// Where it could not be done; the refusal was printed as an event as well.
pub fn serve(command: &str, path: &Path) -> Result<u8, Failure> {
    let outcome = try_serve(command, path);
    if let Err(Failure { reason, fix, exit_code }) = &outcome {
        let refused = Event::Refused { reason: reason.clone(), fix: fix.clone(), exit_code: i32::from(*exit_code) };
        // Where standard output is gone, standard error still tells.
        let _ = line(&refused);
    }
    outcome
}

fn try_serve(command: &str, path: &Path) -> Result<u8, Failure> {
    let text = read(path)?;
    let interrupted = watch()?;
    let mut lost = None;
    let mut emit = |event: Event| {
        if let Err(failure) = line(&event) {
            lost.get_or_insert(failure);
            interrupted.store(true, Relaxed);
        }
    };
    let record = match command {
        "index" => index(&text, &mut emit, &interrupted)?,
        _ => tpcc(&text, &mut emit, &interrupted)?,
    };
    if let Some(failure) = lost {
        return Err(failure);
    }
    let failed = command == "tpcc" && record.checks.iter().any(|check| !check.passed);
    line(&Event::Worked { record: Box::new(record) })?;
    Ok(if interrupted.load(Relaxed) { 3 } else { u8::from(failed) })
}

/// Works until it is killed; one event says that every thread is at work.
///
/// # Errors
/// Where the job cannot be, or the rival fails.
pub fn soak_work(path: &Path) -> Result<u8, Failure> {
    let job = SoakJob::parse(&read(path)?)?;
    let interrupted = watch()?;
    // Where nobody reads, it works all the same.
    let mut emit = |event: Event| drop(line(&event));
    crate::soak(&job, Task::Work(&mut Watch { emit: &mut emit, interrupted: &interrupted }))?;
    Ok(0)
}

/// Looks at what is left, and prints what was found; 1 where something is missing.
///
/// # Errors
/// Where the job cannot be, or the rival cannot be opened.
pub fn soak_check(path: &Path) -> Result<u8, Failure> {
    let found = crate::soak(&SoakJob::parse(&read(path)?)?, Task::Check)?;
    line(&found)?;
    Ok(u8::from(found.is_none_or(|found| !found.whole())))
}

fn started(name: &str, seconds: f64) -> Event {
    Event::Started { version: FORMAT_VERSION, name: name.to_owned(), pid: std::process::id(), seconds }
}

fn index(text: &str, emit: &mut dyn FnMut(Event), interrupted: &AtomicBool) -> Result<WorkRecord, Failure> {
    let job = IndexJob::parse(text)?;
    emit(started(&job.name, job.warmup_s + job.window.seconds()));
    Ok(run::index(&job, &mut Watch { emit, interrupted })?)
}

fn tpcc(text: &str, emit: &mut dyn FnMut(Event), interrupted: &AtomicBool) -> Result<WorkRecord, Failure> {
    let job: TpccJob = serde_json::from_str(text).map_err(|error| Failure {
        reason: format!("the job is none of TPC-C on a rival: {error}"),
        fix: "give a store with engine, folder, cache_bytes and durability, and an order".to_owned(),
        exit_code: 2,
    })?;
    let seconds = job.order.drive.as_ref().map_or(0.0, |drive| drive.ramp_s + drive.measure_s);
    emit(started(&job.order.name, seconds));
    Ok(run::tpcc(&job, &mut Watch { emit, interrupted })?)
}

fn read(path: &Path) -> Result<String, Failure> {
    let failed = |error: io::Error| Failure {
        reason: format!("{} cannot be read: {error}", path.display()),
        fix: "name a file that holds the job, or `-` for standard input".to_owned(),
        exit_code: 2,
    };
    let mut text = String::new();
    if path == Path::new("-") {
        io::stdin().lock().take(JOB_BYTES_AT_MOST).read_to_string(&mut text).map_err(failed)?;
    } else {
        let file = std::fs::File::open(path).map_err(failed)?;
        file.take(JOB_BYTES_AT_MOST).read_to_string(&mut text).map_err(failed)?;
    }
    Ok(text)
}

/// A flag that the first interrupt sets. The second ends the process with exit code 3.
fn watch() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The order matters: the shutdown acts when the flag is already set, so the first signal only sets it.
        let shutdown = flag::register_conditional_shutdown(signal, 3, Arc::clone(&interrupted));
        let set = flag::register(signal, Arc::clone(&interrupted));
        shutdown.and(set).map_err(|error| Failure {
            reason: format!("signals cannot be handled: {error}"),
            fix: "run it outside of this sandbox".to_owned(),
            exit_code: 1,
        })?;
    }
    Ok(interrupted)
}
