//! From what threads and helpers used to CPU figures per operation and per byte.

use assay_record::{Counted, CountedBy, CpuUse, Figure, Method, Provenance, Unit};

use super::{attribution::HelperTotals, process::ProcessUse, thread::ThreadUse};

/// What several threads used together. A counter that one of them lacked is missing for all.
#[derive(Clone, Debug, PartialEq)]
pub struct CpuTotals {
    user_s: f64,
    kernel_s: f64,
    helper_s: f64,
    switches: u64,
    faults: u64,
    cycles: Option<(f64, Method)>,
    instructions: Option<f64>,
    tlb_misses: Option<f64>,
    counted: Option<Counted>,
}

/// What hardware counters of several threads counted together in a window of its own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CountedApart {
    /// Operations that ended in it.
    pub operations: u64,
    /// Cycles.
    pub cycles: f64,
    /// Instructions; none where a thread had no counter.
    pub instructions: Option<f64>,
    /// Misses of the data TLB; none where a thread had no counter.
    pub tlb_misses: Option<f64>,
}

/// What was done with it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Work {
    /// Operations completed.
    pub operations: u64,
    /// Bytes moved.
    pub bytes: u64,
    /// CPU seconds spent waiting for an intended start.
    pub wait_s: f64,
    /// System calls, as the paths count their own.
    pub system_calls: u64,
    /// Cycles per CPU second where no counter tells: [`super::ThreadCounters::accounts`]'s `cpu_hz`.
    pub cpu_hz: f64,
    /// Provenance of all figures.
    pub provenance: Provenance,
}

impl CpuTotals {
    /// Of the threads of a class and the helpers that worked for it.
    pub fn of_threads(threads: &[ThreadUse], helpers: &HelperTotals) -> Self {
        let sum = |field: fn(&ThreadUse) -> u64| threads.iter().map(field).sum::<u64>();
        let all = |field: fn(&ThreadUse) -> Option<u64>| {
            threads.iter().map(|one| field(one).map(|count| count as f64)).sum::<Option<f64>>()
        };
        Self {
            user_s: threads.iter().map(|one| one.user_s).sum(),
            kernel_s: threads.iter().map(|one| one.kernel_s).sum(),
            helper_s: helpers.cpu_s(),
            switches: sum(|one| one.voluntary_switches + one.involuntary_switches),
            faults: sum(|one| one.minor_faults + one.major_faults),
            cycles: cycles_of(threads),
            instructions: all(|one| one.instructions).filter(|_| !threads.is_empty()),
            tlb_misses: all(|one| one.tlb_misses).filter(|_| !threads.is_empty()),
            counted: None,
        }
    }

    /// Says how cycles were counted.
    #[must_use]
    pub fn with_counted(self, counted: Counted) -> Self {
        Self { counted: Some(counted), ..self }
    }

    /// Takes what an operation cost from a window of its own, for this many operations of the judged one.
    #[must_use]
    pub fn counted_apart(self, apart: &CountedApart, operations: u64) -> Self {
        let scale = per(operations as f64, apart.operations);
        let scaled = |count: f64| count * scale;
        Self {
            cycles: Some((scaled(apart.cycles), Method::HardwareCounter)),
            instructions: apart.instructions.map(scaled),
            tlb_misses: apart.tlb_misses.map(scaled),
            ..self
        }
    }

    /// Cycles of hardware counters and the threads' CPU seconds that they belong to; none where no counter counted.
    pub fn two_instruments(&self) -> Option<(f64, f64)> {
        let counted = self.cycles.filter(|(_, method)| *method == Method::HardwareCounter)?;
        Some((counted.0, self.user_s + self.kernel_s))
    }

    /// Of the whole process. Helpers are part of its kernel time and are shown apart; cycles come from CPU time.
    pub fn of_process(used: &ProcessUse) -> Self {
        let living: f64 = used.helpers.iter().map(|helper| helper.cpu_s).sum();
        let helper_s = living + used.ended_helpers_s();
        Self {
            user_s: used.user_s,
            kernel_s: (used.kernel_s - helper_s).max(0.0),
            helper_s: helper_s.min(used.kernel_s),
            switches: used.voluntary_switches + used.involuntary_switches,
            faults: used.minor_faults + used.major_faults,
            cycles: None,
            instructions: None,
            tlb_misses: None,
            counted: Some(Counted {
                by: CountedBy::Accounts,
                why: "the process as a whole is accounted by the kernel".to_owned(),
                window_s: None,
                operations: None,
            }),
        }
    }
}

