//! Programs that forget a flush or a fence, or persist in the wrong order: a checker that does not catch them is a toy.

use std::{collections::BTreeMap, fmt, ops::Range, panic::Location};

use super::{
    case::CrashCase,
    event::{Event, What},
    explorer::{Exploration, Explorer},
    violation::Violation,
};

/// One mistake, planted into a recorded history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// The n-th flush was never made.
    DropFlush(usize),
    /// The n-th fence was never made.
    DropFence(usize),
    /// What the n-th fence made durable was stored after what the next one did.
    SwapPersists(usize),
}

/// Where a mutant may live, and why that is right.
#[derive(Clone, Copy, Debug)]
pub struct Allowed {
    /// End of the file's name.
    pub file: &'static str,
    /// What the line of code there contains.
    pub line_has: &'static str,
    /// Why nothing is lost without it, or why this history cannot show it.
    pub why: &'static str,
}

/// A mutant that was not caught.
#[derive(Clone, Debug)]
pub struct Survivor {
    /// The mistake.
    pub mutant: Mutant,
    /// Where the flush or fence stands.
    pub site: String,
    /// The argument that allows it, if there is one.
    pub why: Option<&'static str>,
}

/// How the mutants fared.
#[derive(Clone, Debug, Default)]
pub struct MutantReport {
    /// Mistakes planted.
    pub mutants: usize,
    /// Of them, those that a crash revealed.
    pub caught: usize,
    /// Those that it did not.
    pub survivors: Vec<Survivor>,
    /// By site: caught and planted.
    pub sites: BTreeMap<String, (usize, usize)>,
    /// Images that were tried.
    pub images: u64,
}

impl MutantReport {
    /// Survivors that no argument allows.
    pub fn unexplained(&self) -> Vec<&Survivor> {
        self.survivors.iter().filter(|survivor| survivor.why.is_none()).collect()
    }

    /// Sites at which nothing was ever caught, whatever was argued: an argument is for some of the instances of a site.
    pub fn blind_sites(&self) -> Vec<&String> {
        self.sites.iter().filter(|(_, (caught, _))| *caught == 0).map(|(site, _)| site).collect()
    }

    fn add(&mut self, mutant: Mutant, site: &'static Location<'static>, caught: bool, allowed: &[Allowed]) {
        let name = format!("{}:{}", site.file(), site.line());
        self.mutants += 1;
        let counts = self.sites.entry(name.clone()).or_default();
        counts.1 += 1;
        if caught {
            self.caught += 1;
            counts.0 += 1;
        } else {
            self.survivors.push(Survivor { mutant, site: name, why: argument(site, allowed) });
        }
    }
}

impl fmt::Display for MutantReport {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{} of {} mutants caught in {} images", self.caught, self.mutants, self.images)?;
        for (site, (caught, planted)) in &self.sites {
            writeln!(formatter, "    {site}: {caught} of {planted}")?;
        }
        for survivor in self.unexplained() {
            writeln!(formatter, "  survived: {:?} at {}", survivor.mutant, survivor.site)?;
        }
        Ok(())
    }
}

/// Plants every mistake into the history, one at a time, and looks for a crash that reveals it.
///
/// # Errors
/// A violation of the unchanged case.
pub fn try_mutants<C: CrashCase>(
    case: &C,
    explorer: &Explorer,
    allowed: &[Allowed],
) -> Result<MutantReport, Box<Violation>> {
    explorer.explore(case)?;
    let (recorder, events) = explorer.history(case)?;
    let mut report = MutantReport::default();
    for (mutant, at) in mutants(&events) {
        let Some(changed) = plant(&events, mutant) else { continue };
        let mut run = Exploration::new(explorer, case, recorder.clone(), &|event| Some(*event));
        let start = recorder.here();
        let caught = run.walk(&changed, &[], first_change(&events, at, mutant), 0).is_err();
        recorder.back_to(start);
        report.images += run.summary.images;
        report.add(mutant, events[at].site, caught, allowed);
    }
    Ok(report)
}

/// Lets every recovery forget the flushes or fences of one line of code, each such line in turn, and looks for a second
/// crash that reveals it.
///
/// # Errors
/// A violation of the unchanged case.
pub fn try_recovery_mutants<C: CrashCase>(
    case: &C,
    explorer: &Explorer,
    allowed: &[Allowed],
) -> Result<MutantReport, Box<Violation>> {
    let sites = std::cell::RefCell::new(BTreeMap::new());
    let note = |event: &Event| {
        if let Some(kind) = kind(event) {
            sites.borrow_mut().entry((event.site.file(), event.site.line(), kind)).or_insert(event.site);
        }
        Some(*event)
    };
    let (recorder, events) = explorer.history(case)?;
    Exploration::new(explorer, case, recorder.clone(), &note).walk(&events, &[], 0, 0)?;
    let mut report = MutantReport::default();
    for ((_, _, which), site) in sites.into_inner() {
        let forget = move |event: &Event| (kind(event) != Some(which) || event.site != site).then_some(*event);
        let mut run = Exploration::new(explorer, case, recorder.clone(), &forget);
        let start = recorder.here();
        let caught = run.walk(&events, &[], 0, 0).is_err();
        recorder.back_to(start);
        report.images += run.summary.images;
        report.add(which, site, caught, allowed);
    }
    Ok(report)
}

