//! CPU time that other processes took while the run's threads waited for it.
//!
//! Threads that are more than the CPUs wait for each other, which is what was asked for. What others ran meanwhile, on the
//! CPUs that this process may use, is the most that its threads can have lost to them.

use assay_record::{NotMeasured, Reason, ReasonCode, Severity};

use super::{
    device::FOREIGN_BYTES_PER_S,
    machine::is_throttled,
    observation::{OwnCpu, RunObservation},
    reason::{of_run, with},
    words::percent,
};

/// Share of the CPU time that the run could have had which others may take: half as much again would show in the figures
/// as much as the spread of repeats does.
pub const TAKEN_SHARE: f64 = 0.1;
/// What was taken is counted from this share of the window on, of one CPU: a run that hardly computes loses nothing.
pub const TAKEN_OF_WINDOW: f64 = 0.05;
/// And from so many seconds on: the kernel counts in hundredths.
pub const TAKEN_AT_LEAST_S: f64 = 0.1;
/// How far the counted time of CPUs may differ from the time that passed before it is not believed.
pub const COUNTED_ERROR: f64 = 0.25;

/// What was taken.
struct Taken {
    cpus: u64,
    others_s: f64,
    taken_s: f64,
    share: f64,
}

/// Other processes took the CPUs.
pub(super) fn cpu_taken(run: &RunObservation) -> Option<Reason> {
    let own = run.own_cpu?;
    let Ok(taken) = taken(run, &own) else { return None };
    let taken = taken.filter(|taken| counts(taken.taken_s, taken.share, run.measured_s))?;
    let seconds = run.measured_s.max(1e-9);
    let evidence = format!(
        "other processes used {:.1} of the {} CPUs that this one may use, and it had {:.1}: its threads could have run for \
         {:.1} s more, {} of the CPU time that was theirs to have",
        taken.others_s / seconds,
        taken.cpus,
        own.cpu_s() / seconds,
        taken.taken_s,
        percent(taken.share),
    );
    let fix = "stop what else uses the CPUs (top and pidstat 1 name it), or give the run CPUs of its own (taskset), and \
        run it again";
    let numbers = [
        ("taken_s", taken.taken_s),
        ("taken_share", taken.share),
        ("others_cpu_s", taken.others_s),
        ("own_cpu_s", own.cpu_s()),
        ("waited_s", own.waited_s.unwrap_or(0.0)),
    ];
    Some(with(of_run(ReasonCode::CpuTaken, Severity::Suspect, evidence, fix), &numbers))
}

/// That nobody can tell whether others took the CPUs, and why; none where it can be told, or nothing can have been taken.
pub fn cpu_taken_untold(run: &RunObservation) -> Option<NotMeasured> {
    let why = taken(run, &run.own_cpu?).err()?;
    Some(NotMeasured {
        what: "CPU time that other processes took".to_owned(),
        reason: format!("it could not be told: {why}"),
        fix: "look at the machine itself (top, outside of the container), or run there".to_owned(),
    })
}

/// What others took; none where the control group's quota stopped the threads, which is said of its own; an error says why
/// that cannot be known.
fn taken(run: &RunObservation, own: &OwnCpu) -> Result<Option<Taken>, String> {
    if is_throttled(run) {
        return Ok(None);
    }
    let Some(waited_s) = own.waited_s else {
        return Err("the kernel does not say how long threads waited for a CPU (/proc/self/schedstat)".to_owned());
    };
    if !counts(waited_s, waited_s / (own.cpu_s() + waited_s).max(1e-9), run.measured_s) {
        return Ok(None);
    }
    let (cpus, others_s) =
        others(run, own).map_err(|why| format!("threads waited {waited_s:.1} s for a CPU, and {why}"))?;
    let taken_s = waited_s.min(others_s);
    Ok(Some(Taken { cpus, others_s, taken_s, share: taken_s / (own.cpu_s() + taken_s).max(1e-9) }))
}

/// Whether so much is worth a word.
fn counts(seconds: f64, share: f64, measured_s: f64) -> bool {
    share >= TAKEN_SHARE && seconds >= (TAKEN_OF_WINDOW * measured_s).max(TAKEN_AT_LEAST_S)
}

/// How many CPUs this process may use, and seconds for which others ran on them. Where devices were used, time in the kernel
/// is left out: part of it is the kernel's work for this process.
fn others(run: &RunObservation, own: &OwnCpu) -> Result<(u64, f64), String> {
    let Some(seen) = run.system.own_cpus else {
        return Err("/proc/stat does not show the CPUs that it may use".to_owned());
    };
    if seen.covered {
        return Err("another file is mounted over /proc/stat, which shows this container alone".to_owned());
    }
    let due = seen.cpus as f64 * run.measured_s;
    if (seen.total_s - due).abs() > COUNTED_ERROR * due + TAKEN_AT_LEAST_S {
        let counted = seen.total_s;
        return Err(format!("/proc/stat counted {counted:.1} s of CPUs in which {due:.1} s passed"));
    }
    let all_s = seen.user_s + seen.kernel_s;
    if own.cpu_s() > all_s * (1.0 + COUNTED_ERROR) + TAKEN_AT_LEAST_S {
        let own_s = own.cpu_s();
        return Err(format!("/proc/stat shows {all_s:.1} s of work, of which this process alone did {own_s:.1} s"));
    }
    let moved: f64 =
        run.devices.iter().map(|one| one.counters.read_bytes.value + one.counters.written_bytes.value).sum();
    let others_s =
        if moved > FOREIGN_BYTES_PER_S * run.measured_s { seen.user_s - own.user_s } else { all_s - own.cpu_s() };
    Ok((seen.cpus, others_s.max(0.0)))
}
