//! Counters that this machine does not have, played by the kernel's software events: for tests of what Assay does where
//! counting is dear, wrong or refused.
//!
//! `ASSAY_PLAY_COUNTERS` says what to play: `none` refuses every counter; `hz=2.6e9` gives cycles, which are the task clock
//! times that frequency; `hz=2.6e9,events=200` opens that many further software events beside, so that each context switch
//! really costs what so many events cost to take out and put in (about 130 ns each). Whatever else it says refuses too. A
//! run with it is marked as emulated: see [`crate::environment::played`].

use std::sync::OnceLock;

/// The variable.
const VARIABLE: &str = "ASSAY_PLAY_COUNTERS";
/// More would run into the limit of open files before it shows anything new.
const EVENTS_AT_MOST: usize = 400;

/// What is played.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Played {
    /// No counter is to be had.
    Refused,
    /// Cycles are the task clock times a frequency.
    Clock {
        /// Cycles per second of task clock.
        hz: f64,
        /// Software events that run beside.
        events: usize,
    },
}

/// What is played in this process; none where its counters are the machine's.
pub(super) fn played() -> Option<Played> {
    static PLAYED: OnceLock<Option<Played>> = OnceLock::new();
    *PLAYED.get_or_init(|| std::env::var(VARIABLE).ok().filter(|text| !text.is_empty()).map(|text| parse(&text)))
}

/// Counters are played here.
pub fn counters_played() -> bool {
    played().is_some()
}

fn parse(text: &str) -> Played {
    let (mut hz, mut events) = (None, Some(0));
    for word in text.split(',') {
        match word.split_once('=') {
            Some(("hz", value)) => hz = value.parse::<f64>().ok().filter(|hz| hz.is_finite() && *hz > 0.0),
            Some(("events", value)) => events = value.parse().ok().filter(|&events| events <= EVENTS_AT_MOST),
            _ => return Played::Refused,
        }
    }
    hz.zip(events).map_or(Played::Refused, |(hz, events)| Played::Clock { hz, events })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_understood_refuses_every_counter() {
        assert_eq!(parse("hz=2e9"), Played::Clock { hz: 2e9, events: 0 });
        assert_eq!(parse("hz=2e9,events=200"), Played::Clock { hz: 2e9, events: 200 });
        for refused in ["none", "events=3", "hz=-1", "hz=2e9,events=401", "hz=inf", "hz=2e9,other=1", "1"] {
            assert_eq!(parse(refused), Played::Refused, "{refused}");
        }
    }
}
