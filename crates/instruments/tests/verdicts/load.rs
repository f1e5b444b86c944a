//! Rules on how a load pressed, with their figures and the bounds of each from both sides.

use assay_instruments::verdict::depth_reached;

use super::*;

const DEPTH: ReasonCode = ReasonCode::DepthNotReached;
const RATE: ReasonCode = ReasonCode::RateNotReached;
const LATE: ReasonCode = ReasonCode::GeneratorLate;
const BOUND: ReasonCode = ReasonCode::GeneratorBound;

/// Two threads of depth 16 that kept so many operations in flight, which the device did not see.
fn reached(depth: f64, change: impl FnOnce(&mut RunObservation, &mut ClassObservation)) -> Verdict {
    judged(move |run, class| {
        (class.achieved_depth, class.in_service) = (depth, depth);
        change(run, class);
    })
}

#[test]
fn four_fifths_of_the_depth_must_be_in_flight() {
    let evidence = "32 operations in flight were asked for (2 threads, depth 16), 25.5 were in flight in the mean";
    told(&reached(25.5, |_, _| ()), DEPTH, evidence, &[("asked_depth", 32.0), ("achieved_depth", 25.5)]);
    expect(&reached(25.7, |_, _| ()), DEPTH, None);
    // In batches of five the queue runs down by four: four fifths of 24 are 19.2. It never counts for less than half.
    for (batch, few, enough) in [(0, 25.5, 25.7), (5, 19.1, 19.3), (16, 12.7, 12.9), (99, 12.7, 12.9)] {
        expect(&reached(few, |_, class| class.batch = batch), DEPTH, SUSPECT);
        expect(&reached(enough, |_, class| class.batch = batch), DEPTH, None);
    }
}

#[test]
fn there_is_no_depth_to_reach_without_one_that_was_asked_for() {
    expect(&reached(0.1, |_, class| class.depth = 2), DEPTH, SUSPECT);
    expect(&reached(0.1, |_, class| class.depth = 1), DEPTH, None);
    expect(&reached(0.1, |_, class| class.asked_rate = Some(60_000.0)), DEPTH, None);
    expect(&reached(0.1, |_, class| class.target = TargetKind::Null), DEPTH, None);
    expect(&reached(0.1, |_, class| class.reads = 0), DEPTH, None);
}

/// Three tenths of 32 are 9.6.
#[test]
fn the_device_knows_better_where_it_had_three_tenths_of_the_depth() {
    let depth = |on_device, change: fn(&mut ClassObservation)| {
        let seen = changed(ordinary(), |run, class| {
            run.devices[0].counters.mean_in_flight.value = on_device;
            (class.achieved_depth, class.in_service) = (5.0, 20.0);
            change(class);
        });
        depth_reached(&seen.run, &seen.classes[0])
    };
    assert_eq!([depth(9.7, |_| ()), depth(9.5, |_| ())], [20.0, 5.0]);
    assert_eq!(depth(9.7, |class| class.in_service = 4.0), 5.0, "the larger one");
    assert_eq!(depth(9.7, |class| class.path.direct = false), 5.0);
    assert_eq!(depth(9.7, |class| class.devices = Vec::new()), 5.0);
}

#[test]
fn time_inside_the_submitting_call_is_told() {
    let inside = |share, on_device, path: &PathSpec| {
        reached(31.0, move |run, class| {
            (class.submit_share, class.path) = (Some(share), path.clone());
            run.devices[0].counters.mean_in_flight.value = on_device;
        })
    };
    let ring = PathSpec::plain(PathKind::IoUring);
    let direct = PathSpec { direct: true, ..ring.clone() };
    let numbers = [("submit_share", 0.95), ("asked_depth", 32.0), ("achieved_depth", 31.0)];
    let evidence = "95 % of the window passed inside the submitting call, through the page cache: operations ran one after \
        another, not 32 at a time";
    told(&inside(0.95, 30.0, &ring), DEPTH, evidence, &numbers);
    let evidence = "95 % of the window passed inside the submitting call, and the device saw 9.5 requests in flight where 32 \
        were asked for";
    told(&inside(0.95, 9.5, &direct), DEPTH, evidence, &numbers);
    expect(&inside(0.95, 9.7, &direct), DEPTH, None);
    expect(&inside(0.5, 30.0, &ring), DEPTH, SUSPECT);
    expect(&inside(0.49, 30.0, &ring), DEPTH, None);
    expect(&inside(0.95, 30.0, &PathSpec::plain(PathKind::Pread)), DEPTH, None);
}

/// Four seconds at a rate, of which so many operations came; 32 may be in flight at the end.
fn came(operations: u64, change: impl FnOnce(&mut ClassObservation)) -> Verdict {
    judged(move |_, class| {
        (class.asked_rate, class.reads) = (Some(1000.0), operations);
        change(class);
    })
}

