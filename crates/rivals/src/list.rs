//! Which rivals this program has.

use serde::Serialize;

/// One rival that is there.
#[derive(Clone, Debug, Serialize)]
pub struct Listed {
    /// Its name in jobs.
    pub name: &'static str,
    /// Its version, as it says itself.
    pub version: String,
    /// What it can promise.
    pub durabilities: Vec<&'static str>,
}

/// All that this program has.
pub fn list() -> Vec<Listed> {
    vec![
        #[cfg(feature = "lmdb")]
        one::<crate::lmdb::LmdbStore>(),
        #[cfg(feature = "rocksdb")]
        one::<crate::rocksdb::RocksdbStore>(),
        #[cfg(feature = "wiredtiger")]
        one::<crate::wiredtiger::WiredtigerStore>(),
        #[cfg(feature = "redb")]
        one::<crate::redb::RedbStore>(),
    ]
}

#[allow(dead_code, reason = "a program may have none")]
fn one<E: crate::Engine>() -> Listed {
    let durabilities = E::durabilities().iter().map(|one| one.name()).collect();
    Listed { name: E::NAME, version: E::version(), durabilities }
}
