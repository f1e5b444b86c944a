//! Data sets on devices, carved out one after the other, and on files that are used as they are.

use std::path::Path;

use assay_record::{Content, Layout, Placement};

use super::{Work, fill::Filler, memory, sample, shape::Shape, trim, writer};
use crate::{PathError, Segment, SegmentKind, guard::Admitted, space::in_words};

const BLOCK_ALIGNMENT: u64 = 1 << 20;
const DAX_ALIGNMENT: u64 = 2 << 20;

/// How much of each member of a target is given away.
#[derive(Debug)]
pub(super) struct Cursor {
    used: Vec<u64>,
}

impl Cursor {
    pub(super) fn new(members: usize) -> Self {
        Self { used: vec![0; members] }
    }

    fn take(&mut self, member: usize, bytes: u64, alignment: u64) -> u64 {
        let base = self.used[member].next_multiple_of(alignment);
        self.used[member] = base.saturating_add(bytes);
        base
    }
}

/// Ranges of the target's devices, written where the layout wants it.
pub(super) fn ranges(
    shape: &Shape<'_>,
    target: &Admitted,
    cursor: &mut Cursor,
    work: &mut Work<'_, '_>,
) -> Result<Vec<Vec<Segment>>, PathError> {
    let mut files = Vec::new();
    for file in 0..shape.dataset.files {
        let mut segments = Vec::new();
        for member in shape.members_of(file) {
            let segment = range(shape, target, cursor, member)?;
            if shape.trim {
                trim::device_range(&segment)?;
            }
            fill(shape, &segment, Filler::new(shape, file, member), work)?;
            segments.push(segment);
        }
        files.push(segments);
    }
    Ok(files)
}

/// Where the ranges of a data set lie, without looking at its devices.
pub(super) fn places(shape: &Shape<'_>, kind: SegmentKind, cursor: &mut Cursor) -> Vec<Vec<Segment>> {
    let mut place = |member: u64| {
        let bytes = shape.bytes_on(member);
        let base = cursor.take(member as usize, bytes, alignment(kind));
        Segment { path: shape.target.members[member as usize].clone().into(), kind, base, bytes }
    };
    (0..shape.dataset.files).map(|file| shape.members_of(file).map(&mut place).collect()).collect()
}

fn alignment(kind: SegmentKind) -> u64 {
    if kind == SegmentKind::DeviceDax { DAX_ALIGNMENT } else { BLOCK_ALIGNMENT }
}

fn range(shape: &Shape<'_>, target: &Admitted, cursor: &mut Cursor, member: u64) -> Result<Segment, PathError> {
    let device = &target.members[member as usize];
    let bytes = shape.bytes_on(member);
    let base = cursor.take(member as usize, bytes, alignment(device.kind));
    if base.saturating_add(bytes) > device.bytes {
        return Err(too_large(&device.path, shape, base, device.bytes));
    }
    Ok(Segment { path: device.path.clone(), kind: device.kind, base, bytes })
}

fn too_large(path: &Path, shape: &Shape<'_>, base: u64, bytes: u64) -> PathError {
    PathError::Refused {
        path: path.to_owned(),
        reason: format!(
            "data set {} does not fit: it has {} bytes, and {} of {} bytes are taken",
            shape.dataset.name, shape.dataset.bytes, base, bytes
        ),
        fix: format!("make the data sets smaller (the device has {}), or add a member", in_words(bytes)),
    }
}

fn fill(shape: &Shape<'_>, segment: &Segment, filler: Filler<'_>, work: &mut Work<'_, '_>) -> Result<(), PathError> {
    if shape.dataset.layout != Layout::Written {
        return Ok(());
    }
    if segment.kind == SegmentKind::DeviceDax {
        return memory::fill(segment, filler, work);
    }
    let failed = |source| PathError::Io { action: "reading", path: segment.path.clone(), source };
    let reusable = !shape.anew
        && shape.dataset.content == Content::Random
        && sample::looks_random(&segment.path, segment.base, segment.bytes).map_err(failed)?;
    if reusable {
        work.advance(segment.bytes, "already filled with random bytes");
        return Ok(());
    }
    writer::write(&segment.path, segment.base, segment.bytes, filler, work)
}

/// Files that are used as they are; each has to be long enough.
pub(super) fn whole_files(shape: &Shape<'_>, target: &Admitted) -> Result<Vec<Vec<Segment>>, PathError> {
    let distinct = match shape.dataset.placement {
        Placement::Interleave => 1,
        Placement::Bound => shape.members,
    };
    let files = u64::from(shape.dataset.files);
    if files > distinct {
        let reason = format!("data set {} has {files} files where {distinct} can be told apart", shape.dataset.name);
        let fix = "use files = 1, or a target with as many members and placement \"bound\"".to_owned();
        return Err(PathError::Refused { path: target.members[0].path.clone(), reason, fix });
    }
    for (_, member) in shape.parts() {
        let file = &target.members[member as usize];
        if file.bytes < shape.bytes_on(member) {
            return Err(too_large(&file.path, shape, 0, file.bytes));
        }
    }
    Ok(shape.segments(|_, member| (target.members[member as usize].path.clone(), SegmentKind::File, 0)))
}
