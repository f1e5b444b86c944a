//! Rules on errors, the machine, and the run as a whole.

use super::*;

#[test]
fn errors_and_corruption_are_grave() {
    let failed = |count| judged(move |_, class| class.errors = BTreeMap::from([("EIO".to_owned(), count)]));
    expect(&failed(1), ReasonCode::Errors, SUSPECT);
    expect(&failed(100_000), ReasonCode::Errors, INVALID);
    let corrupt = judged(|_, class| {
        class.check = Some(CheckOutcome { blocks: 100, wrong: 1, examples: vec!["block 7".to_owned()] });
    });
    expect(&corrupt, ReasonCode::DataCorrupt, INVALID);
    assert_eq!(corrupt.status, Status::Invalid);
    let clean = CheckOutcome { blocks: 100, wrong: 0, examples: Vec::new() };
    valid(&judged(|_, class| class.check = Some(clean)));
}

#[test]
fn the_machine_is_watched() {
    let probe = |hz, spread| Some(FrequencyProbe { hz, spread });
    let slower = judged(|run, _| run.frequency_after = probe(1.9e9, 0.01));
    expect(&slower, ReasonCode::FrequencyChanged, SUSPECT);
    // A probe that was disturbed itself proves nothing.
    expect(&judged(|run, _| run.frequency_after = probe(1.9e9, 0.3)), ReasonCode::FrequencyChanged, None);
    let throttle = |throttled_s| Some(Throttle { periods: 40, throttled: 20, throttled_s });
    expect(&judged(|run, _| run.system.throttle = throttle(1.5)), ReasonCode::FrequencyChanged, SUSPECT);
    expect(&judged(|run, _| run.system.throttle = throttle(0.001)), ReasonCode::FrequencyChanged, None);
    expect(&judged(|run, _| run.system.thermal_events = Some(3)), ReasonCode::FrequencyChanged, SUSPECT);
    expect(&judged(|run, _| run.system.stolen_share = Some(0.2)), ReasonCode::FrequencyChanged, SUSPECT);
    expect(&judged(|run, _| run.clock_drift = -0.004), ReasonCode::ClockUnreliable, SUSPECT);
    expect(&judged(|run, _| run.clock_drift = f64::NAN), ReasonCode::ClockUnreliable, INVALID);
    expect(&judged(|run, _| run.clock_drift = 0.0004), ReasonCode::ClockUnreliable, None);
}

#[test]
fn windows_that_differ_interruptions_and_stand_ins_are_named() {
    expect(&judged(|run, _| run.edge_skew_ns = 200_000_000), ReasonCode::WindowsDiffer, SUSPECT);
    let cut = judged(|run, _| (run.stop, run.measured_s) = (Some(Stop::Interrupted), 0.3));
    expect(&cut, ReasonCode::Interrupted, SUSPECT);
    expect(&cut, ReasonCode::WindowTooShort, None);
    let played = judged(|_, class| class.emulated = true);
    expect(&played, ReasonCode::EmulatedTarget, NOTE);
    valid(&played);
}
