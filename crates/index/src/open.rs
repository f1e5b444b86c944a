//! The one place where each kind of index plugs in.

use assay_record::WorkRecord;

use crate::{
    bztree::BzTrees,
    dash::{Extendible, Linear, Tables},
    error::IndexError,
    fptree::FpTreeKind,
    in_pool::{Delayed, InPool, OnTape, Plain, PoolIndex, unknown_option},
    job::IndexJob,
    kind::Kind,
    run::{Around, Factory, Watch, play_on, run_on},
    ssd::{HashTable, OnDrive, OnTwinDrive},
};

/// What is done with what makes and opens an index, whichever index that is.
pub trait OnFactory {
    /// What comes of it.
    type Out;

    /// Does it.
    fn on<F: Factory>(self, factory: &F) -> Self::Out;
}

/// Hands on what makes and opens the index that a job names.
///
/// # Errors
/// Where the job cannot be, or the target cannot be used.
#[allow(clippy::match_same_arms, reason = "each kind has its own line")]
pub fn with_factory<V: OnFactory>(job: &IndexJob, visit: V) -> Result<V::Out, IndexError> {
    // An index in persistent memory: `in_pool(ItsPoolIndex, job, visit)`, once its options are known to be good.
    // An index on a drive: `visit.on(&ItsFactory::new(job)?)`.
    match job.index {
        Kind::Fptree => in_pool(FpTreeKind::new(&job.options)?, job, visit),
        Kind::Bztree => in_pool(without_options(job, BzTrees::default())?, job, visit),
        Kind::DashEh => in_pool(without_options(job, Tables::<Extendible>::default())?, job, visit),
        Kind::DashLh => in_pool(without_options(job, Tables::<Linear>::default())?, job, visit),
        Kind::SsdBtree => Ok(visit.on(&OnDrive::<assay_btree::Tree>::new(job)?)),
        Kind::SsdHash => Ok(visit.on(&OnDrive::<HashTable>::new(job)?)),
        Kind::Lmdb | Kind::Rocksdb | Kind::Wiredtiger | Kind::Redb => Err(IndexError::NotPossible {
            reason: format!("{} is a rival, and this program has no rivals", job.index.name()),
            fix: format!("build the program that has it: `assay rivals build {}`", job.index.name()),
        }),
    }
}

/// Runs a job on the index that it names: its record.
///
/// # Errors
/// Where the job cannot be, the target cannot be used, or the index fails.
pub fn run(job: &IndexJob, watch: &mut Watch<'_>) -> Result<WorkRecord, IndexError> {
    if let Some(twin) = &job.twin {
        return play_on(job, twin, watch);
    }
    struct Run<'a, 'w>(&'a IndexJob, &'a mut Watch<'w>);
    impl OnFactory for Run<'_, '_> {
        type Out = Result<WorkRecord, IndexError>;

        fn on<F: Factory>(self, factory: &F) -> Self::Out {
            run_on(factory, self.0, self.1)
        }
    }
    with_factory(job, Run(job, watch))?
}

/// Hands on what makes and opens the index that a job names, among what is around a play.
pub(crate) fn with_player<V: OnFactory>(job: &IndexJob, around: &Around, visit: V) -> Result<V::Out, IndexError> {
    match job.index {
        Kind::Fptree => on_tape(FpTreeKind::new(&job.options)?, job, around, visit),
        Kind::Bztree => on_tape(without_options(job, BzTrees::default())?, job, around, visit),
        Kind::DashEh => on_tape(without_options(job, Tables::<Extendible>::default())?, job, around, visit),
        Kind::DashLh => on_tape(without_options(job, Tables::<Linear>::default())?, job, around, visit),
        Kind::SsdBtree => Ok(visit.on(&OnTwinDrive::<assay_btree::Tree>::new(job, around)?)),
        Kind::SsdHash => Ok(visit.on(&OnTwinDrive::<HashTable>::new(job, around)?)),
        Kind::Lmdb | Kind::Rocksdb | Kind::Wiredtiger | Kind::Redb => {
            Err(IndexError::job(format!("{} is a rival: its code cannot be played", job.index.name()), "name another"))
        }
    }
}

fn on_tape<V: OnFactory>(
    kind: impl PoolIndex,
    job: &IndexJob,
    around: &Around,
    visit: V,
) -> Result<V::Out, IndexError> {
    Ok(visit.on(&InPool::new(kind, OnTape(around.tape.clone()), job)?))
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

/// A kind that has no options.
fn without_options<K>(job: &IndexJob, kind: K) -> Result<K, IndexError> {
    match job.options.iter().next() {
        Some((name, value)) => Err(unknown_option(name, value, &format!("{} has no options", job.index.name()))),
        None => Ok(kind),
    }
}

/// An index in a pool: on the mapping as it is, or as slow as a twin says.
fn in_pool<V: OnFactory>(kind: impl PoolIndex, job: &IndexJob, visit: V) -> Result<V::Out, IndexError> {
    Ok(match &job.as_if {
        None => visit.on(&InPool::new(kind, Plain, job)?),
        Some(as_if) => visit.on(&InPool::new(kind, Delayed(as_if.clone()), job)?),
    })
}
