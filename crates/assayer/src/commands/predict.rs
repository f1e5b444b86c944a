//! What-ifs on twins.

use std::{path::Path, process::ExitCode};

use assay_instruments::counters::cpu_seconds;
use assay_twin::Questions;
use serde::Serialize;

use assayer::{Failure, document, output};

/// Largest document of questions that is read, bytes.
const BYTES_AT_MOST: u64 = 256 << 20;

#[derive(Serialize)]
struct Speed {
    /// What-ifs per second of one core.
    points_per_s: f64,
    /// What-ifs answered.
    points: u64,
    /// CPU seconds that they took.
    cpu_s: f64,
}

/// Answers every question of a document and prints the answers, or how fast they came.
pub fn predict(path: &Path, bench: Option<f64>) -> Result<ExitCode, Failure> {
    let questions = Questions::parse(&document::read(path, "questions", BYTES_AT_MOST)?)?;
    match bench {
        None => output::document(&questions.answer())?,
        Some(seconds) => output::document(&speed(&questions, seconds)?)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn speed(questions: &Questions, seconds: f64) -> Result<Speed, Failure> {
    if !(seconds > 0.0 && seconds <= 600.0) || questions.questions.is_empty() {
        return Err(Failure {
            reason: format!("--bench {seconds} with {} questions measures nothing", questions.questions.len()),
            fix: "ask at least one question, for more than 0 and at most 600 seconds".to_owned(),
            exit_code: 2,
        });
    }
    let (begin, mut points) = (cpu_seconds(), 0);
    loop {
        points += std::hint::black_box(questions.answer()).answers.len() as u64;
        let spent = cpu_seconds() - begin;
        if spent >= seconds {
            return Ok(Speed { points_per_s: points as f64 / spent, points, cpu_s: spent });
        }
    }
}
