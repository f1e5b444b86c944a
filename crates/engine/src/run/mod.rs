//! Runs a workload on the engine and says what was seen.

pub mod job;
mod ledger;
mod place;
mod rows;
mod tpcc;

use std::collections::BTreeMap;

pub use assay_load::Watch;
use assay_record::{Figure, Method, Provenance, Subject, Unit, WorkRecord, WorkTarget};
use serde_json::json;

use self::{
    job::{EngineJob, Workload},
    place::Place,
};
use crate::{database::Database, error::Result};

/// Runs a job.
///
/// # Errors
/// Where the database cannot be made, loaded or opened, or stops.
pub fn run(job: &EngineJob, watch: &mut Watch<'_>) -> Result<WorkRecord> {
    let mut place = Place::prepare(job)?;
    match job.workload {
        Workload::Tpcc { .. } => tpcc::run(job, &mut place, watch),
        Workload::Ycsb { .. } | Workload::Scan { .. } | Workload::Ledger { .. } => rows::run(job, &mut place, watch),
    }
}

type Figures = BTreeMap<String, Figure>;

fn subject(job: &EngineJob) -> Subject {
    let settings = BTreeMap::from([
        ("pool_bytes".to_owned(), json!(job.pool_bytes)),
        ("page_bytes".to_owned(), json!(job.page_bytes)),
        ("log_bytes".to_owned(), json!(job.log_bytes)),
        ("tasks".to_owned(), json!(job.tasks)),
        ("isolation".to_owned(), json!("snapshot")),
    ]);
    Subject { name: "assay".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), settings }
}

fn targets(job: &EngineJob, emulated_tail: bool) -> Vec<WorkTarget> {
    let place = job.keep.as_ref().unwrap_or(&job.target);
    let target = |role: &str, path: &std::path::Path, emulated| WorkTarget {
        role: role.to_owned(),
        target: path.display().to_string(),
        emulated,
    };
    let mut targets = vec![target("data", place, false)];
    if job.durability.logs() {
        let log = job.keep.as_ref().or(job.log_target.as_ref()).unwrap_or(&job.target);
        targets.push(target("log", log, false));
    }
    if let Some(tail) = &job.tail_target {
        targets.push(target("log-tail", job.keep.as_ref().unwrap_or(tail), emulated_tail));
    }
    targets
}

fn counted(value: f64, unit: Unit) -> Figure {
    Figure::new(value, unit, Provenance::Measured, Method::Loop)
}

fn derived(value: f64, unit: Unit) -> Figure {
    Figure::new(value, unit, Provenance::Measured, Method::Derived)
}

/// What the database has done at a moment.
#[derive(Clone, Copy, Debug, Default)]
struct Doings {
    log: crate::log::Written,
    checkpoints: u64,
}

impl Doings {
    fn of(database: &Database) -> Self {
        Self { log: database.log_written(), checkpoints: database.checkpoints() }
    }

    /// Figures of what was done since an earlier moment, per transaction.
    fn figures(&self, since: &Self, transactions: u64, figures: &mut Figures) {
        let per = |count: u64| count as f64 / transactions.max(1) as f64;
        let (bytes, batches) = (self.log.bytes - since.log.bytes, self.log.batches - since.log.batches);
        figures.insert("log_bytes_per_transaction".to_owned(), derived(per(bytes), Unit::PerOp));
        figures.insert("log_flushes_per_transaction".to_owned(), derived(per(batches), Unit::PerOp));
        let checkpoints = (self.checkpoints - since.checkpoints) as f64;
        figures.insert("checkpoints".to_owned(), counted(checkpoints, Unit::Count));
    }
}
