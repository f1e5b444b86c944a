//! What a twin is, as C sees it.

use std::ffi::{c_char, CString};

use assay_libtwin::Description;

/// What a twin is, and how quick it is at best.
#[repr(C)]
pub struct TwinDescription {
    /// As in `twin:NAME`.
    pub name: *const c_char,
    /// Name for people.
    pub title: *const c_char,
    /// Bytes that a user can store.
    pub capacity_bytes: u64,
    /// Median time of a lone read of 4 KiB at random, ns.
    pub floor_read_ns: u64,
    /// Median time of a lone write of 4 KiB at random, ns.
    pub floor_write_ns: u64,
}

/// A description with the texts that it points to.
pub(crate) struct ForC {
    shown: TwinDescription,
    _texts: [CString; 2],
}

impl ForC {
    pub(crate) fn of(about: &Description) -> Self {
        let texts = [&about.name, &about.title].map(|text| CString::new(text.replace('\0', " ")).unwrap_or_default());
        let shown = TwinDescription {
            name: texts[0].as_ptr(),
            title: texts[1].as_ptr(),
            capacity_bytes: about.capacity_bytes,
            floor_read_ns: about.floor_read_ns,
            floor_write_ns: about.floor_write_ns,
        };
        Self { shown, _texts: texts }
    }

    pub(crate) fn shown(&self) -> *const TwinDescription {
        &self.shown
    }
}
