//! Data sets, made ready before the window opens: written, verified, and remembered for the next run.

mod carve;
mod fill;
mod folder;
mod locate;
mod memory;
mod plan;
mod sample;
mod shape;
mod trim;
mod writer;

use std::{collections::BTreeMap, io, sync::atomic::AtomicBool};

use assay_record::{Job, Layout, Target, TargetKind};

pub use locate::{Located, locate};
pub use plan::{PlanFacts, plan, refusals};

use self::{carve::Cursor, folder::Places, shape::Shape};
use crate::{
    PathError, Segment, SegmentKind,
    extents::{self, Survey},
    facts,
    guard::{self, Admitted},
    pmem::Region,
    polled::Takings,
};

/// A data set that classes can work on.
#[derive(Clone, Debug)]
pub struct PreparedDataset {
    /// Its name.
    pub name: String,
    /// Segments: `files[file][member]`. A bound file has one segment, an interleaved one as many as its target has
    /// members.
    pub files: Vec<Vec<Segment>>,
    /// Bytes of a stripe: page i of an interleaved file lies on member i mod n, at `i / n` times this.
    pub stripe_bytes: u64,
    /// Bytes of a stamped block; 0 where the content is not stamped.
    pub stamp_bytes: u64,
    /// What stands for each file in its stamps.
    pub file_ids: Vec<u32>,
    /// State that it is in.
    pub layout: Layout,
    /// The `pmem` path is used on a file system in memory: its figures are emulated.
    pub emulated: bool,
    /// A class writes to it.
    pub writable: bool,
    /// Kernel names of the simple block devices beneath; empty for memory.
    pub device_names: Vec<String>,
    /// What its files lie on, for files in a folder.
    pub extents: Option<Survey>,
}

impl PreparedDataset {
    /// Looks again at what its files lie on; none where they are no regular files.
    ///
    /// # Errors
    /// Where a file is gone or cannot be looked at.
    pub fn survey(&self) -> Result<Option<Survey>, PathError> {
        let files = self.files.iter().flatten().filter(|segment| segment.kind == SegmentKind::File);
        let mut total = None;
        for segment in files {
            let failed = |source: io::Error| PathError::Io { action: "surveying", path: segment.path.clone(), source };
            let file = std::fs::File::open(&segment.path).map_err(failed)?;
            let seen = extents::survey(&file, segment.base..segment.base + segment.bytes).map_err(failed)?;
            total = Some(sum(total, &seen));
        }
        Ok(total)
    }
}

fn sum(total: Option<Survey>, seen: &Survey) -> Survey {
    let total = total.unwrap_or(Survey { supported: true, ..Survey::default() });
    Survey {
        written: total.written + seen.written,
        unwritten: total.unwritten + seen.unwritten,
        holes: total.holes + seen.holes,
        encoded: total.encoded + seen.encoded,
        shared: total.shared + seen.shared,
        repeated: total.repeated + seen.repeated,
        supported: total.supported && seen.supported,
    }
}

/// Everything that a job works on. Dropping it removes what was made (unless the job keeps its scratch folder) and gives
/// devices back.
#[derive(Debug)]
pub struct Prepared {
    /// In the order of the job.
    pub datasets: Vec<PreparedDataset>,
    // Given back before anything else: the kernel shall have its drives again.
    _takings: Takings,
    _regions: Vec<Region>,
    _places: Places,
    _admitted: BTreeMap<String, Admitted>,
}

/// What is told while it takes time: stage, share done (0..=1), free text.
pub type Progress<'a> = dyn FnMut(&str, f64, String) + 'a;

