//! What a server process and its children used, out of `/proc`.
//!
//! The kernel adds what ended children used to their parent's account, so that two readings of the living are enough.

use std::{fs, path::PathBuf};

use assay_instruments::{
    counters::{IoBytes, parse_run_wait, parse_schedstat},
    verdict::OwnCpu,
    work::ServerAccount,
};
use assay_record::{CpuUse, Figure, Method, Provenance, Unit};
use rustix::param::clock_ticks_per_second;

/// One reading of a tree of processes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Reading {
    user_ticks: u64,
    kernel_ticks: u64,
    faults: u64,
    switches: u64,
    read_bytes: Option<u64>,
    written_bytes: u64,
    waited_s: Option<f64>,
}

/// What a server used in a window.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerUse {
    /// Its CPU.
    pub cpu: CpuUse,
    /// Bytes that the kernel read from devices for it; none where it does not tell.
    pub read_bytes: Option<u64>,
    /// Bytes that it wrote to devices, or dirtied in the page cache; none where the kernel does not tell.
    pub written_bytes: Option<u64>,
    /// Seconds, in sum over its threads, in which they could have run and had no CPU; none where the kernel does not tell.
    pub waited_s: Option<f64>,
}

impl ServerUse {
    /// What the judge of a window is told of it.
    pub fn account(&self) -> ServerAccount {
        let io = self.read_bytes.zip(self.written_bytes);
        ServerAccount {
            cpu: OwnCpu { user_s: self.cpu.user_s.value, kernel_s: self.cpu.kernel_s.value, waited_s: self.waited_s },
            io: io.map(|(read, written)| IoBytes { read, written, cancelled: 0 }),
        }
    }

    /// CPU seconds in all.
    pub fn cpu_s(&self) -> f64 {
        self.cpu.user_s.value + self.cpu.kernel_s.value
    }
}

/// An open window over a server.
#[derive(Debug)]
pub(crate) struct ServerWatch {
    pid: u32,
    opened: Reading,
}

impl ServerWatch {
    pub(crate) fn open(pid: u32) -> Self {
        Self { pid, opened: read_tree(pid) }
    }

    pub(crate) fn close(self, operations: u64, cpu_hz: f64) -> ServerUse {
        let closed = read_tree(self.pid);
        let ticks = clock_ticks_per_second() as f64;
        let seconds = |from: u64, to: u64| to.saturating_sub(from) as f64 / ticks;
        let user_s = seconds(self.opened.user_ticks, closed.user_ticks);
        let kernel_s = seconds(self.opened.kernel_ticks, closed.kernel_ticks);
        let figure = |value, unit, method| Figure::new(value, unit, Provenance::Measured, method);
        let accounted = |value, unit| figure(value, unit, Method::KernelAccounting);
        let per_op = |count: u64| if operations == 0 { 0.0 } else { count as f64 / operations as f64 };
        let cycles = (user_s + kernel_s) * cpu_hz / operations.max(1) as f64;
        let cpu = CpuUse {
            user_s: accounted(user_s, Unit::Seconds),
            kernel_s: accounted(kernel_s, Unit::Seconds),
            helper_s: accounted(0.0, Unit::Seconds),
            wait_s: accounted(0.0, Unit::Seconds),
            cycles_per_op: figure(cycles, Unit::CyclesPerOp, Method::RusageTimesTsc),
            cycles_per_byte: figure(0.0, Unit::CyclesPerByte, Method::RusageTimesTsc),
            instructions_per_op: None,
            tlb_misses_per_op: None,
            context_switches_per_op: accounted(
                per_op(closed.switches.saturating_sub(self.opened.switches)),
                Unit::PerOp,
            ),
            system_calls_per_op: accounted(0.0, Unit::PerOp),
            page_faults_per_op: accounted(per_op(closed.faults.saturating_sub(self.opened.faults)), Unit::PerOp),
            counted: None,
        };
        let known = self.opened.read_bytes.zip(closed.read_bytes);
        ServerUse {
            cpu,
            read_bytes: known.map(|(from, to)| to.saturating_sub(from)),
            written_bytes: known.map(|_| closed.written_bytes.saturating_sub(self.opened.written_bytes)),
            // Of a session that ended in the window nothing more can be read: what is left is the least.
            waited_s: self.opened.waited_s.zip(closed.waited_s).map(|(from, to)| (to - from).max(0.0)),
        }
    }
}

fn read_tree(pid: u32) -> Reading {
    let mut sum = read_one(pid);
    for child in children(pid) {
        let one = read_one(child);
        sum.user_ticks += one.user_ticks;
        sum.kernel_ticks += one.kernel_ticks;
        sum.faults += one.faults;
        sum.switches += one.switches;
        sum.read_bytes = sum.read_bytes.zip(one.read_bytes).map(|(sum, one)| sum + one);
        sum.written_bytes += one.written_bytes;
        sum.waited_s = sum.waited_s.zip(one.waited_s).map(|(sum, one)| sum + one).or(sum.waited_s).or(one.waited_s);
    }
    sum
}

fn children(pid: u32) -> Vec<u32> {
    let path = PathBuf::from(format!("/proc/{pid}/task/{pid}/children"));
    let text = fs::read_to_string(path).unwrap_or_default();
    text.split_ascii_whitespace().filter_map(|word| word.parse().ok()).collect()
}

fn read_one(pid: u32) -> Reading {
    let text = |file: &str| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
    let stat = text("stat");
    let fields: Vec<u64> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_ascii_whitespace()
        .map(|field| field.parse().unwrap_or(0))
        .collect();
    let sum = |places: &[usize]| places.iter().filter_map(|at| fields.get(*at)).sum();
    let (io, status) = (text("io"), text("status"));
    let written = named(&io, "write_bytes").unwrap_or(0);
    Reading {
        user_ticks: sum(&[11, 13]),
        kernel_ticks: sum(&[12, 14]),
        faults: sum(&[7, 8, 9, 10]),
        switches: named(&status, "voluntary_ctxt_switches").unwrap_or(0)
            + named(&status, "nonvoluntary_ctxt_switches").unwrap_or(0),
        read_bytes: named(&io, "read_bytes"),
        waited_s: waited_s(pid),
        written_bytes: written.saturating_sub(named(&io, "cancelled_write_bytes").unwrap_or(0)),
    }
}

/// Seconds in which threads of a process could have run and had no CPU, in sum; none where none of them has an account.
fn waited_s(pid: u32) -> Option<f64> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).ok()?.flatten();
    let waited = threads.filter_map(|thread| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        parse_schedstat(&text).filter(|&ran| ran > 0).and(parse_run_wait(&text))
    });
    waited.map(|ns| ns as f64 * 1e-9).reduce(|sum, one| sum + one)
}

fn named(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find(|line| line.split(':').next() == Some(name))?;
    line.split(':').nth(1)?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_works_is_seen_to_work() {
        let watch = ServerWatch::open(std::process::id());
        let began = std::time::Instant::now();
        let mut value = 1_u64;
        while began.elapsed().as_millis() < 60 {
            value = std::hint::black_box(value.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        let used = watch.close(10, 1e9);
        assert!(used.cpu_s() > 0.0, "{used:?}");
        assert!(used.cpu.cycles_per_op.value > 0.0);
    }

    #[test]
    fn a_process_that_is_gone_used_nothing() {
        assert_eq!(read_tree(u32::MAX), Reading::default());
        assert_eq!(named("a: 1\nbc: 27\n", "bc"), Some(27));
    }
}
