//! The rule on CPU time that other processes took: four seconds on two CPUs.

use super::*;

/// What threads had and waited for, and what everybody did on the CPUs that they may use, s.
struct Machine {
    own_s: f64,
    waited_s: Option<f64>,
    all_s: f64,
}

/// Two threads that work all the time and have the CPUs to themselves.
const ALONE: Machine = Machine { own_s: 7.9, waited_s: Some(0.05), all_s: 7.96 };

fn cpus(all_s: f64) -> OwnCpusUse {
    OwnCpusUse { cpus: 2, user_s: 0.9 * all_s, kernel_s: 0.1 * all_s, total_s: 8.0, covered: false }
}

fn on(machine: &Machine, change: impl FnOnce(&mut RunObservation)) -> RunObservation {
    let mut run = ordinary().run;
    run.devices.clear();
    run.own_cpu =
        Some(OwnCpu { user_s: 0.9 * machine.own_s, kernel_s: 0.1 * machine.own_s, waited_s: machine.waited_s });
    run.system.own_cpus = Some(cpus(machine.all_s));
    change(&mut run);
    run
}

fn judged_on(run: &RunObservation) -> Verdict {
    judge(&Observation { run: run.clone(), classes: Vec::new() })
}

fn taken(machine: &Machine) -> Verdict {
    judged_on(&on(machine, |_| ()))
}

#[test]
fn threads_that_had_half_of_their_cpus_are_named() {
    let verdict = taken(&Machine { own_s: 4.0, waited_s: Some(3.9), all_s: 8.0 });
    expect(&verdict, ReasonCode::CpuTaken, SUSPECT);
    let reason = &verdict.reasons[0];
    assert!((reason.numbers["taken_share"] - 0.49).abs() < 0.01, "{:?}", reason.numbers);
    assert_eq!(reason.numbers["others_cpu_s"], 4.0);
    assert!(reason.evidence.contains("other processes used 1.0 of the 2 CPUs"), "{}", reason.evidence);
    assert!(reason.evidence.contains("49 %") && reason.fix.contains("top"), "{} {}", reason.evidence, reason.fix);
}

#[test]
fn a_quiet_machine_and_threads_that_compete_with_each_other_are_fine() {
    valid(&taken(&ALONE));
    // Eight threads on two CPUs wait three quarters of their time, for each other.
    valid(&taken(&Machine { own_s: 7.8, waited_s: Some(24.0), all_s: 7.9 }));
    // Others run on CPUs that the run does not need.
    valid(&taken(&Machine { own_s: 4.0, waited_s: Some(0.02), all_s: 7.9 }));
    // A log, a display of progress: 4 %.
    valid(&taken(&Machine { own_s: 7.6, waited_s: Some(0.4), all_s: 7.95 }));
}

#[test]
fn eight_threads_on_two_cpus_lose_what_others_had_and_no_more() {
    let verdict = taken(&Machine { own_s: 5.4, waited_s: Some(26.0), all_s: 8.0 });
    expect(&verdict, ReasonCode::CpuTaken, SUSPECT);
    assert!((verdict.reasons[0].numbers["taken_share"] - 0.325).abs() < 0.001);
}

#[test]
fn a_run_that_hardly_computes_loses_nothing() {
    valid(&taken(&Machine { own_s: 0.3, waited_s: Some(0.15), all_s: 7.9 }));
}

#[test]
fn work_of_the_kernel_for_a_device_is_not_taken_for_anothers() {
    let io = |run: &mut RunObservation| {
        run.devices = ordinary().run.devices;
        run.own_cpu = Some(OwnCpu { user_s: 2.0, kernel_s: 2.0, waited_s: Some(3.0) });
        run.system.own_cpus = Some(OwnCpusUse { user_s: 2.1, kernel_s: 5.0, ..cpus(0.0) });
    };
    valid(&judged_on(&on(&ALONE, io)));
    let without_a_device = |run: &mut RunObservation| {
        io(run);
        run.devices.clear();
    };
    expect(&judged_on(&on(&ALONE, without_a_device)), ReasonCode::CpuTaken, SUSPECT);
}

#[test]
fn a_quota_is_named_as_a_quota() {
    let half = Machine { own_s: 4.0, waited_s: Some(3.9), all_s: 8.0 };
    let throttle = Some(Throttle { periods: 40, throttled: 20, throttled_s: 3.5 });
    let verdict = judged_on(&on(&half, |run| run.system.throttle = throttle));
    expect(&verdict, ReasonCode::FrequencyChanged, SUSPECT);
    expect(&verdict, ReasonCode::CpuTaken, None);
}