/// The mistake that drops an event, as if it were the first of its kind.
fn kind(event: &Event) -> Option<Mutant> {
    match event.what {
        What::Flush { .. } => Some(Mutant::DropFlush(0)),
        What::Fence => Some(Mutant::DropFence(0)),
        _ => None,
    }
}

impl PartialOrd for Mutant {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Mutant {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        let key = |mutant: &Self| match *mutant {
            Self::DropFlush(n) => (0, n),
            Self::DropFence(n) => (1, n),
            Self::SwapPersists(n) => (2, n),
        };
        key(self).cmp(&key(other))
    }
}

fn places(events: &[Event], wanted: impl Fn(&What) -> bool) -> Vec<usize> {
    events.iter().enumerate().filter(|(_, event)| wanted(&event.what)).map(|(at, _)| at).collect()
}

fn flushes(events: &[Event]) -> Vec<usize> {
    places(events, |what| matches!(what, What::Flush { .. }))
}

fn fences(events: &[Event]) -> Vec<usize> {
    places(events, |what| *what == What::Fence)
}

/// All mistakes, and the event that each is about.
fn mutants(events: &[Event]) -> Vec<(Mutant, usize)> {
    let number = |all: Vec<usize>, of: fn(usize) -> Mutant| {
        all.into_iter().enumerate().map(move |(n, at)| (of(n), at)).collect::<Vec<_>>()
    };
    let fences = fences(events);
    let mut all = number(flushes(events), Mutant::DropFlush);
    all.extend(number(fences.clone(), Mutant::DropFence));
    all.extend(number(fences, Mutant::SwapPersists));
    all
}

/// The history with a mistake; none where it would be the same.
fn plant(events: &[Event], mutant: Mutant) -> Option<Vec<Event>> {
    let without = |at: usize| {
        let mut changed = events.to_vec();
        changed.remove(at);
        changed
    };
    match mutant {
        Mutant::DropFlush(n) => flushes(events).get(n).map(|&at| without(at)),
        Mutant::DropFence(n) => fences(events).get(n).map(|&at| without(at)),
        Mutant::SwapPersists(n) => swap(events, n),
    }
}

/// What lies before the n-th fence and after the one before it.
fn segment(events: &[Event], n: usize) -> Option<Range<usize>> {
    let fences = fences(events);
    let start = n.checked_sub(1).map_or(0, |before| fences[before] + 1);
    fences.get(n).map(|&end| start..end)
}

/// Stores and flushes of two neighbouring segments change places; what the case said stays where it was.
fn swap(events: &[Event], n: usize) -> Option<Vec<Event>> {
    let (first, second) = (segment(events, n)?, segment(events, n + 1)?);
    let is_mark = |event: &&Event| matches!(event.what, What::Mark(_));
    let stores = |range: &Range<usize>| events[range.clone()].iter().filter(|event| !is_mark(event)).copied();
    let marks = |range: &Range<usize>| events[range.clone()].iter().filter(is_mark).copied();
    if stores(&first).next().is_none() || stores(&second).next().is_none() {
        return None;
    }
    let mut changed = events[..first.start].to_vec();
    changed.extend(marks(&first).chain(stores(&second)));
    changed.push(events[first.end]);
    changed.extend(marks(&second).chain(stores(&first)));
    changed.extend_from_slice(&events[second.end..]);
    Some(changed)
}

/// Up to here the changed history leaves the same images as the unchanged one.
fn first_change(events: &[Event], at: usize, mutant: Mutant) -> usize {
    match mutant {
        Mutant::SwapPersists(n) => segment(events, n).map_or(0, |range| range.start),
        _ => at,
    }
}

/// The argument that allows a line of code to be without its flush or fence.
fn argument(site: &Location<'_>, allowed: &[Allowed]) -> Option<&'static str> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    let source = std::fs::read_to_string(format!("{root}/{}", site.file())).unwrap_or_default();
    let line = source.lines().nth(site.line() as usize - 1).unwrap_or_default();
    let fits = |allowed: &&Allowed| site.file().ends_with(allowed.file) && line.contains(allowed.line_has);
    allowed.iter().find(fits).map(|allowed| allowed.why)
}
