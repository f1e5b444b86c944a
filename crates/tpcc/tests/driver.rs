//! The driver over stores in memory: what it counts, and what it says of it.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use assay_instruments::Watch;
use assay_record::{ReasonCode, Status, Subject, WorkRecord};
use assay_tpcc::{
    KvStore, Scale, Store,
    input::Choice,
    memory::MemoryKv,
    null::NullStore,
    order::{Drive, Order, Pace},
    run::{About, perform},
};

const SCALE: Scale = Scale { warehouses: 4, items: 100, customers: 20 };

fn about() -> About {
    let subject = Subject { name: "memory".to_owned(), version: String::new(), settings: Default::default() };
    About { subject, durability: "none".to_owned(), in_process: true }
}

fn order(drive: Drive) -> Order {
    Order {
        name: String::new(),
        scale: SCALE,
        seed: 3,
        load_seed: 1,
        load: true,
        drive: Some(drive),
        spoil: None,
        check: true,
        sites: Vec::new(),
        server_pid: None,
    }
}

fn run(store: &impl Store, order: &Order) -> WorkRecord {
    let interrupted = AtomicBool::new(false);
    perform(store, order, about(), &mut Watch { emit: &mut |_| {}, interrupted: &interrupted }).unwrap()
}

fn memory() -> KvStore<MemoryKv> {
    KvStore::new(MemoryKv::default(), SCALE.warehouses)
}

fn drive(choice: Choice, pace: Pace) -> Drive {
    Drive { choice, pace, ramp_s: 0.05, interval_s: 0.05, ..Drive::new(2, 0.4) }
}

#[test]
fn a_run_is_checked_counted_and_audited() {
    let record = run(&memory(), &order(drive(Choice::Uniform, Pace::Closed)));
    let failed: Vec<_> = record.checks.iter().filter(|check| !check.passed).collect();
    assert!(failed.is_empty(), "{failed:?}");
    assert_eq!(record.checks.len(), 14);
    assert_eq!(record.parts.len(), 5);
    assert!(record.parts.iter().all(|part| part.failed == 0 && part.service.as_ref().unwrap().count > 0));
    assert_eq!(record.figures["warehouses_touched"].value, 4.0);
    assert!(record.figures["driver_ceiling_per_s"].value > record.figures["transactions_per_s"].value);
    assert!(record.intervals.len() >= 5);
}

#[test]
fn an_interval_longer_than_the_window_is_the_window() {
    let asked = Drive { interval_s: 1e300, ..drive(Choice::Uniform, Pace::Closed) };
    assert_eq!(run(&NullStore { items: SCALE.items }, &Order { check: false, ..order(asked) }).intervals.len(), 1);
}

#[test]
fn terminals_at_home_touch_their_own_warehouses_and_remote_ones_by_chance() {
    let home =
        run(&NullStore { items: SCALE.items }, &Order { check: false, ..order(drive(Choice::Home, Pace::Closed)) });
    assert_eq!(home.figures["warehouses_touched"].value, 4.0, "remote payments reach the other two");
    assert!((0.14..0.16).contains(&home.figures["remote_payment_share"].value));
    assert!((0.007..0.013).contains(&home.figures["rollback_share"].value));
}

#[test]
fn a_spoilt_row_makes_the_record_invalid() {
    let record = run(&memory(), &Order { spoil: Some(12), ..order(drive(Choice::Home, Pace::Closed)) });
    assert_eq!(record.verdict.status, Status::Invalid);
    assert!(record.verdict.reasons.iter().any(|reason| reason.code == ReasonCode::CheckFailed));
}

#[test]
fn a_rate_is_kept_and_response_times_count_from_it() {
    let pace = Pace::Rate { per_s: 200.0, poisson: false };
    let record = run(&NullStore { items: SCALE.items }, &Order { check: false, ..order(drive(Choice::Home, pace)) });
    let done: u64 = record.parts.iter().map(|part| part.succeeded + part.empty).sum();
    assert!((40..=120).contains(&done), "200 a second for 0.4 s: {done}");
    assert!(record.parts[0].response.as_ref().unwrap().count > 0);
    let late = Pace::Rate { per_s: 5e7, poisson: true };
    let record = run(&NullStore { items: SCALE.items }, &Order { check: false, ..order(drive(Choice::Home, late)) });
    assert!(record.verdict.reasons.iter().any(|reason| reason.code == ReasonCode::RateNotReached));
    let part = &record.parts[0];
    assert!(part.response.as_ref().unwrap().p50_ns > part.service.as_ref().unwrap().p50_ns);
}

