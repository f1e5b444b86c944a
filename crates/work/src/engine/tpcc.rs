//! TPC-C on the engine.

use assay_engine::{
    Database,
    kv::{TABLES, Tpcc},
};
use assay_record::{Figure, Method, Provenance, Unit, WorkKind, WorkRecord, WorkTarget};
use assay_tpcc::{
    KvStore, Scale,
    order::{Drive, Order, Site},
    run::{About, perform},
};

use super::{
    Doings, Watch, derived,
    job::{EngineJob, Workload},
    place::Place,
    recovery, subject, targets, tiers,
};
use crate::error::{Result, WorkError};

pub(super) fn run(job: &EngineJob, place: &mut Place, watch: &mut Watch<'_>) -> Result<WorkRecord> {
    let (database, there) = place.database(job, TABLES)?;
    let order = order(job, targets(job, place.emulated()), !there);
    let about = About {
        subject: subject(job, database.logs()),
        durability: job.durability.name().to_owned(),
        in_process: true,
    };
    let (before, counters) = (Doings::of(&database), database.counters());
    let mut record = drive(&database, &order, about, watch)?;
    let after = Doings::of(&database);
    record.kind = WorkKind::Engine;
    let committed =
        (record.figures.get("transactions_per_s").map_or(0.0, |figure| figure.value) * record.measured_s) as u64;
    // The log's own counts are of load, ramp-up and window; what the devices did is of the window alone.
    let figures = &mut record.figures;
    figures.insert("log_batches".to_owned(), count(after.log.batches - before.log.batches));
    figures.insert("checkpoints".to_owned(), count(after.checkpoints - before.checkpoints));
    after.background(&before, figures);
    recovery(&database, figures);
    if job.tier.is_some() {
        tiers(database.pool(), &counters, &database.counters(), figures);
    }
    if committed > 0 {
        per_transaction(&mut record, committed as f64);
    }
    if job.keep.is_some() {
        database.close()?;
    }
    Ok(record)
}

fn count(value: u64) -> Figure {
    Figure::new(value as f64, Unit::Count, Provenance::Measured, Method::Loop)
}

fn per_transaction(record: &mut WorkRecord, transactions: f64) {
    let read = record.devices.iter().map(|device| device.read_bytes.value).fold(0.0, |all, one| all + one);
    let written = record.devices.iter().map(|device| device.written_bytes.value).fold(0.0, |all, one| all + one);
    let cycles = record.cpu.as_ref().map(|cpu| cpu.cycles_per_op.value);
    let figures = &mut record.figures;
    figures.insert("device_read_bytes_per_transaction".to_owned(), derived(read / transactions, Unit::PerOp));
    figures.insert("device_written_bytes_per_transaction".to_owned(), derived(written / transactions, Unit::PerOp));
    if let Some(cycles) = cycles {
        figures.insert("cycles_per_transaction".to_owned(), derived(cycles, Unit::CyclesPerOp));
    }
}

fn drive(database: &Database, order: &Order, about: About, watch: &mut Watch<'_>) -> Result<WorkRecord> {
    let store = KvStore::new(Tpcc(database), order.scale.warehouses);
    perform(&store, order, about, watch).map_err(WorkError::from)
}

pub(super) fn order(job: &EngineJob, targets: Vec<WorkTarget>, load: bool) -> Order {
    let Workload::Tpcc { warehouses, small } = job.workload else { unreachable!("the caller looked") };
    let sites = targets.into_iter().map(|target| Site {
        role: target.role,
        path: target.target.clone().into(),
        target: target.target,
        emulated: target.emulated,
    });
    Order {
        name: job.name.clone(),
        scale: if small { Scale::small(warehouses) } else { Scale::of(warehouses) },
        seed: job.seed,
        load_seed: 0,
        load,
        drive: Some(Drive {
            terminals: job.threads * job.tasks,
            per_thread: job.tasks,
            ramp_s: job.warmup_s,
            measure_s: job.duration_s,
            interval_s: 1.0,
            pace: Default::default(),
            choice: Default::default(),
            mix: Default::default(),
            tries: 10_000,
        }),
        spoil: None,
        check: true,
        sites: sites.collect(),
        server_pid: None,
    }
}
