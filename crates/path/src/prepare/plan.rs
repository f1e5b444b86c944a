//! What preparing a job will cost, before anything is touched.

use std::{
    collections::BTreeMap,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use assay_record::{Job, Layout, TargetKind};

use super::{
    folder::{Places, usable},
    shape::{Shape, shapes},
    use_of,
};
use crate::{
    PathError,
    guard::{self, Admitted},
    ledger::Ledger,
    space,
};

/// Cost of preparing a job.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanFacts {
    /// Bytes that are written to prepare data sets; what an earlier run left ready does not count.
    pub bytes_to_prepare: u64,
    /// Bytes of free space that preparing and running take, over all folders.
    pub bytes_free_needed: u64,
}

/// What preparing a job costs. Only looks.
///
/// # Errors
/// Where the job's data sets cannot be.
pub fn plan(job: &Job) -> Result<PlanFacts, PathError> {
    let mut facts = PlanFacts::default();
    for shape in shapes(job)? {
        for (file, member) in shape.parts() {
            let folder = shape.target.members.get(member as usize).map(|path| Path::new(path).join(&job.scratch));
            let (write, space) = cost(&shape, file, member, folder.as_deref());
            facts.bytes_to_prepare += write;
            facts.bytes_free_needed += space;
        }
    }
    Ok(facts)
}

/// Why preparing a job would be refused; empty where nothing is known that speaks against it. Only looks.
pub fn refusals(job: &Job) -> Vec<PathError> {
    let shapes = match shapes(job) {
        Ok(shapes) => shapes,
        Err(error) => return vec![error],
    };
    let (mut refusals, mut admitted) = (Vec::new(), BTreeMap::new());
    for target in &job.targets {
        match use_of(target, &shapes).map(|writes| guard::admit(target, writes)) {
            Some(Ok(known)) => _ = admitted.insert(target.id.clone(), known),
            Some(Err(error)) => refusals.push(error),
            None => {}
        }
    }
    refusals.extend(check_space(job, &shapes, &admitted).err());
    refusals
}

/// Bytes to write and bytes of space for one file on one member.
fn cost(shape: &Shape<'_>, file: u32, member: u64, scratch: Option<&Path>) -> (u64, u64) {
    let bytes = shape.bytes_on(member);
    let written = shape.dataset.layout == Layout::Written;
    match shape.target.kind {
        TargetKind::Null | TargetKind::File | TargetKind::Twin => (0, 0),
        TargetKind::Memory | TargetKind::BlockDevice | TargetKind::DeviceDax => (if written { bytes } else { 0 }, 0),
        TargetKind::Folder => match shape.dataset.layout {
            Layout::AsFound => (0, 0),
            Layout::Grow | Layout::Preallocated => (0, bytes),
            Layout::Written => {
                let ready = scratch.is_some_and(|scratch| usable(shape, scratch, &Ledger::load(scratch), file, member));
                if ready { (0, 0) } else { (bytes, bytes) }
            }
        },
    }
}

/// Bytes that preparing will write.
pub(super) fn bytes_to_write(shapes: &[Shape<'_>], admitted: &BTreeMap<String, Admitted>, places: &Places) -> u64 {
    let of = |shape: &Shape<'_>| {
        let target = &admitted[&shape.target.id];
        let folder = |member: u64| target.members.get(member as usize).map(|member| places.scratch_of(&member.path));
        shape.parts().map(|(file, member)| cost(shape, file, member, folder(member).flatten()).0).sum::<u64>()
    };
    shapes.iter().map(of).sum()
}

/// Refuses where a file system has no room for all that lies on it.
pub(super) fn check_space(
    job: &Job,
    shapes: &[Shape<'_>],
    admitted: &BTreeMap<String, Admitted>,
) -> Result<(), PathError> {
    let mut needed: BTreeMap<u64, (PathBuf, u64)> = BTreeMap::new();
    for shape in shapes.iter().filter(|shape| shape.target.kind == TargetKind::Folder) {
        let Some(target) = admitted.get(&shape.target.id) else { continue };
        for (file, member) in shape.parts() {
            let folder = &target.members[member as usize].path;
            let failed = |source| PathError::Io { action: "looking at", path: folder.clone(), source };
            let device = folder.metadata().map_err(failed)?.dev();
            let (_, bytes) = cost(shape, file, member, Some(&folder.join(&job.scratch)));
            needed.entry(device).or_insert_with(|| (folder.clone(), 0)).1 += bytes;
        }
    }
    needed.values().try_for_each(|(folder, bytes)| space::check(folder, *bytes, job.free_percent_at_least))
}
