//! Where a job's data sets lie, without touching them: for checks after a run was killed.

use std::path::Path;

use assay_record::{Job, TargetKind};

use super::shape;
use crate::{PathError, Segment, SegmentKind};

/// A data set as a killed run left it.
#[derive(Clone, Debug)]
pub struct Located {
    /// Segments: `files[file][member]`.
    pub files: Vec<Vec<Segment>>,
    /// Page size of the spread, bytes.
    pub stripe_bytes: u64,
    /// Bytes of a stamped block; 0 where the content is not stamped.
    pub stamp_bytes: u64,
    /// What stands for each file in its stamps.
    pub file_ids: Vec<u32>,
}

/// Where the data sets on folder targets lie, in the job's order; nothing is made, opened or changed.
///
/// # Errors
/// Where the job's data sets contradict each other.
pub fn locate(job: &Job) -> Result<Vec<Located>, PathError> {
    let shapes = shape::shapes(job)?;
    let folders = shapes.iter().filter(|shape| shape.target.kind == TargetKind::Folder);
    Ok(folders
        .map(|shape| {
            let place = |file, member: u64| {
                let folder = Path::new(&shape.target.members[member as usize]).join(&job.scratch);
                (folder.join(shape.file_name(file, member)), SegmentKind::File, 0)
            };
            Located {
                files: shape.segments(place),
                stripe_bytes: shape.stripe_bytes,
                stamp_bytes: shape.stamp_bytes,
                file_ids: (0..shape.dataset.files).map(|file| shape.file_id(file)).collect(),
            }
        })
        .collect())
}