/// Makes the data sets of a job ready: admits its targets, checks for space, writes and verifies.
///
/// # Errors
/// Where a target must not or cannot be used, there is no room, or the user interrupted. Whatever was begun is removed;
/// nothing else is touched.
pub fn prepare(job: &Job, progress: &mut Progress<'_>, interrupted: &AtomicBool) -> Result<Prepared, PathError> {
    let shapes = shape::shapes(job)?;
    let mut admitted = admit(job, &shapes)?;
    let mut places = Places::open(job, &admitted)?;
    let mut work = Work { total: plan::bytes_to_write(&shapes, &admitted, &places), done: 0, progress, interrupted };
    plan::check_space(job, &shapes, &admitted)?;
    let made = make_all(&shapes, &admitted, &mut places, &mut work);
    let (datasets, regions) = match made {
        Ok(made) => made,
        Err(error) => {
            places.give_up(&error);
            return Err(error);
        }
    };
    places.settle(&shapes)?;
    let takings = Takings::take(job, &mut admitted)?;
    Ok(Prepared { datasets, _takings: takings, _regions: regions, _places: places, _admitted: admitted })
}

/// What is left to do, and whom to tell.
struct Work<'a, 'p> {
    total: u64,
    done: u64,
    progress: &'a mut Progress<'p>,
    interrupted: &'a AtomicBool,
}

impl Work<'_, '_> {
    fn advance(&mut self, bytes: u64, what: &str) {
        self.done += bytes;
        let share = if self.total == 0 { 1.0 } else { (self.done as f64 / self.total as f64).min(1.0) };
        let text = format!("{what}: {} of {}", crate::space::in_words(self.done), crate::space::in_words(self.total));
        (self.progress)("preparing data", share, text);
    }
}

fn admit(job: &Job, shapes: &[Shape<'_>]) -> Result<BTreeMap<String, Admitted>, PathError> {
    let targets = job.targets.iter().filter_map(|target| Some((target, use_of(target, shapes)?)));
    targets.map(|(target, writes)| Ok((target.id.clone(), guard::admit(target, writes)?))).collect()
}

/// Whether a target is written to; none where no data set lies on it.
fn use_of(target: &Target, shapes: &[Shape<'_>]) -> Option<bool> {
    let here = shapes.iter().filter(|shape| shape.target.id == target.id);
    here.map(Shape::is_written_to).reduce(|any, writes| any || writes)
}

fn make_all(
    shapes: &[Shape<'_>],
    admitted: &BTreeMap<String, Admitted>,
    places: &mut Places,
    work: &mut Work<'_, '_>,
) -> Result<(Vec<PreparedDataset>, Vec<Region>), PathError> {
    let mut cursors: BTreeMap<&str, Cursor> = BTreeMap::new();
    let (mut datasets, mut regions) = (Vec::new(), Vec::new());
    for shape in shapes {
        let target = &admitted[&shape.target.id];
        let cursor = cursors.entry(&shape.target.id).or_insert_with(|| Cursor::new(target.members.len()));
        let (files, emulated) = match shape.target.kind {
            TargetKind::Folder => places.make(shape, work)?,
            TargetKind::File => (carve::whole_files(shape, target)?, shape.emulated_on_files(target)?),
            TargetKind::BlockDevice | TargetKind::DeviceDax => (carve::ranges(shape, target, cursor, work)?, false),
            TargetKind::Memory => (memory::make(shape, &mut regions, work)?, false),
            TargetKind::Null | TargetKind::Twin => {
                (shape.segments(|_, _| (std::path::PathBuf::new(), SegmentKind::Null, 0)), false)
            }
        };
        datasets.push(finish(shape, target, files, emulated)?);
    }
    Ok((datasets, regions))
}

fn finish(
    shape: &Shape<'_>,
    target: &Admitted,
    files: Vec<Vec<Segment>>,
    emulated: bool,
) -> Result<PreparedDataset, PathError> {
    let mut device_names: Vec<_> = target
        .members
        .iter()
        .filter_map(|member| facts::block_device(&member.path))
        .flat_map(|device| device.members)
        .collect();
    device_names.sort_unstable();
    device_names.dedup();
    let mut dataset = PreparedDataset {
        name: shape.dataset.name.clone(),
        file_ids: (0..shape.dataset.files).map(|file| shape.file_id(file)).collect(),
        files,
        stripe_bytes: shape.stripe_bytes,
        stamp_bytes: shape.stamp_bytes,
        layout: shape.dataset.layout,
        emulated,
        writable: shape.writable,
        device_names,
        extents: None,
    };
    if dataset.layout != Layout::Grow {
        dataset.extents = dataset.survey()?;
    }
    Ok(dataset)
}
