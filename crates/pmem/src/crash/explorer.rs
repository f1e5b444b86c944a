//! Crashes a case at every moment of its history, in every way or in many.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
    panic::{AssertUnwindSafe, catch_unwind},
};

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

use super::{
    case::CrashCase,
    choice::{CacheLine, Choice, count},
    event::{Event, Mark, What},
    recorder::Recorder,
    replay::Replay,
    violation::{CrashPoint, Violation},
};

/// Events of a history that a violation shows.
const TRACE: usize = 24;

/// How thoroughly to look.
#[derive(Clone, Debug)]
pub struct Explorer {
    /// Seed of the choices.
    pub seed: u64,
    /// About how many images to try of a history whose images cannot all be tried.
    pub images: u64,
    /// A moment with at most so many images has all of them tried.
    pub exhaustive_below: u64,
    /// How often recovery itself may be cut off.
    pub depth: u32,
    /// Of so many images one, by chance, has the recovery from it cut off too, and goes on working.
    pub nested_every: u64,
    /// About how many images to try of such a recovery.
    pub nested_images: u64,
}

impl Default for Explorer {
    fn default() -> Self {
        Self { seed: 1, images: 10_000, exhaustive_below: 64, depth: 2, nested_every: 16, nested_images: 32 }
    }
}

/// What was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Images that were recovered and checked; those of one moment all differ.
    pub images: u64,
    /// Of them, those of a recovery that was cut off.
    pub nested_images: u64,
    /// Moments at which the history was cut off.
    pub moments: u64,
    /// Of them, those of which every possible image was tried.
    pub exhausted: u64,
    /// Events of the history.
    pub events: u64,
}

impl Explorer {
    /// Tries a case.
    ///
    /// # Errors
    /// The first crash that it does not survive, made as small as it gets.
    pub fn explore<C: CrashCase>(&self, case: &C) -> Result<Summary, Box<Violation>> {
        let (recorder, events) = self.history(case)?;
        let mut run = Exploration::new(self, case, recorder, &|event| Some(*event));
        run.summary.events = events.len() as u64;
        run.walk(&events, &[], 0, 0)?;
        Ok(run.summary)
    }

    /// The case's history, and the medium as it was before.
    pub(super) fn history<C: CrashCase>(&self, case: &C) -> Result<(Recorder, Vec<Event>), Box<Violation>> {
        let recorder = Recorder::new(case.bytes());
        let defect = |what: String| Box::new(Violation { what, points: Vec::new(), seed: self.seed });
        case.set_up(recorder.clone()).map_err(|what| defect(format!("setting up: {what}")))?;
        let start = recorder.here();
        recorder.start_recording();
        case.run(recorder.clone()).map_err(|what| defect(format!("without a crash: {what}")))?;
        let events = recorder.stop_recording();
        recorder.back_to(start);
        Ok((recorder, events))
    }
}

/// Changes an event of a recovery's history, or drops it.
pub(super) type Filter<'a> = &'a dyn Fn(&Event) -> Option<Event>;

/// One exploration under way.
pub(super) struct Exploration<'a, C> {
    explorer: &'a Explorer,
    case: &'a C,
    recorder: Recorder,
    random: Xoshiro256PlusPlus,
    recovery: Filter<'a>,
    pub(super) summary: Summary,
}

/// A moment of a history.
struct Moment<'a> {
    events: &'a [Event],
    at: usize,
    past: &'a [Mark],
    depth: u32,
}

impl<'a, C: CrashCase> Exploration<'a, C> {
    pub(super) fn new(explorer: &'a Explorer, case: &'a C, recorder: Recorder, recovery: Filter<'a>) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(explorer.seed);
        Self { explorer, case, recorder, random, recovery, summary: Summary::default() }
    }

    /// Crashes at every moment from an event on. The medium is as before the history, and is so again afterwards.
    pub(super) fn walk(
        &mut self,
        events: &[Event],
        past: &[Mark],
        from: usize,
        depth: u32,
    ) -> Result<(), Box<Violation>> {
        let moments = moments(events);
        let budget = if depth == 0 { self.explorer.images } else { self.explorer.nested_images };
        let share = budget.div_ceil(moments.len() as u64);
        let start = self.recorder.here();
        let mut replay = Replay::default();
        let mut past = past.to_vec();
        let recorder = self.recorder.clone();
        for at in 0..=events.len() {
            if at >= from && moments.binary_search(&at).is_ok() {
                self.moment(&Moment { events, at, past: &past, depth }, &replay, share)?;
            }
            if let Some(event) = events.get(at) {
                replay.step(event, |word, value| recorder.poke(word, value));
                past.extend(mark(event));
            }
        }
        self.recorder.back_to(start);
        Ok(())
    }

