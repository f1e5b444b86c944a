//! Values in pages of their own: a chain of them.
//!
//! ```text
//! 32  next   u64  the page after this one, 0 for the last
//! 40  bytes  u32  of the value in this page
//! 48  the value
//! ```

use assay_buffer::{Attempt, HEADER_BYTES, PageId, Stop, Worker, Writing};

use crate::TreeError;

const NEXT: usize = HEADER_BYTES;
const BYTES: usize = NEXT + 8;
const VALUE: usize = BYTES + 8;

/// Writes a value, the last page first; nothing refers to it yet.
pub(super) fn write(worker: &Worker<'_>, writing: &Writing<'_>, value: &[u8]) -> Result<PageId, TreeError> {
    let most = worker.pool().page_bytes() - VALUE;
    let mut next: PageId = 0;
    for part in value.chunks(most).rev() {
        let page = worker.retry(|| {
            let mut page = worker.allocate(writing)?;
            let bytes = page.bytes_mut();
            bytes[NEXT..BYTES].copy_from_slice(&next.to_le_bytes());
            bytes[BYTES..BYTES + 4].copy_from_slice(&(part.len() as u32).to_le_bytes());
            bytes[VALUE..VALUE + part.len()].copy_from_slice(part);
            Ok(page.page())
        });
        match page {
            Ok(page) => next = page,
            Err(error) => {
                // What was written so far is not needed; the error that led here is what matters.
                let _ = free(worker, writing, next);
                return Err(error.into());
            }
        }
    }
    Ok(next)
}

/// Appends a value. What refers to it is to be validated afterwards.
pub(super) fn read(worker: &Worker<'_>, first: PageId, bytes: u32, into: &mut Vec<u8>) -> Attempt<()> {
    let end = into.len() + bytes as usize;
    let mut page = first;
    while into.len() < end {
        let before = into.len();
        let guard = worker.look(page)?;
        page = guard.read(|view| {
            let part = (view.u32(BYTES) as usize).min(end - before);
            into.extend_from_slice(view.slice(VALUE, part));
            view.u64(NEXT)
        })?;
        if into.len() == before {
            return Err(Stop::Restart);
        }
    }
    Ok(())
}

/// Frees a chain that nothing refers to any more.
pub(super) fn free(worker: &Worker<'_>, writing: &Writing<'_>, first: PageId) -> Result<(), TreeError> {
    let mut page = first;
    while page != 0 {
        page = worker.retry(|| {
            let guard = worker.look(page)?.lock(writing)?;
            let next = guard.view().u64(NEXT);
            guard.free();
            Ok(next)
        })?;
    }
    Ok(())
}

/// Pages of a value.
pub(super) fn pages(page_bytes: usize, value: u32) -> u64 {
    (value as usize).div_ceil(page_bytes - VALUE) as u64
}