/// Of each kind: in the window, after it, never.
fn accounted(record: &WorkRecord) -> [u64; 3] {
    record.parts.iter().fold([0; 3], |[window, after, never], part| {
        let overdue = part.overdue.unwrap_or_default();
        let response = part.response.as_ref().unwrap();
        let all = part.succeeded + part.empty + overdue.completed + overdue.missing;
        // Counters and histograms are read one after the other while terminals go on, millions of times a second: what they
        // do while the reader is off its CPU is in the one and not in the other.
        let few = 8 + all / 10;
        assert!(response.count.abs_diff(all) <= few, "{}: {} response times of {all}", part.name, response.count);
        assert_eq!(response.at_least.map_or(0, |bound| bound.count), overdue.missing);
        [window + part.succeeded + part.empty, after + overdue.completed, never + overdue.missing]
    })
}

#[test]
fn what_was_due_and_never_begun_is_counted_by_kind_as_at_least_so_slow() {
    let pace = Pace::Rate { per_s: 5e7, poisson: false };
    let asked = Order { check: false, ..order(Drive { ramp_s: 0.0, ..drive(Choice::Home, pace) }) };
    let record = run(&NullStore { items: SCALE.items }, &asked);
    let [window, after, never] = accounted(&record);
    let due = 5e7 * 0.4;
    assert!((window + after + never) as f64 >= 0.95 * due, "{window} + {after} + {never} of {due}");
    let shares = record.parts.iter().map(|part| part.overdue.unwrap().missing as f64 / never as f64);
    for (seen, due) in shares.zip([0.45, 0.43, 0.04, 0.04, 0.04]) {
        assert!((seen - due).abs() < 0.01, "{seen} of {due}");
    }
    let response = record.parts[0].response.as_ref().unwrap();
    assert!(response.at_least.unwrap().from_ns >= 900_000_000, "for a second after the window they are still begun");
    assert!(response.max_ns >= response.at_least.unwrap().from_ns);
    let missing = record.verdict.reasons.iter().find(|reason| reason.code == ReasonCode::OperationsMissing).unwrap();
    assert_eq!(missing.numbers["missing_operations"], never as f64);
    assert_eq!(record.verdict.status, Status::Suspect);
}

#[test]
fn an_interrupt_gives_up_what_is_overdue() {
    let interrupted = AtomicBool::new(true);
    let pace = Pace::Rate { per_s: 5e7, poisson: true };
    let asked = Order { load: false, check: false, ..order(drive(Choice::Home, pace)) };
    let store = NullStore { items: SCALE.items };
    let mut around = Watch { emit: &mut |_| {}, interrupted: &interrupted };
    let record = perform(&store, &asked, about(), &mut around).unwrap();
    let [_, _, never] = accounted(&record);
    assert!(record.verdict.reasons.iter().any(|reason| reason.code == ReasonCode::Interrupted));
    assert!(never > 0, "what was due before the interrupt is not forgotten");
}

#[test]
fn think_times_leave_terminals_idle() {
    let pace = Pace::Think { factor: 0.001 };
    let record = run(&NullStore { items: SCALE.items }, &Order { check: false, ..order(drive(Choice::Home, pace)) });
    let done: u64 = record.parts.iter().map(|part| part.succeeded + part.empty).sum();
    assert!((5..=200).contains(&done), "two terminals with cycles of about 20 ms for 0.4 s: {done}");
}

#[test]
fn an_interrupt_ends_it_with_a_record_and_a_load_without_one() {
    let interrupted = AtomicBool::new(true);
    let asked = Order { load: false, check: false, ..order(drive(Choice::Home, Pace::Closed)) };
    let record = perform(
        &NullStore { items: SCALE.items },
        &asked,
        about(),
        &mut Watch { emit: &mut |_| {}, interrupted: &interrupted },
    )
    .unwrap();
    assert!(record.verdict.reasons.iter().any(|reason| reason.code == ReasonCode::Interrupted));
    let asked = Order { load: true, ..asked };
    let ended = perform(&memory(), &asked, about(), &mut Watch { emit: &mut |_| {}, interrupted: &interrupted });
    assert_eq!(ended.unwrap_err().exit_code(), 3);
    assert!(interrupted.load(Relaxed));
}

#[test]
fn a_store_that_was_not_loaded_ends_the_run_with_a_sentence() {
    let interrupted = AtomicBool::new(false);
    let asked = Order { load: false, ..order(drive(Choice::Home, Pace::Closed)) };
    let ended = perform(&memory(), &asked, about(), &mut Watch { emit: &mut |_| {}, interrupted: &interrupted });
    assert!(ended.unwrap_err().to_string().contains("is missing or damaged"));
}

#[test]
fn orders_that_cannot_be_are_refused() {
    let good = order(drive(Choice::Home, Pace::Closed));
    assert!(good.validate().is_ok());
    let mut terminals = good.clone();
    terminals.drive.as_mut().unwrap().terminals = 0;
    let mut rate = good.clone();
    rate.drive.as_mut().unwrap().pace = Pace::Rate { per_s: -1.0, poisson: false };
    let spoil = Order { spoil: Some(13), ..good.clone() };
    for bad in [terminals, rate, spoil] {
        assert_eq!(bad.validate().unwrap_err().exit_code(), 2);
    }
}
