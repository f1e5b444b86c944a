//! Rules on how fast a load came: depth, rate, lateness, the generator itself.

use super::*;

#[test]
fn a_depth_that_was_not_reached_is_said() {
    let few = judged(|_, class| (class.achieved_depth, class.in_service) = (9.0, 18.0));
    expect(&few, ReasonCode::DepthNotReached, SUSPECT);
    // A batch as deep as the queue empties it before it is filled again.
    valid(&judged(|_, class| (class.batch, class.achieved_depth, class.in_service) = (16, 15.0, 15.0)));
    // With a rate the depth follows from it.
    valid(&judged(|_, class| (class.asked_rate, class.achieved_depth) = (Some(60_000.0), 2.0)));
    let buffered = |kind, cache| {
        judged(move |run, class| {
            class.path = PathSpec::plain(kind);
            (run.cache, class.submit_share) = (cache, Some(0.9));
            class.device_read_bytes = Some(if cache == Cache::Warm { 0 } else { class.read_bytes });
            class.dataset_bytes = 8 << 30;
        })
    };
    expect(&buffered(PathKind::Libaio, Cache::AsFound), ReasonCode::DepthNotReached, SUSPECT);
    expect(&buffered(PathKind::Libaio, Cache::Warm), ReasonCode::DepthNotReached, SUSPECT);
    expect(&buffered(PathKind::IoUring, Cache::Warm), ReasonCode::DepthNotReached, NOTE);
}

#[test]
fn direct_submission_is_doubted_only_when_the_device_saw_little_in_flight() {
    valid(&judged(|_, class| class.submit_share = Some(0.95)));
    // Half of the time inside the call of a device that had them all the same.
    valid(&judged(|_, class| (class.submit_share, class.achieved_depth) = (Some(0.45), 17.7)));
    // It had most of them, and not all: that is the number which is said.
    let busy = judged(|run, class| {
        (class.submit_share, class.achieved_depth, class.in_service) = (Some(0.65), 1.0, 20.5);
        run.devices[0].counters.mean_in_flight.value = 18.0;
    });
    expect(&busy, ReasonCode::DepthNotReached, SUSPECT);
    assert!(
        busy.reasons.iter().any(|reason| reason.numbers.get("achieved_depth") == Some(&20.5)),
        "{:?}",
        busy.reasons
    );
    let blocked = judged(|run, class| {
        class.submit_share = Some(0.95);
        run.devices[0].counters.mean_in_flight.value = 1.1;
    });
    expect(&blocked, ReasonCode::DepthNotReached, SUSPECT);
}

#[test]
fn a_missed_rate_is_told_from_chance_and_an_impossible_one_is_seen() {
    let at = |asked: f64, operations: u64, poisson| {
        judged(move |_, class| {
            (class.asked_rate, class.poisson) = (Some(asked), poisson);
            (class.reads, class.read_bytes, class.latencies) = (operations, operations * 4096, operations);
            class.device_read_bytes = Some(operations * 4096);
            class.intervals = Vec::new();
        })
    };
    expect(&at(90_000.0, 240_000, false), ReasonCode::RateNotReached, SUSPECT);
    expect(&at(60_000.0, 239_000, false), ReasonCode::RateNotReached, None);
    expect(&at(60_000.0, 480_000, true), ReasonCode::RateNotReached, SUSPECT);
    // 400 were due; 360 is two deviations of a Poisson count below.
    expect(&at(100.0, 360, true), ReasonCode::RateNotReached, None);
    expect(&at(100.0, 200, true), ReasonCode::RateNotReached, SUSPECT);
}

#[test]
fn operations_that_never_ended_leave_no_record_valid() {
    let with = |completed, missing| {
        judged(move |_, class| {
            class.overdue = Some(Overdue { completed, missing, waited_s: 10.0 });
        })
    };
    expect(&with(0, 1), ReasonCode::OperationsMissing, SUSPECT);
    expect(&with(500, 0), ReasonCode::OperationsMissing, None);
}

#[test]
fn lateness_counts_when_it_makes_up_the_latency() {
    let late = |late_ns, response_ns, service_ns| {
        judged(move |_, class| {
            class.asked_rate = Some(60_000.0);
            class.lateness = Some(Lateness { percentile: 99.0, late_ns, response_ns, service_ns });
        })
    };
    expect(&late(600_000, 900_000, 400_000), ReasonCode::GeneratorLate, SUSPECT);
    expect(&late(100_000, 900_000, 400_000), ReasonCode::GeneratorLate, None);
    expect(&late(5_000, 6_000, 1_000), ReasonCode::GeneratorLate, None);
    // Others started late than those that took long.
    expect(&late(600_000, 900_000, 890_000), ReasonCode::GeneratorLate, None);
}

/// Of 360 operations three or four make the 99th percentile: an interrupt a second was the generator's fault.
#[test]
fn lateness_is_looked_at_where_ten_operations_lie_beyond() {
    assert_eq!(Lateness::percentile(1_000_000), 99.0);
    assert_eq!(Lateness::percentile(1000), 99.0);
    assert!((Lateness::percentile(360) - 97.222).abs() < 0.001);
    assert_eq!(Lateness::percentile(10), 0.0);
    assert_eq!(Lateness::percentile(0), 0.0);
}

#[test]
fn the_generator_is_blamed_only_when_it_is_in_the_way() {
    let bound = |busy| {
        judged(move |_, class| {
            (class.null_ops_per_s, class.busy_share) = (Some(60_000.0), Some(busy));
        })
    };
    expect(&bound(0.99), ReasonCode::GeneratorBound, SUSPECT);
    expect(&bound(0.5), ReasonCode::GeneratorBound, None);
    let blocking = judge(&changed(cold(), |_, class| {
        (class.threads, class.null_ops_per_s, class.busy_share) = (1, Some(100_000.0), Some(0.5));
    }));
    expect(&blocking, ReasonCode::GeneratorBound, SUSPECT);
    // A schedule that was kept sets the pace.
    let kept = judged(|_, class| {
        (class.null_ops_per_s, class.busy_share, class.asked_rate) = (Some(60_000.0), Some(1.0), Some(60_000.0));
    });
    expect(&kept, ReasonCode::GeneratorBound, None);
    // The null path is the ceiling itself.
    let null = judged(|_, class| {
        class.path = PathSpec::plain(PathKind::Null);
        (class.null_ops_per_s, class.busy_share) = (Some(30_000.0), Some(1.0));
    });
    expect(&null, ReasonCode::GeneratorBound, None);
}
