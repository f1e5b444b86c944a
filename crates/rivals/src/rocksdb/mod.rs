//! RocksDB (Meta; Apache-2.0 or GPL-2): a log-structured merge tree. The system's library is linked.
//!
//! Its cache and its write buffers share the pool's bytes. Blocks have bloom filters of 10 bits a key and are not
//! compressed, since our own structures are not. Filters and indexes lie beside the cache, as they do by default: in a
//! small cache they would drive each other out. After a load it is compacted, so that the window does not pay for it.

mod ffi;
mod index;
mod kv;

use std::{
    ffi::{CStr, CString, c_char},
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    ptr,
    sync::Mutex,
};

use serde_json::Value;

use self::ffi::{ErrorText, Family, Iterator, Optimistic, Options, Pinned, Raw, ReadOptions, WriteOptions};
use crate::{
    durability::Durability,
    engine::{Engine, Reach, Settings},
    error::{Result, RivalError},
};

pub use index::RocksSession;
pub use kv::RocksKvSession;

/// Bits of a bloom filter for each key, as its documentation advises.
const FILTER_BITS: f64 = 10.0;
/// Of the pool, one part in so many is one write buffer. There are two.
const WRITE_BUFFER_SHARE: u64 = 8;
/// Locks that make a look and a write of one key one step.
const LOCKS: usize = 1024;

enum Handle {
    /// For one table: without transactions.
    Plain { raw: *mut Raw, family: *mut Family },
    /// For TPC-C.
    Optimistic { db: *mut Optimistic, raw: *mut Raw },
}

/// A database.
pub struct RocksdbStore {
    handle: Handle,
    settings: Settings,
    write: *mut WriteOptions,
    locks: Vec<Mutex<()>>,
    folder: PathBuf,
}

// SAFETY: RocksDB's database may be used by all threads; its write options are only read.
unsafe impl Send for RocksdbStore {}
// SAFETY: as above.
unsafe impl Sync for RocksdbStore {}

/// Bytes of one write buffer.
fn write_buffer_bytes(settings: &Settings) -> u64 {
    (settings.cache_bytes / WRITE_BUFFER_SHARE).clamp(1 << 20, 64 << 20)
}

impl Engine for RocksdbStore {
    const NAME: &'static str = "rocksdb";

    fn version() -> String {
        env!("ASSAY_ROCKSDB_VERSION").to_owned()
    }

    fn durabilities() -> &'static [Durability] {
        &Durability::ALL
    }

    fn reach(settings: &Settings) -> Reach {
        if settings.direct { Reach::Direct } else { Reach::Buffered }
    }

    fn about(settings: &Settings) -> Vec<(&'static str, Value)> {
        vec![
            ("direct", settings.direct.into()),
            ("blind", settings.blind.into()),
            ("block_bytes", settings.page_bytes.into()),
            ("write_buffer_bytes", write_buffer_bytes(settings).into()),
            ("filter_bits_per_key", FILTER_BITS.into()),
            ("filters_and_indexes", "beside the cache".into()),
            ("compression", "none".into()),
            ("compacted_after_load", true.into()),
        ]
    }

    fn open(folder: &Path, settings: &Settings, tables: usize) -> Result<Self> {
        let name = CString::new(folder.as_os_str().as_bytes()).map_err(|_| RivalError::Asked {
            reason: format!("{} has a zero byte", folder.display()),
            fix: "name another folder".to_owned(),
        })?;
        let options = options(settings);
        let handle = if tables == 1 { plain(options, &name) } else { optimistic(options, &name) };
        // SAFETY: the database has copied the options.
        unsafe { ffi::rocksdb_options_destroy(options) };
        let (handle, write) = (handle?, write_options(settings.durability));
        let locks = (0..LOCKS).map(|_| Mutex::new(())).collect();
        Ok(Self { handle, settings: settings.clone(), write, locks, folder: folder.to_owned() })
    }
}

