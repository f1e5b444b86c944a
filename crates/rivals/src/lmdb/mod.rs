//! LMDB (Symas; OpenLDAP Public License): a copy-on-write B+-tree in a mapped file, one writer at a time.
//!
//! It keeps no cache: the kernel's page cache is its pool. Without a log, durability is none (`MDB_NOSYNC`: pages are
//! written, and synced at the end alone) or a sync of data and root in every commit.

mod index;
mod kv;

use std::{
    ffi::{CStr, CString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr,
};

use lmdb_master_sys as sys;
use serde_json::Value;

use crate::{
    durability::Durability,
    engine::{Engine, Reach, Settings},
    error::{Result, RivalError},
};

pub use index::LmdbSession;
pub use kv::LmdbKvSession;

/// Bytes of addresses that are set aside: the most that the file can grow to. Nothing is allocated for it.
const MAP_BYTES: usize = 1 << 40;
/// Threads that read at the same time, at most.
const READERS_AT_MOST: u32 = 4096;

/// An environment and its tables.
pub struct LmdbStore {
    env: *mut sys::MDB_env,
    tables: Vec<sys::MDB_dbi>,
    folder: PathBuf,
}

// SAFETY: LMDB's environment may be used by all threads of a process (MDB_NOTLS ties readers to their transactions).
unsafe impl Send for LmdbStore {}
// SAFETY: as above.
unsafe impl Sync for LmdbStore {}

impl Engine for LmdbStore {
    const NAME: &'static str = "lmdb";

    fn version() -> String {
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: three integers to write to; the text that is returned is not used.
        unsafe { sys::mdb_version(&raw mut major, &raw mut minor, &raw mut patch) };
        format!("{major}.{minor}.{patch}")
    }

    fn durabilities() -> &'static [Durability] {
        &[Durability::None, Durability::Fsync]
    }

    fn reach(_: &Settings) -> Reach {
        Reach::Mapped
    }

    fn about(settings: &Settings) -> Vec<(&'static str, Value)> {
        vec![("readahead", settings.readahead.into())]
    }

    fn open(folder: &Path, settings: &Settings, tables: usize) -> Result<Self> {
        let mut env = ptr::null_mut();
        // SAFETY: a place for the environment.
        check(unsafe { sys::mdb_env_create(&raw mut env) })?;
        // From here on dropping closes it.
        let mut db = Self { env, tables: Vec::new(), folder: folder.to_owned() };
        let path = CString::new(folder.as_os_str().as_bytes()).map_err(|_| RivalError::Asked {
            reason: format!("{} has a zero byte", folder.display()),
            fix: "name another folder".to_owned(),
        })?;
        let mut flags = sys::MDB_NOTLS;
        if settings.durability == Durability::None {
            flags |= sys::MDB_NOSYNC;
        }
        if !settings.readahead {
            flags |= sys::MDB_NORDAHEAD;
        }
        // SAFETY: the environment was created and is not open yet; the path ends in a zero byte.
        unsafe {
            check(sys::mdb_env_set_mapsize(env, MAP_BYTES))?;
            check(sys::mdb_env_set_maxreaders(env, READERS_AT_MOST))?;
            check(sys::mdb_env_set_maxdbs(env, tables as u32))?;
            check(sys::mdb_env_open(env, path.as_ptr(), flags, 0o600))?;
        }
        db.open_tables(tables)?;
        Ok(db)
    }
}

impl LmdbStore {
    fn open_tables(&mut self, tables: usize) -> Result<()> {
        let txn = Txn::begin(self, 0)?;
        for number in 0..tables {
            let name = CString::new(format!("t{number}")).expect("the name has no zero byte");
            let mut dbi = 0;
            // SAFETY: the transaction is open; the name ends in a zero byte.
            check(unsafe { sys::mdb_dbi_open(txn.raw, name.as_ptr(), sys::MDB_CREATE, &raw mut dbi) })?;
            self.tables.push(dbi);
        }
        txn.commit()
    }

    /// Bytes of the longest key.
    fn key_bytes_at_most(&self) -> usize {
        // SAFETY: the environment is open.
        usize::try_from(unsafe { sys::mdb_env_get_maxkeysize(self.env) }).unwrap_or(511)
    }

    fn sync(&self) -> Result<()> {
        // SAFETY: the environment is open.
        check(unsafe { sys::mdb_env_sync(self.env, 1) })
    }
}

impl Drop for LmdbStore {
    fn drop(&mut self) {
        // A clean end makes all durable, if the drive takes it.
        let _ = self.sync();
        // SAFETY: every session has ended: each borrows this.
        unsafe { sys::mdb_env_close(self.env) };
    }
}

/// A transaction. Dropped, it is aborted.
struct Txn {
    raw: *mut sys::MDB_txn,
}

impl Txn {
    fn begin(db: &LmdbStore, flags: u32) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the environment is open and outlives the transaction, which sessions see to by borrowing it.
        check(unsafe { sys::mdb_txn_begin(db.env, ptr::null_mut(), flags, &raw mut raw) })?;
        Ok(Self { raw })
    }

    fn commit(self) -> Result<()> {
        let raw = self.raw;
        std::mem::forget(self);
        // SAFETY: the transaction is open, and ends here whatever is returned.
        check(unsafe { sys::mdb_txn_commit(raw) })
    }
}

