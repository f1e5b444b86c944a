//! What hardware counters cost on this machine.

use std::process::ExitCode;

use assay_instruments::clock::Clock;
use assay_load::baseline::counting_cost;
use assay_record::CountingCost;
use serde::Serialize;

use assayer::{Failure, output};

#[derive(Serialize)]
struct Counting {
    /// What was learnt; none where no cycles can be counted here.
    cost: Option<CountingCost>,
    /// Counters would bend a load that waits for a device.
    bends: bool,
}

/// Learns it and prints it.
pub fn counting() -> Result<ExitCode, Failure> {
    let cost = counting_cost(Clock::new());
    output::document(&Counting {
        cost: cost.map(|cost| cost.recorded()),
        bends: cost.is_some_and(|cost| cost.bends(true)),
    })?;
    Ok(ExitCode::SUCCESS)
}
