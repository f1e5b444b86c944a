//! The first rungs of the ladder: hardware counters, then the kernel's software clock, for one thread.

use perf_event::{
    Builder, Counter, ReadFormat,
    events::{Cache, CacheId, CacheOp, CacheResult, Event, Hardware, Software},
};

/// Counters of the calling thread. Each may be missing: no PMU in a virtual machine, or `perf_event_paranoid`.
#[derive(Default)]
pub(super) struct PerfCounters {
    cycles: Option<Counter>,
    cycles_user: Option<Counter>,
    instructions: Option<Counter>,
    tlb_misses: Option<Counter>,
    task_clock: Option<Counter>,
}

/// What they counted; none where a counter was missing or never ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PerfCounts {
    /// Cycles, user and kernel.
    pub cycles: Option<u64>,
    /// Cycles in user mode.
    pub cycles_user: Option<u64>,
    /// Instructions: user and kernel, or none.
    pub instructions: Option<u64>,
    /// Misses of the data TLB, user and kernel, or none.
    pub tlb_misses: Option<u64>,
    /// CPU time by the kernel's software clock, ns.
    pub task_clock_ns: Option<u64>,
}

impl PerfCounters {
    /// Opens what the machine allows.
    pub fn open() -> Self {
        let tlb = Cache { which: CacheId::DTLB, operation: CacheOp::READ, result: CacheResult::MISS };
        Self {
            cycles: counter(Hardware::CPU_CYCLES, true),
            cycles_user: counter(Hardware::CPU_CYCLES, false),
            instructions: counter(Hardware::INSTRUCTIONS, true),
            tlb_misses: counter(tlb, true),
            task_clock: counter(Software::TASK_CLOCK, false),
        }
    }

    fn each(&mut self) -> impl Iterator<Item = &mut Option<Counter>> {
        [&mut self.cycles, &mut self.cycles_user, &mut self.instructions, &mut self.tlb_misses, &mut self.task_clock]
            .into_iter()
    }

    /// Sets to zero and starts. A counter that refuses is dropped: a figure that is wrong is worse than none.
    pub fn start(&mut self) {
        for slot in self.each() {
            let works = |counter: &mut Counter| counter.reset().and_then(|()| counter.enable()).is_ok();
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
        PerfCounts {
            cycles: read(&mut self.cycles).and_then(some_work),
            cycles_user: read(&mut self.cycles_user).and_then(some_work),
            instructions,
            // No miss at all is a good result where the hardware demonstrably counts.
            tlb_misses: read(&mut self.tlb_misses).filter(|&misses| misses > 0 || instructions.is_some()),
            task_clock_ns: read(&mut self.task_clock).and_then(some_work),
        }
    }
}

/// A counter of the calling thread, or none where the kernel refuses it.
fn counter<E: Event>(event: E, with_kernel: bool) -> Option<Counter> {
    let mut builder = Builder::new(event);
    builder
        .observe_self()
        .any_cpu()
        .read_format(ReadFormat::TOTAL_TIME_ENABLED | ReadFormat::TOTAL_TIME_RUNNING)
        .exclude_kernel(!with_kernel)
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
        let mut x = 1_u64;
        for i in 0..1_000_000_u64 {
            x = std::hint::black_box(x.wrapping_mul(31).wrapping_add(i));
        }
        let counts = counters.stop();
        eprintln!("this machine counts {counts:?}");
        if let Some(instructions) = counts.instructions {
            assert!(instructions > 1_000_000);
        }
        if let (Some(all), Some(user)) = (counts.cycles, counts.cycles_user) {
            assert!(user <= all + all / 2, "user mode cannot use more cycles than both modes together");
        }
        if let Some(ns) = counts.task_clock_ns {
            assert!(ns > 0);
        }
    }
}