#[test]
fn a_rate_may_fall_short_by_a_twentieth_and_what_chance_explains() {
    let evidence = "1 k/s were asked for and 940/s were done, 94 % of it";
    let numbers = [("asked_ops_per_s", 1000.0), ("achieved_ops_per_s", 940.0), ("achieved_share", 0.94)];
    told(&came(3760, |_| ()), RATE, evidence, &numbers);
    // 4000 were due: 3800, one that is due at the edge, and 32.
    expect(&came(3766, |_| ()), RATE, SUSPECT);
    expect(&came(3767, |_| ()), RATE, None);
    // Three deviations of 63.2.
    expect(&came(3577, |class| class.poisson = true), RATE, SUSPECT);
    expect(&came(3578, |class| class.poisson = true), RATE, None);
    expect(&came(3717, |class| class.burst = 50), RATE, SUSPECT);
    expect(&came(3718, |class| class.burst = 50), RATE, None);
    expect(&came(3766, |class| class.burst = 0), RATE, SUSPECT);
}

#[test]
fn a_rate_may_be_passed_by_a_tenth_and_no_more() {
    expect(&came(4433, |_| ()), RATE, None);
    expect(&came(4434, |_| ()), RATE, SUSPECT);
    let found = came(4434, |_| ()).reasons.into_iter().find(|reason| reason.code == RATE).expect("passed");
    assert!(found.fix.contains("defect of the generator"), "{}", found.fix);
    expect(&came(0, |class| class.active_s = 0.0), RATE, None);
    expect(&came(0, |class| class.asked_rate = Some(0.0)), RATE, None);
    expect(&came(9_999, |class| class.asked_rate = Some(0.0)), RATE, None);
}

#[test]
fn operations_that_never_ended_are_counted_among_all_that_were_due() {
    let verdict = judged(|_, class| {
        (class.reads, class.writes) = (300, 200);
        class.overdue = Some(Overdue { completed: 496, missing: 4, waited_s: 10.0 });
    });
    let evidence = "4 operations, 0.4 % of all that were due, had not ended 10 s after the window closed; latencies that \
        they can move are lower bounds";
    let numbers = [("missing_operations", 4.0), ("missing_share", 0.004), ("waited_s", 10.0)];
    told(&verdict, ReasonCode::OperationsMissing, evidence, &numbers);
    let found = verdict.reasons.iter().find(|reason| reason.code == ReasonCode::OperationsMissing).expect("missing");
    assert_eq!(found.class.as_deref(), Some("read"));
}

#[test]
fn lateness_is_told_by_what_it_can_have_made_of_the_response() {
    let late = |percentile, late_ns, response_ns, service_ns| {
        judged(move |_, class| {
            class.lateness = Some(Lateness { percentile, late_ns, response_ns, service_ns });
        })
    };
    let evidence = "one operation in 40 started 600 us or more after it was due though the class could have started it; one \
        in as many answered after 800 us or more, and was served in 400 us: 50 % of the response time can be the generator's";
    let numbers = [
        ("percentile", 97.5),
        ("lateness_ns", 6e5),
        ("response_ns", 8e5),
        ("service_ns", 4e5),
        ("lateness_share", 0.5),
    ];
    told(&late(97.5, 600_000, 800_000, 400_000), LATE, evidence, &numbers);
    for (late_ns, response_ns, wanted) in
        [(100_000, 400_000, SUSPECT), (99_999, 400_000, None), (20_000, 40_000, SUSPECT), (19_999, 20_000, None)]
    {
        expect(&late(99.0, late_ns, response_ns, 0), LATE, wanted);
    }
    let null = judged(|_, class| {
        class.target = TargetKind::Null;
        class.lateness = Some(Lateness { percentile: 99.0, late_ns: 6, response_ns: 6, service_ns: 0 });
        class.lateness.iter_mut().for_each(|one| (one.late_ns, one.response_ns) = (600_000, 600_000));
    });
    expect(&null, LATE, None);
}

/// 240,000 operations in four seconds by two threads: 30 k/s each.
#[test]
fn a_thread_at_a_quarter_of_its_pace_on_the_null_path_is_the_generators() {
    let with = |ceiling, busy, change: fn(&mut ClassObservation)| {
        judged(move |_, class| {
            (class.null_ops_per_s, class.busy_share) = (Some(ceiling), Some(busy));
            change(class);
        })
    };
    let evidence = "each thread did 30 k/s, 25 % of the 120 k/s that it does on the null path: that share of the time was \
        the generator's own";
    let numbers = [("thread_ops_per_s", 30_000.0), ("null_ops_per_s", 120_000.0), ("generator_share", 0.25)];
    told(&with(120_000.0, 0.9, |_| ()), BOUND, evidence, &numbers);
    expect(&with(120_001.0, 0.9, |_| ()), BOUND, None);
    expect(&with(120_000.0, 0.89, |_| ()), BOUND, None);
    expect(&with(120_000.0, 0.1, |class| class.busy_share = None), BOUND, SUSPECT);
    expect(&with(120_000.0, 0.9, |class| class.asked_rate = Some(60_000.0)), BOUND, None);
    expect(&with(120_000.0, 0.9, |class| class.asked_rate = Some(90_000.0)), BOUND, SUSPECT);
    expect(&with(120_000.0, 0.9, |class| class.target = TargetKind::Null), BOUND, None);
    expect(&with(120_000.0, 0.9, |class| class.active_s = 0.0), BOUND, None);
    expect(&with(0.0, 0.9, |_| ()), BOUND, None);
    // A class without threads is taken for one with one.
    expect(&with(240_000.0, 0.9, |class| class.threads = 0), BOUND, SUSPECT);
    expect(&with(240_001.0, 0.9, |class| class.threads = 0), BOUND, None);
}
