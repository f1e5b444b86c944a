//! Runs rivals: a job goes in, events come out, one line of JSON each, as `assayer` does it.

use std::{path::Path, process::ExitCode};

use assay_rivals::{list, serve};
use assayer::output;

const USAGE: &str =
    "usage: assay-rivals list | index JOB | tpcc JOB | soak work JOB | soak check JOB, where JOB is a file or `-`";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["list"] => output::line(&list()).map(|()| ExitCode::SUCCESS),
        [command @ ("index" | "tpcc"), job] => serve::serve(command, Path::new(job)),
        ["soak", "work", job] => serve::soak_work(Path::new(job)),
        ["soak", "check", job] => serve::soak_check(Path::new(job)),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    outcome.unwrap_or_else(|failure| {
        failure.report();
        ExitCode::from(failure.exit_code)
    })
}