/// Cycles of all threads and the weakest rung among those that gave them; none where a thread has none.
fn cycles_of(threads: &[ThreadUse]) -> Option<(f64, Method)> {
    let rung = |method| match method {
        Method::HardwareCounter => 0,
        Method::SoftwareEvent => 2,
        _ => 1,
    };
    threads
        .iter()
        .map(|one| one.cycles)
        .try_fold((0.0, Method::HardwareCounter), |(sum, weakest), cycles| {
            let (count, method) = cycles?;
            Some((sum + count as f64, if rung(method) > rung(weakest) { method } else { weakest }))
        })
        .filter(|_| !threads.is_empty())
}

/// The CPU figures of a record. Ratios are 0 where nothing was done.
pub fn cpu_use(totals: &CpuTotals, work: &Work) -> CpuUse {
    let wait_s = work.wait_s.clamp(0.0, totals.user_s);
    let (cycles, method) = busy_cycles(totals, wait_s, work.cpu_hz);
    let figure = |value: f64, unit, method| Figure::new(value, unit, work.provenance, method);
    let per_op = |count: f64| per(count, work.operations);
    let counted = |count: f64, unit| figure(per_op(count), unit, Method::HardwareCounter);
    CpuUse {
        user_s: figure(totals.user_s, Unit::Seconds, Method::Rusage),
        kernel_s: figure(totals.kernel_s, Unit::Seconds, Method::Rusage),
        helper_s: figure(totals.helper_s, Unit::Seconds, Method::KernelAccounting),
        wait_s: figure(wait_s, Unit::Seconds, Method::Loop),
        cycles_per_op: figure(per_op(cycles), Unit::CyclesPerOp, method),
        cycles_per_byte: figure(per(cycles, work.bytes), Unit::CyclesPerByte, method),
        instructions_per_op: totals.instructions.map(|count| counted(count, Unit::InstructionsPerOp)),
        tlb_misses_per_op: totals.tlb_misses.map(|count| counted(count, Unit::PerOp)),
        context_switches_per_op: figure(per_op(totals.switches as f64), Unit::PerOp, Method::Rusage),
        system_calls_per_op: figure(per_op(work.system_calls as f64), Unit::PerOp, Method::Loop),
        page_faults_per_op: figure(per_op(totals.faults as f64), Unit::PerOp, Method::Rusage),
        counted: totals.counted.clone(),
    }
}

/// Cycles of threads and helpers without waiting. Waiting is taken off in proportion to CPU time: a spinning thread
/// runs at the same frequency. Helpers have no counter; their CPU time counts at the threads' own frequency, or at
/// `cpu_hz`.
fn busy_cycles(totals: &CpuTotals, wait_s: f64, cpu_hz: f64) -> (f64, Method) {
    let cpu_s = totals.user_s + totals.kernel_s;
    let Some((cycles, method)) = totals.cycles else {
        return ((cpu_s - wait_s + totals.helper_s).max(0.0) * cpu_hz, Method::RusageTimesTsc);
    };
    if cpu_s <= 0.0 {
        return (cycles + totals.helper_s * cpu_hz, method);
    }
    let frequency = cycles / cpu_s;
    let method = match method {
        // A hardware figure that was corrected by CPU times is not one any more.
        Method::HardwareCounter if wait_s > 0.0 || totals.helper_s > 0.0 => Method::Derived,
        other => other,
    };
    ((cpu_s - wait_s + totals.helper_s).max(0.0) * frequency, method)
}

