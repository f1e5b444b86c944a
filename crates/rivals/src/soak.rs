//! A rival that is killed while it works, or loses its power, and what is left of it: `assay-soak` does both.

use assay_index::{Kind, Setup};
use assay_soak::{Finding, SoakError, SoakJob};
use assay_work::index::Watch;

use crate::{
    durability::Durability,
    error::{Result, RivalError},
    run::absent,
};

/// What is done with a rival.
pub enum Task<'a, 'w> {
    /// It works until it dies or is interrupted; an interval says that every thread has done a turn.
    Work(&'a mut Watch<'w>),
    /// What is there is compared with what was acknowledged.
    Check,
}

/// Does a task with the rival of a job; what a check has found.
///
/// # Errors
/// Where the job cannot be, this program does not have the rival, or the rival fails.
pub fn soak(job: &SoakJob, task: Task<'_, '_>) -> std::result::Result<Option<Finding>, SoakError> {
    let Some(kind) = job.store.kind() else {
        let fix = "`assayer-db soak` has the engine";
        return Err(SoakError::Job { reason: "the engine is no rival".to_owned(), fix });
    };
    let mut asked = assay_soak::index_setup(job, kind);
    let durability = durability(job).map_err(|error| SoakError::Index(error.into()))?;
    asked.options.insert("durability".to_owned(), durability.name().into());
    on_kind(kind, &asked, job, task)
}

fn on_kind(
    kind: Kind,
    asked: &Setup,
    job: &SoakJob,
    task: Task<'_, '_>,
) -> std::result::Result<Option<Finding>, SoakError> {
    match kind {
        #[cfg(feature = "lmdb")]
        Kind::Lmdb => on::<crate::lmdb::LmdbStore>(asked, job, task),
        #[cfg(feature = "rocksdb")]
        Kind::Rocksdb => on::<crate::rocksdb::RocksdbStore>(asked, job, task),
        #[cfg(feature = "wiredtiger")]
        Kind::Wiredtiger => on::<crate::wiredtiger::WiredtigerStore>(asked, job, task),
        #[cfg(feature = "redb")]
        Kind::Redb => on::<crate::redb::RedbStore>(asked, job, task),
        kind => {
            let _ = (asked, job, task);
            Err(SoakError::Index(absent(kind).into()))
        }
    }
}

#[allow(dead_code, reason = "a program may have no rival")]
fn on<E: crate::Engine + assay_index::Index>(
    asked: &Setup,
    job: &SoakJob,
    task: Task<'_, '_>,
) -> std::result::Result<Option<Finding>, SoakError> {
    let rival = crate::Rival::<E>::new(asked)?;
    match task {
        Task::Work(watch) => assay_soak::work_on(job, &rival, watch).map(|()| None),
        Task::Check => assay_soak::check_on(job, &rival).map(Some),
    }
}

/// The rivals' word for what the engine's word promises.
fn durability(job: &SoakJob) -> Result<Durability> {
    match job.durability.name() {
        "none" => Ok(Durability::None),
        "plp" => Ok(Durability::Wal),
        "fdatasync" => Ok(Durability::Fsync),
        other => Err(RivalError::Asked {
            reason: format!("no rival has the durability `{other}`"),
            fix: "use none, plp (a log that is written and not synced) or fdatasync".to_owned(),
        }),
    }
}
