//! Runs TPC-C on a store.

use std::{collections::BTreeMap, path::Path, process::ExitCode};

use assay_engine::{
    files::{self, FilesOptions, Wanted},
    kv::{TABLES, Tpcc},
};
use assay_record::{Event, Figure, Method, Provenance, Subject, Unit, WorkRecord};
use assay_tpcc::{
    KvStore, Store, TpccError,
    null::NullStore,
    order::Order,
    run::{About, Around, perform},
};
use assay_tpcc_sql::{PostgresOptions, PostgresStore, SqlServerOptions, SqlServerStore, SqliteOptions, SqliteStore};
use assayer::{Failure, document, output, protocol};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::failure::{of_engine, of_tpcc};

/// Largest job that is read, bytes.
const JOB_BYTES_AT_MOST: u64 = 1 << 20;

/// What a run of TPC-C is told.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TpccJob {
    /// The database.
    pub store: StoreSpec,
    /// What to do with it.
    pub order: Order,
}

/// The database.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum StoreSpec {
    /// A file of SQLite's.
    Sqlite(SqliteOptions),
    /// A PostgreSQL server.
    Postgres(PostgresOptions),
    /// A database of a server of SQL Server's; not verified against one.
    Sqlserver(SqlServerOptions),
    /// Assay's own storage engine.
    Assay(FilesOptions),
    /// None: the driver's own ceiling.
    Null,
}

/// Runs a job and prints its events. Exit code 1 where a check failed.
pub fn tpcc(path: &Path) -> Result<ExitCode, Failure> {
    protocol::answer(|| {
        let job = read(path)?;
        let seconds = job.order.drive.as_ref().map_or(0.0, |drive| drive.ramp_s + drive.measure_s);
        let (record, interrupted) = protocol::perform(&job.order.name, seconds, |emit, interrupted| {
            run(&job, &mut Around { emit, interrupted })
        })?;
        let failed = record.checks.iter().any(|check| !check.passed);
        output::line(&Event::Worked { record: Box::new(record) })?;
        let unfinished = if interrupted { protocol::INTERRUPTED } else { 0 };
        Ok(ExitCode::from(if failed { 1 } else { unfinished }))
    })
}

fn read(path: &Path) -> Result<TpccJob, Failure> {
    let text = document::read(path, "job", JOB_BYTES_AT_MOST)?;
    let job: TpccJob = serde_json::from_str(&text).map_err(|error| Failure {
        reason: format!("the job is none of TPC-C: {error}"),
        fix: "compare it with `assayer schema tpcc`".to_owned(),
        exit_code: 2,
    })?;
    job.order.validate().map_err(of_tpcc)?;
    Ok(job)
}

fn run(job: &TpccJob, around: &mut Around<'_>) -> Result<WorkRecord, Failure> {
    let record = match &job.store {
        StoreSpec::Sqlite(options) => {
            let store = SqliteStore::new(options.clone());
            let settings = [
                ("synchronous", serde_json::to_value(options.synchronous)),
                ("cache_bytes", serde_json::to_value(options.cache_bytes)),
                ("checkpoint_bytes", serde_json::to_value(options.checkpoint_bytes)),
            ];
            let durability = store.durability().to_owned();
            let done =
                perform_on(&store, job, around, ("sqlite", SqliteStore::version()), settings, (durability, true));
            return done.map_err(|error| in_file(error, &options.path));
        }
        StoreSpec::Postgres(options) => {
            let store = PostgresStore::new(options.clone()).map_err(of_tpcc)?;
            let settings = [("isolation", serde_json::to_value(options.isolation))];
            let (version, durability) = (store.version().map_err(of_tpcc)?, store.durability().map_err(of_tpcc)?);
            perform_on(&store, job, around, ("postgres", &version), settings, (durability, false))
        }
        StoreSpec::Sqlserver(options) => {
            let store = SqlServerStore::new(options.clone());
            let settings = [
                ("isolation", serde_json::to_value(options.isolation)),
                ("adapter", serde_json::to_value("not verified against a server")),
            ];
            let (version, durability) = (store.version().map_err(of_tpcc)?, store.durability().map_err(of_tpcc)?);
            perform_on(&store, job, around, ("sqlserver", &version), settings, (durability, false))
        }
        StoreSpec::Null => {
            let store = NullStore { items: job.order.scale.items };
            perform_on(&store, job, around, ("null", ""), [], ("none".to_owned(), true))
        }
        StoreSpec::Assay(options) => return run_engine(options, job, around),
    };
    record.map_err(of_tpcc)
}

/// SQLite's own words do not say which file they are about.
fn in_file(error: TpccError, file: &Path) -> Failure {
    let store = matches!(error, TpccError::Store(_));
    let mut failure = of_tpcc(error);
    if store {
        failure.reason = format!("SQLite failed on {}: {}", file.display(), failure.reason);
        "see that its folder is writable and has space, and look at dmesg".clone_into(&mut failure.fix);
    }
    failure
}

/// On the storage engine, which is closed in order afterwards.
fn run_engine(options: &FilesOptions, job: &TpccJob, around: &mut Around<'_>) -> Result<WorkRecord, Failure> {
    let warehouses = job.order.scale.warehouses;
    let terminals = job.order.drive.as_ref().map_or(1, |drive| drive.terminals);
    let data_bytes = files::tpcc_bytes(warehouses);
    let wanted = Wanted { tables: TABLES, data_bytes, sessions: terminals as usize, tier: None };
    let database = files::open(options, wanted).map_err(of_engine)?.database;
    let before = (database.log_written(), database.checkpoints());
    let store = KvStore::new(Tpcc(&database), warehouses);
    let settings = [
        ("pool_bytes", serde_json::to_value(options.pool_bytes)),
        ("page_bytes", serde_json::to_value(options.page_bytes)),
        ("log_bytes", serde_json::to_value(options.log_bytes)),
        ("isolation", serde_json::to_value("snapshot")),
    ];
    let about = (options.durability.name().to_owned(), true);
    let mut record =
        perform_on(&store, job, around, ("assay", env!("CARGO_PKG_VERSION")), settings, about).map_err(of_tpcc)?;
    // As those of a server: from before the load, or the ramp-up, to after the checks.
    let counted = |value: u64, unit| Figure::new(value as f64, unit, Provenance::Measured, Method::Loop);
    let log = database.log_written();
    record.figures.insert("engine_wal_bytes".to_owned(), counted(log.bytes - before.0.bytes, Unit::Bytes));
    record.figures.insert("engine_log_batches".to_owned(), counted(log.batches - before.0.batches, Unit::Count));
    let checkpoints = database.checkpoints() - before.1;
    record.figures.insert("engine_checkpoints".to_owned(), counted(checkpoints, Unit::Count));
    drop(store);
    database.close().map_err(of_engine)?;
    Ok(record)
}

fn perform_on<S: Store, const N: usize>(
    store: &S,
    job: &TpccJob,
    around: &mut Around<'_>,
    (name, version): (&str, &str),
    settings: [(&str, serde_json::Result<serde_json::Value>); N],
    (durability, in_process): (String, bool),
) -> Result<WorkRecord, TpccError> {
    let settings: BTreeMap<String, serde_json::Value> =
        settings.into_iter().map(|(name, value)| (name.to_owned(), value.unwrap_or_default())).collect();
    let subject = Subject { name: name.to_owned(), version: version.to_owned(), settings };
    perform(store, &job.order, About { subject, durability, in_process }, around)
}
