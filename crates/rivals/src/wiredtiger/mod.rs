//! WiredTiger (MongoDB; GPL): a B-tree over a cache of its own, with snapshots. The library that
//! `assay dbms install wiredtiger` builds is linked, in a program that is built on the user's machine and never shipped.
//!
//! Its files are read through the kernel's page cache: version 11 has no direct I/O. A pool of a given size therefore
//! comes with a control group.

mod cursor;
mod ffi;
mod index;
mod kv;

use std::{
    ffi::{CStr, CString},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr,
};

use serde_json::Value;

use self::{cursor::Cursor, ffi::Connection};
use crate::{
    durability::Durability,
    engine::{Engine, Reach, Settings},
    error::{Result, RivalError},
};

pub use index::WiredTigerSession;
pub use kv::WiredTigerKvSession;

/// Sessions beside those of threads: its own, and those that look on.
const SESSIONS_BESIDE: u32 = 64;
/// With a log: a checkpoint after so many bytes of it, or so many seconds.
const CHECKPOINT: &str = "checkpoint=(wait=60,log_size=1GB)";

/// A database.
pub struct WiredtigerStore {
    connection: *mut Connection,
    tables: usize,
    folder: PathBuf,
}

// SAFETY: WiredTiger's connection may be used by all threads; a session belongs to one at a time.
unsafe impl Send for WiredtigerStore {}
// SAFETY: as above.
unsafe impl Sync for WiredtigerStore {}

impl Engine for WiredtigerStore {
    const NAME: &'static str = "wiredtiger";

    fn version() -> String {
        let (mut major, mut minor, mut patch) = (0, 0, 0);
        // SAFETY: three integers to write to; the text that is returned is not used.
        unsafe { ffi::wiredtiger_version(&raw mut major, &raw mut minor, &raw mut patch) };
        format!("{major}.{minor}.{patch}")
    }

    fn durabilities() -> &'static [Durability] {
        &Durability::ALL
    }

    fn reach(_: &Settings) -> Reach {
        Reach::Buffered
    }

    /// Changes are small allocations of their own, and what is written to the disk is put together outside of the cache: under
    /// TPC-C its process took 1.3 times its cache.
    fn beside_bytes(cache_bytes: u64) -> u64 {
        cache_bytes / 8 * 3
    }

    fn about(settings: &Settings) -> Vec<(&'static str, Value)> {
        let checkpoints = if settings.durability == Durability::None { "at the end" } else { CHECKPOINT };
        vec![
            ("leaf_page_bytes", settings.page_bytes.into()),
            ("compression", "none".into()),
            ("checkpoints", checkpoints.into()),
        ]
    }

    fn open(folder: &Path, settings: &Settings, tables: usize) -> Result<Self> {
        let home = CString::new(folder.as_os_str().as_bytes()).map_err(|_| RivalError::Asked {
            reason: format!("{} has a zero byte", folder.display()),
            fix: "name another folder".to_owned(),
        })?;
        let config = text(&config(settings));
        let mut connection = ptr::null_mut();
        // SAFETY: texts that end in a zero byte, and a place for the connection.
        check(unsafe { ffi::wiredtiger_open(home.as_ptr(), ptr::null(), config.as_ptr(), &raw mut connection) })?;
        // From here on dropping closes it.
        let db = Self { connection, tables, folder: folder.to_owned() };
        let session = Session::open(&db)?;
        let table =
            text(&format!("key_format=u,value_format=u,allocation_size=4KB,leaf_page_max={}", settings.page_bytes));
        for number in 0..tables {
            // SAFETY: the session is open, and the texts end in a zero byte.
            check(unsafe { ffi::assay_wt_create(session.raw, name(number).as_ptr(), table.as_ptr()) })?;
        }
        drop(session);
        Ok(db)
    }
}

fn config(settings: &Settings) -> String {
    let log = match settings.durability {
        Durability::None => "log=(enabled=false)".to_owned(),
        Durability::Wal => format!("log=(enabled=true),transaction_sync=(enabled=false),{CHECKPOINT}"),
        Durability::Fsync => format!("log=(enabled=true),transaction_sync=(enabled=true,method=fsync),{CHECKPOINT}"),
    };
    let sessions = settings.threads + SESSIONS_BESIDE;
    format!("create,cache_size={},session_max={sessions},statistics=(none),{log}", settings.cache_bytes)
}

/// A table's name as WiredTiger has it.
fn name(number: usize) -> CString {
    text(&format!("table:t{number}"))
}

fn text(words: &str) -> CString {
    CString::new(words).expect("what this module writes has no zero byte")
}

impl WiredtigerStore {
    fn checkpoint(&self) -> Result<()> {
        let session = Session::open(self)?;
        // SAFETY: the session is open.
        check(unsafe { ffi::assay_wt_checkpoint(session.raw) })
    }
}

impl Drop for WiredtigerStore {
    fn drop(&mut self) {
        // SAFETY: every session has ended: each borrows this. Closing writes a checkpoint; where that fails the last one
        // holds, and whoever opens it next finds that.
        unsafe { ffi::assay_wt_close(self.connection) };
    }
}

/// A session. Dropped, it and its cursors are closed.
struct Session {
    raw: *mut ffi::RawSession,
}

impl Session {
    fn open(db: &WiredtigerStore) -> Result<Self> {
        let mut raw = ptr::null_mut();
        // SAFETY: the connection is open and outlives the session, which its owners see to by borrowing it.
        check(unsafe { ffi::assay_wt_session(db.connection, &raw mut raw) })?;
        Ok(Self { raw })
    }

    /// A cursor of a table. With `overwrite` a write does not look whether the key is there.
    fn cursor(&self, table: usize, overwrite: bool) -> Result<Cursor> {
        let config = if overwrite { c"overwrite=true" } else { c"overwrite=false" };
        let mut raw = ptr::null_mut();
        // SAFETY: the session is open, and the texts end in a zero byte.
        check(unsafe { ffi::assay_wt_cursor(self.raw, name(table).as_ptr(), config.as_ptr(), &raw mut raw) })?;
        Ok(Cursor::new(raw))
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: the session is open, and its cursors are not used any more: they are dropped with what owns both.
        unsafe { ffi::assay_wt_session_close(self.raw) };
    }
}

fn check(code: i32) -> Result<()> {
    match code {
        0 => Ok(()),
        ffi::ROLLBACK => Err(RivalError::Conflict),
        code => {
            // SAFETY: WiredTiger returns text that ends in a zero byte.
            let said = unsafe { CStr::from_ptr(ffi::wiredtiger_strerror(code)) }.to_string_lossy().into_owned();
            Err(RivalError::Engine { engine: WiredtigerStore::NAME, said, full: code == libc::ENOSPC })
        }
    }
}
