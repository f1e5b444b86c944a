//! The shape of a data set: how its bytes divide into files, members and stripes.

use std::path::{Path, PathBuf};

use assay_record::{Class, Content, Dataset, Job, Layout, Operation, PathKind, Placement, Sizes, Target, TargetKind};

use crate::{
    PathError, Segment, SegmentKind,
    guard::Admitted,
    pmem::{Support, support},
    stamp,
};

/// A data set with its target and with what its classes need of it.
#[derive(Clone, Debug)]
pub(super) struct Shape<'a> {
    pub(super) dataset: &'a Dataset,
    pub(super) target: &'a Target,
    pub(super) stripe_bytes: u64,
    /// 0 where the content is not stamped.
    pub(super) stamp_bytes: u64,
    /// A class writes to it.
    pub(super) writable: bool,
    /// What an earlier run left is not good enough: its generations would hide that this run's writes were lost, or the drive
    /// is to be as it is after a trim.
    pub(super) anew: bool,
    /// What lies there is given back to the drive before.
    pub(super) trim: bool,
    /// Whoever writes to it writes stamps.
    pub(super) keeps_stamps: bool,
    /// A class uses the `pmem` path on it.
    pub(super) pmem: bool,
    /// Members of the target; 1 for memory and null.
    pub(super) members: u64,
}

/// The shapes of a job's data sets, in its order.
pub(super) fn shapes(job: &Job) -> Result<Vec<Shape<'_>>, PathError> {
    job.datasets.iter().map(|dataset| Shape::of(job, dataset)).collect()
}

fn refused(dataset: &Dataset, reason: String, fix: &str) -> PathError {
    PathError::Refused { path: format!("data set {}", dataset.name).into(), reason, fix: fix.to_owned() }
}

impl<'a> Shape<'a> {
    fn of(job: &'a Job, dataset: &'a Dataset) -> Result<Self, PathError> {
        let target = job.targets.iter().find(|target| target.id == dataset.target);
        let missing =
            || refused(dataset, format!("there is no target {:?}", dataset.target), "name one of the job's targets");
        let target = target.ok_or_else(missing)?;
        let classes: Vec<_> = job.classes.iter().filter(|class| class.dataset == dataset.name).collect();
        let stripe = job.stripe_bytes(dataset);
        let stamped = dataset.content == Content::Stamped;
        let writable = classes.iter().any(|class| writes(class));
        // What is to be trimmed has been written before, on a device that is known to take trims.
        let trim = job.trim || classes.iter().any(|class| class.operation == Operation::Trim);
        let shape = Self {
            dataset,
            target,
            stripe_bytes: stripe,
            stamp_bytes: if stamped { common_size(&classes, stripe) } else { 0 },
            writable,
            anew: trim || (stamped && writable && job.checks.acknowledgements.is_some()),
            trim,
            keeps_stamps: !writable || job.checks.data || job.checks.acknowledgements.is_some(),
            pmem: classes.iter().any(|class| class.path.kind == PathKind::Pmem),
            members: target.members.len().max(1) as u64,
        };
        shape.check()?;
        Ok(shape)
    }

    fn check(&self) -> Result<(), PathError> {
        let dataset = self.dataset;
        let refuse = |reason: String, fix: &str| Err(refused(dataset, reason, fix));
        if !plain_name(&dataset.name) {
            return refuse("its name cannot be part of a file name".to_owned(), "use letters, digits, - and _");
        }
        if dataset.bytes == 0 || dataset.files == 0 {
            return refuse("it has no bytes".to_owned(), "give it at least one file and one byte");
        }
        if self.interleaved() && dataset.bytes % self.stripe_bytes != 0 {
            let seen = format!("its {} bytes are no multiple of the stripe of {}", dataset.bytes, self.stripe_bytes);
            return refuse(seen, "make them one");
        }
        if self.interleaved() && dataset.bytes / self.stripe_bytes < self.members {
            let seen = format!("its {} bytes do not reach all {} members", dataset.bytes, self.members);
            return refuse(seen, "make it larger, the stripe smaller, or the members fewer");
        }
        self.check_stamps()?;
        self.check_layout()
    }

    fn check_stamps(&self) -> Result<(), PathError> {
        let (bytes, stamp) = (self.dataset.bytes, self.stamp_bytes);
        if stamp == 0 {
            return Ok(());
        }
        if stamp < stamp::SMALLEST as u64 || bytes % stamp != 0 || self.stripe_bytes % stamp != 0 {
            let seen = format!(
                "blocks of {stamp} bytes cannot carry stamps in files of {bytes} and stripes of {}",
                self.stripe_bytes
            );
            let fix = "make every size, the stripe and the file a multiple of one size of at least 64 bytes";
            return Err(refused(self.dataset, seen, fix));
        }
        Ok(())
    }

