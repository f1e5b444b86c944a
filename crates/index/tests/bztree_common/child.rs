//! A process that is killed.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

/// Starts the test `child` of this program with a pool's path in a variable, waits for its word that it is ready, lets
/// it work, kills it. Its lines go to `said`.
pub fn killed(variable: &str, pool: &Path, after_us: u64, mut said: impl FnMut(&str)) {
    let this = std::env::current_exe().unwrap();
    let mut child = Command::new(this)
        .args(["--exact", "child", "--nocapture"])
        .env(variable, pool)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    // It works before it is killed, however slow the machine is.
    let ready = lines.by_ref().any(|line| {
        said(&line);
        line.ends_with("ready")
    });
    let killer = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_micros(after_us));
        child.kill().unwrap();
        child.wait().unwrap();
    });
    lines.for_each(|line| said(&line));
    killer.join().unwrap();
    assert!(ready, "the child ended before it was killed");
}
