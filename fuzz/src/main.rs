//! Gives changed documents and bytes to every parser: `assay-fuzz [SECONDS [SEED]]`, from the folder of the sources.
//!
//! Each target begins with its corpus (`fuzz/corpus/TARGET`), changes it by chance, and keeps what the parser accepts to
//! change that too. A panic ends it, with the input in `fuzz/found`: put it into the corpus when it is mended.

#![expect(clippy::print_stdout, reason = "what it found is its output")]

mod mutate;
mod targets;

use std::{
    fs, io, panic,
    path::{Path, PathBuf},
    process::ExitCode,
    time::{Duration, Instant},
};

use mutate::Mutator;
use targets::{TARGETS, Target};

/// Accepted inputs that are kept beside the corpus.
const KEPT: usize = 256;

/// What became of a target.
struct Tried {
    inputs: u64,
    accepted: u64,
}

fn main() -> ExitCode {
    let words: Vec<u64> = std::env::args().skip(1).filter_map(|word| word.parse().ok()).collect();
    let (seconds, seed) = (words.first().copied().unwrap_or(60), words.get(1).copied().unwrap_or(1));
    let each = Duration::from_secs(seconds) / TARGETS.len() as u32;
    println!("seed {seed}, {:.1} s each of {} targets", each.as_secs_f64(), TARGETS.len());
    for target in TARGETS {
        let begin = Instant::now();
        match tried(target, seed, |_| begin.elapsed() < each) {
            Ok(Tried { inputs, accepted }) => println!("{}: {inputs} inputs, {accepted} accepted", target.name),
            Err(input) => {
                println!(
                    "{}: an input of {} bytes ended the parser: {}",
                    target.name,
                    input.len(),
                    noted(target, &input)
                );
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn noted(target: &Target, input: &[u8]) -> String {
    let at = root().join("found").join(target.name);
    let written = fs::create_dir_all(root().join("found")).and_then(|()| fs::write(&at, input));
    written.map_or_else(|error| format!("{error}: {input:?}"), |()| at.display().to_string())
}

fn corpus(target: &Target) -> io::Result<Vec<Vec<u8>>> {
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(root().join("corpus").join(target.name))? {
        files.push(entry?.path());
    }
    files.sort();
    files.iter().map(fs::read).collect()
}

/// Tries inputs as long as `more` says of their number; the input that ended the parser where one did.
fn tried(target: &Target, seed: u64, more: impl Fn(u64) -> bool) -> Result<Tried, Vec<u8>> {
    let mut known = corpus(target).unwrap_or_default();
    known.push(Vec::new());
    let first = known.len();
    let mut mutator = Mutator::new(seed);
    let mut seen = Tried { inputs: 0, accepted: 0 };
    while more(seen.inputs) {
        let input = match known.get(seen.inputs as usize) {
            Some(input) if (seen.inputs as usize) < first => input.clone(),
            _ => mutator.changed(&known),
        };
        seen.inputs += 1;
        let accepted = panic::catch_unwind(|| (target.parse)(&input)).map_err(|_| input.clone())?;
        seen.accepted += u64::from(accepted);
        if accepted && known.len() < first + KEPT {
            known.push(input);
        }
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_input_that_was_tried_ends_a_parser() {
        let seed = 1;
        for target in TARGETS {
            assert!(!corpus(target).unwrap().is_empty(), "{} has a corpus", target.name);
            match tried(target, seed, |inputs| inputs < target.few) {
                Ok(seen) => assert!(seen.accepted > 0, "{}: the corpus is accepted", target.name),
                Err(input) => panic!("{}, seed {seed}: {:?}", target.name, String::from_utf8_lossy(&input)),
            }
        }
    }
}
