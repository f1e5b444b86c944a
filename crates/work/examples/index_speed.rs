//! Prints what operations of the indexes cost here: `index_speed [FOLDER] [KEYS] [SECONDS] [INDEX...]`. The last columns are
//! what public implementations gave (`benches/indexes.csv` says where), and this machine's rate by CPU time in parts of that.

#![allow(clippy::print_stdout, reason = "printing is what it is for")]

use std::sync::atomic::AtomicBool;

use assay_index::{Kind, is_there};
use assay_instruments::Watch;
use assay_record::{Figure, WorkRecord};
use assay_work::index::{IndexJob, run};

const WORKLOADS: [(&str, &str); 8] = [
    ("lookup", r#"{"law": "uniform"}"#),
    ("missing", r#"{"law": "uniform"}"#),
    ("insert", r#"{"law": "uniform"}"#),
    ("update", r#"{"law": "uniform"}"#),
    ("mixed", r#"{"law": "self-similar", "skew": 0.2}"#),
    ("ycsb-a", r#"{"law": "zipf", "theta": 0.99}"#),
    ("scan", r#"{"law": "uniform"}"#),
    ("remove", r#"{"law": "uniform"}"#),
];

fn job(folder: &str, kind: Kind, (workload, law): (&str, &str), threads: u32, keys: u64, seconds: f64) -> String {
    format!(
        r#"{{"version": 1, "name": "speed", "index": "{}", "target": "{folder}", "workload": "{workload}",
            "distribution": {law}, "keys": {keys}, "threads": {threads}, "warmup_s": 0.2,
            "window": {{"seconds": {seconds}}}, "checked_entries": 10000, "counted_operations": 50000}}"#,
        kind.name()
    )
}

fn figure(record: &WorkRecord, name: &str) -> f64 {
    record.figures.get(name).map_or(f64::NAN, |figure: &Figure| figure.value)
}

/// Public implementations' operations a second, in millions.
fn reference(kind: Kind, workload: &str, threads: u32) -> Option<f64> {
    let table = include_str!("../../../benches/indexes.csv");
    let of_line = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        let wanted = cells.first() == Some(&kind.name()) && cells.get(1) == Some(&workload);
        if wanted { cells.get(1 + threads as usize)?.parse().ok() } else { None }
    };
    table.lines().find_map(of_line)
}

fn line(kind: Kind, threads: u32, record: &WorkRecord) {
    let get = |name| figure(record, name);
    let by_cpu = f64::from(threads) * 1e3 / get("cpu_ns_per_op");
    let (public, parts) = match reference(kind, &record.workload.name, threads) {
        Some(public) => (format!("{public:.3}"), format!("{:.2}", by_cpu / public)),
        None => (String::new(), String::new()),
    };
    println!(
        "{:8} {:8} {threads} {:8.3} {by_cpu:8.3} {:8.3} {:7.0} {:6.2} {:6.2} {:6.2} {:6.2} {:8.1}  {:8} {public:>7} \
         {parts:>5}",
        kind.name(),
        record.workload.name,
        get("ops_per_s") / 1e6,
        get("load_ops_per_s") / 1e6,
        get("cycles_per_op"),
        get("fences_per_op"),
        get("flushes_per_op"),
        get("blocks_read_per_op"),
        get("blocks_written_per_op"),
        get("recovery_s") * 1e3,
        format!("{:?}", record.verdict.status),
    );
}

fn main() -> Result<(), assay_index::IndexError> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word = |index: usize, otherwise: &str| arguments.get(index).cloned().unwrap_or_else(|| otherwise.to_owned());
    let number = |index: usize, otherwise: f64| word(index, "").parse().unwrap_or(otherwise);
    let (folder, keys, seconds) = (word(0, "/dev/shm"), number(1, 2e6) as u64, number(2, 1.0));
    let wanted =
        |kind: &Kind| is_there(*kind) && (arguments.len() < 4 || arguments[3..].contains(&kind.name().to_owned()));
    println!(
        "index    workload T     M/s   by CPU     load  cycles fences  flush   read  write recov ms  verdict   public parts"
    );
    for kind in Kind::ALL.into_iter().filter(wanted) {
        for workload in WORKLOADS.into_iter().filter(|(name, _)| *name != "scan" || kind.ordered()) {
            for threads in [1, 2] {
                let job = IndexJob::parse(&job(&folder, kind, workload, threads, keys, seconds))?;
                let interrupted = AtomicBool::new(false);
                let record = run(&job, &mut Watch { emit: &mut |_| {}, interrupted: &interrupted })?;
                line(kind, threads, &record);
                let failed: Vec<_> = record.checks.iter().filter(|check| !check.passed).collect();
                assert!(failed.is_empty(), "{failed:?}");
            }
        }
    }
    println!("load average of the machine: {:.1}", load_average());
    Ok(())
}

fn load_average() -> f64 {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split_ascii_whitespace().next().and_then(|word| word.parse().ok()).unwrap_or(f64::NAN)
}
