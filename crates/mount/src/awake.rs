//! CPUs that have nothing to do and yet wake up at once.

use std::{
    fs::{self, File, OpenOptions},
    hint,
    io::Write,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering::SeqCst},
    },
    thread::{self, JoinHandle, Thread},
};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::clock::{self, Clock};

/// Where the kernel is asked for it (Documentation/power/pm_qos_interface.rst); it holds as long as the file is open.
const ASKED_AT: &str = "/dev/cpu_dma_latency";
/// Who puts idle CPUs to sleep (Documentation/admin-guide/pm/cpuidle.rst). Without one the kernel halts them whatever was
/// asked, as on many virtual machines.
const ASLEEP_BY: &str = "/sys/devices/system/cpu/cpuidle/current_driver";
/// So long after the last answer the next request is expected, ns.
const LINGERS_NS: u64 = 2_000_000;
/// Of more CPUs than this none is kept busy for that.
const CPUS_AT_MOST: usize = 16;
/// Looks at the clock between two looks at the CPU time.
const LOOKS: u32 = 4096;

/// Lets no CPU sleep so deeply that it takes time to wake up. On a virtual machine an idle CPU is given back to the host, and
/// takes some 50 us to come back: with every request, where few are in flight.
pub struct Awake {
    asked: Option<File>,
    spinners: Option<(Arc<Spinners>, Vec<JoinHandle<()>>)>,
}

/// Threads, one a CPU, that do nothing while others wait for a drive, and that everybody else displaces at once.
pub struct Spinners {
    clock: Clock,
    until_ns: AtomicU64,
    ended: AtomicBool,
    asleep: AtomicUsize,
    threads: OnceLock<Vec<Thread>>,
    /// Threads that the kernel lets wait behind all others.
    allowed: AtomicUsize,
    cpu_ns: AtomicU64,
}

impl Awake {
    /// As long as this lives: the kernel is asked where this user may, and where that does nothing CPUs are kept busy.
    pub fn begin(clock: Clock) -> Self {
        let asked = || {
            let mut file = OpenOptions::new().write(true).open(ASKED_AT)?;
            file.write_all(&0_i32.to_ne_bytes())?;
            std::io::Result::Ok(file)
        };
        let asked = asked().ok().filter(|_| is_heard(&fs::read_to_string(ASLEEP_BY).unwrap_or_default()));
        let spinners = if asked.is_none() { Spinners::start(clock) } else { None };
        Self { asked, spinners }
    }

    /// Idle CPUs wake up at once.
    pub fn is_kept(&self) -> bool {
        let spinning = self.spinners.as_ref().is_some_and(|(spinners, _)| spinners.allowed.load(SeqCst) > 0);
        self.asked.is_some() || spinning
    }

    /// Who is to be told of requests.
    pub fn spinners(&self) -> Option<Arc<Spinners>> {
        self.spinners.as_ref().map(|(spinners, _)| Arc::clone(spinners))
    }

    /// CPU time that was spent on it, ns.
    pub fn cpu_ns(&self) -> u64 {
        self.spinners.as_ref().map_or(0, |(spinners, _)| spinners.cpu_ns.load(SeqCst))
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        let Some((spinners, threads)) = self.spinners.take() else { return };
        spinners.ended.store(true, SeqCst);
        spinners.wake();
        threads.into_iter().for_each(|thread| drop(thread.join()));
    }
}

/// Whether a request to the kernel is of use: a driver puts CPUs to sleep, and heeds it.
fn is_heard(driver: &str) -> bool {
    !matches!(driver.trim(), "" | "none")
}

/// The CPUs that this process may use all the time; none where a quota would be spent on spinning, or there are many.
fn own_cpus() -> Vec<usize> {
    let Ok(allowed) = sched_getaffinity(None) else { return Vec::new() };
    let cpus: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&cpu| allowed.is_set(cpu)).collect();
    let quota = thread::available_parallelism().map_or(1, std::num::NonZero::get);
    if quota < cpus.len() || cpus.len() > CPUS_AT_MOST { Vec::new() } else { cpus }
}

impl Spinners {
    fn start(clock: Clock) -> Option<(Arc<Self>, Vec<JoinHandle<()>>)> {
        let spinners = Arc::new(Self {
            clock,
            until_ns: AtomicU64::new(0),
            ended: AtomicBool::new(false),
            asleep: AtomicUsize::new(0),
            threads: OnceLock::new(),
            allowed: AtomicUsize::new(0),
            cpu_ns: AtomicU64::new(0),
        });
        let start = |cpu: usize| {
            let own = Arc::clone(&spinners);
            thread::Builder::new().name("awake".to_owned()).spawn(move || own.work(cpu)).ok()
        };
        let threads: Vec<JoinHandle<()>> = own_cpus().into_iter().filter_map(start).collect();
        if threads.is_empty() {
            return None;
        }
        let _ = spinners.threads.set(threads.iter().map(|one| one.thread().clone()).collect());
        Some((spinners, threads))
    }

    /// Somebody is answered at `due_ns`, and may ask again soon after.
    pub fn expect(&self, due_ns: u64) {
        self.until_ns.fetch_max(due_ns.saturating_add(LINGERS_NS), SeqCst);
        if self.asleep.load(SeqCst) > 0 {
            self.wake();
        }
    }

    fn wake(&self) {
        self.threads.get().into_iter().flatten().for_each(Thread::unpark);
    }

    fn is_wanted(&self) -> bool {
        self.clock.now_ns() < self.until_ns.load(SeqCst)
    }

    fn work(&self, cpu: usize) {
        let mut only = CpuSet::new();
        only.set(cpu);
        // At any other priority it would take the CPU from those that it is to serve.
        if !clock::last_in_line() || sched_setaffinity(None, &only).is_err() {
            return;
        }
        self.allowed.fetch_add(1, SeqCst);
        let mut noted_ns = 0;
        while !self.ended.load(SeqCst) {
            let mut looks = 0;
            while looks < LOOKS && self.is_wanted() {
                looks += 1;
                hint::spin_loop();
            }
            let spent_ns = clock::thread_cpu_ns();
            self.cpu_ns.fetch_add(spent_ns - noted_ns, SeqCst);
            noted_ns = spent_ns;
            self.asleep.fetch_add(1, SeqCst);
            if !self.is_wanted() && !self.ended.load(SeqCst) {
                thread::park();
            }
            self.asleep.fetch_sub(1, SeqCst);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_kernel_without_a_driver_does_not_hear() {
        assert!(is_heard("intel_idle\n") && is_heard("haltpoll\n"));
        assert!(!is_heard("none\n") && !is_heard(""));
    }

    #[test]
    fn cpus_are_kept_busy_while_somebody_waits_and_a_little_longer() {
        let clock = Clock::start();
        let Some((spinners, threads)) = Spinners::start(clock) else {
            println!("skipped: a quota or many CPUs");
            return;
        };
        let awake = Awake { asked: None, spinners: Some((Arc::clone(&spinners), threads)) };
        let idle = awake.cpu_ns();
        let begin = clock.now_ns();
        // Others may have the CPUs for long.
        while awake.cpu_ns() == idle && clock.now_ns() - begin < 30_000_000_000 {
            spinners.expect(clock.now_ns() + 20_000_000);
            thread::sleep(Duration::from_millis(5));
        }
        assert!(awake.cpu_ns() > idle, "nothing was done");
        thread::sleep(Duration::from_millis(60));
        let after = awake.cpu_ns();
        thread::sleep(Duration::from_millis(40));
        assert!(awake.cpu_ns() - after < 5_000_000, "it goes on when nobody waits");
    }
}
