//! A process that is killed.

use std::{
    ffi::OsStr,
    io::{BufRead, BufReader},
    process::{Command, Stdio},
    time::Duration,
};

/// Starts the test `child` of this program with its orders in a variable, lets it work, kills it. `said` gets each of its
/// lines, and says whether it shows that the child has begun to work: it is not killed before, however slow the machine.
pub fn killed(
    child: &str,
    (variable, orders): (&str, impl AsRef<OsStr>),
    after: Duration,
    mut said: impl FnMut(&str) -> bool,
) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", child, "--nocapture"])
        .env(variable, orders)
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
    let works = lines.by_ref().any(|line| said(&line));
    let killer = std::thread::spawn(move || {
        std::thread::sleep(after);
        child.kill().unwrap();
        child.wait().unwrap();
    });
    lines.for_each(|line| _ = said(&line));
    killer.join().unwrap();
    assert!(works, "the child ended before it was killed");
}
