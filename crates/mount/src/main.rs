//! The program that mounts: `assayer-mount mount JOB` plays a drive until it is told to end, `assayer-mount status DIR`
//! says what was played there.
//!
//! A program of its own: it stays for hours beside what is measured, and knows neither engines nor databases.

use std::{
    path::Path,
    process::ExitCode,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use assayer::{Failure, document, output};
use assayer_mount::{error::MountError, job::Job, session::MountSession, state::State};
use serde::Serialize;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1};

/// It looks so often whether it is to end, and tells so often what it has played.
const LOOKS: Duration = Duration::from_millis(20);
/// The same where the power is to be cut.
const CUTS: Duration = Duration::from_micros(200);
const TELLS: Duration = Duration::from_secs(1);

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "snake_case")]
enum Event<'a> {
    Mounted { state: &'a State },
    Unmounted { state: &'a State },
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let done = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["mount", job] => mount(job),
        ["status", at] => status(Path::new(at)),
        _ => Err(Failure {
            reason: "usage: assayer-mount mount JOB|- or assayer-mount status DIR".to_owned(),
            fix: "`assay mount --help` says more".to_owned(),
            exit_code: 2,
        }),
    };
    done.map_or_else(
        |failure| {
            failure.report();
            ExitCode::from(failure.exit_code)
        },
        |()| ExitCode::SUCCESS,
    )
}

fn failed(error: MountError) -> Failure {
    Failure { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() }
}

fn status(at: &Path) -> Result<(), Failure> {
    let at = std::path::absolute(at).map_err(|error| Failure::new(error.to_string(), "name a folder"))?;
    let mut state = State::read(&at).map_err(failed)?;
    state.mounted &= Path::new(&format!("/proc/{}", state.pid)).exists();
    output::document(&state)
}

fn mount(job: &str) -> Result<(), Failure> {
    let text = document::read(Path::new(job), "job", document::JOB_BYTES_AT_MOST)?;
    let job: Job = serde_json::from_str(&text).map_err(|error| failed(MountError::Job(error.to_string())))?;
    let ended = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        signal_hook::flag::register(signal, Arc::clone(&ended))
            .map_err(|error| Failure::new(format!("signals cannot be heard: {error}"), "run it again"))?;
    }
    let cut = Arc::new(AtomicBool::new(false));
    signal_hook::flag::register(SIGUSR1, Arc::clone(&cut))
        .map_err(|error| Failure::new(format!("signals cannot be heard: {error}"), "run it again"))?;
    let mut session = MountSession::begin(&job).map_err(failed)?;
    output::line(&Event::Mounted { state: &session.state() })?;
    let parent = rustix::process::getppid();
    let mut told = Instant::now();
    while !ended.load(Ordering::Relaxed) && !session.is_over() {
        thread::sleep(if job.cut.is_some() { CUTS } else { LOOKS });
        session.cut_when_due(job.cut, cut.load(Ordering::Relaxed)).map_err(failed)?;
        if job.ends_with_parent && rustix::process::getppid() != parent {
            break;
        }
        if told.elapsed() > TELLS {
            told = Instant::now();
            session.tell().map_err(failed)?;
        }
    }
    let state = session.end().map_err(failed)?;
    output::line(&Event::Unmounted { state: &state })
}
