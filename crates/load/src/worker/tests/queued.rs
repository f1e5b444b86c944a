//! The queued loop does exactly what the script forces it to.

use std::{collections::BTreeMap, sync::atomic::Ordering::Relaxed};

use assay_record::{Arrivals, Class, Operation, Pattern, RateScope};

use super::{
    Bench, bench, class, closed, durable,
    scripted::{Asked, Script, Scripted},
};
use crate::{arrivals::Schedule, generator::FileShare, overdue::Overdue, seat, worker::QueuedLoop};

const MIX: Operation = Operation::Mix { write_percent: 25 };

/// Runs a class on a script until it closes the window, and drains; true where no failure ended it.
fn run(class: &Class, script: Script, segments: u32) -> (Bench, Scripted, bool) {
    let mut bench = bench(class, segments);
    let path = Scripted::new(script, &bench.until);
    let mut queued = QueuedLoop::new(path.clone(), &bench.arena, class.depth, class.batch);
    let healthy = queued.work(&mut bench.task, &bench.tally, &bench.until);
    let mut overdue = Overdue::new(seat::tally_for(class));
    let edges = closed(&bench);
    queued.settle(&mut bench.task, &edges, &mut overdue);
    assert_eq!(queued.ticks_in_flight(u64::MAX), 0, "everything was drained");
    drop(queued);
    (bench, path, healthy)
}

#[test]
fn reordered_completions_in_parts_are_all_counted() {
    for reap_at_most in [0, 1, 3] {
        let script = Script { reorder: true, reap_at_most, close_after: 1000, ..Script::default() };
        let (bench, path, healthy) = run(&class(MIX, 8, 1), script, 2);
        let done = bench.tally.service.count();
        assert!(healthy && (1000..1008).contains(&done), "{done}");
        assert_eq!(bench.tally.bytes.load(Relaxed), done * 512);
        assert_eq!(path.script.borrow().deepest, 8);
        let writes = path.count(|asked| matches!(asked, Asked::Write { .. }));
        let all = path.count(|asked| matches!(asked, Asked::Read { .. } | Asked::Write { .. }));
        assert!((all / 6..all / 3).contains(&writes), "{writes} of {all} are about a quarter");
        assert_eq!(bench.tally.write_service.as_ref().unwrap().count(), bench.tally.writes.load(Relaxed));
    }
}

#[test]
fn what_is_drained_is_not_counted() {
    let script = Script { reap_at_most: 1, close_after: 100, ..Script::default() };
    let (bench, path, _) = run(&class(Operation::Read, 16, 1), script, 1);
    assert_eq!(bench.tally.service.count(), 100);
    assert_eq!(path.script.borrow().ended, 115, "fifteen were in flight when the window closed");
}

#[test]
fn a_closed_loop_submits_whole_batches() {
    let script = Script { reap_at_most: 1, close_after: 1000, ..Script::default() };
    let (_, path, _) = run(&class(Operation::Read, 16, 4), script, 1);
    assert_eq!(path.count(|asked| matches!(asked, Asked::Submit { count } if *count != 4)), 0);
}

#[test]
fn not_now_at_submission_is_no_failure() {
    let script = Script { not_now_every: 3, close_after: 500, ..Script::default() };
    let (bench, _, healthy) = run(&class(MIX, 4, 2), script, 1);
    assert!(healthy && bench.task.faults.by_errno.is_empty());
    assert!(bench.tally.service.count() >= 500);
}

#[test]
fn a_flush_reaches_every_segment_written_since_the_last() {
    for every in [1u32, 2, 3, 7] {
        let script = Script { close_after: 420, ..Script::default() };
        let class = Class { pattern: Pattern::Sequential, ..durable(class(Operation::Write, 1, 1), every) };
        let (bench, path, _) = run(&class, script, 3);
        let script = path.script.borrow();
        let (mut written, mut flushed, mut flushes) = (Vec::new(), Vec::new(), 0);
        for asked in &script.log {
            match asked {
                Asked::Write { segment, .. } => {
                    if !flushed.is_empty() {
                        written.sort_unstable();
                        written.dedup();
                        assert_eq!(flushed, written, "every {every}");
                        (written, flushed, flushes) = (Vec::new(), Vec::new(), flushes + 1);
                    }
                    written.push(*segment);
                }
                Asked::Flush { segment } => flushed.push(*segment),
                _ => {}
            }
        }
        assert_eq!(flushes, (script.ended - 1) / every as usize, "every {every}");
        let recorded = bench.tally.flush.as_ref().unwrap().count();
        assert_eq!(recorded, bench.tally.writes.load(Relaxed) / u64::from(every));
    }
}

