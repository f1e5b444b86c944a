//! This machine's clock, and how long a sleep really is.

use std::{
    thread,
    time::{Duration, Instant},
};

/// Moments since it was made, ns.
#[derive(Clone, Copy, Debug)]
pub struct Clock(Instant);

impl Clock {
    /// Begins now.
    pub fn start() -> Self {
        Self(Instant::now())
    }

    /// ns since it began.
    pub fn now_ns(&self) -> u64 {
        self.0.elapsed().as_nanos() as u64
    }
}

/// This thread's timers are not put together with others.
pub fn exact_timers() {
    // SAFETY: the call takes a number, and changes how late this thread's timers may be.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1, 0, 0, 0) };
}

/// CPU time of this thread, ns.
pub fn thread_cpu_ns() -> u64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    spent.tv_sec as u64 * 1_000_000_000 + spent.tv_nsec as u64
}

/// CPU time of this process, ns.
pub fn process_cpu_ns() -> u64 {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    spent.tv_sec as u64 * 1_000_000_000 + spent.tv_nsec as u64
}

/// How much longer than asked for 998 of 1000 sleeps take, ns: what is spun instead. Of fewer the rest would make one answer
/// in a hundred late.
pub fn oversleep_ns() -> u64 {
    const ASKED: Duration = Duration::from_micros(60);
    exact_timers();
    let over = (0..500).map(|_| {
        let begin = Instant::now();
        thread::sleep(ASKED);
        begin.elapsed().saturating_sub(ASKED).as_nanos() as u64
    });
    slow_sleep(over.collect())
}

/// What 998 of 1000 values do not exceed.
fn slow_sleep(mut values: Vec<u64>) -> u64 {
    values.sort_unstable();
    let last = (values.len() * 998).div_ceil(1000).saturating_sub(1);
    values.get(last).copied().unwrap_or_default()
}

/// What is begun meanwhile runs before all that wait for a CPU, where this user may ask for that.
#[derive(Debug)]
pub struct FirstInLine(bool);

impl FirstInLine {
    /// From now on.
    pub fn begin() -> Self {
        Self(schedule(libc::SCHED_FIFO, 1))
    }

    /// Whether the kernel allows it.
    pub fn is_allowed(&self) -> bool {
        self.0
    }
}

impl Drop for FirstInLine {
    fn drop(&mut self) {
        // Threads that were begun keep it.
        schedule(libc::SCHED_OTHER, 0);
    }
}

/// This thread runs where nobody else wants the CPU. False where the kernel does not allow it.
pub fn last_in_line() -> bool {
    schedule(libc::SCHED_IDLE, 0)
}

fn schedule(policy: i32, sched_priority: i32) -> bool {
    let wanted = libc::sched_param { sched_priority };
    // SAFETY: the structure outlives the call, which changes how this thread is scheduled.
    unsafe { libc::sched_setscheduler(0, policy, &raw const wanted) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_slow_sleeps_of_five_hundred_are_spun_and_one_is_not() {
        let slow = |count: usize| [vec![5_000; 500 - count], vec![60_000; count]].concat();
        assert_eq!(slow_sleep(slow(2)), 60_000);
        assert_eq!(slow_sleep(slow(1)), 5_000);
        assert_eq!(slow_sleep(Vec::new()), 0);
    }
}
