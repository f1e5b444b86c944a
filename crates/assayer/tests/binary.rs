//! The binary from outside: exit codes, events, pipes, signals.

use std::{
    io::{BufRead, BufReader, Write},
    path::Path,
    process::{Child, Command, Output, Stdio},
    time::{Duration, Instant},
};

use assay_record::{Event, Stop};
use serde_json::{Value, json};
use tempfile::TempDir;

fn assayer() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_assayer"));
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap()
}

fn job(folder: &Path) -> Value {
    json!({
        "version": 1, "name": "cell", "seed": 1, "scratch": "s", "free_percent_at_least": 0.0,
        "targets": [{"id": "t", "kind": "folder", "members": [folder]}],
        "datasets": [{"name": "d", "target": "t", "bytes": 1 << 20}],
        "classes": [{
            "name": "c", "dataset": "d", "path": {"kind": "pread"}, "operation": {"kind": "read"},
            "pattern": {"kind": "uniform"}, "size": 4096
        }],
        "window": {"measure_s": 0.5, "interval_ms": 20}
    })
}

/// Runs `assayer run -` with the job on standard input.
fn run(job: &Value) -> Output {
    let mut child = assayer().args(["run", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(job.to_string().as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn start(job: &Value, folder: &Path) -> Child {
    let path = folder.join("job.json");
    std::fs::write(&path, job.to_string()).unwrap();
    assayer().arg("run").arg(path).spawn().unwrap()
}

fn events(output: &[u8]) -> Vec<Event> {
    String::from_utf8_lossy(output).lines().map(|line| serde_json::from_str(line).expect(line)).collect()
}

fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

/// Reads lines until one that holds `word`, and returns them.
fn read_until(child: &mut Child, word: &str) -> (BufReader<std::process::ChildStdout>, Vec<u8>) {
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    let mut seen = Vec::new();
    loop {
        let from = seen.len();
        assert!(reader.read_until(b'\n', &mut seen).unwrap() > 0, "{}", String::from_utf8_lossy(&seen));
        if String::from_utf8_lossy(&seen[from..]).contains(word) {
            return (reader, seen);
        }
    }
}

fn rest(mut reader: BufReader<std::process::ChildStdout>, mut seen: Vec<u8>) -> Vec<u8> {
    std::io::Read::read_to_end(&mut reader, &mut seen).unwrap();
    seen
}

#[test]
fn a_job_from_standard_input_is_run() {
    let folder = folder();
    let output = run(&job(folder.path()));
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let events = events(&output.stdout);
    assert!(matches!(events.first(), Some(Event::Started { version: 1, .. })));
    assert!(events.iter().any(|event| matches!(event, Event::Interval { .. })));
    let Some(Event::Finished { record }) = events.last() else { panic!("{events:?}") };
    assert_eq!(record.window.stop, Stop::Limit);
    assert!(record.classes[0].operations > 0);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// When a run's window opened and closed, by the kernel's clock; none where its job named no start.
fn edges(job: &Value) -> (Option<u64>, Option<u64>) {
    let output = run(job);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let events = events(&output.stdout);
    let Some(Event::Finished { record }) = events.last() else { panic!("{events:?}") };
    (record.window.opened_monotonic_ns, record.window.closed_monotonic_ns)
}

#[test]
fn a_load_begins_at_the_moment_that_its_job_names_and_at_once_where_that_has_passed() {
    let folder = folder();
    let mut job = job(folder.path());
    assert_eq!(edges(&job), (None, None));
    job["start_monotonic_ns"] = json!(1);
    let (Some(opened), Some(closed)) = edges(&job) else { panic!("no edges") };
    assert!(closed >= opened + 190_000_000, "{opened} to {closed}");
    let start = opened + 2_000_000_000;
    job["start_monotonic_ns"] = json!(start);
    job["window"]["warmup_s"] = json!(0.1);
    let (Some(opened), Some(_)) = edges(&job) else { panic!("no edges") };
    assert!(opened + 1_000_000 >= start + 100_000_000, "{opened} is before {start} and the warm-up");
}

#[test]
fn a_bad_job_is_refused_with_2() {
    let folder = folder();
    let mut wrong = job(folder.path());
    wrong["classes"][0]["depth"] = json!(0);
    for job in [json!("nothing"), wrong, json!({"version": 99})] {
        let output = run(&job);
        assert_eq!(output.status.code(), Some(2));
        let events = events(&output.stdout);
        assert!(
            matches!(&events[..], [Event::Refused { exit_code: 2, reason, fix }] if !reason.is_empty() && !fix.is_empty())
        );
    }
    assert_eq!(assayer().arg("run").arg("/no/such/job").output().unwrap().status.code(), Some(2));
    assert_eq!(assayer().arg("nonsense").output().unwrap().status.code(), Some(2));
}

#[test]
fn a_target_that_is_not_there_fails_with_1_and_what_the_machine_lacks_with_4() {
    let folder = folder();
    let mut gone = job(folder.path());
    gone["targets"][0]["members"] = json!([folder.path().join("gone")]);
    let mut lacking = job(folder.path());
    lacking["classes"][0]["depth"] = json!(8);
    for (job, code) in [(gone, 1), (lacking, 4)] {
        let output = run(&job);
        assert_eq!(output.status.code(), Some(code), "{}", String::from_utf8_lossy(&output.stdout));
        let events = events(&output.stdout);
        assert!(matches!(events.last(), Some(Event::Refused { exit_code, .. }) if *exit_code == code));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

#[test]
fn one_interrupt_writes_the_record_and_ends_with_3() {
    for name in ["-INT", "-TERM"] {
        let folder = folder();
        let mut job = job(folder.path());
        job["window"]["measure_s"] = json!(30.0);
        let mut child = start(&job, folder.path());
        let (reader, seen) = read_until(&mut child, "\"interval\"");
        let began = Instant::now();
        signal(&child, name);
        let seen = rest(reader, seen);
        assert_eq!(child.wait().unwrap().code(), Some(3));
        assert!(began.elapsed() < Duration::from_secs(10));
        let Some(Event::Finished { record }) = events(&seen).pop() else { panic!("no record") };
        assert_eq!(record.window.stop, Stop::Interrupted);
        assert!(!folder.path().join("s").exists(), "the scratch folder is gone");
    }
}

#[test]
fn two_interrupts_end_at_once() {
    let folder = folder();
    let mut job = job(folder.path());
    job["window"]["measure_s"] = json!(30.0);
    let mut child = start(&job, folder.path());
    let (_reader, _) = read_until(&mut child, "\"interval\"");
    let began = Instant::now();
    while child.try_wait().unwrap().is_none() {
        signal(&child, "-INT");
        std::thread::sleep(Duration::from_millis(1));
        assert!(began.elapsed() < Duration::from_secs(10));
    }
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

#[test]
fn a_killed_run_leaves_a_valid_prefix_and_a_folder_that_can_be_cleaned() {
    let folder = folder();
    let mut job = job(folder.path());
    job["window"]["measure_s"] = json!(30.0);
    let mut child = start(&job, folder.path());
    let (reader, seen) = read_until(&mut child, "\"interval\"");
    child.kill().unwrap();
    let seen = rest(reader, seen);
    child.wait().unwrap();
    assert!(seen.ends_with(b"\n"), "the last line is whole");
    assert!(matches!(events(&seen).first(), Some(Event::Started { .. })));
    let clean = assayer().args(["scratch", "clean"]).arg(folder.path()).output().unwrap();
    assert!(clean.status.success(), "{}", String::from_utf8_lossy(&clean.stderr));
    assert!(!folder.path().join("s").exists());
}

#[test]
fn a_reader_that_goes_away_ends_the_run() {
    let folder = folder();
    let mut job = job(folder.path());
    job["window"]["measure_s"] = json!(30.0);
    let mut child = start(&job, folder.path());
    drop(read_until(&mut child, "\"interval\""));
    let began = Instant::now();
    assert_eq!(child.wait().unwrap().code(), Some(1));
    assert!(began.elapsed() < Duration::from_secs(10));
    assert!(!folder.path().join("s").exists());
}

fn plan(job: &Value) -> Value {
    let mut child = assayer().args(["plan", "-"]).stdin(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(job.to_string().as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[test]
fn a_plan_tells_bytes_and_seconds_and_touches_nothing() {
    let folder = folder();
    let mut job = job(folder.path());
    job["window"] = json!({"measure_s": 10.0, "warmup_s": 2.0});
    let reads = plan(&job);
    assert_eq!(reads["bytes_to_prepare"], json!(1 << 20));
    assert_eq!(reads["bytes_free_needed"], json!(1 << 20));
    assert_eq!((reads["seconds"].as_f64(), reads["bytes_written_at_most"].as_u64()), (Some(12.0), Some(0)));
    assert_eq!(reads["refusals"], json!([]));
    job["classes"][0]["operation"] = json!({"kind": "write"});
    assert_eq!(plan(&job)["bytes_written_at_most"], Value::Null, "only the device limits it");
    job["classes"][0]["arrivals"] = json!({"kind": "fixed", "rate_per_s": 100.0, "scope": "total"});
    assert_eq!(plan(&job)["bytes_written_at_most"], json!(12 * 100 * 4096));
    job["window"]["bytes_at_most"] = json!(8192);
    assert_eq!(plan(&job)["bytes_written_at_most"], json!(2 * 100 * 4096 + 8192));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    job["targets"][0]["members"] = json!([folder.path().join("gone")]);
    let refusals = &plan(&job)["refusals"];
    assert!(refusals[0]["reason"].as_str().is_some_and(|reason| reason.contains("gone")), "{refusals}");
}

#[test]
fn the_other_commands_answer_in_json() {
    let folder = folder();
    for arguments in [&["facts", "--on"][..], &["probe", "--on"], &["scratch", "list"]] {
        let output = assayer().args(arguments).arg(folder.path()).output().unwrap();
        assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        let _: Value = serde_json::from_slice(&output.stdout).unwrap();
    }
    let output = assayer().args(["null", "--seconds", "0.05"]).output().unwrap();
    let ceilings: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert!(ceilings["ops_per_s"].as_f64().unwrap() > 1e5 && ceilings["closed_ops_per_s"].as_f64().unwrap() > 1e5);
    assert_eq!(assayer().args(["null", "--seconds", "0"]).output().unwrap().status.code(), Some(2));
    let script = assayer().args(["completion", "bash"]).output().unwrap();
    assert!(String::from_utf8_lossy(&script.stdout).contains("assayer"));
}
