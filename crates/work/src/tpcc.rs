//! Runs TPC-C on a store.

use std::{collections::BTreeMap, path::Path};

use assay_engine::{
    files::{self, FilesOptions, Wanted},
    kv::{TABLES, Tpcc},
};
use assay_instruments::Watch;
use assay_record::{Figure, Method, Provenance, Subject, Unit, WorkRecord};
use assay_tpcc::sql::{PostgresOptions, PostgresStore, SqlServerOptions, SqlServerStore, SqliteOptions, SqliteStore};
use assay_tpcc::{
    KvStore, Store, TpccError,
    null::NullStore,
    order::Order,
    run::{About, perform},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Result, WorkError};

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

impl TpccJob {
    /// Reads and validates a document.
    ///
    /// # Errors
    /// With what is wrong in it.
    pub fn parse(text: &str) -> Result<Self> {
        let job: Self = serde_json::from_str(text).map_err(|error| {
            WorkError::job(format!("the job is none of TPC-C: {error}"), "compare it with `assayer schema tpcc`")
        })?;
        job.order.validate().map_err(WorkError::from)?;
        Ok(job)
    }
}

/// Runs a job on its store: its record.
///
/// # Errors
/// Where the store cannot be used, or fails.
pub fn run(job: &TpccJob, watch: &mut Watch<'_>) -> Result<WorkRecord> {
    let record = match &job.store {
        StoreSpec::Sqlite(options) => {
            let store = SqliteStore::new(options.clone());
            let settings = [
                ("synchronous", serde_json::to_value(options.synchronous)),
                ("cache_bytes", serde_json::to_value(options.cache_bytes)),
                ("checkpoint_bytes", serde_json::to_value(options.checkpoint_bytes)),
            ];
            let durability = store.durability().to_owned();
            let done = perform_on(&store, job, watch, ("sqlite", SqliteStore::version()), settings, (durability, true));
            return done.map_err(|error| in_file(error, &options.path));
        }
        StoreSpec::Postgres(options) => {
            let store = PostgresStore::new(options.clone())?;
            let settings = [("isolation", serde_json::to_value(options.isolation))];
            let (version, durability) = (store.version()?, store.durability()?);
            perform_on(&store, job, watch, ("postgres", &version), settings, (durability, false))
        }
        StoreSpec::Sqlserver(options) => {
            let store = SqlServerStore::new(options.clone());
            let settings = [
                ("isolation", serde_json::to_value(options.isolation)),
                ("adapter", serde_json::to_value("not verified against a server")),
            ];
            let (version, durability) = (store.version()?, store.durability()?);
            perform_on(&store, job, watch, ("sqlserver", &version), settings, (durability, false))
        }
        StoreSpec::Null => {
            let store = NullStore { items: job.order.scale.items };
            perform_on(&store, job, watch, ("null", ""), [], ("none".to_owned(), true))
        }
        StoreSpec::Assay(options) => return run_engine(options, job, watch),
    };
    Ok(record?)
}

/// SQLite's own words do not say which file they are about.
fn in_file(error: TpccError, file: &Path) -> WorkError {
    match error {
        TpccError::Store(source) => WorkError::Failed {
            reason: format!("SQLite failed on {}: {source}", file.display()),
            fix: "see that its folder is writable and has space, and look at dmesg",
        },
        other => other.into(),
    }
}

/// On the storage engine, which is closed in order afterwards.
fn run_engine(options: &FilesOptions, job: &TpccJob, watch: &mut Watch<'_>) -> Result<WorkRecord> {
    let warehouses = job.order.scale.warehouses;
    let terminals = job.order.drive.as_ref().map_or(1, |drive| drive.terminals);
    let data_bytes = files::tpcc_bytes(warehouses);
    let wanted = Wanted { tables: TABLES, data_bytes, sessions: terminals as usize, tier: None };
    let database = files::open(options, wanted)?.database;
    let before = (database.log_written(), database.checkpoints());
    let store = KvStore::new(Tpcc(&database), warehouses);
    let settings = [
        ("pool_bytes", serde_json::to_value(options.pool_bytes)),
        ("page_bytes", serde_json::to_value(options.page_bytes)),
        ("log_bytes", serde_json::to_value(options.log_bytes)),
        ("isolation", serde_json::to_value("snapshot")),
    ];
    let about = (options.durability.name().to_owned(), true);
    let mut record = perform_on(&store, job, watch, ("assay", env!("CARGO_PKG_VERSION")), settings, about)?;
    // As those of a server: from before the load, or the ramp-up, to after the checks.
    let counted = |value: u64, unit| Figure::new(value as f64, unit, Provenance::Measured, Method::Loop);
    let log = database.log_written();
    record.figures.insert("engine_wal_bytes".to_owned(), counted(log.bytes - before.0.bytes, Unit::Bytes));
    record.figures.insert("engine_log_batches".to_owned(), counted(log.batches - before.0.batches, Unit::Count));
    let checkpoints = database.checkpoints() - before.1;
    record.figures.insert("engine_checkpoints".to_owned(), counted(checkpoints, Unit::Count));
    drop(store);
    database.close()?;
    Ok(record)
}

fn perform_on<S: Store, const N: usize>(
    store: &S,
    job: &TpccJob,
    watch: &mut Watch<'_>,
    (name, version): (&str, &str),
    settings: [(&str, serde_json::Result<serde_json::Value>); N],
    (durability, in_process): (String, bool),
) -> std::result::Result<WorkRecord, TpccError> {
    let settings: BTreeMap<String, serde_json::Value> =
        settings.into_iter().map(|(name, value)| (name.to_owned(), value.unwrap_or_default())).collect();
    let subject = Subject { name: name.to_owned(), version: version.to_owned(), settings };
    perform(store, &job.order, About { subject, durability, in_process }, watch)
}
