//! How far a play may be off.

use assay_instruments::clock::Clock;
use assay_twin::Host;

/// Share of the time for which a station is busy from which on it sets the pace.
pub const SATURATED: f64 = 0.85;
/// How far CPU time of another host may be from this one's, cycle for cycle: other caches, another core.
const OTHER_HOST: f64 = 0.3;
/// And where the host's clock is this machine's, as far as anybody can tell.
const SAME_HOST: f64 = 0.1;

/// Half-width of the band of CPU time on a host.
pub fn cpu_width(host: &Host) -> f64 {
    let same = (Clock::new().hz() / host.clock_hz.value - 1.0).abs() < 0.02;
    if same { SAME_HOST } else { OTHER_HOST }
}

/// Two standard errors of the mean of the pieces' rates, in parts of the mean.
pub fn spread(rates: &[f64]) -> f64 {
    let mean = rates.iter().sum::<f64>() / rates.len().max(1) as f64;
    if rates.len() < 2 || mean == 0.0 {
        return 0.0;
    }
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (rates.len() - 1) as f64;
    2.0 * (variance / rates.len() as f64).sqrt() / mean
}
