//! What a finished run left behind, whole and by class.

use std::{collections::BTreeMap, sync::atomic::Ordering::Relaxed, time::Instant};

use assay_instruments::{
    clock::Clock,
    counters::{CountedApart, CpuTotals, FileChanges, HelperTotals, PerfCounts, ThreadUse, Work, cpu_use},
    distribution::distribution,
    environment::own_provenance,
    series::sum_of,
    tally::{Latencies, Sum, Tally},
    verdict::Lateness,
};
use assay_record::{
    Arrivals, Baseline, CheckOutcome, Class, CpuUse, Distribution, Figure, Job, Method, Operation, Overdue, Provenance,
    Unit,
};

use super::{controller::Watched, counting::Counting, observe::Surroundings, stage::Stage, workers::ThreadOutcome};
use crate::baseline::Ceiling;

/// All that a finished run left behind.
pub struct Finished<'a> {
    /// The job.
    pub job: &'a Job,
    /// The stage.
    pub stage: &'a Stage,
    /// Ceilings of the generator, by class.
    pub ceilings: &'a [Ceiling],
    /// How CPU is counted.
    pub counting: &'a Counting,
    /// Tallies by class and thread.
    pub tallies: &'a [Vec<Tally>],
    /// The window.
    pub watched: Watched,
    /// What the workers brought back.
    pub outcomes: Vec<ThreadOutcome>,
    /// What surrounded the window.
    pub around: Surroundings,
    /// What became of the files of each data set, by its name.
    pub changes: BTreeMap<String, FileChanges>,
    /// Whether data sets that were written to keep what they are given, by name.
    pub readback: BTreeMap<String, CheckOutcome>,
    /// Clock of the run.
    pub clock: Clock,
    /// Seconds of preparation.
    pub prepared_s: f64,
    /// When the run began.
    pub began: Instant,
}

/// What belongs to one class.
pub struct Part<'a> {
    /// The class.
    pub class: &'a Class,
    /// Its tallies.
    pub tallies: &'a [Tally],
    /// Outcomes of its workers.
    pub outcomes: Vec<&'a ThreadOutcome>,
    /// Its ceiling.
    pub ceiling: Ceiling,
    /// Helpers that worked for it.
    pub helpers: HelperTotals,
    /// Provenance of its figures.
    pub provenance: Provenance,
    /// Seconds that its workers measured, mean.
    pub elapsed_s: f64,
    /// System calls of its workers.
    pub system_calls: u64,
}

/// A sum over threads.
pub fn total(tallies: &[Tally], of: fn(&Tally) -> u64) -> u64 {
    tallies.iter().map(of).sum()
}

