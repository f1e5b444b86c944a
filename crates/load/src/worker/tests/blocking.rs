//! The blocking loop does exactly what the script forces it to.

use std::{collections::BTreeMap, sync::atomic::Ordering::Relaxed};

use assay_record::{Class, Operation, Pattern};

use super::{
    Bench, bench, class, durable,
    scripted::{Asked, Script, Scripted},
};
use crate::{generator::FileShare, worker::BlockingLoop};

fn run(class: &Class, script: Script) -> (Bench, Scripted, bool) {
    let mut bench = bench(class, 2);
    let path = Scripted::new(script, &bench.until);
    let mut blocking = BlockingLoop::new(path.clone(), &bench.arena);
    let healthy = blocking.work(&mut bench.task, &bench.tally, &bench.until);
    drop(blocking);
    (bench, path, healthy)
}

#[test]
fn every_operation_is_counted_once() {
    let script = Script { close_after: 1000, ..Script::default() };
    let (bench, path, healthy) = run(&class(Operation::Mix { write_percent: 30 }, 1, 1), script);
    assert!(healthy);
    assert_eq!(bench.tally.service.count(), 1000);
    let writes = bench.tally.writes.load(Relaxed);
    assert!((250..350).contains(&writes), "{writes} of 1000 are about 30 %");
    assert_eq!(bench.tally.bytes.load(Relaxed), 512_000);
    assert_eq!(path.count(|asked| matches!(asked, Asked::Write { .. })) as u64, writes);
}

#[test]
fn a_flush_follows_every_nth_write() {
    for every in [1u32, 2, 3, 7, 1000] {
        let script = Script { close_after: 500, ..Script::default() };
        let (bench, path, _) = run(&durable(class(Operation::Write, 1, 1), every), script);
        let flushes = path.count(|asked| *asked == Asked::FlushAll);
        assert_eq!(flushes, 500 / every as usize);
        assert_eq!(bench.tally.flush.as_ref().unwrap().count(), flushes as u64);
    }
}

#[test]
fn a_class_without_durability_never_flushes() {
    let script = Script { close_after: 500, ..Script::default() };
    let (bench, path, _) = run(&class(Operation::Write, 1, 1), script);
    assert_eq!(path.count(|asked| *asked == Asked::FlushAll), 0);
    assert!(bench.tally.flush.is_none());
}

#[test]
fn a_write_whose_flush_failed_does_not_count() {
    let script = Script { close_after: 100, flush_results: BTreeMap::from([(3, -libc::EIO)]), ..Script::default() };
    let (bench, _, healthy) = run(&durable(class(Operation::Write, 1, 1), 1), script);
    assert!(healthy);
    assert_eq!((bench.tally.service.count(), bench.tally.errors.load(Relaxed)), (99, 1));
    assert_eq!(bench.tally.flush.as_ref().unwrap().count(), 99);
}

#[test]
fn a_full_disk_ends_the_worker() {
    let script = Script { close_after: 100, results: BTreeMap::from([(9, -libc::ENOSPC)]), ..Script::default() };
    let (bench, _, healthy) = run(&class(Operation::Write, 1, 1), script);
    assert!(!healthy);
    assert_eq!(bench.tally.service.count(), 9);
    assert_eq!(bench.task.faults.fatal.as_ref().unwrap().source.raw_os_error(), Some(libc::ENOSPC));
    assert!(bench.task.faults.first.is_some());
}

#[test]
fn a_growing_file_begins_anew_when_it_is_full() {
    let class = Class { pattern: Pattern::Sequential, ..class(Operation::Write, 1, 1) };
    let mut bench = bench(&class, 1);
    let share = FileShare { bytes: 512 * 10, index: 0, of: 1, stripe: 0, order: 1 };
    bench.task.generator = crate::generator::Generator::new(&class, share, 1);
    bench.task.growing = true;
    let path = Scripted::new(Script { close_after: 35, ..Script::default() }, &bench.until);
    assert!(BlockingLoop::new(path.clone(), &bench.arena).work(&mut bench.task, &bench.tally, &bench.until));
    assert_eq!(path.count(|asked| matches!(asked, Asked::Restart { .. })), 3);
    assert_eq!(path.script.borrow().log[10], Asked::Restart { segment: 0 }, "before the eleventh write");
}
