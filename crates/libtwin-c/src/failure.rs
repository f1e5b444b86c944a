//! What went wrong, kept for whoever asks.

use std::{
    cell::RefCell,
    ffi::{c_char, CString},
    panic::{catch_unwind, AssertUnwindSafe},
    ptr::null,
};

thread_local! {
    static LAST: RefCell<Option<CString>> = const { RefCell::new(None) };
}

/// The result of `work`, or `otherwise` where it fails or panics; why is kept.
pub(crate) fn guarded<T>(otherwise: T, work: impl FnOnce() -> Result<T, String>) -> T {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(value)) => value,
        Ok(Err(why)) => keep(why, otherwise),
        Err(_) => keep("libtwin broke a promise of its own; please report what was asked".to_owned(), otherwise),
    }
}

fn keep<T>(why: String, otherwise: T) -> T {
    let why = CString::new(why.replace('\0', " ")).unwrap_or_default();
    LAST.with(|last| *last.borrow_mut() = Some(why));
    otherwise
}

/// What was kept last on this thread.
pub(crate) fn last() -> *const c_char {
    LAST.with(|last| last.borrow().as_ref().map_or(null(), |why| why.as_ptr()))
}

#[cfg(test)]
mod tests {
    use std::ffi::CStr;

    use super::*;

    #[test]
    fn a_panic_stays_inside() {
        assert_eq!(guarded(7, || panic!("inside")), 7);
        // SAFETY: it was just kept.
        let why = unsafe { CStr::from_ptr(last()) };
        assert!(why.to_str().is_ok_and(|why| why.contains("libtwin")), "{why:?}");
    }
}
