//! Hardware counters of one thread.

use perf_event::{
    Builder, Counter, ReadFormat,
    events::{Cache, CacheId, CacheOp, CacheResult, Event, Hardware, Software},
};

use super::played::{Played, played};

/// Counters of the calling thread. Each may be missing: no PMU in a virtual machine, or `perf_event_paranoid`.
///
/// An event that is open costs at every context switch, also while it is disabled. Where nothing may be bent none is open.
#[derive(Default)]
pub(super) struct PerfCounters {
    cycles: Option<Counter>,
    instructions: Option<Counter>,
    tlb_misses: Option<Counter>,
    /// Cycles per nanosecond of the task clock that plays them; none where they are the hardware's.
    played: Option<f64>,
    ballast: Vec<Counter>,
}

/// What they counted; none where a counter was missing or never ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PerfCounts {
    /// Cycles, user and kernel.
    pub cycles: Option<u64>,
    /// Instructions: user and kernel, or none.
    pub instructions: Option<u64>,
    /// Misses of the data TLB, user and kernel, or none.
    pub tlb_misses: Option<u64>,
}

impl PerfCounters {
    /// Opens what the machine allows.
    pub fn open() -> Self {
        match played() {
            Some(Played::Refused) => Self::default(),
            Some(Played::Clock { hz, events }) => Self::play(hz, events),
            None => Self::of_hardware(),
        }
    }

    fn of_hardware() -> Self {
        let tlb = Cache { which: CacheId::DTLB, operation: CacheOp::READ, result: CacheResult::MISS };
        Self {
            cycles: counter(Hardware::CPU_CYCLES),
            instructions: counter(Hardware::INSTRUCTIONS),
            tlb_misses: counter(tlb),
            ..Self::default()
        }
    }

    fn play(hz: f64, events: usize) -> Self {
        Self {
            cycles: counter(Software::TASK_CLOCK),
            played: Some(hz * 1e-9),
            ballast: (0..events).map_while(|_| counter(Software::TASK_CLOCK)).collect(),
            ..Self::default()
        }
    }

    /// Cycles can be counted.
    pub fn counts_cycles(&self) -> bool {
        self.cycles.is_some()
    }

    fn each(&mut self) -> impl Iterator<Item = &mut Option<Counter>> {
        [&mut self.cycles, &mut self.instructions, &mut self.tlb_misses].into_iter()
    }

    /// Sets to zero and starts. A counter that refuses is dropped: a figure that is wrong is worse than none.
    pub fn start(&mut self) {
        let works = |counter: &mut Counter| counter.reset().and_then(|()| counter.enable()).is_ok();
        self.ballast.retain_mut(works);
        for slot in self.each() {
            if !slot.as_mut().is_some_and(works) {
                *slot = None;
            }
        }
    }

    /// Stops and reads.
    pub fn stop(&mut self) -> PerfCounts {
        for counter in self.each().flatten() {
            let _ = counter.disable();
        }
        let instructions = read(&mut self.instructions).and_then(some_work);
        let cycles = read(&mut self.cycles).and_then(some_work);
        PerfCounts {
            cycles: cycles.map(|count| self.played.map_or(count, |per_ns| (count as f64 * per_ns) as u64)),
            instructions,
            // No miss at all is a good result where the hardware demonstrably counts.
            tlb_misses: read(&mut self.tlb_misses).filter(|&misses| misses > 0 || instructions.is_some()),
        }
    }
}

/// A counter of the calling thread, user and kernel, or none where the kernel refuses it.
fn counter<E: Event>(event: E) -> Option<Counter> {
    let mut builder = Builder::new(event);
    builder
        .observe_self()
        .any_cpu()
        .read_format(ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING)
        .exclude_kernel(false)
        .exclude_hv(true);
    builder.build().ok()
}

/// Reads a counter, extrapolated where it shared the hardware with others; none where it never ran.
fn read(slot: &mut Option<Counter>) -> Option<u64> {
    let data = slot.as_mut()?.read_full().ok()?;
    scaled(data.count(), data.time_enabled()?.as_nanos(), data.time_running()?.as_nanos())
}

fn scaled(count: u64, enabled_ns: u128, running_ns: u128) -> Option<u64> {
    if running_ns == 0 {
        return None;
    }
    u64::try_from(u128::from(count) * enabled_ns.max(running_ns) / running_ns).ok()
}

/// A thread that ran used some; zero means that the event is accepted and never delivered, as under some hypervisors.
fn some_work(count: u64) -> Option<u64> {
    (count > 0).then_some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work() {
        let mut x = 1_u64;
        for i in 0..1_000_000_u64 {
            x = std::hint::black_box(x.wrapping_mul(31).wrapping_add(i));
        }
    }

    #[test]
    fn a_counter_that_ran_half_the_time_is_doubled() {
        assert_eq!(scaled(100, 1000, 500), Some(200));
        assert_eq!(scaled(100, 1000, 1000), Some(100));
        assert_eq!(scaled(0, 1000, 1000).and_then(some_work), None);
        assert_eq!(scaled(100, 1000, 0), None);
    }

    #[test]
    fn whatever_opens_counts_work() {
        let mut counters = PerfCounters::open();
        counters.start();
        work();
        let counts = counters.stop();
        eprintln!("this machine counts {counts:?}");
        if let Some(instructions) = counts.instructions {
            assert!(instructions > 1_000_000);
        }
    }

    #[test]
    fn played_cycles_are_the_task_clock_times_a_frequency() {
        let mut counters = PerfCounters::play(4e9, 3);
        if !counters.counts_cycles() {
            eprintln!("skipped: this kernel gives no software event to this process");
            return;
        }
        let began = std::time::Instant::now();
        counters.start();
        work();
        let counts = counters.stop();
        let cycles = counts.cycles.expect("the task clock ran") as f64;
        assert!(cycles > 0.0 && cycles <= began.elapsed().as_nanos() as f64 * 4.0, "{counts:?}");
        assert_eq!((counters.ballast.len(), counts.instructions), (3, None));
    }
}
