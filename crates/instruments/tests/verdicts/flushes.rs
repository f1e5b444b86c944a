//! Rules on flushes, with their figures: who asked, what the device saw, whose they were.

use assay_instruments::{counters::WriteCache, verdict::FlushObservation};

use super::*;

const SEEN: ReasonCode = ReasonCode::FlushNotSeen;

/// A device that has a volatile cache, is sent flushes, and counts them.
fn counted() -> FlushObservation {
    let cache = WriteCache { flushed: Some(true), volatile: None, counted: true, writes_through: false };
    FlushObservation { device: "vda".to_owned(), cache, asked: 600, through: 400, in_flight: 4, seen: 0 }
}

fn flushed(change: impl FnOnce(&mut FlushObservation)) -> Verdict {
    let mut one = counted();
    change(&mut one);
    judged(move |run, _| run.flushes = vec![one])
}

#[test]
fn a_cache_that_was_declared_away_is_told_from_ten_flushes_on() {
    let away = |asked, through| {
        flushed(move |one| {
            (one.asked, one.through) = (asked, through);
            (one.cache.flushed, one.cache.volatile) = (Some(false), Some(true));
        })
    };
    let evidence = "10 flushes were asked for, and none was sent: queue/write_cache of vda was set to \"write through\", \
        though the device says that its cache is volatile";
    told(&away(6, 4), SEEN, evidence, &[("asked_flushes", 10.0), ("device_flushes", 0.0)]);
    expect(&away(5, 4), SEEN, None);
}

#[test]
fn flushes_that_were_merged_beyond_measure_are_told() {
    let seen = |seen| flushed(move |one| one.seen = seen);
    let evidence = "1000 flushes were asked for, and vda, whose cache is volatile, saw 24 of them: what was acknowledged as \
        durable lay in a cache";
    told(&seen(24), SEEN, evidence, &[("asked_flushes", 1000.0), ("device_flushes", 24.0)]);
    // A tenth of a thousand that four wait for at a time.
    expect(&seen(25), SEEN, None);
    expect(&flushed(|one| (one.seen, one.in_flight) = (99, 0)), SEEN, SUSPECT);
    expect(&flushed(|one| (one.seen, one.in_flight) = (100, 0)), SEEN, None);
    expect(&flushed(|one| one.cache.counted = false), SEEN, None);
    expect(&flushed(|one| (one.asked, one.through) = (6, 4)), SEEN, SUSPECT);
    expect(&flushed(|one| (one.asked, one.through) = (5, 4)), SEEN, None);
}

#[test]
fn writes_that_carry_their_durability_are_no_flushes_where_a_device_knows_them() {
    let known = |asked, through| {
        flushed(move |one| (one.asked, one.through, one.cache.writes_through) = (asked, through, true))
    };
    expect(&known(9, 400), SEEN, None);
    let evidence = "10 flushes were asked for, and vda, whose cache is volatile, saw 0 of them: what was acknowledged as \
        durable lay in a cache";
    told(&known(10, 400), SEEN, evidence, &[("asked_flushes", 410.0), ("device_flushes", 0.0)]);
}

#[test]
fn flushes_of_others_are_those_beyond_four_for_each_of_ours() {
    let others = |seen| flushed(move |one| (one.asked, one.through, one.seen) = (10, 15, seen));
    let evidence = "401 of vda's 501 flushes were not ours, 100/s: each makes the device empty its cache";
    told(&others(501), ReasonCode::ForeignLoad, evidence, &[("foreign_flushes", 401.0), ("device_flushes", 501.0)]);
    // A hundred a second for four seconds.
    expect(&others(500), ReasonCode::ForeignLoad, None);
}

/// Buffered writes of 100 MiB, 25,600 of a page, of which each was flushed and the device received half.
fn written_back(change: impl FnOnce(&mut RunObservation, &mut ClassObservation)) -> Verdict {
    judge(&changed(cold(), |run, class| {
        (class.reads, class.read_bytes, class.device_read_bytes) = (0, 0, None);
        (class.writes, class.written_bytes, class.flushes) = (25_600, 100 * MIB, 25_600);
        run.devices[0].counters.written_bytes.value = 50.0 * MIB as f64;
        change(run, class);
    }))
}

#[test]
fn bytes_that_were_flushed_and_did_not_arrive_are_told() {
    let less = |run: &mut RunObservation| run.devices[0].counters.written_bytes.value = 49.0 * MIB as f64;
    let evidence = "100 MiB were written and each write was flushed, and the device received 49 MiB in the window";
    let numbers =
        [("asked_bytes", 100.0 * MIB as f64), ("device_bytes", 49.0 * MIB as f64), ("asked_flushes", 25_600.0)];
    told(&written_back(|run, _| less(run)), SEEN, evidence, &numbers);
    expect(&written_back(|_, _| ()), SEEN, None);
    let with = |change: fn(&mut RunObservation, &mut ClassObservation)| {
        written_back(move |run, class| {
            less(run);
            change(run, class);
        })
    };
    expect(&with(|_, class| class.flushes = 12_800), SEEN, SUSPECT);
    expect(&with(|_, class| class.flushes = 12_799), SEEN, None);
    expect(&with(|_, class| class.path.direct = true), SEEN, None);
    expect(&with(|run, _| run.devices[0].copies_on_write = true), SEEN, None);
    expect(&with(|_, class| class.devices = Vec::new()), SEEN, None);
    expect(&with(|_, class| class.emulated = true), SEEN, None);
    expect(&with(|_, class| class.target = TargetKind::Memory), SEEN, None);
    expect(&with(|_, class| class.target = TargetKind::Null), SEEN, None);
    expect(&with(|_, class| (class.writes, class.flushes) = (10, 10)), SEEN, SUSPECT);
    expect(&with(|_, class| (class.writes, class.flushes) = (10, 9)), SEEN, None);
}

#[test]
fn what_flushes_of_a_played_file_system_do_nobody_knows() {
    let on = |kind: &str, devices: &[&str]| {
        let (kind, devices) = (kind.to_owned(), devices.iter().map(|one| (*one).to_owned()).collect());
        judged(move |_, class| (class.flushes, class.file_system, class.devices) = (500, Some(kind), devices))
    };
    let evidence = "500 flushes were asked for of a file system of type 9p: a program or another machine answers them, and \
        nothing here shows that one reached a device";
    told(&on("9p", &[]), SEEN, evidence, &[("asked_flushes", 500.0)]);
    for (kind, wanted) in
        [("fuse", SUSPECT), ("fuse.x", SUSPECT), ("fuseblk", SUSPECT), ("virtiofs", SUSPECT), ("fusex", None)]
    {
        expect(&on(kind, &[]), SEEN, wanted);
        expect(&on(kind, &["vda"]), SEEN, None);
    }
}
