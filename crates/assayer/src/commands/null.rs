//! The ceiling of the generator.

use std::process::ExitCode;

use assay_instruments::clock::Clock;
use assay_load::baseline::null_bench;
use serde::Serialize;

use assayer::{Failure, output};

#[derive(Serialize)]
struct Ceilings {
    /// Operations per second of one thread: open loop, service and response time recorded in full.
    ops_per_s: f64,
    /// Cycles per operation, open loop.
    cycles_per_op: f64,
    /// Operations per second of one thread: closed loop, service time recorded in full.
    closed_ops_per_s: f64,
    /// Cycles per operation, closed loop.
    closed_cycles_per_op: f64,
    clock: &'static str,
    clock_hz: f64,
    seconds: f64,
}

/// Measures and prints both ceilings.
pub fn null(seconds: f64) -> Result<ExitCode, Failure> {
    if !(seconds > 0.0 && seconds <= 600.0) {
        return Err(Failure {
            reason: format!("--seconds {seconds} is not a length of time"),
            fix: "use more than 0 and at most 600".to_owned(),
            exit_code: 2,
        });
    }
    let clock = Clock::new();
    let failed = |error| Failure::new(format!("no memory for the buffers: {error}"), "free some memory");
    let open = null_bench(clock, true, seconds).map_err(failed)?;
    let closed = null_bench(clock, false, seconds).map_err(failed)?;
    output::document(&Ceilings {
        ops_per_s: open.ops_per_s,
        cycles_per_op: open.cycles_per_op,
        closed_ops_per_s: closed.ops_per_s,
        closed_cycles_per_op: closed.cycles_per_op,
        clock: clock.name(),
        clock_hz: clock.hz(),
        seconds,
    })?;
    Ok(ExitCode::SUCCESS)
}
