//! WiredTiger's calls, as `calls.c` has them.

use std::ffi::{c_char, c_int, c_void};

/// A connection: the database.
#[repr(C)]
pub(super) struct Connection {
    _unused: [u8; 0],
}

/// A session: a thread's way into it.
#[repr(C)]
pub(super) struct RawSession {
    _unused: [u8; 0],
}

/// A cursor of a session.
#[repr(C)]
pub(super) struct RawCursor {
    _unused: [u8; 0],
}

/// A conflict with another transaction.
pub(super) const ROLLBACK: c_int = -31800;
/// The key is there already.
pub(super) const DUPLICATE_KEY: c_int = -31801;
/// The key is not there, or the end.
pub(super) const NOT_FOUND: c_int = -31803;

unsafe extern "C" {
    pub(super) fn wiredtiger_open(
        home: *const c_char,
        handler: *const c_void,
        config: *const c_char,
        connection: *mut *mut Connection,
    ) -> c_int;
    pub(super) fn wiredtiger_strerror(code: c_int) -> *const c_char;
    pub(super) fn wiredtiger_version(major: *mut c_int, minor: *mut c_int, patch: *mut c_int) -> *const c_char;

    pub(super) fn assay_wt_close(connection: *mut Connection) -> c_int;
    pub(super) fn assay_wt_session(connection: *mut Connection, session: *mut *mut RawSession) -> c_int;
    pub(super) fn assay_wt_session_close(session: *mut RawSession) -> c_int;
    pub(super) fn assay_wt_create(session: *mut RawSession, name: *const c_char, config: *const c_char) -> c_int;
    pub(super) fn assay_wt_checkpoint(session: *mut RawSession) -> c_int;
    pub(super) fn assay_wt_begin(session: *mut RawSession) -> c_int;
    pub(super) fn assay_wt_commit(session: *mut RawSession) -> c_int;
    pub(super) fn assay_wt_rollback(session: *mut RawSession) -> c_int;
    pub(super) fn assay_wt_cursor(
        session: *mut RawSession,
        name: *const c_char,
        config: *const c_char,
        cursor: *mut *mut RawCursor,
    ) -> c_int;
    pub(super) fn assay_wt_reset(cursor: *mut RawCursor) -> c_int;
    pub(super) fn assay_wt_set_key(cursor: *mut RawCursor, data: *const c_void, size: usize);
    pub(super) fn assay_wt_set_value(cursor: *mut RawCursor, data: *const c_void, size: usize);
    pub(super) fn assay_wt_key(cursor: *mut RawCursor, data: *mut *const c_void, size: *mut usize) -> c_int;
    pub(super) fn assay_wt_value(cursor: *mut RawCursor, data: *mut *const c_void, size: *mut usize) -> c_int;
    pub(super) fn assay_wt_search(cursor: *mut RawCursor) -> c_int;
    pub(super) fn assay_wt_search_near(cursor: *mut RawCursor, beside: *mut c_int) -> c_int;
    pub(super) fn assay_wt_next(cursor: *mut RawCursor) -> c_int;
    pub(super) fn assay_wt_prev(cursor: *mut RawCursor) -> c_int;
    pub(super) fn assay_wt_insert(cursor: *mut RawCursor) -> c_int;
    pub(super) fn assay_wt_update(cursor: *mut RawCursor) -> c_int;
    pub(super) fn assay_wt_remove(cursor: *mut RawCursor) -> c_int;
}
