//! The drives that the classes of a job drive themselves: taken after their data are there, given back at the end.

use std::{collections::BTreeMap, path::Path, sync::Arc};

use assay_record::{Class, Job, PathKind, Reach, Target, TargetKind};

use super::{drive::PolledDrive, function::Function, hardware::Hardware};
use crate::{PathError, facts::System, guard::Admitted};

/// Drives of a job. Dropping it gives back those that no path uses any more.
#[derive(Debug, Default)]
pub(crate) struct Takings {
    _drives: Vec<Arc<PolledDrive>>,
}

impl Takings {
    /// Takes the drives of all classes of this path. Their targets were admitted; holds on them are used up.
    ///
    /// # Errors
    /// Where a class with another path needs the same drive, or a drive cannot or must not be taken.
    pub fn take(job: &Job, admitted: &mut BTreeMap<String, Admitted>) -> Result<Self, PathError> {
        let wanted: Vec<_> = polled(job).collect();
        let mut held = Vec::new();
        for (class, target) in &wanted {
            not_shared(job, class, target)?;
            held.extend(admitted.get_mut(&target.id).map(Admitted::release).unwrap_or_default());
        }
        let mut drives = Vec::new();
        for (class, target) in wanted {
            let members = admitted.get(&target.id).map(|target| target.members.as_slice()).unwrap_or_default();
            for member in members {
                drives.push(PolledDrive::of(&member.path, class.path.reach, &mut held)?);
            }
        }
        Ok(Self { _drives: drives })
    }
}

/// Classes that drive their target themselves.
fn polled(job: &Job) -> impl Iterator<Item = (&Class, &Target)> {
    let of = |class: &Class| class.path.kind == PathKind::NvmePolled;
    let target = |class| job.dataset_of(class).and_then(|dataset| job.target_of(dataset));
    let classes = job.classes.iter().filter(move |class| of(class));
    classes
        .filter_map(move |class| Some((class, target(class)?)))
        .filter(|(_, target)| target.kind == TargetKind::BlockDevice)
}

/// While the drive is taken, no other path reaches it.
fn not_shared(job: &Job, class: &Class, target: &Target) -> Result<(), PathError> {
    let members = |other: &Class| {
        let target = job.dataset_of(other).and_then(|dataset| job.target_of(dataset));
        target.map(|target| target.members.as_slice()).unwrap_or_default()
    };
    let kernels = job.classes.iter().filter(|other| other.path.kind != PathKind::NvmePolled);
    let same = |a: &str, b: &str| real(a) == real(b);
    for other in kernels {
        let shared = target.members.iter().find(|member| members(other).iter().any(|theirs| same(member, theirs)));
        if let Some(member) = shared {
            let reason = format!(
                "class {} takes it from the kernel, through which class {} would reach it",
                class.name, other.name
            );
            let fix = "use nvme_polled for all classes on a drive, or give them drives of their own".to_owned();
            return Err(PathError::Refused { path: member.into(), reason, fix });
        }
    }
    Ok(())
}

fn real(path: &str) -> std::path::PathBuf {
    Path::new(path).canonicalize().unwrap_or_else(|_| path.into())
}

/// Why the drives of a job would not be taken. Only looks.
pub fn refusals(job: &Job) -> Vec<PathError> {
    let mut found = Vec::new();
    for (class, target) in polled(job) {
        found.extend(not_shared(job, class, target).err());
        found.extend(target.members.iter().filter_map(|member| possible(Path::new(member), class.path.reach).err()));
    }
    found
}

/// Whether a drive could be taken, and in which way, in words. Only looks.
///
/// # Errors
/// Where it is no NVMe drive, is in use, or the machine lacks the means.
pub fn possible(path: &Path, reach: Reach) -> Result<&'static str, PathError> {
    let system = System::default();
    let function = Function::find(&system, path)?;
    let plan = Hardware::plan(&system, &function, reach)?;
    function.hold_unused(&system, &mut Vec::new())?;
    Ok(plan.way.words())
}