/// The options of a database; the caller destroys them.
fn options(settings: &Settings) -> *mut Options {
    let buffer = write_buffer_bytes(settings);
    let cache_bytes = settings.cache_bytes.saturating_sub(2 * buffer).max(1 << 20);
    // SAFETY: options are created, set and handed on; the table's options keep the cache and own the filter.
    unsafe {
        let options = ffi::rocksdb_options_create();
        ffi::rocksdb_options_set_create_if_missing(options, 1);
        ffi::rocksdb_options_set_compression(options, 0);
        ffi::rocksdb_options_set_write_buffer_size(options, buffer as usize);
        ffi::rocksdb_options_set_max_write_buffer_number(options, 2);
        ffi::rocksdb_options_increase_parallelism(options, settings.threads.max(2) as i32);
        ffi::rocksdb_options_set_use_direct_reads(options, u8::from(settings.direct));
        ffi::rocksdb_options_set_use_direct_io_for_flush_and_compaction(options, u8::from(settings.direct));
        let table = ffi::rocksdb_block_based_options_create();
        let cache = ffi::rocksdb_cache_create_lru(cache_bytes as usize);
        ffi::rocksdb_block_based_options_set_block_cache(table, cache);
        ffi::rocksdb_block_based_options_set_block_size(table, settings.page_bytes as usize);
        let filter = ffi::rocksdb_filterpolicy_create_bloom(FILTER_BITS);
        ffi::rocksdb_block_based_options_set_filter_policy(table, filter);
        ffi::rocksdb_options_set_block_based_table_factory(options, table);
        ffi::rocksdb_block_based_options_destroy(table);
        ffi::rocksdb_cache_destroy(cache);
        options
    }
}

fn write_options(durability: Durability) -> *mut WriteOptions {
    // SAFETY: options are created and set.
    unsafe {
        let write = ffi::rocksdb_writeoptions_create();
        ffi::rocksdb_writeoptions_disable_WAL(write, i32::from(durability == Durability::None));
        ffi::rocksdb_writeoptions_set_sync(write, u8::from(durability == Durability::Fsync));
        write
    }
}

fn plain(options: *mut Options, name: &CStr) -> Result<Handle> {
    let (names, all) = ([c"default".as_ptr()], [options.cast_const()]);
    let mut family = ptr::null_mut();
    // SAFETY: one family, with a name, options and a place for its handle.
    let raw = ask(|failure| unsafe {
        let (names, all) = (names.as_ptr(), all.as_ptr());
        ffi::rocksdb_open_column_families(options, name.as_ptr(), 1, names, all, &raw mut family, failure)
    })?;
    Ok(Handle::Plain { raw, family })
}

fn optimistic(options: *mut Options, name: &CStr) -> Result<Handle> {
    // SAFETY: options and a name that ends in a zero byte.
    let db = ask(|failure| unsafe { ffi::rocksdb_optimistictransactiondb_open(options, name.as_ptr(), failure) })?;
    // SAFETY: the database is open.
    let raw = unsafe { ffi::rocksdb_optimistictransactiondb_get_base_db(db) };
    Ok(Handle::Optimistic { db, raw })
}

impl RocksdbStore {
    fn raw(&self) -> *mut Raw {
        match self.handle {
            Handle::Plain { raw, .. } | Handle::Optimistic { raw, .. } => raw,
        }
    }

    /// Writes what is in memory, and merges everything: what a load leaves to be done.
    fn compact(&self) -> Result<()> {
        self.flush()?;
        // SAFETY: the database is open; no bounds mean everything.
        unsafe { ffi::rocksdb_compact_range(self.raw(), ptr::null(), 0, ptr::null(), 0) };
        Ok(())
    }

    /// Writes what is in memory. Without a log nothing else keeps it.
    fn flush(&self) -> Result<()> {
        // SAFETY: the database is open, and the options live until they are destroyed.
        unsafe {
            let options = ffi::rocksdb_flushoptions_create();
            let done = ask(|failure| ffi::rocksdb_flush(self.raw(), options, failure));
            ffi::rocksdb_flushoptions_destroy(options);
            done
        }
    }
}

impl Drop for RocksdbStore {
    fn drop(&mut self) {
        // What fails here is missed by whoever opens it next, and checked there.
        let _ = if self.settings.settle { self.compact() } else { self.flush() };
        // SAFETY: every session has ended: each borrows this.
        unsafe {
            ffi::rocksdb_writeoptions_destroy(self.write);
            match self.handle {
                Handle::Plain { raw, family } => {
                    ffi::rocksdb_column_family_handle_destroy(family);
                    ffi::rocksdb_close(raw);
                }
                Handle::Optimistic { db, raw } => {
                    ffi::rocksdb_optimistictransactiondb_close_base_db(raw);
                    ffi::rocksdb_optimistictransactiondb_close(db);
                }
            }
        }
    }
}

