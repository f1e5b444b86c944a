//! The one place where each kind of index plugs in.

use crate::{
    bztree::BzTrees,
    dash::{Extendible, Linear, Tables},
    error::IndexError,
    factory::Factory,
    fptree::FpTreeKind,
    in_pool::{Delayed, InPool, Plain, Wrap, unknown_option},
    kind::Kind,
    setup::Setup,
    ssd::{Disks, FileDisks, HashTable, Needs, OnDrive},
};

/// What is done with what makes and opens an index, whichever index that is.
pub trait OnFactory {
    /// What comes of it.
    type Out;

    /// Does it.
    fn on<F: Factory>(self, factory: &F) -> Self::Out;
}

/// Hands on what makes and opens an index where it is to lie: in memory as it is or as slow as a twin says, or in files.
///
/// # Errors
/// Where it cannot be, or the target cannot be used.
pub fn with_factory<V: OnFactory>(setup: &Setup, visit: V) -> Result<V::Out, IndexError> {
    match &setup.as_if {
        None => with_factory_on(setup, Plain, FileDisks::new, visit),
        Some(as_if) => with_factory_on(setup, Delayed(as_if.clone()), FileDisks::new, visit),
    }
}

/// The same on what else stands in the place of persistent memory, or of files.
///
/// # Errors
/// Where it cannot be, or the target cannot be used.
#[allow(clippy::match_same_arms, reason = "each kind has its own line")]
pub fn with_factory_on<W: Wrap, D: Disks, V: OnFactory>(
    setup: &Setup,
    wrap: W,
    disks: impl FnOnce(&Setup, &Needs) -> Result<D, IndexError>,
    visit: V,
) -> Result<V::Out, IndexError> {
    // An index in persistent memory: `InPool::new(ItsPoolIndex, wrap, setup)`, once its options are known to be good.
    // An index on a drive: `OnDrive::<Its, _>::new(setup, disks)`, or a factory of its own.
    Ok(match setup.index {
        Kind::Fptree => visit.on(&InPool::new(FpTreeKind::new(&setup.options)?, wrap, setup)?),
        Kind::Bztree => visit.on(&InPool::new(without_options(setup, BzTrees::default())?, wrap, setup)?),
        Kind::DashEh => visit.on(&InPool::new(without_options(setup, Tables::<Extendible>::default())?, wrap, setup)?),
        Kind::DashLh => visit.on(&InPool::new(without_options(setup, Tables::<Linear>::default())?, wrap, setup)?),
        Kind::SsdBtree => visit.on(&OnDrive::<assay_btree::Tree, _>::new(setup, disks)?),
        Kind::SsdHash => visit.on(&OnDrive::<HashTable, _>::new(setup, disks)?),
        Kind::Lmdb | Kind::Rocksdb | Kind::Wiredtiger | Kind::Redb => {
            return Err(IndexError::NotPossible {
                reason: format!("{} is a rival, and this program has no rivals", setup.index.name()),
                fix: format!("build the program that has it: `assay rivals build {}`", setup.index.name()),
            });
        }
    })
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
fn without_options<K>(setup: &Setup, kind: K) -> Result<K, IndexError> {
    match setup.options.iter().next() {
        Some((name, value)) => Err(unknown_option(name, value, &format!("{} has no options", setup.index.name()))),
        None => Ok(kind),
    }
}