impl Part<'_> {
    fn sum(&self, of: fn(&Tally) -> Option<&Latencies>) -> Option<Sum> {
        sum_of(self.tallies.iter().chain(self.after()).map(of))
    }

    /// What its workers counted after the close and its distributions hold: of a class with a rate all that was due. What
    /// a closed loop has in flight was due at no time; it is left out unless it never ended.
    fn after(&self) -> impl Iterator<Item = &Tally> {
        let counts = self.class.arrivals != Arrivals::Closed || self.missing() > 0;
        self.outcomes.iter().filter(move |_| counts).map(|one| &one.overdue.tally)
    }

    fn missing(&self) -> u64 {
        self.outcomes.iter().map(|one| one.overdue.missing()).sum()
    }

    /// Response times of what was due, with what never ended as at least.
    pub fn response(&self) -> Option<Sum> {
        let mut sum = self.sum(|tally| tally.response.as_ref())?;
        self.outcomes.iter().for_each(|one| sum.at_least.add(one.overdue.response));
        Some(sum)
    }

    /// Service times: of the window, and of what was due in it.
    pub fn service(&self, window: &Sum) -> Sum {
        let mut sum = window.clone();
        if let Some(after) = sum_of(self.after().map(|tally| Some(&tally.service))) {
            sum.merge(&after);
        }
        self.outcomes.iter().for_each(|one| sum.at_least.add(one.overdue.service));
        sum
    }

    /// What was due and in flight, or not begun, at the close.
    pub fn overdue(&self, hz: f64) -> Option<Overdue> {
        let missing = self.missing();
        let open = self.class.arrivals != Arrivals::Closed;
        let completed = self.outcomes.iter().filter(|_| open || missing > 0).map(|one| one.overdue.completed()).sum();
        let waited = self.outcomes.iter().map(|one| one.overdue.waited).max().unwrap_or(0);
        (completed + missing > 0).then(|| Overdue { completed, missing, waited_s: waited as f64 / hz })
    }

    /// How late its workers started what was due, beside the response times; none where nothing was due.
    pub fn lateness(&self) -> Option<Lateness> {
        let late = self.sum(|tally| tally.lateness.as_ref())?;
        let percentile = Lateness::percentile(late.count());
        let response_ns = self.response()?.percentile(percentile);
        let service_ns = self.sum(|tally| Some(&tally.service))?.percentile(percentile);
        Some(Lateness { percentile, late_ns: late.percentile(percentile), response_ns, service_ns })
    }

    /// Distribution of one of the histograms; none where its class keeps none.
    pub fn distribution(&self, of: fn(&Tally) -> Option<&Latencies>) -> Option<Distribution> {
        self.sum(of).map(|sum| distribution(&sum, self.provenance))
    }

    /// Little's law: the time that operations spent in service, ns together, per second.
    pub fn in_service(&self, service_ns: f64, hz: f64) -> f64 {
        (service_ns / 1e9 + self.at_edges_s(hz)).max(0.0) / self.elapsed_s.max(1e-9)
    }

    /// The same without what others of its thread's operations wait meanwhile: where a path blocks in its submit call they
    /// wait in the program, not at the device. Whether it blocks, the device knows ([`super::judge`]).
    pub fn achieved_depth(&self, in_service: f64) -> f64 {
        let threads = f64::from(self.class.threads);
        let waiting = self.submit_share() * f64::from(self.class.depth.saturating_sub(1)) * threads;
        (in_service - waiting).max(in_service.min(threads))
    }

    /// Seconds by which the window's edges cut operations: those that it began with spent some before it, those that it
    /// ended with spent some inside it and do not count as done.
    fn at_edges_s(&self, hz: f64) -> f64 {
        let sum = |of: fn(&ThreadOutcome) -> u64| self.outcomes.iter().map(|one| of(one)).sum::<u64>() as f64;
        (sum(|one| one.unfinished) - sum(|one| one.carried_in)) / hz
    }

    /// Share of the workers' time that was spent inside the submit call.
    pub fn submit_share(&self) -> f64 {
        let ticks = total(self.tallies, |tally| tally.submit_ticks.load(Relaxed)) as f64;
        let all: u64 = self.outcomes.iter().map(|one| one.end.saturating_sub(one.start)).sum();
        ticks / (all.max(1)) as f64
    }

    /// Seconds that its workers spent waiting for an intended start without sleeping.
    pub fn wait_s(&self, hz: f64) -> f64 {
        total(self.tallies, |tally| tally.wait_ticks.load(Relaxed)) as f64 / hz
    }

    /// Accounts of its threads.
    pub fn uses(&self) -> Vec<ThreadUse> {
        self.outcomes.iter().map(|one| one.used.clone()).collect()
    }

    /// What its hardware counters counted in a window of its own; none where a thread has no count, or there are too few
    /// operations to stand for the judged window.
    fn counted_apart(&self) -> Option<CountedApart> {
        let counts: Vec<_> = self.outcomes.iter().map(|one| one.counted_apart).collect::<Option<_>>()?;
        let sum = |of: fn(&PerfCounts) -> Option<u64>| {
            counts.iter().map(|(counts, _)| of(counts).map(|count| count as f64)).sum::<Option<f64>>()
        };
        let operations = counts.iter().map(|(_, operations)| operations).sum();
        let apart = CountedApart {
            operations,
            cycles: sum(|counts| counts.cycles)?,
            instructions: sum(|counts| counts.instructions),
            tlb_misses: sum(|counts| counts.tlb_misses),
        };
        Counting::suffices(operations).then_some(apart)
    }

    /// What its threads used in the judged window, with what an operation cost in a window of its own where there was one.
    pub fn totals(&self, counting: &Counting, operations: u64) -> CpuTotals {
        let apart = self.counted_apart();
        let counted = counting.counted(apart.map(|apart| apart.operations), self.elapsed_s);
        let totals = CpuTotals::of_threads(&self.uses(), &self.helpers).with_counted(counted);
        apart.map_or(totals.clone(), |apart| totals.counted_apart(&apart, operations))
    }

    /// CPU by operation and byte.
    pub fn cpu(&self, counting: &Counting, operations: u64, bytes: u64, hz: f64) -> CpuUse {
        let work = Work {
            operations,
            bytes,
            wait_s: self.wait_s(hz),
            system_calls: self.system_calls,
            cpu_hz: hz,
            provenance: self.provenance,
        };
        cpu_use(&self.totals(counting, operations), &work)
    }

    /// The generator's ceiling, and its share of what an operation cost.
    pub fn baseline(&self, cpu: &CpuUse, operations: u64) -> Baseline {
        let figure = |value, unit, method| Figure::new(value, unit, own_provenance(), method);
        let busy = cpu.cycles_per_op.value;
        let share = if operations == 0 || busy <= 0.0 { 0.0 } else { (self.ceiling.cycles_per_op / busy).min(1.0) };
        Baseline {
            null_ops_per_s: figure(self.ceiling.ops_per_s, Unit::OpsPerSecond, Method::Loop),
            null_cycles_per_op: figure(self.ceiling.cycles_per_op, Unit::CyclesPerOp, Method::Loop),
            generator_share: figure(share, Unit::Ratio, Method::Derived),
        }
    }

    /// Service time of reads and writes apart, where the class mixes: what is not a write is a read.
    pub fn split(&self, service: &Sum) -> (Option<Distribution>, Option<Distribution>) {
        if !matches!(self.class.operation, Operation::Mix { write_percent: 1..=99 }) {
            return (None, None);
        }
        let Some(writes) = self.sum(|tally| tally.write_service.as_ref()) else { return (None, None) };
        let reads = service.without(&writes);
        (Some(distribution(&reads, self.provenance)), Some(distribution(&writes, self.provenance)))
    }

    /// Bytes that its threads and helpers moved, by the kernel's accounts.
    pub fn device_bytes(&self, of: fn(&ThreadUse) -> Option<u64>, helpers: u64) -> Option<Figure> {
        let own: Option<u64> = self.outcomes.iter().map(|one| of(&one.used)).sum();
        own.map(|bytes| {
            let value = bytes.saturating_add(helpers) as f64;
            Figure::new(value, Unit::Bytes, self.provenance, Method::KernelAccounting)
        })
    }

    /// Failed operations by the name of the error.
    pub fn errors(&self) -> std::collections::BTreeMap<String, u64> {
        let mut errors = std::collections::BTreeMap::new();
        for (errno, count) in self.outcomes.iter().flat_map(|one| &one.faults.by_errno) {
            *errors.entry(assay_instruments::error_name(*errno)).or_default() += count;
        }
        errors
    }

    /// What verification found.
    pub fn check(&self) -> Option<CheckOutcome> {
        let all = |of: fn(&Tally) -> u64| -> u64 {
            self.tallies.iter().chain(self.outcomes.iter().map(|one| &one.overdue.tally)).map(of).sum()
        };
        let blocks = all(|tally| tally.verified.load(Relaxed));
        let wrong = all(|tally| tally.wrong.load(Relaxed));
        let examples: Vec<String> = self.outcomes.iter().flat_map(|one| one.examples.iter().cloned()).take(5).collect();
        (blocks > 0).then_some(CheckOutcome { blocks, wrong, examples })
    }
}
