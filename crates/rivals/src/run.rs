//! The one place where each rival plugs in.

use std::path::PathBuf;

use assay_index::{Index, IndexError, Kind};
use assay_record::{Subject, WorkRecord};
use assay_tpcc::{
    Kv, KvStore, TpccError,
    key::Table,
    order::Order,
    run::{About, perform},
};
use assay_work::index::{IndexJob, Watch, run_on};
use serde::{Deserialize, Serialize};

use crate::{
    durability::Durability,
    engine::{CACHE_BYTES, Engine, Settings},
    error::RivalError,
    factory::{bounded, told},
    place::drop_cached,
};

/// A run of TPC-C on a rival.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TpccJob {
    /// The rival.
    pub store: RivalStore,
    /// What to do with it.
    pub order: Order,
}

/// A rival and how it is opened.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RivalStore {
    /// Which.
    pub engine: Kind,
    /// The folder that it lies in; it must be there.
    pub folder: PathBuf,
    /// Bytes that it and the kernel may cache of it; [`CACHE_BYTES`], and the kernel's not bounded, where none is given.
    #[serde(default)]
    pub cache_bytes: Option<u64>,
    /// What a commit waits for.
    #[serde(default)]
    pub durability: Durability,
}

pub(crate) fn absent(kind: Kind) -> RivalError {
    if kind.is_rival() {
        let fix = format!("build it: `assay rivals build {}`", kind.name());
        return RivalError::NotPossible { reason: format!("this program was built without {}", kind.name()), fix };
    }
    let fix = "`assay rivals list` names the rivals".to_owned();
    RivalError::Asked { reason: format!("{} is no rival", kind.name()), fix }
}

/// Runs a workload on the rival that the job names: its record.
///
/// # Errors
/// Where the job cannot be, this program does not have the rival, or the rival fails.
pub fn index(job: &IndexJob, watch: &mut Watch<'_>) -> Result<WorkRecord, IndexError> {
    match job.index {
        #[cfg(feature = "lmdb")]
        Kind::Lmdb => index_on::<crate::lmdb::LmdbStore>(job, watch),
        #[cfg(feature = "rocksdb")]
        Kind::Rocksdb => index_on::<crate::rocksdb::RocksdbStore>(job, watch),
        #[cfg(feature = "wiredtiger")]
        Kind::Wiredtiger => index_on::<crate::wiredtiger::WiredtigerStore>(job, watch),
        #[cfg(feature = "redb")]
        Kind::Redb => index_on::<crate::redb::RedbStore>(job, watch),
        kind => {
            let _ = watch;
            Err(absent(kind).into())
        }
    }
}

#[allow(dead_code, reason = "a program may have no rival")]
fn index_on<E: Engine + Index>(job: &IndexJob, watch: &mut Watch<'_>) -> Result<WorkRecord, IndexError> {
    run_on(&crate::Rival::<E>::new(&job.setup())?, job, watch)
}

/// Runs TPC-C on the rival that the job names: its record.
///
/// # Errors
/// As [`index`].
pub fn tpcc(job: &TpccJob, watch: &mut Watch<'_>) -> Result<WorkRecord, TpccFailure> {
    match job.store.engine {
        #[cfg(feature = "lmdb")]
        Kind::Lmdb => tpcc_on::<crate::lmdb::LmdbStore>(job, watch),
        #[cfg(feature = "rocksdb")]
        Kind::Rocksdb => tpcc_on::<crate::rocksdb::RocksdbStore>(job, watch),
        #[cfg(feature = "wiredtiger")]
        Kind::Wiredtiger => tpcc_on::<crate::wiredtiger::WiredtigerStore>(job, watch),
        #[cfg(feature = "redb")]
        Kind::Redb => tpcc_on::<crate::redb::RedbStore>(job, watch),
        kind => {
            let _ = watch;
            Err(TpccFailure::Rival(absent(kind)))
        }
    }
}

/// What stops a run of TPC-C on a rival.
#[derive(Debug, thiserror::Error)]
pub enum TpccFailure {
    /// The rival, before anything ran.
    #[error(transparent)]
    Rival(#[from] RivalError),
    /// The run.
    #[error(transparent)]
    Tpcc(#[from] TpccError),
}

#[allow(dead_code, reason = "a program may have no rival")]
fn tpcc_on<E: Engine + Kv>(job: &TpccJob, watch: &mut Watch<'_>) -> Result<WorkRecord, TpccFailure> {
    let asked = &job.store;
    let terminals = job.order.drive.as_ref().map_or(2, |drive| drive.terminals);
    let settings = Settings {
        cache_bytes: asked.cache_bytes.unwrap_or(CACHE_BYTES),
        durability: asked.durability,
        threads: terminals,
        ..Settings::default()
    };
    let (room, page_cache) = bounded::<E>(&settings, asked.cache_bytes)?;
    if room.is_some() {
        drop_cached(&asked.folder)?;
    }
    let engine = E::start(&asked.folder, &settings, Table::ALL.len())?;
    let subject =
        Subject { name: E::NAME.to_owned(), version: E::version(), settings: told::<E>(&settings, &page_cache) };
    let about = About { subject, durability: settings.durability.describe().to_owned(), in_process: true };
    let store = KvStore::new(engine, job.order.scale.warehouses);
    Ok(perform(&store, &job.order, about, watch)?)
}
