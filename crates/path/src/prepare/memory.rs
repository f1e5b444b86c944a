//! Data sets in the machine's memory.

use std::{
    path::PathBuf,
    sync::atomic::{AtomicU64, Ordering},
};

use assay_record::Layout;

use super::{Work, fill::Filler, shape::Shape};
use crate::{
    PathError, Segment, SegmentKind,
    pmem::{Mapping, Region},
};

/// Maps and fills the data set; the regions keep it alive.
pub(super) fn make(
    shape: &Shape<'_>,
    regions: &mut Vec<Region>,
    work: &mut Work<'_, '_>,
) -> Result<Vec<Vec<Segment>>, PathError> {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    // A name is all that memory is known by, so it must not be that of another job in this process.
    let job = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = |file, member| PathBuf::from(format!("memory/{job}/{}", shape.file_name(file, member)));
    let files = shape.segments(|file, member| (name(file, member), SegmentKind::Memory, 0));
    for (file, segments) in files.iter().enumerate() {
        for segment in segments {
            regions.push(Mapping::shared(segment, true)?);
            if shape.dataset.layout == Layout::Written {
                fill(segment, Filler::new(shape, file as u32, 0), work)?;
            }
        }
    }
    Ok(files)
}

/// Fills a segment through its mapping.
pub(super) fn fill(segment: &Segment, filler: Filler<'_>, work: &mut Work<'_, '_>) -> Result<(), PathError> {
    let mapping = Mapping::shared(segment, true)?;
    let mut piece = vec![0; filler.chunk_bytes().min(segment.bytes) as usize];
    let name = segment.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut at = 0;
    while at < segment.bytes {
        if work.interrupted.load(Ordering::Relaxed) {
            return Err(PathError::Interrupted { action: "preparing data" });
        }
        let length = piece.len().min((segment.bytes - at) as usize);
        filler.fill(&mut piece[..length], at);
        mapping.put(at as usize, &piece[..length]);
        if let Some(source) = mapping.loss() {
            return Err(PathError::Io { action: "writing", path: segment.path.clone(), source });
        }
        at += length as u64;
        work.advance(length as u64, &name);
    }
    Ok(())
}
