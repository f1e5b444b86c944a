//! Runs a workload on the engine and says what was seen.

pub mod job;
mod kept;
mod ledger;
pub mod on_twins;
mod place;
mod rows;
mod seen;
mod shape;
mod tpcc;
mod twin;

use std::collections::BTreeMap;

use assay_buffer::Counters;
use assay_engine::{Database, files::Devices};
pub use assay_instruments::Watch;
use assay_record::{Figure, Method, Provenance, Subject, Unit, WorkRecord, WorkTarget};
use serde_json::json;

use self::{
    job::{EngineJob, Workload},
    place::Place,
};
use crate::error::Result;

/// Runs a job.
///
/// # Errors
/// Where the database cannot be made, loaded or opened, or stops.
pub fn run(job: &EngineJob, watch: &mut Watch<'_>) -> Result<WorkRecord> {
    if let Some(twins) = &job.twins {
        return twin::run(job, twins, watch);
    }
    let mut place = Place::prepare(job)?;
    let done = match job.workload {
        Workload::Tpcc { .. } => tpcc::run(job, &mut place, watch),
        Workload::Ycsb { .. } | Workload::Scan { .. } | Workload::Ledger { .. } => rows::run(job, &mut place, watch),
    };
    done.map_err(|error| if place::is_left(job) { error } else { error.with_nothing_left() })
}

type Figures = BTreeMap<String, Figure>;

/// The engine as it was set up; `logs` are what the database has.
fn subject(job: &EngineJob, logs: usize) -> Subject {
    let mut settings = BTreeMap::from([
        ("pool_bytes".to_owned(), json!(job.pool_bytes)),
        ("page_bytes".to_owned(), json!(job.page_bytes)),
        ("log_bytes".to_owned(), json!(job.log_bytes)),
        ("tasks".to_owned(), json!(job.tasks)),
        ("isolation".to_owned(), json!("snapshot")),
        ("path".to_owned(), json!(job.path)),
    ]);
    if job.durability.logs() {
        settings.insert("logs".to_owned(), json!(logs));
    }
    if let Some(rate) = job.write_rate_bytes_per_s {
        settings.insert("write_rate_bytes_per_s".to_owned(), json!(rate));
    }
    if let Some(unit) = job.collection_unit_bytes {
        settings.insert("write_placement".to_owned(), json!("flash"));
        settings.insert("collection_unit_bytes".to_owned(), json!(unit));
    }
    if let Some(tier) = &job.tier {
        settings.insert("tier_bytes".to_owned(), json!(tier.bytes));
        settings.insert("placement".to_owned(), json!(tier.placement.name()));
    }
    Subject { name: "assay".to_owned(), version: env!("CARGO_PKG_VERSION").to_owned(), settings }
}

/// Where a run's parts lie; whether memory stands in for persistent memory under the log's tail and in the tier.
fn targets(job: &EngineJob, [emulated_tail, emulated_tier]: [bool; 2]) -> Vec<WorkTarget> {
    let place = job.keep.as_ref().unwrap_or(&job.target);
    let target = |role: &str, path: &std::path::Path, emulated| WorkTarget {
        role: role.to_owned(),
        target: path.display().to_string(),
        emulated,
    };
    let bare = |role: &str, devices: &Devices| -> Vec<WorkTarget> {
        devices.members.iter().map(|member| target(role, std::path::Path::new(member), false)).collect()
    };
    let mut targets = match &job.devices {
        Some(devices) => bare("data", devices),
        None => std::iter::once(place).chain(&job.stripes).map(|folder| target("data", folder, false)).collect(),
    };
    match &job.log_devices {
        _ if !job.durability.logs() => {}
        Some(devices) => targets.extend(bare("log", devices)),
        None => targets.push(target("log", job.log_target.as_ref().unwrap_or(place), false)),
    }
    if let Some(tail) = &job.tail_target {
        targets.push(target("log-tail", tail, emulated_tail));
    }
    if let Some(tier) = &job.tier {
        targets.push(target("tier", &tier.target, emulated_tier));
    }
    targets
}

/// What the pool's memories did between two looks at its counters: warm-up included, since workers tell when they end.
fn tiers(pool: &assay_buffer::Pool, since: &Counters, now: &Counters, figures: &mut Figures) {
    let page = pool.page_bytes() as f64;
    let (up, down) = (now.brought_up - since.brought_up, now.let_down - since.let_down);
    let (hits, below, faults) = (now.hits - since.hits, now.hits_below - since.hits_below, now.faults - since.faults);
    // A page that came up is looked at once more there.
    let in_dram = hits.saturating_sub(up + faults);
    let looks = (in_dram + below + up + faults).max(1) as f64;
    let share = |count: u64| derived(count as f64 / looks, Unit::Ratio);
    for (name, figure) in [
        ("tier_dram_share", share(in_dram)),
        ("tier_in_place_share", share(below)),
        ("tier_brought_up_share", share(up)),
        ("tier_drive_share", share(faults)),
        ("tier_up_bytes", counted(up as f64 * page, Unit::Bytes)),
        ("tier_down_bytes", counted(down as f64 * page, Unit::Bytes)),
        ("tier_held_bytes", counted(f64::from(pool.pages_below()) * page, Unit::Bytes)),
    ] {
        figures.insert(name.to_owned(), figure);
    }
}

/// What opening a database came to that had not been closed in order.
fn recovery(database: &Database, figures: &mut Figures) {
    let recovered = database.recovered();
    if recovered.closed || recovered.log_bytes == 0 {
        return;
    }
    figures.insert("recovery_s".to_owned(), counted(recovered.took.as_secs_f64(), Unit::Seconds));
    figures.insert("recovered_commits".to_owned(), counted(recovered.commits as f64, Unit::Count));
    figures.insert("recovered_log_bytes".to_owned(), counted(recovered.log_bytes as f64, Unit::Bytes));
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
    log: assay_engine::log::Written,
    checkpoints: u64,
    background: u64,
}

impl Doings {
    fn of(database: &Database) -> Self {
        let background = database.written_in_background();
        Self { log: database.log_written(), checkpoints: database.checkpoints(), background }
    }

    /// What the background writer has written since an earlier moment, where there is one.
    fn background(&self, since: &Self, figures: &mut Figures) {
        if self.background > 0 {
            let bytes = (self.background - since.background) as f64;
            figures.insert("background_written_bytes".to_owned(), counted(bytes, Unit::Bytes));
        }
    }

    /// Figures of what was done since an earlier moment, per transaction.
    fn figures(&self, since: &Self, transactions: u64, figures: &mut Figures) {
        let per = |count: u64| count as f64 / transactions.max(1) as f64;
        let bytes = self.log.bytes - since.log.bytes;
        // A batch is flushed only where the way to make it durable is a flush.
        let (batches, flushes) = (self.log.batches - since.log.batches, self.log.flushes - since.log.flushes);
        figures.insert("log_bytes_per_transaction".to_owned(), derived(per(bytes), Unit::PerOp));
        figures.insert("log_batches_per_transaction".to_owned(), derived(per(batches), Unit::PerOp));
        figures.insert("log_flushes_per_transaction".to_owned(), derived(per(flushes), Unit::PerOp));
        let checkpoints = (self.checkpoints - since.checkpoints) as f64;
        figures.insert("checkpoints".to_owned(), counted(checkpoints, Unit::Count));
        self.background(since, figures);
    }
}
