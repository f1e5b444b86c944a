//! Where a job's data sets lie, without touching them: for checks after a run was killed.

use std::{collections::BTreeMap, path::Path};

use assay_record::{Job, TargetKind};

use super::{
    carve::{self, Cursor},
    shape::{self, Shape},
};
use crate::{PathError, Segment, SegmentKind};

/// A data set as a killed run left it.
#[derive(Clone, Debug)]
pub struct Located {
    /// Name of the data set.
    pub name: String,
    /// Segments: `files[file][member]`.
    pub files: Vec<Vec<Segment>>,
    /// Page size of the spread, bytes.
    pub stripe_bytes: u64,
    /// Bytes of a stamped block; 0 where the content is not stamped.
    pub stamp_bytes: u64,
    /// What stands for each file in its stamps.
    pub file_ids: Vec<u32>,
}

/// Where the data sets on folders and devices lie, in the job's order; nothing is made, opened or changed.
///
/// # Errors
/// Where the job's data sets contradict each other.
pub fn locate(job: &Job) -> Result<Vec<Located>, PathError> {
    let mut cursors: BTreeMap<&str, Cursor> = BTreeMap::new();
    let shapes = shape::shapes(job)?;
    let mut found = Vec::new();
    for shape in &shapes {
        let members = shape.target.members.len();
        let cursor = cursors.entry(&shape.target.id).or_insert_with(|| Cursor::new(members));
        let files = match shape.target.kind {
            TargetKind::Folder => in_folders(job, shape),
            TargetKind::BlockDevice => carve::places(shape, SegmentKind::BlockDevice, cursor),
            TargetKind::DeviceDax => carve::places(shape, SegmentKind::DeviceDax, cursor),
            TargetKind::File | TargetKind::Memory | TargetKind::Null | TargetKind::Twin => continue,
        };
        found.push(Located {
            name: shape.dataset.name.clone(),
            files,
            stripe_bytes: shape.stripe_bytes,
            stamp_bytes: shape.stamp_bytes,
            file_ids: (0..shape.dataset.files).map(|file| shape.file_id(file)).collect(),
        });
    }
    Ok(found)
}

fn in_folders(job: &Job, shape: &Shape<'_>) -> Vec<Vec<Segment>> {
    shape.segments(|file, member| {
        let folder = Path::new(&shape.target.members[member as usize]).join(&job.scratch);
        (folder.join(shape.file_name(file, member)), SegmentKind::File, 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two data sets of 3 MiB on one target.
    fn located(kind: &str, members: &[&str]) -> Vec<Located> {
        let dataset = |name| serde_json::json!({"name": name, "target": "t", "bytes": 3 << 20, "content": "stamped"});
        let job = serde_json::json!({
            "version": 1, "name": "cell", "seed": 1, "scratch": "s",
            "targets": [{"id": "t", "kind": kind, "members": members}],
            "datasets": [dataset("a"), dataset("b")],
            "classes": [],
            "window": {"measure_s": 1.0}
        });
        locate(&serde_json::from_value(job).unwrap()).unwrap()
    }

    #[test]
    fn data_sets_on_a_device_follow_each_other_as_they_were_carved() {
        for (kind, base) in [("block-device", 3 << 20), ("device-dax", 4 << 20)] {
            let found = located(kind, &["/dev/one"]);
            assert_eq!((found[0].name.as_str(), found[1].name.as_str()), ("a", "b"));
            assert_eq!((found[0].files[0][0].base, found[1].files[0][0].base), (0, base), "{kind}");
            assert_eq!(found[1].files[0][0].path, Path::new("/dev/one"));
        }
    }

    #[test]
    fn data_sets_in_folders_are_files() {
        let found = located("folder", &["/srv/one"]);
        assert_eq!(found[1].files[0][0].path, Path::new("/srv/one/s/b.0.0.data"));
        assert!(located("null", &[]).is_empty());
    }
}