#[test]
fn a_failed_flush_is_made_up_for() {
    let script = Script { close_after: 41, flush_results: BTreeMap::from([(0, -libc::EIO)]), ..Script::default() };
    let class = Class { pattern: Pattern::Sequential, ..durable(class(Operation::Write, 1, 1), 4) };
    let (bench, path, healthy) = run(&class, script, 2);
    assert!(healthy);
    assert_eq!(bench.tally.errors.load(Relaxed), 1);
    assert_eq!(bench.task.faults.by_errno, BTreeMap::from([(libc::EIO, 1)]));
    let flushes: Vec<Asked> =
        path.script.borrow().log.iter().copied().filter(|asked| matches!(asked, Asked::Flush { .. })).collect();
    let of = |segment| Asked::Flush { segment };
    assert_eq!(flushes[..5], [of(0), of(0), of(1), of(0), of(1)], "the second segment was not forgotten");
    assert_eq!(bench.tally.writes.load(Relaxed), 40, "the write whose flush failed does not count");
}

#[test]
fn failures_are_counted_and_do_not_count_as_done() {
    let results = (0..50).map(|number| (number * 7, -libc::EIO)).collect();
    let script = Script { results, close_after: 700, reorder: true, ..Script::default() };
    let (bench, _, healthy) = run(&class(MIX, 5, 1), script, 1);
    assert!(healthy, "fifty failures are bad luck");
    assert_eq!(bench.tally.errors.load(Relaxed), 50);
    assert_eq!(bench.task.faults.by_errno, BTreeMap::from([(libc::EIO, 50)]));
    assert!(bench.tally.service.count() <= 700 + 5 - 50);
}

#[test]
fn a_short_transfer_and_a_full_disk_end_the_worker() {
    for result in [100, -libc::ENOSPC] {
        let script = Script { results: BTreeMap::from([(20, result)]), close_after: 1000, ..Script::default() };
        let (bench, _, healthy) = run(&class(Operation::Write, 4, 1), script, 1);
        assert!(!healthy && bench.task.faults.fatal.is_some(), "{result}");
        assert!(bench.tally.service.count() < 30);
    }
}

#[test]
fn a_hundred_failures_end_the_worker() {
    let results = (0..1000).map(|number| (number, -libc::EIO)).collect();
    let script = Script { results, close_after: 1000, ..Script::default() };
    let (bench, _, healthy) = run(&class(Operation::Read, 1, 1), script, 1);
    assert!(!healthy);
    assert_eq!(bench.tally.errors.load(Relaxed), 100);
    assert_eq!(bench.tally.service.count(), 0);
}

#[test]
fn a_growing_file_begins_anew_with_nothing_in_flight() {
    let class = Class { pattern: Pattern::Sequential, ..durable(class(Operation::Write, 4, 1), 3) };
    let mut bench = bench(&class, 2);
    let share = FileShare { bytes: 512 * 10, index: 0, of: 1, stripe: 0, order: 1 };
    bench.task.generator = crate::generator::Generator::new(&class, share, 1);
    bench.task.growing = true;
    let script = Script { close_after: 95, reap_at_most: 1, ..Script::default() };
    let path = Scripted::new(script, &bench.until);
    let mut queued = QueuedLoop::new(path.clone(), &bench.arena, 4, 1);
    assert!(queued.work(&mut bench.task, &bench.tally, &bench.until));
    let edges = closed(&bench);
    queued.settle(&mut bench.task, &edges, &mut Overdue::new(seat::tally_for(&class)));
    let mut since = 0;
    for asked in &path.script.borrow().log {
        match asked {
            Asked::Restart { segment: 0 } => {
                assert_eq!(since, 10, "the file was full");
                since = 0;
            }
            Asked::Write { .. } => since += 1,
            _ => {}
        }
    }
    assert_eq!(path.count(|asked| matches!(asked, Asked::Restart { segment: 1 })), 9);
}

#[test]
fn what_is_due_is_not_held_back_for_a_batch() {
    let arrivals = Arrivals::Fixed { rate_per_s: 20_000.0, scope: RateScope::Total };
    let class = Class { arrivals, ..class(Operation::Read, 8, 8) };
    let mut bench = bench(&class, 1);
    if let Some(schedule) = &mut bench.task.schedule {
        schedule.begin(bench.task.clock.now());
    }
    let script = Script { close_after: 200, ..Script::default() };
    let path = Scripted::new(script, &bench.until);
    let mut queued = QueuedLoop::new(path.clone(), &bench.arena, 8, 8);
    assert!(queued.work(&mut bench.task, &bench.tally, &bench.until));
    let (service, response) = (&bench.tally.service, bench.tally.response.as_ref().unwrap());
    assert_eq!(service.count(), response.count());
    assert!(service.count() >= 200);
    let lateness = bench.tally.lateness.as_ref().unwrap().count();
    assert!((1..=service.count()).contains(&lateness), "waiting for an instant is timed: {lateness}");
    let due = bench.task.schedule.as_ref().map(Schedule::due).unwrap();
    assert!(due > 0);
}
