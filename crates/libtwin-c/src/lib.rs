//! `libtwin` for C. The header `include/twin.h` is made of this file (`cbindgen.toml`).
//!
//! No panic leaves a function: what went wrong is what [`twin_error`] says, on the thread that it went wrong on.

mod description;
mod failure;

use std::{ffi::c_char, ptr::null, slice};

use assay_libtwin::{Op, Twin};

use description::ForC;
pub use description::TwinDescription;
use failure::guarded;

/// A read, for `twin_submit`.
pub const TWIN_READ: u32 = 0;
/// A write.
pub const TWIN_WRITE: u32 = 1;
/// A trim: nobody needs the bytes any more.
pub const TWIN_TRIM: u32 = 2;
/// What `twin_submit` and `twin_flush` return where `twin_error` says why not.
pub const TWIN_FAILED: u64 = u64::MAX;

/// A drive or volume that is played; one thread at a time may use it.
pub struct TwinPlayed {
    twin: Twin,
    for_c: ForC,
}

/// Opens the twin of a file's text (TOML, as in the catalog, or JSON), `len` bytes long: a drive in its steady state. NULL where it
/// cannot be played; `twin_error` says why. To be closed with `twin_close`.
///
/// # Safety
/// `text` points to `len` bytes that can be read.
#[no_mangle]
pub unsafe extern "C" fn twin_open(text: *const c_char, len: usize, seed: u64) -> *mut TwinPlayed {
    // SAFETY: as the caller promised.
    unsafe { twin_open_holding(text, len, seed, 0.0) }
}

/// The same of a drive of which a share `used` (0 to 1) holds data that was written once, in order; 0 is the steady state.
///
/// # Safety
/// As of `twin_open`.
#[no_mangle]
pub unsafe extern "C" fn twin_open_holding(text: *const c_char, len: usize, seed: u64, used: f64) -> *mut TwinPlayed {
    guarded(std::ptr::null_mut(), || {
        if text.is_null() {
            return Err("twin_open: the text is NULL; give that of a twin's file".to_owned());
        }
        // SAFETY: as the caller promised.
        let bytes = unsafe { slice::from_raw_parts(text.cast::<u8>(), len) };
        let text = std::str::from_utf8(bytes).map_err(|error| format!("the twin cannot be read: {error}"))?;
        let twin = Twin::open_holding(text, seed, used).map_err(|error| format!("{error}; {}", error.fix()))?;
        let for_c = ForC::of(twin.describe());
        Ok(Box::into_raw(Box::new(TwinPlayed { twin, for_c })))
    })
}

/// Submits a request (`TWIN_READ`, `TWIN_WRITE`, `TWIN_TRIM`) that comes at `now_ns`; returns the moment at which it is answered, on
/// the same clock. Requests come in order of time. `TWIN_FAILED` where there is no such request.
///
/// # Safety
/// `twin` was opened and is not closed.
#[no_mangle]
pub unsafe extern "C" fn twin_submit(twin: *mut TwinPlayed, now_ns: u64, op: u32, offset: u64, bytes: u32) -> u64 {
    guarded(TWIN_FAILED, || {
        let op = match op {
            TWIN_READ => Op::Read,
            TWIN_WRITE => Op::Write,
            TWIN_TRIM => Op::Trim,
            _ => return Err(format!("twin_submit: there is no request {op}; give TWIN_READ, TWIN_WRITE or TWIN_TRIM")),
        };
        // SAFETY: as the caller promised.
        Ok(unsafe { played(twin) }?.twin.submit(now_ns, op, offset, bytes))
    })
}

/// Submits a flush that comes at `now_ns`; returns the moment from which on the writes that were answered before it are durable.
///
/// # Safety
/// `twin` was opened and is not closed.
#[no_mangle]
pub unsafe extern "C" fn twin_flush(twin: *mut TwinPlayed, now_ns: u64) -> u64 {
    // SAFETY: as the caller promised.
    guarded(TWIN_FAILED, || Ok(unsafe { played(twin) }?.twin.flush(now_ns)))
}

/// Makes the twin what it was when it was opened: the same requests have the same answers again.
///
/// # Safety
/// `twin` was opened and is not closed.
#[no_mangle]
pub unsafe extern "C" fn twin_reset(twin: *mut TwinPlayed) {
    guarded((), || {
        // SAFETY: as the caller promised.
        unsafe { played(twin) }?.twin.reset();
        Ok(())
    });
}

/// What the twin is; valid until it is closed. NULL where there is none.
///
/// # Safety
/// `twin` was opened and is not closed.
#[no_mangle]
pub unsafe extern "C" fn twin_describe(twin: *const TwinPlayed) -> *const TwinDescription {
    // SAFETY: as the caller promised.
    guarded(null(), || Ok(unsafe { played(twin.cast_mut()) }?.for_c.shown()))
}

/// What went wrong last on this thread, in a sentence; NULL where nothing did. Valid until something else goes wrong.
#[no_mangle]
pub extern "C" fn twin_error() -> *const c_char {
    failure::last()
}

/// Closes a twin; NULL is none.
///
/// # Safety
/// `twin` was opened, is not closed, and nobody uses it any more.
#[no_mangle]
pub unsafe extern "C" fn twin_close(twin: *mut TwinPlayed) {
    if !twin.is_null() {
        guarded((), || {
            // SAFETY: it came from `Box::into_raw`, and is closed once.
            drop(unsafe { Box::from_raw(twin) });
            Ok(())
        });
    }
}

/// # Safety
/// `twin` is NULL, or was opened and is not closed.
unsafe fn played<'a>(twin: *mut TwinPlayed) -> Result<&'a mut TwinPlayed, String> {
    // SAFETY: as the caller promised.
    unsafe { twin.as_mut() }.ok_or_else(|| "the twin is NULL; open one with twin_open".to_owned())
}
