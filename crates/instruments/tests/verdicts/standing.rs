//! Rules on what others do to a run: targets that change, processes that stand still, flushes, neighbours of memory.

use assay_instruments::{
    counters::{FileChanges, WriteCache},
    verdict::FlushObservation,
};

use super::*;

#[test]
fn a_target_that_changed_is_named_and_one_that_lost_data_is_invalid() {
    let changed = |changes: FileChanges| judged(move |_, class| class.changes = changes);
    let some = FileChanges { files: 1, ..FileChanges::default() };
    valid(&changed(some));
    expect(&changed(FileChanges { replaced: 1, ..some }), ReasonCode::TargetChanged, SUSPECT);
    expect(&changed(FileChanges { written: 1, ..some }), ReasonCode::TargetChanged, SUSPECT);
    expect(&changed(FileChanges { lost_bytes: 4096, ..some }), ReasonCode::TargetChanged, None);
    expect(&changed(FileChanges { lost_bytes: MIB, ..some }), ReasonCode::TargetChanged, SUSPECT);
    expect(&changed(FileChanges { lost_bytes: 100 * MIB, shortened: 1, ..some }), ReasonCode::TargetChanged, INVALID);
}

#[test]
fn a_standstill_counts_unless_a_quota_was_met() {
    expect(&judged(|run, _| run.stood_still_s = 0.42), ReasonCode::ProcessStopped, SUSPECT);
    expect(&judged(|run, _| run.stood_still_s = 0.06), ReasonCode::ProcessStopped, None);
    let by_quota = judged(|run, _| {
        run.stood_still_s = 0.42;
        run.system.throttle = Some(Throttle { periods: 40, throttled: 20, throttled_s: 1.5 });
    });
    expect(&by_quota, ReasonCode::ProcessStopped, None);
    expect(&judged(|run, _| run.usable_cpus = Some((2, 1))), ReasonCode::FrequencyChanged, SUSPECT);
    valid(&judged(|run, _| run.usable_cpus = Some((2, 2))));
}

#[test]
fn a_clock_that_was_wrong_for_a_while_and_a_machine_that_slept_are_unreliable() {
    expect(&judged(|run, _| run.clock_excursion_s = 0.03), ReasonCode::ClockUnreliable, SUSPECT);
    expect(&judged(|run, _| run.clock_excursion_s = 0.0005), ReasonCode::ClockUnreliable, None);
    expect(&judged(|run, _| run.suspended_s = 2.0), ReasonCode::ClockUnreliable, SUSPECT);
}

#[test]
fn a_target_that_does_not_keep_what_it_is_given_is_invalid() {
    let readback = |wrong| {
        let outcome = CheckOutcome { blocks: 8, wrong, examples: Vec::new() };
        judged(move |_, class| class.readback = Some(outcome))
    };
    expect(&readback(1), ReasonCode::DataCorrupt, INVALID);
    valid(&readback(0));
}

fn flushed(asked: u64, seen: u64, flushed: bool) -> Verdict {
    let cache = WriteCache { flushed: Some(flushed), volatile: None, counted: true, writes_through: false };
    judged(move |run, _| {
        let one = FlushObservation { device: "vda".to_owned(), cache, asked, through: 0, in_flight: 4, seen };
        run.flushes = vec![one];
    })
}

#[test]
fn flushes_that_no_device_saw_are_named() {
    expect(&flushed(1000, 0, true), ReasonCode::FlushNotSeen, SUSPECT);
    expect(&flushed(1000, 3, true), ReasonCode::FlushNotSeen, SUSPECT);
    // Four callers whose flushes become one.
    valid(&flushed(1000, 250, true));
    valid(&flushed(9, 0, true));
    // A drive without a volatile cache needs none.
    valid(&flushed(1000, 0, false));
}

#[test]
fn a_cache_that_was_declared_away_is_named() {
    let told = |volatile| {
        judged(move |run, _| {
            let cache = WriteCache { flushed: Some(false), volatile, counted: true, writes_through: false };
            run.flushes = vec![FlushObservation { asked: 1000, cache, in_flight: 1, ..FlushObservation::default() }];
        })
    };
    expect(&told(Some(true)), ReasonCode::FlushNotSeen, SUSPECT);
    expect(&told(Some(false)), ReasonCode::FlushNotSeen, None);
}

#[test]
fn a_file_system_that_a_program_plays_shows_no_flush() {
    let on = |kind: &'static str, flushes| {
        judged(move |_, class| {
            (class.flushes, class.writes) = (flushes, flushes);
            class.devices = Vec::new();
            class.file_system = Some(kind.to_owned());
        })
    };
    expect(&on("fuse.fault", 500), ReasonCode::FlushNotSeen, SUSPECT);
    expect(&on("fuse.fault", 0), ReasonCode::FlushNotSeen, None);
    expect(&on("nfs4", 500), ReasonCode::FlushNotSeen, None);
}

#[test]
fn flushes_of_others_are_foreign_load() {
    expect(&flushed(0, 2000, true), ReasonCode::ForeignLoad, SUSPECT);
    expect(&flushed(1000, 2000, true), ReasonCode::ForeignLoad, None);
    expect(&flushed(0, 100, true), ReasonCode::ForeignLoad, None);
}

#[test]
fn others_beside_a_load_in_memory_are_foreign_load() {
    let beside = |busy_share, target| {
        judged(move |run, class| {
            (run.cpus, run.system.busy_share) = (2, Some(busy_share));
            run.own_cpu = Some(OwnCpu { user_s: 4.0, kernel_s: 0.0, waited_s: Some(0.0) });
            class.target = target;
        })
    };
    expect(&beside(0.95, TargetKind::Memory), ReasonCode::ForeignLoad, SUSPECT);
    expect(&beside(0.6, TargetKind::Memory), ReasonCode::ForeignLoad, None);
    expect(&beside(0.95, TargetKind::Folder), ReasonCode::ForeignLoad, None);
}

#[test]
fn what_a_drive_can_hold_and_what_is_shared_are_named() {
    expect(&judged(|_, class| class.dataset_bytes = MIB), ReasonCode::FileSmallerThanCaches, SUSPECT);
    expect(&judged(|_, class| class.dataset_bytes = 32 * MIB), ReasonCode::FileSmallerThanCaches, None);
    expect(&judged(|_, class| class.repeated_extents = 256 * MIB), ReasonCode::CompressibleData, SUSPECT);
}
