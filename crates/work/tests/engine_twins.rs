//! The engine in virtual time: the same play for the same seed, and what must hold between twins.

use std::{path::PathBuf, sync::atomic::AtomicBool};

use assay_engine::Durability;
use assay_record::{PathKind, Provenance, Status, WorkRecord};
use assay_twin::{Driven, Host, Parameter, PathKey, TWIN_VERSION, Target, Twin, document::StripeKind};
use assay_work::engine::{
    Watch,
    job::{EngineJob, JOB_VERSION, Workload},
    on_twins::OnTwins,
    run,
};

fn catalog<T: serde::de::DeserializeOwned>(kind: &str, name: &str) -> T {
    let path = format!("{}/../../catalog/{kind}/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    assay_twin::document::parse_file(path.as_ref()).unwrap()
}

fn driven(label: &str, target: Target) -> Driven {
    let host: Host = catalog("hosts", "epyc-7702p");
    Driven { version: TWIN_VERSION, label: format!("twin:{label}"), target, host, file_system: None }
}

fn drive(name: &str) -> Driven {
    driven(name, Target::device(catalog::<Twin>("twins", name)))
}

fn modules(name: &str, modules: u32) -> Driven {
    driven(name, Target::Device { twin: Box::new(catalog("twins", name)), modules })
}

fn stripe(name: &str, count: u32) -> Driven {
    let member = Box::new(Target::device(catalog::<Twin>("twins", name)));
    let layout = StripeKind::Interleave;
    driven(name, Target::Stripe { member, count, chunk_bytes: 4096, layout, missing: 0 })
}

/// 20,000 rows in 4 MiB, half of which fit into the pool.
fn job(data: Driven, durability: Durability) -> EngineJob {
    let workload = Workload::Ycsb { rows: 20_000, value_bytes: 120, read_share: 0.5, zipf: 0.0 };
    EngineJob {
        version: JOB_VERSION,
        name: "twin".to_owned(),
        target: PathBuf::from(&data.label),
        stripes: Vec::new(),
        devices: None,
        log_target: None,
        log_devices: None,
        path: PathKind::IoUring,
        write_rate_bytes_per_s: None,
        collection_unit_bytes: None,
        tail_target: None,
        durability,
        pool_bytes: 2 << 20,
        page_bytes: 4096,
        logs: None,
        log_bytes: 4 << 20,
        threads: 2,
        tasks: 8,
        warmup_s: 0.01,
        duration_s: 0.1,
        seed: 7,
        keep: None,
        tier: None,
        twins: Some(Box::new(OnTwins {
            data,
            log: None,
            tail: None,
            tier: None,
            turn_ns: Some(1500.0),
            costs: None,
            learn: false,
        })),
        workload,
    }
}

fn play(job: &EngineJob) -> WorkRecord {
    let interrupted = AtomicBool::new(false);
    let job = EngineJob::parse(&serde_json::to_string(job).unwrap()).unwrap();
    run(&job, &mut Watch { emit: &mut |_| {}, interrupted: &interrupted }).unwrap()
}

fn rate(record: &WorkRecord) -> f64 {
    assert_ne!(record.verdict.status, Status::Invalid, "{:?}", record.verdict);
    assert!(record.checks.iter().all(|check| check.passed), "{:?}", record.checks);
    let figure = &record.figures["transactions_per_s"];
    let band = figure.band.unwrap();
    assert!(figure.provenance == Provenance::Modelled && band.low < figure.value && figure.value < band.high);
    figure.value
}

fn bound_by(record: &WorkRecord) -> &str {
    record.subject.settings["bound_by"].as_str().unwrap()
}

#[test]
fn the_same_seed_gives_the_same_requests_at_the_same_times() {
    let job = job(drive("970evoplus"), Durability::Fdatasync);
    let (first, second) = (play(&job), play(&job));
    assert_eq!(first.subject.settings["io_trace"], second.subject.settings["io_trace"]);
    assert_eq!(rate(&first), rate(&second));
    let other = play(&EngineJob { seed: 8, ..job });
    assert_ne!(first.subject.settings["io_trace"], other.subject.settings["io_trace"]);
}

/// The same command gave 1.89 and 1.51 M/s, and the order of policies turned over: times were the clock's.
#[test]
fn what_turns_cost_is_learnt_once_and_then_the_same_job_gives_the_same_play() {
    let folder = tempfile::tempdir().unwrap();
    let costs = folder.path().join("costs");
    let workloads = [
        Workload::Ycsb { rows: 20_000, value_bytes: 120, read_share: 0.5, zipf: 0.0 },
        Workload::Tpcc { warehouses: 2, small: true },
    ];
    for workload in workloads {
        let mut job = job(drive("970evoplus"), Durability::Fdatasync);
        job.tasks = 1;
        job.workload = workload;
        job.twins = job.twins.map(|twins| Box::new(OnTwins { turn_ns: None, costs: Some(costs.clone()), ..*twins }));
        let (first, second) = (play(&job), play(&job));
        let told = |record: &WorkRecord| record.subject.settings["cpu_time"].clone();
        assert!(told(&first).as_str().unwrap().contains("learnt on this machine"), "{}", told(&first));
        assert_eq!(told(&first), told(&second));
        assert_eq!(first.subject.settings["io_trace"], second.subject.settings["io_trace"]);
        assert_eq!(first.figures, second.figures);
        assert_eq!(first.verdict, second.verdict);
    }
    let kept = std::fs::read_dir(&costs).unwrap().count();
    assert_eq!(kept, 2, "one file for each workload");
}

#[test]
fn a_log_in_persistent_memory_is_faster_than_a_flush_and_none_than_either() {
    let twins = |durability| {
        let mut job = job(drive("970evoplus"), durability);
        let tail = Some(modules("pmem100-128g", 6));
        job.twins = job.twins.map(|twins| Box::new(OnTwins { tail, ..*twins }));
        let record = play(&job);
        (rate(&record), bound_by(&record).to_owned())
    };
    let (flushed, by) = twins(Durability::Fdatasync);
    let (pmem, _) = twins(Durability::Pmem);
    let (none, _) = twins(Durability::None);
    println!("none {none:.0}, pmem {pmem:.0}, fdatasync {flushed:.0} bound by {by}");
    assert!(none >= pmem && pmem > flushed, "none {none}, pmem {pmem}, fdatasync {flushed}");
    assert_eq!(by, "log");
}

#[test]
fn a_faster_drive_and_a_wider_stripe_help_where_the_device_is_the_limit() {
    let reads = |data: Driven| {
        let mut job = job(data, Durability::None);
        job.workload = Workload::Ycsb { rows: 20_000, value_bytes: 120, read_share: 1.0, zipf: 0.0 };
        (job.threads, job.tasks, job.pool_bytes, job.duration_s) = (12, 8, 2 << 20, 0.02);
        let record = play(&job);
        (rate(&record), bound_by(&record).to_owned())
    };
    let (one, by) = reads(drive("970evoplus"));
    let (four, _) = reads(stripe("970evoplus", 4));
    let (faster, _) = reads(drive("p5800x"));
    println!("970evoplus {one:.0} bound by {by}, four {four:.0}, p5800x {faster:.0}");
    assert_eq!(by, "device");
    assert!(four > one * 1.1 && faster > one, "one {one}, four {four}, faster {faster}");
}

#[test]
fn what_is_in_flight_on_a_twin_is_what_its_tasks_wait_for() {
    let mut job = job(drive("970evoplus"), Durability::None);
    job.workload = Workload::Ycsb { rows: 20_000, value_bytes: 120, read_share: 1.0, zipf: 0.0 };
    for tasks in [1, 16] {
        (job.threads, job.tasks) = (2, tasks);
        let record = play(&job);
        let depth = record.devices[0].mean_in_flight.value;
        println!("{tasks} tasks: {depth:.2} in flight");
        let most = f64::from(2 * tasks);
        assert!(0.25 * most < depth && depth <= most, "{depth} in flight of {most}");
    }
}

#[test]
fn a_wider_stripe_does_not_help_where_everything_is_in_memory() {
    let hot = |data: Driven| {
        let mut job = job(data, Durability::None);
        job.workload = Workload::Ycsb { rows: 20_000, value_bytes: 120, read_share: 1.0, zipf: 0.0 };
        job.pool_bytes = 16 << 20;
        let record = play(&job);
        assert_eq!(bound_by(&record), "cpu");
        rate(&record)
    };
    let (one, four) = (hot(drive("970evoplus")), hot(stripe("970evoplus", 4)));
    // Two threads whose operations take two turns of 1,500 ns.
    println!("one {one:.0}, four {four:.0}");
    assert!((one / four - 1.0).abs() < 1e-9 && (one / (2.0 / 3e-6) - 1.0).abs() < 0.02, "one {one}, four {four}");
}

#[test]
fn tpcc_keeps_its_conditions_in_virtual_time() {
    let mut job = job(drive("p4610"), Durability::Fdatasync);
    job.workload = Workload::Tpcc { warehouses: 2, small: true };
    (job.threads, job.tasks, job.duration_s) = (4, 1, 0.3);
    job.twins = job.twins.map(|twins| Box::new(OnTwins { turn_ns: None, ..*twins }));
    let record = play(&job);
    assert!(rate(&record) > 0.0 && record.checks.len() >= 13, "{:?}", record.checks);
    // Both are of the play's seconds, not of those that it took.
    let [second, minute] = ["new_orders_per_s", "new_orders_per_min"].map(|name| record.figures[name].value);
    assert!((minute / second - 60.0).abs() < 1e-6, "{minute} a minute, {second} a second");
}

#[test]
fn data_that_memory_cannot_hold_is_refused_in_a_sentence() {
    let mut job = job(drive("p4610"), Durability::None);
    job.workload = Workload::Tpcc { warehouses: 1_000_000, small: false };
    let told = EngineJob::parse(&serde_json::to_string(&job).unwrap()).unwrap_err().to_string();
    assert!(told.contains("this machine's memory"), "{told}");
}

#[test]
fn sleeps_and_bells_cost_one_request_in_flight_what_they_are_and_many_next_to_nothing() {
    let cycles = |tasks, waking: Option<f64>| {
        let mut data = drive("970evoplus");
        let cost = data.host.costs.get_mut(&PathKey::IoUring).unwrap();
        let parameter = |value| Parameter::assumed(value, "a test", "2026-11");
        cost.cycles_per_sleep = waking.map(parameter);
        cost.cycles_per_bell = waking.map(parameter);
        let mut job = job(data, Durability::None);
        job.workload = Workload::Ycsb { rows: 20_000, value_bytes: 120, read_share: 1.0, zipf: 0.0 };
        (job.threads, job.tasks) = (1, tasks);
        let record = play(&job);
        assert_eq!(record.verdict.status, Status::Valid, "{:?}", record.verdict);
        let figure = |name: &str| record.figures[name].value;
        let reads = figure("device_read_bytes_per_transaction") / 4096.0;
        (figure("cycles_per_transaction"), reads)
    };
    let ((plain, reads), (woken, _)) = (cycles(1, None), cycles(1, Some(30_000.0)));
    let alone = (woken - plain) / reads;
    println!("alone {alone:.0} cycles a read");
    assert!((alone / 60_000.0 - 1.0).abs() < 0.05, "{plain} and {woken} cycles, {reads} reads each");
    let ((plain, reads), (woken, _)) = (cycles(32, None), cycles(32, Some(30_000.0)));
    let shared = (woken - plain) / reads;
    println!("shared {shared:.0} cycles a read");
    assert!(shared < 0.4 * alone, "{plain} and {woken} cycles, {reads} reads each");
}
