//! The one place where each kind of index plugs in.

use assay_record::WorkRecord;

use crate::{
    bztree::BzTrees,
    dash::{Extendible, Linear, Tables},
    error::IndexError,
    fptree::FpTreeKind,
    in_pool::{Delayed, InPool, Plain, PoolIndex},
    job::IndexJob,
    kind::Kind,
    run::{Watch, run_on},
    ssd::{OnDrive, Table},
};

/// Runs a job on the index that it names: its record.
///
/// # Errors
/// Where the job cannot be, the target cannot be used, or the index fails.
#[allow(clippy::match_same_arms, reason = "each kind has its own line")]
pub fn run(job: &IndexJob, watch: &mut Watch<'_>) -> Result<WorkRecord, IndexError> {
    // An index in persistent memory: `in_pool(ItsPoolIndex, job, watch)`.
    // An index on a drive: `run_on(&ItsFactory::new(job)?, job, watch)`.
    match job.index {
        Kind::Fptree => in_pool(FpTreeKind, job, watch),
        Kind::Bztree => in_pool(BzTrees::default(), job, watch),
        Kind::DashEh => in_pool(Tables::<Extendible>::default(), job, watch),
        Kind::DashLh => in_pool(Tables::<Linear>::default(), job, watch),
        Kind::SsdBtree => run_on(&OnDrive::<assay_btree::Tree>::new(job)?, job, watch),
        Kind::SsdHash => run_on(&OnDrive::<Table>::new(job)?, job, watch),
        Kind::Lmdb | Kind::Rocksdb | Kind::Wiredtiger | Kind::Redb => Err(IndexError::NotPossible {
            reason: format!("{} is a rival, and this program has no rivals", job.index.name()),
            fix: format!("build the program that has it: `assay rivals build {}`", job.index.name()),
        }),
    }
}

/// Whether this program has it.
pub fn is_there(kind: Kind) -> bool {
    match kind {
        Kind::Fptree => true,
        Kind::Bztree => true,
        Kind::DashEh => true,
        Kind::DashLh => true,
        Kind::SsdBtree => true,
        Kind::SsdHash => true,
        Kind::Lmdb | Kind::Rocksdb | Kind::Wiredtiger | Kind::Redb => false,
    }
}

/// Runs a job on an index in a pool: on the mapping as it is, or as slow as a twin says.
fn in_pool(kind: impl PoolIndex, job: &IndexJob, watch: &mut Watch<'_>) -> Result<WorkRecord, IndexError> {
    match &job.as_if {
        None => run_on(&InPool::new(kind, Plain, job)?, job, watch),
        Some(as_if) => run_on(&InPool::new(kind, Delayed(as_if.clone()), job)?, job, watch),
    }
}