    fn check_layout(&self) -> Result<(), PathError> {
        let (kind, layout) = (self.target.kind, self.dataset.layout);
        let has_space_of_its_own = matches!(kind, TargetKind::Folder | TargetKind::Null);
        if matches!(layout, Layout::Grow | Layout::Preallocated) && !has_space_of_its_own {
            let seen = "only files in a folder can grow or be preallocated".to_owned();
            return Err(refused(self.dataset, seen, "use layout \"written\", or a folder as target"));
        }
        if kind == TargetKind::File && layout != Layout::AsFound {
            let seen = "its target is a file, which is used as it is found".to_owned();
            return Err(refused(self.dataset, seen, "use layout \"as-found\", or a folder as target"));
        }
        if layout == Layout::AsFound && self.writable {
            let seen = "a class writes to it, and it is used as it is found".to_owned();
            return Err(refused(self.dataset, seen, "use layout \"written\", or read only"));
        }
        Ok(())
    }

    /// Preparing it or running its classes changes its target.
    pub(super) fn is_written_to(&self) -> bool {
        self.writable || self.dataset.layout != Layout::AsFound
    }

    /// A file is spread over several members.
    pub(super) fn interleaved(&self) -> bool {
        self.dataset.placement == Placement::Interleave && self.members > 1
    }

    /// Members that a file has a segment on.
    pub(super) fn members_of(&self, file: u32) -> std::ops::Range<u64> {
        if self.interleaved() {
            return 0..self.members;
        }
        let bound = if self.dataset.placement == Placement::Bound { u64::from(file) % self.members } else { 0 };
        bound..bound + 1
    }

    /// Bytes of a file on a member.
    pub(super) fn bytes_on(&self, member: u64) -> u64 {
        if !self.interleaved() {
            return self.dataset.bytes;
        }
        let pages = self.dataset.bytes / self.stripe_bytes;
        (pages + self.members - 1 - member) / self.members * self.stripe_bytes
    }

    /// Where a byte of a member's segment belongs in the file.
    pub(super) fn offset_in_file(&self, member: u64, offset: u64) -> u64 {
        if !self.interleaved() {
            return offset;
        }
        (offset / self.stripe_bytes * self.members + member) * self.stripe_bytes + offset % self.stripe_bytes
    }

    /// Every file on every one of its members.
    pub(super) fn parts(&self) -> impl Iterator<Item = (u32, u64)> + '_ {
        (0..self.dataset.files).flat_map(|file| self.members_of(file).map(move |member| (file, member)))
    }

    /// Segments whose place is known.
    pub(super) fn segments(&self, place: impl Fn(u32, u64) -> (PathBuf, SegmentKind, u64)) -> Vec<Vec<Segment>> {
        let segment = |file, member| {
            let (path, kind, base) = place(file, member);
            Segment { path, kind, base, bytes: self.bytes_on(member) }
        };
        (0..self.dataset.files)
            .map(|file| self.members_of(file).map(|member| segment(file, member)).collect())
            .collect()
    }

    /// What stands for a file in stamps.
    pub(super) fn file_id(&self, file: u32) -> u32 {
        stamp::file_id(&self.dataset.name, file)
    }

    /// Name of a file on a member.
    pub(super) fn file_name(&self, file: u32, member: u64) -> String {
        format!("{}.{file}.{member}.data", self.dataset.name)
    }

    /// Whether the `pmem` path is emulated on files that are used as they are.
    pub(super) fn emulated_on_files(&self, target: &Admitted) -> Result<bool, PathError> {
        let mut emulated = false;
        for member in target.members.iter().filter(|_| self.pmem) {
            emulated |= emulated_on(&member.path)?;
        }
        Ok(emulated)
    }
}

/// Whether the `pmem` path is emulated on a file.
///
/// # Errors
/// Where it cannot be used there at all.
pub(super) fn emulated_on(file: &Path) -> Result<bool, PathError> {
    let segment = Segment { path: file.to_owned(), kind: SegmentKind::File, base: 0, bytes: 1 };
    Ok(support(&segment)? == Support::Emulated)
}

fn writes(class: &Class) -> bool {
    match class.operation {
        Operation::Read => false,
        Operation::Write | Operation::Trim => true,
        Operation::Mix { write_percent } => write_percent > 0,
    }
}

/// The largest size that divides every operation of every class: the unit of stamps.
fn common_size(classes: &[&Class], otherwise: u64) -> u64 {
    let sizes = classes.iter().flat_map(|class| match &class.size {
        Sizes::One(bytes) => vec![*bytes],
        Sizes::Mix(shares) => shares.iter().map(|share| share.bytes).collect(),
    });
    sizes.reduce(common_divisor).unwrap_or(otherwise)
}

fn common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { common_divisor(b, a % b) }
}

fn plain_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}