impl Drop for Txn {
    fn drop(&mut self) {
        // SAFETY: the transaction is open, or a reader that was reset.
        unsafe { sys::mdb_txn_abort(self.raw) };
    }
}

/// A reading transaction that is used again and again.
struct Reader {
    txn: Txn,
}

impl Reader {
    fn new(db: &LmdbStore) -> Result<Self> {
        let txn = Txn::begin(db, sys::MDB_RDONLY)?;
        // SAFETY: a reading transaction.
        unsafe { sys::mdb_txn_reset(txn.raw) };
        Ok(Self { txn })
    }

    /// Sees what is committed by now, until [`Reader::leave`].
    fn enter(&self) -> Result<*mut sys::MDB_txn> {
        // SAFETY: a reading transaction that was reset.
        check(unsafe { sys::mdb_txn_renew(self.txn.raw) })?;
        Ok(self.txn.raw)
    }

    fn leave(&self) {
        // SAFETY: a reading transaction that was renewed.
        unsafe { sys::mdb_txn_reset(self.txn.raw) };
    }
}

/// Where bytes lie, for LMDB to read.
fn value(bytes: &[u8]) -> sys::MDB_val {
    sys::MDB_val { mv_size: bytes.len(), mv_data: bytes.as_ptr().cast_mut().cast() }
}

/// What LMDB points to.
///
/// # Safety
/// The transaction that gave it is still open, and has not written since.
unsafe fn bytes<'a>(value: &sys::MDB_val) -> &'a [u8] {
    if value.mv_size == 0 {
        return &[];
    }
    // SAFETY: by the contract of this function.
    unsafe { std::slice::from_raw_parts(value.mv_data.cast(), value.mv_size) }
}

/// The value of a key, while the transaction is open and does not write.
///
/// # Safety
/// The transaction is open; the result is not used after its end, or after it has written.
unsafe fn get<'a>(txn: *mut sys::MDB_txn, table: sys::MDB_dbi, key: &[u8]) -> Result<Option<&'a [u8]>> {
    let (mut key, mut found) = (value(key), value(&[]));
    // SAFETY: the transaction is open by the contract of this function.
    match unsafe { sys::mdb_get(txn, table, &raw mut key, &raw mut found) } {
        sys::MDB_NOTFOUND => Ok(None),
        code => {
            check(code)?;
            // SAFETY: by the contract of this function.
            Ok(Some(unsafe { bytes(&found) }))
        }
    }
}

/// Sets a key; `false` where it is there already and `flags` have `MDB_NOOVERWRITE`.
fn put(txn: &Txn, table: sys::MDB_dbi, key: &[u8], data: &[u8], flags: u32) -> Result<bool> {
    let (mut key, mut data) = (value(key), value(data));
    // SAFETY: the transaction is open for writing; LMDB copies what it is given.
    match unsafe { sys::mdb_put(txn.raw, table, &raw mut key, &raw mut data, flags) } {
        sys::MDB_KEYEXIST => Ok(false),
        code => check(code).map(|()| true),
    }
}

/// Removes a key; `false` where it is not there.
fn delete(txn: &Txn, table: sys::MDB_dbi, key: &[u8]) -> Result<bool> {
    let mut key = value(key);
    // SAFETY: the transaction is open for writing.
    match unsafe { sys::mdb_del(txn.raw, table, &raw mut key, ptr::null_mut()) } {
        sys::MDB_NOTFOUND => Ok(false),
        code => check(code).map(|()| true),
    }
}

/// A place in a table, of one transaction.
struct Cursor {
    raw: *mut sys::MDB_cursor,
}

impl Cursor {
    fn open(txn: *mut sys::MDB_txn, table: sys::MDB_dbi) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the transaction is open, and the cursor is dropped before it ends.
        check(unsafe { sys::mdb_cursor_open(txn, table, &raw mut raw) })?;
        Ok(Self { raw })
    }

    /// Moves; the entry there.
    ///
    /// # Safety
    /// The result is not used after the transaction's end, or after it has written.
    unsafe fn go<'a>(&self, key: &[u8], to: sys::MDB_cursor_op) -> Result<Option<(&'a [u8], &'a [u8])>> {
        let (mut key, mut data) = (value(key), value(&[]));
        // SAFETY: the cursor is open.
        match unsafe { sys::mdb_cursor_get(self.raw, &raw mut key, &raw mut data, to) } {
            sys::MDB_NOTFOUND => Ok(None),
            code => {
                check(code)?;
                // SAFETY: by the contract of this function.
                Ok(Some(unsafe { (bytes(&key), bytes(&data)) }))
            }
        }
    }
}

impl Drop for Cursor {
    fn drop(&mut self) {
        // SAFETY: the cursor is open, and so is its transaction.
        unsafe { sys::mdb_cursor_close(self.raw) };
    }
}

fn check(code: i32) -> Result<()> {
    if code == 0 {
        return Ok(());
    }
    // SAFETY: LMDB returns text that lives as long as the program, or the C library's.
    let said = unsafe { CStr::from_ptr(sys::mdb_strerror(code)) }.to_string_lossy().into_owned();
    let full = code == sys::MDB_MAP_FULL || code == libc::ENOSPC;
    Err(RivalError::Engine { engine: LmdbStore::NAME, said, full })
}
