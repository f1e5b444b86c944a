//! The think times that a fixed point tried, and what to try next.

use crate::device_load::DeviceAnswer;

/// Rounds after which a bracket is given up: what is asked for is not quite a function of what is tried alone.
const BRACKETED_ROUNDS: usize = 40;
/// Least part of the way to the think time that a round asks for.
const STEP_AT_LEAST: f64 = 0.02;
/// Rounds after which streams that move one another follow no secants any more.
const SECANT_ROUNDS: usize = 40;
/// What becomes of the part of the way when it turns round, and when it does not; the least part.
const PART_DOWN: f64 = 0.5;
const PART_UP: f64 = 1.1;
const PART_AT_LEAST: f64 = 0.005;
/// Ends this near together (in the logarithm) that still ask for opposite ways: the device jumps between them.
const AT_A_JUMP: f64 = 1e-4;

/// What think times were tried, and which ones they asked for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trail {
    secant: Secant,
    /// The longest think time that asked for a longer one, since a shorter one was asked for.
    short: Option<Tried>,
    /// The shortest that asked for a shorter one.
    long: Option<Tried>,
    /// On which side of the bracket the last round was.
    was_short: Option<bool>,
    pub(super) rounds: usize,
    /// Part of the way that a stream among others goes, and the way that the last round asked for, in logarithms.
    part: f64,
    way: f64,
    /// What the device answered at both ends, and how far off they really were.
    ends: [Option<End>; 2],
}

impl Default for Trail {
    fn default() -> Self {
        Self {
            secant: Secant::default(),
            short: None,
            long: None,
            was_short: None,
            rounds: 0,
            part: 1.0,
            way: 0.0,
            ends: [None; 2],
        }
    }
}

/// An end of the bracket as it was found.
#[derive(Clone, Copy, Debug, PartialEq)]
struct End {
    answer: DeviceAnswer,
    missing_ns: f64,
}

/// What was tried, and what it asked for: think times in ns, their logarithms, or rates.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tried {
    pub tried: f64,
    pub wanted: f64,
}

impl Tried {
    fn missing(&self) -> f64 {
        self.wanted - self.tried
    }
}

/// The line through the last two rounds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Secant {
    before: Tried,
}

impl Secant {
    /// What to try next. What is asked for falls as what is tried rises, so that going all the way overshoots: the slope
    /// between two rounds says how far to go.
    pub(super) fn next(&mut self, now: Tried) -> f64 {
        let (run, rise) = (now.tried - self.before.tried, now.wanted - self.before.wanted);
        let known = self.before.wanted > 0.0 && run.abs() > 1e-9 * now.tried;
        let slope = if known { (rise / run).min(0.0) } else { 0.0 };
        self.before = now;
        now.tried + now.missing() * (1.0 / (1.0 - slope)).max(STEP_AT_LEAST)
    }
}

impl Trail {
    /// What to try next; several streams move one another, and each follows its own secant. Where that finds no rest, because
    /// what is asked for is not a function of what the stream tries alone, each goes a part of the way, and less of it
    /// whenever the way turns round. In logarithms, as in [`Trail::alone`].
    pub(super) fn next(&mut self, tried_ns: f64, wanted_ns: f64) -> f64 {
        self.rounds += 1;
        let way = wanted_ns.ln_1p() - tried_ns.ln_1p();
        let turned = way * self.way < 0.0;
        self.way = way;
        if self.rounds <= SECANT_ROUNDS {
            return self.secant.next(Tried { tried: tried_ns, wanted: wanted_ns });
        }
        self.part = if turned { (self.part * PART_DOWN).max(PART_AT_LEAST) } else { (self.part * PART_UP).min(1.0) };
        (tried_ns.ln_1p() + self.part * way).exp_m1()
    }

    /// What to try next for a stream that is alone: its answer lies between two ends that close in. In logarithms, because
    /// waiting for a thread grows as 1 / (1 - busy).
    pub(super) fn alone(&mut self, tried_ns: f64, wanted_ns: f64, answer: &DeviceAnswer) -> f64 {
        let now = Tried { tried: tried_ns.ln_1p(), wanted: wanted_ns.ln_1p() };
        let free = self.secant.next(now);
        self.rounds += 1;
        self.ends[usize::from(now.missing() <= 0.0)] = Some(End { answer: *answer, missing_ns: wanted_ns - tried_ns });
        self.bracket(now);
        let next = match (self.short, self.long) {
            (Some(short), Some(long)) if self.rounds < BRACKETED_ROUNDS => between(short, long),
            _ => free,
        };
        next.exp_m1()
    }

    /// Where the device stands in either of two ways at one think time, and neither of them asks for it: it stands in each for
    /// the share of the time that makes them ask for it together.
    pub(super) fn jump(&self) -> Option<DeviceAnswer> {
        let (short, long) = (self.short?, self.long?);
        let [below, above] = [self.ends[0]?, self.ends[1]?];
        let near = (long.tried - short.tried).abs() < AT_A_JUMP;
        near.then(|| below.answer.shared(&above.answer, below.missing_ns / (below.missing_ns - above.missing_ns)))
    }

    /// The end on the side of `now` moves there. The other one counts half as far off when it stays for a second time, so
    /// that it moves as well (the Illinois rule of false position).
    fn bracket(&mut self, now: Tried) {
        let short = now.missing() > 0.0;
        let (near, far) = if short { (&mut self.short, &mut self.long) } else { (&mut self.long, &mut self.short) };
        if let Some(far) = far.as_mut().filter(|_| self.was_short == Some(short)) {
            far.wanted = far.tried + far.missing() / 2.0;
        }
        *near = Some(now);
        self.was_short = Some(short);
    }
}

/// Where the line through both ends asks for what is tried; well inside of the bracket.
fn between(short: Tried, long: Tried) -> f64 {
    let share = short.missing() / (short.missing() - long.missing());
    short.tried + (long.tried - short.tried) * share.clamp(0.02, 0.98)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Follows a stream until it rests or jumps.
    fn followed(device: impl Fn(f64) -> f64, wanted: impl Fn(f64) -> f64) -> (f64, bool) {
        let (mut trail, mut tried) = (Trail::default(), 100.0);
        for _ in 0..200 {
            let answer = DeviceAnswer { ops_per_s: device(tried), mean_ns: 1.0, ..DeviceAnswer::default() };
            let asked = wanted(answer.ops_per_s);
            if (asked / tried - 1.0).abs() < 1e-9 {
                return (answer.ops_per_s, false);
            }
            tried = trail.alone(tried, asked, &answer);
            if let Some(answer) = trail.jump() {
                return (answer.ops_per_s, true);
            }
        }
        (f64::NAN, false)
    }

    #[test]
    fn a_drive_that_jumps_stands_on_both_sides_for_a_share_of_the_time() {
        // Beyond a think time of 2 us it serves half as much, which asks for less than that; before it, for more.
        let device = |think: f64| if think < 2000.0 { 200e3 } else { 100e3 };
        let (rate, jumped) = followed(device, |rate| rate / 100e3 * 1500.0);
        let between = 2000.0 / 1500.0 * 100e3;
        assert!(jumped && (rate / between - 1.0).abs() < 1e-3, "{rate} at a jump, {between} asks for it");
    }

    #[test]
    fn a_drive_that_does_not_jump_is_found_where_it_rests() {
        let (rate, jumped) = followed(|think| 1e9 / (1000.0 + think), |rate| rate * 0.01);
        assert!(!jumped && (rate * 0.01 * (1000.0 + rate * 0.01) / (1e9 * 0.01) - 1.0).abs() < 1e-6, "{rate}");
    }
}
