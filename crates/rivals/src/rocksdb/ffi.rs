//! The part of RocksDB's C interface (`rocksdb/c.h`, the same since version 7.4) that is used here.
//!
//! Declared by handle: generated bindings are of one version of the library, and the distributions' differ.

use std::ffi::{c_char, c_double, c_int, c_uchar, c_void};

macro_rules! opaque {
    ($($(#[$meta:meta])* $name:ident;)*) => {$(
        $(#[$meta])*
        #[repr(C)]
        pub(super) struct $name {
            _unused: [u8; 0],
        }
    )*};
}

opaque! {
    Raw;
    Optimistic;
    Transaction;
    Options;
    TableOptions;
    Cache;
    Filter;
    ReadOptions;
    WriteOptions;
    TransactionOptions;
    FlushOptions;
    Family;
    Pinned;
    Iterator;
    Snapshot;
}

pub(super) type ErrorText = *mut c_char;

unsafe extern "C" {
    pub(super) fn rocksdb_free(memory: *mut c_void);

    pub(super) fn rocksdb_options_create() -> *mut Options;
    pub(super) fn rocksdb_options_destroy(options: *mut Options);
    pub(super) fn rocksdb_options_set_create_if_missing(options: *mut Options, yes: c_uchar);
    pub(super) fn rocksdb_options_set_compression(options: *mut Options, which: c_int);
    pub(super) fn rocksdb_options_set_write_buffer_size(options: *mut Options, bytes: usize);
    pub(super) fn rocksdb_options_set_max_write_buffer_number(options: *mut Options, count: c_int);
    pub(super) fn rocksdb_options_increase_parallelism(options: *mut Options, threads: c_int);
    pub(super) fn rocksdb_options_set_use_direct_reads(options: *mut Options, yes: c_uchar);
    pub(super) fn rocksdb_options_set_use_direct_io_for_flush_and_compaction(options: *mut Options, yes: c_uchar);
    pub(super) fn rocksdb_options_set_block_based_table_factory(options: *mut Options, table: *mut TableOptions);
    pub(super) fn rocksdb_block_based_options_create() -> *mut TableOptions;
    pub(super) fn rocksdb_block_based_options_destroy(table: *mut TableOptions);
    pub(super) fn rocksdb_block_based_options_set_block_size(table: *mut TableOptions, bytes: usize);
    pub(super) fn rocksdb_block_based_options_set_block_cache(table: *mut TableOptions, cache: *mut Cache);
    pub(super) fn rocksdb_block_based_options_set_filter_policy(table: *mut TableOptions, filter: *mut Filter);
    pub(super) fn rocksdb_cache_create_lru(bytes: usize) -> *mut Cache;
    pub(super) fn rocksdb_cache_destroy(cache: *mut Cache);
    pub(super) fn rocksdb_filterpolicy_create_bloom(bits: c_double) -> *mut Filter;

    pub(super) fn rocksdb_open_column_families(
        options: *const Options,
        name: *const c_char,
        families: c_int,
        names: *const *const c_char,
        family_options: *const *const Options,
        handles: *mut *mut Family,
        failure: *mut ErrorText,
    ) -> *mut Raw;
    pub(super) fn rocksdb_column_family_handle_destroy(family: *mut Family);
    pub(super) fn rocksdb_close(db: *mut Raw);
    pub(super) fn rocksdb_flush(db: *mut Raw, options: *const FlushOptions, failure: *mut ErrorText);
    pub(super) fn rocksdb_flushoptions_create() -> *mut FlushOptions;
    pub(super) fn rocksdb_flushoptions_destroy(options: *mut FlushOptions);
    pub(super) fn rocksdb_compact_range(
        db: *mut Raw,
        from: *const c_char,
        from_length: usize,
        to: *const c_char,
        to_length: usize,
    );

    pub(super) fn rocksdb_readoptions_create() -> *mut ReadOptions;
    pub(super) fn rocksdb_readoptions_destroy(options: *mut ReadOptions);
    pub(super) fn rocksdb_readoptions_set_snapshot(options: *mut ReadOptions, snapshot: *const Snapshot);
    pub(super) fn rocksdb_readoptions_set_iterate_upper_bound(
        options: *mut ReadOptions,
        key: *const c_char,
        length: usize,
    );
    pub(super) fn rocksdb_writeoptions_create() -> *mut WriteOptions;
    pub(super) fn rocksdb_writeoptions_destroy(options: *mut WriteOptions);
    pub(super) fn rocksdb_writeoptions_set_sync(options: *mut WriteOptions, yes: c_uchar);
    pub(super) fn rocksdb_writeoptions_disable_WAL(options: *mut WriteOptions, yes: c_int);

    pub(super) fn rocksdb_put(
        db: *mut Raw,
        options: *const WriteOptions,
        key: *const c_char,
        key_length: usize,
        value: *const c_char,
        value_length: usize,
        failure: *mut ErrorText,
    );
    pub(super) fn rocksdb_delete(
        db: *mut Raw,
        options: *const WriteOptions,
        key: *const c_char,
        key_length: usize,
        failure: *mut ErrorText,
    );
    pub(super) fn rocksdb_get_pinned(
        db: *mut Raw,
        options: *const ReadOptions,
        key: *const c_char,
        key_length: usize,
        failure: *mut ErrorText,
    ) -> *mut Pinned;
    pub(super) fn rocksdb_batched_multi_get_cf(
        db: *mut Raw,
        options: *const ReadOptions,
        family: *mut Family,
        count: usize,
        keys: *const *const c_char,
        lengths: *const usize,
        values: *mut *mut Pinned,
        failures: *mut ErrorText,
        sorted: bool,
    );
    pub(super) fn rocksdb_pinnableslice_value(pinned: *const Pinned, length: *mut usize) -> *const c_char;
    pub(super) fn rocksdb_pinnableslice_destroy(pinned: *mut Pinned);

    pub(super) fn rocksdb_create_iterator(db: *mut Raw, options: *const ReadOptions) -> *mut Iterator;
    pub(super) fn rocksdb_iter_destroy(iterator: *mut Iterator);
    pub(super) fn rocksdb_iter_valid(iterator: *const Iterator) -> c_uchar;
    pub(super) fn rocksdb_iter_seek(iterator: *mut Iterator, key: *const c_char, length: usize);
    pub(super) fn rocksdb_iter_seek_for_prev(iterator: *mut Iterator, key: *const c_char, length: usize);
    pub(super) fn rocksdb_iter_next(iterator: *mut Iterator);
    pub(super) fn rocksdb_iter_prev(iterator: *mut Iterator);
    pub(super) fn rocksdb_iter_key(iterator: *const Iterator, length: *mut usize) -> *const c_char;
    pub(super) fn rocksdb_iter_value(iterator: *const Iterator, length: *mut usize) -> *const c_char;
    pub(super) fn rocksdb_iter_get_error(iterator: *const Iterator, failure: *mut ErrorText);

    pub(super) fn rocksdb_optimistictransactiondb_open(
        options: *const Options,
        name: *const c_char,
        failure: *mut ErrorText,
    ) -> *mut Optimistic;
    pub(super) fn rocksdb_optimistictransactiondb_close(db: *mut Optimistic);
    pub(super) fn rocksdb_optimistictransactiondb_get_base_db(db: *mut Optimistic) -> *mut Raw;
    pub(super) fn rocksdb_optimistictransactiondb_close_base_db(db: *mut Raw);
    pub(super) fn rocksdb_optimistictransaction_options_create() -> *mut TransactionOptions;
    pub(super) fn rocksdb_optimistictransaction_options_destroy(options: *mut TransactionOptions);
    pub(super) fn rocksdb_optimistictransaction_options_set_set_snapshot(
        options: *mut TransactionOptions,
        yes: c_uchar,
    );
    pub(super) fn rocksdb_optimistictransaction_begin(
        db: *mut Optimistic,
        options: *const WriteOptions,
        transaction: *const TransactionOptions,
        old: *mut Transaction,
    ) -> *mut Transaction;
    pub(super) fn rocksdb_transaction_destroy(transaction: *mut Transaction);
    pub(super) fn rocksdb_transaction_commit(transaction: *mut Transaction, failure: *mut ErrorText);
    pub(super) fn rocksdb_transaction_rollback(transaction: *mut Transaction, failure: *mut ErrorText);
    pub(super) fn rocksdb_transaction_get_snapshot(transaction: *mut Transaction) -> *const Snapshot;
    pub(super) fn rocksdb_transaction_get_pinned(
        transaction: *mut Transaction,
        options: *const ReadOptions,
        key: *const c_char,
        key_length: usize,
        failure: *mut ErrorText,
    ) -> *mut Pinned;
    pub(super) fn rocksdb_transaction_put(
        transaction: *mut Transaction,
        key: *const c_char,
        key_length: usize,
        value: *const c_char,
        value_length: usize,
        failure: *mut ErrorText,
    );
    pub(super) fn rocksdb_transaction_delete(
        transaction: *mut Transaction,
        key: *const c_char,
        key_length: usize,
        failure: *mut ErrorText,
    );
    pub(super) fn rocksdb_transaction_create_iterator(
        transaction: *mut Transaction,
        options: *const ReadOptions,
    ) -> *mut Iterator;
}