    /// Tries the images of one moment.
    fn moment(&mut self, moment: &Moment<'_>, replay: &Replay, share: u64) -> Result<(), Box<Violation>> {
        let lines: Vec<CacheLine<'_>> =
            replay.pending().iter().map(|(&number, stores)| CacheLine { number, stores }).collect();
        let all = count(&lines);
        let exhaustive = all <= self.explorer.exhaustive_below.min(share.max(2) * 4);
        self.summary.moments += 1;
        self.summary.exhausted += u64::from(exhaustive);
        let tries = if exhaustive { all } else { share };
        let mut seen = HashSet::new();
        for number in 0..tries {
            let choice =
                if exhaustive { Choice::nth(&lines, number) } else { Choice::sample(&lines, number, &mut self.random) };
            if seen.insert(self.identity(&choice, &lines)) {
                self.image(moment, &choice, &lines)?;
            }
        }
        Ok(())
    }

    /// Recovers one image, checks it, and now and then cuts that recovery off too.
    fn image(&mut self, moment: &Moment<'_>, choice: &Choice, lines: &[CacheLine<'_>]) -> Result<(), Box<Violation>> {
        self.summary.images += 1;
        self.summary.nested_images += u64::from(moment.depth > 0);
        let nested = moment.depth < self.explorer.depth && self.random.next_u64() % self.explorer.nested_every == 0;
        let start = self.recorder.here();
        let events = match self.attempt(moment, choice, lines, nested) {
            Ok(events) => events,
            Err(what) => return Err(self.violation(moment, choice, lines, nested, what)),
        };
        if nested {
            choice.words(lines).for_each(|(word, value)| self.recorder.poke(word, value));
            let events: Vec<Event> = events.iter().filter_map(self.recovery).collect();
            let past: Vec<Mark> = moment.past.iter().copied().chain([Mark::Crash]).collect();
            self.walk(&events, &past, 0, moment.depth + 1).map_err(|mut violation| {
                violation.points.insert(0, point(moment, choice, lines));
                violation
            })?;
        }
        self.recorder.back_to(start);
        Ok(())
    }

    /// Recovery and check on an image, which is left again. Answers with what recovery (and going on) did.
    fn attempt(
        &self,
        moment: &Moment<'_>,
        choice: &Choice,
        lines: &[CacheLine<'_>],
        go_on: bool,
    ) -> Result<Vec<Event>, String> {
        let recorder = &self.recorder;
        let start = recorder.here();
        choice.words(lines).for_each(|(word, value)| recorder.poke(word, value));
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            if go_on {
                recorder.start_recording();
            }
            let recovered = self.case.recover(recorder.clone()).map_err(|what| format!("recovery failed: {what}"))?;
            if go_on {
                self.case.go_on(&recovered, recorder).map_err(|what| format!("going on failed: {what}"))?;
            }
            let events = recorder.stop_recording();
            let marks = events.iter().filter_map(mark);
            let past: Vec<Mark> = moment.past.iter().copied().chain([Mark::Crash]).chain(marks).collect();
            self.case.check(&recovered, &past)?;
            Ok(events)
        }));
        recorder.stop_recording();
        recorder.back_to(start);
        outcome.unwrap_or_else(|panic| Err(format!("recovery or check panicked: {}", panic_text(&*panic))))
    }

    /// The same violation with as few lines that matter as possible.
    fn violation(
        &self,
        moment: &Moment<'_>,
        choice: &Choice,
        lines: &[CacheLine<'_>],
        go_on: bool,
        what: String,
    ) -> Box<Violation> {
        let (mut smallest, mut what) = (choice.clone(), what);
        for line in 0..lines.len() {
            // Kept is the ordinary fate of a line: what stays lost in the end is what matters.
            let simpler = smallest.with_line(lines, line, true);
            if let (true, Err(said)) = (simpler != smallest, self.attempt(moment, &simpler, lines, go_on)) {
                (smallest, what) = (simpler, said);
            }
        }
        Box::new(Violation { what, points: vec![point(moment, &smallest, lines)], seed: self.explorer.seed })
    }

    /// Two choices that leave the same bytes are one image.
    fn identity(&self, choice: &Choice, lines: &[CacheLine<'_>]) -> u64 {
        let mut words: Vec<(u32, u64)> = choice.words(lines).collect();
        words.reverse();
        words.sort_by_key(|&(word, _)| word);
        words.dedup_by_key(|&mut (word, _)| word);
        let mut hasher = DefaultHasher::new();
        words
            .iter()
            .filter(|&&(word, value)| self.recorder.peek(word) != value)
            .for_each(|word| word.hash(&mut hasher));
        hasher.finish()
    }
}

/// Just before each fence that makes something durable, and at the end.
fn moments(events: &[Event]) -> Vec<usize> {
    let mut replay = Replay::default();
    let mut all = Vec::new();
    for (at, event) in events.iter().enumerate() {
        if event.what == What::Fence && replay.would_settle(event.thread) {
            all.push(at);
        }
        replay.step(event, |_, _| {});
    }
    all.push(events.len());
    all
}

fn mark(event: &Event) -> Option<Mark> {
    if let What::Mark(mark) = event.what { Some(mark) } else { None }
}

fn point(moment: &Moment<'_>, choice: &Choice, lines: &[CacheLine<'_>]) -> CrashPoint {
    let trace = &moment.events[moment.at.saturating_sub(TRACE)..moment.at];
    CrashPoint {
        event: moment.at,
        lines: choice.describe(lines),
        trace: trace.iter().map(ToString::to_string).collect(),
    }
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("without a word").to_owned()
}