/// What cannot be seen is no fault, and is said where it would matter.
#[test]
fn where_the_kernels_counters_are_hidden_it_could_not_be_told() {
    let half = Machine { own_s: 4.0, waited_s: Some(3.9), all_s: 8.0 };
    type Hide = fn(&mut RunObservation);
    let hidden: [(&str, Hide); 5] = [
        ("does not show the CPUs", |run| run.system.own_cpus = None),
        ("mounted over /proc/stat", |run| {
            run.system.own_cpus.iter_mut().for_each(|one| one.covered = true);
        }),
        ("counted 0.0 s of CPUs in which 8.0 s passed", |run| {
            run.system.own_cpus = Some(OwnCpusUse { total_s: 0.0, ..cpus(0.0) })
        }),
        ("of which this process alone did 4.0 s", |run| run.system.own_cpus = Some(cpus(1.0))),
        ("does not say how long threads waited", |run| {
            run.own_cpu.iter_mut().for_each(|own| own.waited_s = None);
        }),
    ];
    for (wanted, hide) in hidden {
        let run = on(&half, hide);
        valid(&judged_on(&run));
        let said = cpu_taken_untold(&run).expect(wanted).reason;
        assert!(said.contains("could not be told") && said.contains(wanted), "{said}");
    }
    assert_eq!(cpu_taken_untold(&on(&half, |_| ())), None);
    let nothing_lost = on(&ALONE, |run| run.system.own_cpus = None);
    assert_eq!(cpu_taken_untold(&nothing_lost), None, "nobody waited");
}

#[test]
fn what_was_taken_is_told_in_full() {
    let verdict = taken(&Machine { own_s: 4.0, waited_s: Some(3.0), all_s: 6.0 });
    let evidence = "other processes used 0.5 of the 2 CPUs that this one may use, and it had 1.0: its threads could have run \
        for 2.0 s more, 33 % of the CPU time that was theirs to have";
    let numbers =
        [("taken_s", 2.0), ("taken_share", 1.0 / 3.0), ("others_cpu_s", 2.0), ("own_cpu_s", 4.0), ("waited_s", 3.0)];
    told(&verdict, ReasonCode::CpuTaken, evidence, &numbers);
}

/// A twentieth of four seconds are 0.2 s, and 0.1 s count in any case; a tenth of what could have been had must be gone.
#[test]
fn little_that_was_taken_is_not_worth_a_word() {
    for (own_s, waited_s, measured_s, wanted) in [
        (1.0, 0.201, 4.0, SUSPECT),
        (1.0, 0.199, 4.0, None),
        (0.5, 0.101, 1.5, SUSPECT),
        (0.5, 0.099, 1.5, None),
        (5.39, 0.6, 4.0, SUSPECT),
        (5.41, 0.6, 4.0, None),
    ] {
        let machine = Machine { own_s, waited_s: Some(waited_s), all_s: own_s + 2.0 };
        let run = on(&machine, |run| {
            run.measured_s = measured_s;
            run.system.own_cpus.iter_mut().for_each(|one| one.total_s = 2.0 * measured_s);
        });
        expect(&judged_on(&run), ReasonCode::CpuTaken, wanted);
    }
}

/// Eight seconds of two CPUs passed: a quarter and 0.1 s may be missing or too many.
#[test]
fn counted_time_is_believed_within_a_quarter() {
    let half = Machine { own_s: 4.0, waited_s: Some(3.9), all_s: 6.0 };
    for (total_s, told) in [(5.91, true), (5.89, false), (10.09, true), (10.11, false)] {
        let run = on(&half, |run| run.system.own_cpus.iter_mut().for_each(|one| one.total_s = total_s));
        assert_eq!(cpu_taken_untold(&run).is_none(), told, "{total_s} s");
    }
    // Work of 3.12 s with a quarter and 0.1 s more is what this process did, 3.11 s is less.
    for (all_s, told) in [(3.13, true), (3.11, false)] {
        let run = on(&half, |run| run.system.own_cpus = Some(cpus(all_s)));
        assert_eq!(cpu_taken_untold(&run).is_none(), told, "{all_s} s");
    }
}

/// From a mebibyte a second on, the kernel may have worked for a device.
#[test]
fn time_in_the_kernel_counts_where_hardly_anything_was_moved() {
    let others_s = |read: u64, written: u64| {
        let run = on(&Machine { own_s: 4.0, waited_s: Some(3.9), all_s: 8.0 }, |run| {
            run.devices = ordinary().run.devices;
            let counters = &mut run.devices[0].counters;
            (counters.read_bytes.value, counters.written_bytes.value) = (read as f64, written as f64);
        });
        let verdict = judged_on(&run);
        let found = verdict.reasons.iter().find(|reason| reason.code == ReasonCode::CpuTaken).expect("taken");
        found.numbers["others_cpu_s"]
    };
    assert!((others_s(3 * MIB, MIB) - 4.0).abs() < 1e-9, "4 of 8 s");
    assert!((others_s(3 * MIB, MIB + 1) - 3.6).abs() < 1e-9, "3.6 of 7.2 s in user mode");
}

#[test]
fn devices_hide_what_others_did_in_the_kernel_and_never_make_it_negative() {
    let run = on(&Machine { own_s: 4.0, waited_s: Some(3.9), all_s: 3.9 }, |_| ());
    valid(&judged_on(&run));
}

/// The same bounds where others' time is hidden: who waited less has lost nothing, and there is nothing to tell.
#[test]
fn what_cannot_matter_is_not_said_to_be_untold() {
    for (own_s, waited_s, untold) in [(5.39, 0.6, true), (5.41, 0.6, false), (1.0, 0.201, true), (1.0, 0.199, false)] {
        let machine = Machine { own_s, waited_s: Some(waited_s), all_s: own_s };
        let run = on(&machine, |run| run.system.own_cpus = None);
        assert_eq!(cpu_taken_untold(&run).is_some(), untold, "{waited_s} s beside {own_s} s");
    }
}
