//! Threads that keep to CPUs or to NUMA nodes.

use std::fs;

use assay_instruments::counters::Roots;
use assay_record::{Job, Pin};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::error::WorkloadError;

/// Refuses a job whose threads cannot run where it wants them.
///
/// # Errors
/// [`WorkloadError::Nowhere`] that names the CPU or the node and what there is.
pub fn possible(job: &Job, roots: &Roots) -> Result<(), WorkloadError> {
    let allowed = allowed();
    for class in &job.classes {
        let Some(pin) = &class.pin else { continue };
        let places = (0..pin.numbers().len() as u32).map(|thread| (thread, cpus_of(pin, thread, roots)));
        for (thread, cpus) in places {
            let number = pin.numbers()[thread as usize];
            let usable = cpus.iter().any(|cpu| allowed.contains(cpu));
            if !usable {
                return Err(nowhere(&class.name, pin, number, cpus.is_empty(), &allowed));
            }
        }
    }
    Ok(())
}

fn nowhere(class: &str, pin: &Pin, number: u32, none: bool, allowed: &[usize]) -> WorkloadError {
    let have: Vec<String> = allowed.iter().map(ToString::to_string).collect();
    let (what, reason) = match pin {
        Pin::Cpus(_) => (format!("CPU {number} for the threads of class {class}"), "this process may not use it"),
        Pin::Nodes(_) if none => {
            (format!("NUMA node {number} for the threads of class {class}"), "there is no such node")
        }
        Pin::Nodes(_) => {
            (format!("NUMA node {number} for the threads of class {class}"), "this process may use none of its CPUs")
        }
    };
    WorkloadError::Nowhere {
        what,
        reason,
        fix: format!("pin to what there is: this process may use the CPUs {}", have.join(", ")),
    }
}

/// Keeps the calling thread, which is this one of its class, to where it belongs. Memory that it touches first then lies
/// on its node.
///
/// # Errors
/// [`WorkloadError::System`] with the kernel's answer.
pub fn settle(pin: Option<&Pin>, thread: u32, class: &str) -> Result<(), WorkloadError> {
    let Some(pin) = pin else { return Ok(()) };
    keep_to(&cpus_of(pin, thread, &Roots::default())).map_err(|errno| WorkloadError::System {
        action: format!("keeping a thread of class {class} to its CPUs"),
        source: errno.into(),
    })
}

/// Keeps the calling thread to one of the CPUs that it may use, each number in turn. Refused, it wanders as before.
pub fn settle_anywhere(thread: u32) {
    let cpus = allowed();
    if let Some(&cpu) = cpus.get(thread as usize % cpus.len().max(1)) {
        let _ = keep_to(&[cpu]);
    }
}

fn keep_to(cpus: &[usize]) -> rustix::io::Result<()> {
    let mut set = CpuSet::new();
    cpus.iter().filter(|&&cpu| cpu < CpuSet::MAX_CPU).for_each(|&cpu| set.set(cpu));
    sched_setaffinity(None, &set)
}

/// CPUs of a thread of a class; none where a node is not there.
fn cpus_of(pin: &Pin, thread: u32, roots: &Roots) -> Vec<usize> {
    let numbers = pin.numbers();
    let Some(&number) = numbers.get(thread as usize % numbers.len().max(1)) else { return Vec::new() };
    match pin {
        Pin::Cpus(_) => vec![number as usize],
        Pin::Nodes(_) => {
            let list = roots.sys.join(format!("devices/system/node/node{number}/cpulist"));
            fs::read_to_string(list).ok().and_then(|text| cpus_in(&text)).unwrap_or_default()
        }
    }
}

/// CPUs of a list as sysfs writes it (`0-3,8`); none where it is not a list.
fn cpus_in(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<usize>().ok()?..=last.parse::<usize>().ok().filter(|&last| last < CpuSet::MAX_CPU)?);
    }
    Some(cpus)
}

fn allowed() -> Vec<usize> {
    let set = sched_getaffinity(None).unwrap_or_default();
    (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_cpus_are_read() {
        assert_eq!(cpus_in("0-2,8\n"), Some(vec![0, 1, 2, 8]));
        assert_eq!(cpus_in("\n"), Some(vec![]));
        assert_eq!((cpus_in("x"), cpus_in("0-99999999")), (None, None));
    }

    #[test]
    fn threads_go_around_their_cpus_and_nodes() {
        let folder = tempfile::tempdir().expect("a folder");
        let roots = Roots { sys: folder.path().to_owned(), ..Roots::default() };
        let node = folder.path().join("devices/system/node/node1");
        fs::create_dir_all(&node).expect("made");
        fs::write(node.join("cpulist"), "4-5\n").expect("written");
        assert_eq!(cpus_of(&Pin::Cpus(vec![7, 3]), 2, &roots), [7]);
        assert_eq!(cpus_of(&Pin::Nodes(vec![1, 0]), 2, &roots), [4, 5]);
        assert_eq!(cpus_of(&Pin::Nodes(vec![1, 0]), 1, &roots), [0_usize; 0]);
    }

    #[test]
    fn a_thread_stays_where_it_is_put_and_others_do_not_move() {
        let before = allowed();
        let last = *before.last().expect("a CPU");
        std::thread::spawn(move || {
            settle(Some(&Pin::Cpus(vec![last as u32])), 0, "c").expect("settled");
            assert_eq!(allowed(), [last]);
            settle_anywhere(7);
            assert_eq!(allowed(), [last]);
        })
        .join()
        .expect("the thread ended well");
        assert_eq!(allowed(), before);
    }
}