fn per(amount: f64, count: u64) -> f64 {
    if count == 0 { 0.0 } else { amount / count as f64 }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn thread(user_s: f64, kernel_s: f64, cycles: Option<(u64, Method)>) -> ThreadUse {
        ThreadUse { user_s, kernel_s, cycles, voluntary_switches: 10, minor_faults: 5, ..ThreadUse::default() }
    }

    fn work(wait_s: f64) -> Work {
        let provenance = Provenance::Measured;
        Work { operations: 1000, bytes: 4_096_000, wait_s, system_calls: 2000, cpu_hz: 2e9, provenance }
    }

    fn helpers(worker_s: f64) -> HelperTotals {
        HelperTotals { worker_s, ..HelperTotals::default() }
    }

    #[test]
    fn hardware_cycles_pass_through_untouched() {
        let threads = [thread(0.5, 0.5, Some((3_000_000, Method::HardwareCounter)))];
        let used = cpu_use(&CpuTotals::of_threads(&threads, &helpers(0.0)), &work(0.0));
        assert_eq!((used.cycles_per_op.value, used.cycles_per_op.method), (3000.0, Method::HardwareCounter));
        assert_eq!((used.system_calls_per_op.value, used.context_switches_per_op.value), (2.0, 0.01));
        assert_eq!(used.instructions_per_op, None);
    }

    #[test]
    fn waiting_is_taken_off_and_helpers_are_added_and_the_method_says_so() {
        let threads = [thread(0.5, 0.5, Some((3_000_000, Method::HardwareCounter)))];
        let used = cpu_use(&CpuTotals::of_threads(&threads, &helpers(0.25)), &work(0.25));
        assert!((used.cycles_per_op.value - 3000.0).abs() < 1e-6);
        assert_eq!(used.cycles_per_op.method, Method::Derived);
        assert_eq!(used.helper_s.value, 0.25);
    }

    #[test]
    fn the_weakest_rung_gives_its_name_and_a_missing_one_falls_back() {
        let strong = thread(0.5, 0.5, Some((2_000_000_000, Method::HardwareCounter)));
        let weak = thread(0.5, 0.5, Some((2_000_000_000, Method::SoftwareEvent)));
        let used = cpu_use(&CpuTotals::of_threads(&[strong.clone(), weak], &helpers(0.0)), &work(0.0));
        assert_eq!(used.cycles_per_op.method, Method::SoftwareEvent);
        let used = cpu_use(&CpuTotals::of_threads(&[strong, thread(0.5, 0.5, None)], &helpers(0.0)), &work(0.0));
        assert_eq!((used.cycles_per_op.value, used.cycles_per_op.method), (4e6, Method::RusageTimesTsc));
    }

    #[test]
    fn what_a_window_of_its_own_counted_is_taken_for_each_operation() {
        let threads = [thread(0.5, 0.5, Some((2_000_000_000, Method::RusageTimesTsc)))];
        let totals = CpuTotals::of_threads(&threads, &helpers(0.0));
        assert_eq!(totals.two_instruments(), None);
        let apart = CountedApart { operations: 100, cycles: 300_000.0, instructions: Some(500.0), tlb_misses: None };
        let totals = totals.counted_apart(&apart, 1000);
        assert_eq!(totals.two_instruments(), Some((3_000_000.0, 1.0)));
        let used = cpu_use(&totals, &work(0.0));
        assert_eq!((used.cycles_per_op.value, used.cycles_per_op.method), (3000.0, Method::HardwareCounter));
        assert_eq!(used.instructions_per_op.map(|figure| figure.value), Some(5.0));
        assert_eq!(used.tlb_misses_per_op, None);
    }

    #[test]
    fn the_process_shows_helpers_apart_from_its_own_kernel_time() {
        let used = ProcessUse { user_s: 1.0, kernel_s: 2.0, ..ProcessUse::default() };
        let totals = CpuTotals::of_process(&used);
        assert_eq!((totals.kernel_s, totals.helper_s), (2.0, 0.0));
    }

    proptest! {
        #[test]
        fn figures_are_finite_and_never_negative(user in 0.0..100.0_f64, kernel in 0.0..100.0_f64, wait in 0.0..200.0_f64,
                                                 operations: u32, helper in 0.0..10.0_f64, cycles: Option<u32>) {
            let cycles = cycles.map(|count| (u64::from(count), Method::HardwareCounter));
            let totals = CpuTotals::of_threads(&[thread(user, kernel, cycles)], &helpers(helper));
            let used = cpu_use(&totals, &Work { operations: operations.into(), ..work(wait) });
            for figure in [&used.cycles_per_op, &used.cycles_per_byte, &used.wait_s, &used.context_switches_per_op] {
                prop_assert!(figure.value.is_finite() && figure.value >= 0.0, "{figure:?}");
            }
        }
    }
}