/// Calls RocksDB, which says in words what went wrong.
fn ask<R>(call: impl FnOnce(*mut ErrorText) -> R) -> Result<R> {
    let mut failure = ptr::null_mut();
    let answer = call(&raw mut failure);
    complain(failure)?;
    Ok(answer)
}

fn complain(failure: ErrorText) -> Result<()> {
    if failure.is_null() {
        return Ok(());
    }
    // SAFETY: RocksDB gives text that ends in a zero byte, and that is freed once.
    let said = unsafe {
        let said = CStr::from_ptr(failure).to_string_lossy().into_owned();
        ffi::rocksdb_free(failure.cast());
        said
    };
    // The C interface has no codes: the words of `Status::ToString` tell.
    let passing = ["Resource busy", "Operation timed out", "Operation failed. Try again"];
    if passing.iter().any(|words| said.starts_with(words)) {
        return Err(RivalError::Conflict);
    }
    let full = said.contains("No space left on device");
    Err(RivalError::Engine { engine: RocksdbStore::NAME, said, full })
}

/// Where bytes lie.
fn at(bytes: &[u8]) -> *const c_char {
    bytes.as_ptr().cast()
}

/// A value that RocksDB holds for its reader.
struct Held(*mut Pinned);

impl Held {
    /// None where the key was not there.
    fn new(raw: *mut Pinned) -> Option<Self> {
        (!raw.is_null()).then_some(Self(raw))
    }

    fn bytes(&self) -> &[u8] {
        let mut length = 0;
        // SAFETY: the value is held as long as this.
        unsafe { slice(ffi::rocksdb_pinnableslice_value(self.0, &raw mut length), length) }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: it is held, and by nobody else.
        unsafe { ffi::rocksdb_pinnableslice_destroy(self.0) };
    }
}

/// # Safety
/// So many bytes lie there as long as the result is used.
unsafe fn slice<'a>(at: *const c_char, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: by the contract of this function.
    unsafe { std::slice::from_raw_parts(at.cast(), length) }
}

/// Options of reads.
struct Reading(*mut ReadOptions);

impl Reading {
    fn new() -> Self {
        // SAFETY: creates options.
        Self(unsafe { ffi::rocksdb_readoptions_create() })
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        // SAFETY: they were created here, and no read uses them any more.
        unsafe { ffi::rocksdb_readoptions_destroy(self.0) };
    }
}

/// A place in the database.
struct Walk(*mut Iterator);

impl Walk {
    fn seek(&mut self, key: &[u8]) {
        // SAFETY: the iterator lives.
        unsafe { ffi::rocksdb_iter_seek(self.0, at(key), key.len()) };
    }

    /// To the last key that is not above.
    fn seek_back(&mut self, key: &[u8]) {
        // SAFETY: the iterator lives.
        unsafe { ffi::rocksdb_iter_seek_for_prev(self.0, at(key), key.len()) };
    }

    fn forward(&mut self) {
        // SAFETY: the iterator lives, and stands on an entry.
        unsafe { ffi::rocksdb_iter_next(self.0) };
    }

    fn back(&mut self) {
        // SAFETY: the iterator lives, and stands on an entry.
        unsafe { ffi::rocksdb_iter_prev(self.0) };
    }

    /// The entry that it stands on; none at the end.
    fn entry(&self) -> Result<Option<(&[u8], &[u8])>> {
        // SAFETY: the iterator lives; key and value stay as they are until it moves, which takes it mutably.
        unsafe {
            if ffi::rocksdb_iter_valid(self.0) == 0 {
                return ask(|failure| ffi::rocksdb_iter_get_error(self.0, failure)).map(|()| None);
            }
            let (mut key, mut value) = (0, 0);
            let (key_at, value_at) =
                (ffi::rocksdb_iter_key(self.0, &raw mut key), ffi::rocksdb_iter_value(self.0, &raw mut value));
            Ok(Some((slice(key_at, key), slice(value_at, value))))
        }
    }
}

impl Drop for Walk {
    fn drop(&mut self) {
        // SAFETY: the iterator lives, and nobody else has it.
        unsafe { ffi::rocksdb_iter_destroy(self.0) };
    }
}
