//! A place in a table.

use std::ptr;

use super::{check, ffi};
use crate::error::Result;

/// A cursor of a session; it is closed with that.
pub(super) struct Cursor {
    raw: *mut ffi::RawCursor,
}

impl Cursor {
    pub(super) fn new(raw: *mut ffi::RawCursor) -> Self {
        Self { raw }
    }

    fn key_is(&mut self, key: &[u8]) {
        // SAFETY: the cursor is open; the key's bytes live until the call that uses them, which its callers see to.
        unsafe { ffi::assay_wt_set_key(self.raw, key.as_ptr().cast(), key.len()) };
    }

    fn value_is(&mut self, value: &[u8]) {
        // SAFETY: as for the key.
        unsafe { ffi::assay_wt_set_value(self.raw, value.as_ptr().cast(), value.len()) };
    }

    /// Goes to a key; `false` where it is not there.
    pub(super) fn search(&mut self, key: &[u8]) -> Result<bool> {
        self.key_is(key);
        // SAFETY: the cursor is open and has a key.
        found(unsafe { ffi::assay_wt_search(self.raw) })
    }

    /// Goes to the first key that is not below; `false` where there is none.
    pub(super) fn search_from(&mut self, key: &[u8]) -> Result<bool> {
        if key.is_empty() {
            self.reset()?;
            return self.next();
        }
        self.key_is(key);
        let mut beside = 0;
        // SAFETY: the cursor is open and has a key.
        if !found(unsafe { ffi::assay_wt_search_near(self.raw, &raw mut beside) })? {
            return Ok(false);
        }
        if beside < 0 { self.next() } else { Ok(true) }
    }

    /// Goes to the last key that is below; `false` where there is none.
    pub(super) fn search_below(&mut self, key: &[u8]) -> Result<bool> {
        self.key_is(key);
        let mut beside = 0;
        // SAFETY: the cursor is open and has a key.
        if !found(unsafe { ffi::assay_wt_search_near(self.raw, &raw mut beside) })? {
            return Ok(false);
        }
        if beside >= 0 { self.prev() } else { Ok(true) }
    }

    pub(super) fn next(&mut self) -> Result<bool> {
        // SAFETY: the cursor is open.
        found(unsafe { ffi::assay_wt_next(self.raw) })
    }

    pub(super) fn prev(&mut self) -> Result<bool> {
        // SAFETY: the cursor is open.
        found(unsafe { ffi::assay_wt_prev(self.raw) })
    }

    /// The key that it stands on, until it moves.
    pub(super) fn key(&self) -> Result<&[u8]> {
        let (mut data, mut size) = (ptr::null(), 0);
        // SAFETY: the cursor is open and stands on an entry.
        check(unsafe { ffi::assay_wt_key(self.raw, &raw mut data, &raw mut size) })?;
        // SAFETY: WiredTiger keeps the bytes until the cursor moves, which takes it mutably.
        Ok(unsafe { slice(data.cast(), size) })
    }

    /// The value that it stands on, until it moves.
    pub(super) fn value(&self) -> Result<&[u8]> {
        let (mut data, mut size) = (ptr::null(), 0);
        // SAFETY: the cursor is open and stands on an entry.
        check(unsafe { ffi::assay_wt_value(self.raw, &raw mut data, &raw mut size) })?;
        // SAFETY: as for the key.
        Ok(unsafe { slice(data.cast(), size) })
    }

    /// Adds an entry; `false` where the key is there and the cursor looks.
    pub(super) fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.key_is(key);
        self.value_is(value);
        // SAFETY: the cursor is open, and has key and value.
        match unsafe { ffi::assay_wt_insert(self.raw) } {
            ffi::DUPLICATE_KEY => Ok(false),
            code => check(code).map(|()| true),
        }
    }

    /// Changes an entry; `false` where the key is not there and the cursor looks.
    pub(super) fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool> {
        self.key_is(key);
        self.value_is(value);
        // SAFETY: the cursor is open, and has key and value.
        found(unsafe { ffi::assay_wt_update(self.raw) })
    }

    /// Removes an entry; `false` where the key is not there and the cursor looks.
    pub(super) fn remove(&mut self, key: &[u8]) -> Result<bool> {
        self.key_is(key);
        // SAFETY: the cursor is open and has a key.
        found(unsafe { ffi::assay_wt_remove(self.raw) })
    }

    /// Leaves the page that it stands on, which can then be evicted.
    pub(super) fn reset(&mut self) -> Result<()> {
        // SAFETY: the cursor is open.
        check(unsafe { ffi::assay_wt_reset(self.raw) })
    }
}

fn found(code: i32) -> Result<bool> {
    if code == ffi::NOT_FOUND { Ok(false) } else { check(code).map(|()| true) }
}

/// # Safety
/// So many bytes lie there as long as the result is used.
unsafe fn slice<'a>(at: *const u8, length: usize) -> &'a [u8] {
    if length == 0 {
        return &[];
    }
    // SAFETY: by the contract of this function.
    unsafe { std::slice::from_raw_parts(at, length) }
}
