//! What a program does wrong is answered, and never a panic.

use std::{
    ffi::{c_char, CStr},
    ptr::{null, null_mut},
};

use twin::{
    twin_close, twin_describe, twin_error, twin_flush, twin_open, twin_open_holding, twin_reset, twin_submit,
    TwinPlayed, TWIN_FAILED, TWIN_READ,
};

const TEXT: &str = include_str!("../../../catalog/twins/gp3.toml");

fn opened() -> *mut TwinPlayed {
    // SAFETY: the text is there, and as long as is said.
    unsafe { twin_open(TEXT.as_ptr().cast::<c_char>(), TEXT.len(), 1) }
}

fn error() -> String {
    let text = twin_error();
    assert!(!text.is_null());
    // SAFETY: the library keeps it until something else goes wrong.
    unsafe { CStr::from_ptr(text) }.to_str().unwrap().to_owned()
}

#[test]
fn no_twin_is_no_crash() {
    // SAFETY: NULL is among what each of them takes.
    unsafe {
        assert_eq!(twin_submit(null_mut(), 0, TWIN_READ, 0, 4096), TWIN_FAILED);
        assert_eq!(twin_flush(null_mut(), 0), TWIN_FAILED);
        assert!(twin_describe(null()).is_null());
        twin_reset(null_mut());
        twin_close(null_mut());
        assert!(error().contains("NULL"), "{}", error());
        assert!(twin_open(null(), 10, 1).is_null());
    }
}

#[test]
fn a_text_that_is_no_twin_says_why() {
    for text in [&b"\xff\xfe"[..], b"", b"version = 1", b"{}"] {
        // SAFETY: the text is there, and as long as is said.
        assert!(unsafe { twin_open(text.as_ptr().cast::<c_char>(), text.len(), 1) }.is_null());
        assert!(error().contains("cannot be read"), "{}", error());
    }
}

#[test]
fn requests_that_do_not_exist_are_refused_and_odd_ones_are_answered() {
    let twin = opened();
    // SAFETY: it was opened, and is closed at the end.
    unsafe {
        assert_eq!(twin_submit(twin, 0, 7, 0, 4096), TWIN_FAILED);
        assert!(error().contains("request 7"), "{}", error());
        for (now, offset, bytes) in [(0, u64::MAX, u32::MAX), (u64::MAX - 1, 0, 0), (5, u64::MAX / 2, 1)] {
            let done = twin_submit(twin, now, TWIN_READ, offset, bytes);
            assert!(done >= now, "{now} {offset} {bytes}: {done}");
        }
        assert_eq!((*twin_describe(twin)).capacity_bytes, 1_000_000_000_000);
        twin_close(twin);
    }
}

#[test]
fn shares_that_are_none_are_taken_as_the_nearest_one() {
    for used in [-1.0, 0.5, 2.0, f64::NAN, f64::INFINITY] {
        // SAFETY: the text is there, and as long as is said; what was opened is closed.
        unsafe {
            let twin = twin_open_holding(TEXT.as_ptr().cast::<c_char>(), TEXT.len(), 1, used);
            assert!(!twin.is_null(), "{used}");
            twin_close(twin);
        }
    }
}
