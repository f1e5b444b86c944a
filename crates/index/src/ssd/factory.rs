//! What makes and opens an index on a drive for a run.

use std::{
    collections::BTreeMap,
    marker::PhantomData,
    path::{Path, PathBuf},
    sync::Arc,
    time::Instant,
};

use assay_btree::TreeError;
use assay_buffer::{
    Config,
    disk::{Access, Disk, Drive},
};
use assay_path::{Plan, Scratch};
use assay_record::PathKind;
use serde_json::Value;

use super::{OnPool, Parts, SsdSession, Structure};
use crate::{
    error::IndexError,
    in_pool::unknown_option,
    index::Session,
    job::{IndexJob, Window},
    run::{About, Factory, Opened},
    workload::Operation,
};

/// Bytes of the buffer pool where the job does not say.
pub(crate) const POOL_BYTES: u64 = 256 << 20;
/// Bytes of an entry besides its key and its value.
const ENTRY_BYTES: usize = 8;
/// Bytes of a file that hold no entries.
const HEAD_BYTES: u64 = 1 << 20;
/// Inserts a second and thread that a file has room for. The file is sparse: room costs nothing.
const INSERTS_PER_S: f64 = 1e6;

/// Makes and opens one index in one file.
pub struct OnDrive<S> {
    /// One, or one for each thread.
    files: Vec<PathBuf>,
    named: bool,
    bytes: u64,
    config: Config,
    access: Access,
    _scratch: Option<Scratch>,
    structure: PhantomData<fn() -> S>,
}

impl<S: Structure> OnDrive<S> {
    /// Of a job. Options: `page_bytes` (4096), `io` (`io_uring`, `libaio` or `pread`), `direct` (true).
    ///
    /// # Errors
    /// Where nothing can be made at its target, or an option is not known.
    pub fn new(job: &IndexJob) -> Result<Self, IndexError> {
        let (config, access) = settings(job)?;
        let parts = parts(job);
        let (files, scratch) = place(job, parts)?;
        let named = job.pool_file.is_some();
        let bytes = room(job, parts);
        Ok(Self { files, named, bytes, config, access, _scratch: scratch, structure: PhantomData })
    }

    fn drive(&self, file: &Path, make: bool) -> Result<Arc<dyn Disk>, IndexError> {
        let paths = [file.to_owned()];
        let drive =
            if make { Drive::create(&paths, self.bytes, self.access) } else { Drive::open(&paths, self.access) };
        Ok(Arc::new(drive.map_err(TreeError::from)?))
    }
}

/// Structures that the keys are split into.
pub(super) fn parts(job: &IndexJob) -> u64 {
    if job.split { u64::from(job.threads) } else { 1 }
}

/// Pool and way of a job.
pub(super) fn settings(job: &IndexJob) -> Result<(Config, Access), IndexError> {
    let (mut config, mut access) = (Config::default(), Access::default());
    let parts = parts(job);
    config.pool_bytes = job.pool_bytes.unwrap_or(POOL_BYTES) / parts;
    config.workers = job.threads as usize / parts as usize + 2;
    for (name, value) in &job.options {
        option(name, value, &mut config, &mut access)?;
    }
    Ok((config, access))
}

fn option(name: &str, value: &Value, config: &mut Config, access: &mut Access) -> Result<(), IndexError> {
    match (name, value.as_u64(), value.as_str(), value.as_bool()) {
        ("page_bytes", Some(bytes), ..) => config.page_bytes = u32::try_from(bytes).unwrap_or(u32::MAX),
        ("io", _, Some("io_uring"), _) => access.path = PathKind::IoUring,
        ("io", _, Some("libaio"), _) => access.path = PathKind::Libaio,
        ("io", _, Some("pread"), _) => access.path = PathKind::Pread,
        ("direct", .., Some(direct)) => access.direct = direct,
        _ => {
            let fix = "indexes on a drive know page_bytes (4096 to 65536), io (io_uring, libaio, pread) and direct";
            return Err(unknown_option(name, value, fix));
        }
    }
    Ok(())
}

/// Bytes of a file: room for what is loaded and what the window may add, with copies that a checkpoint needs.
pub(super) fn room(job: &IndexJob, parts: u64) -> u64 {
    let share = f64::from(job.workload.mix().0[Operation::Insert as usize]) / 1000.0;
    let added = match job.window {
        Window::Seconds(seconds) => (seconds + job.warmup_s) * INSERTS_PER_S * f64::from(job.threads),
        Window::Operations(operations) => operations as f64,
    };
    let entry = job.sizes.key.most + job.sizes.value.most + 64;
    ((job.keys as f64 + share * added) * entry as f64 * 6.0) as u64 / parts + (1 << 30)
}

fn place(job: &IndexJob, parts: u64) -> Result<(Vec<PathBuf>, Option<Scratch>), IndexError> {
    if let Some(file) = job.named_file()? {
        return Ok((vec![file], None));
    }
    if !job.target.is_dir() {
        let fix = "name a folder; Assay makes a file of its own in it and removes it again";
        return Err(IndexError::job(format!("{} is no folder", job.target.display()), fix));
    }
    assay_path::space::reserve([(job.target.as_path(), loaded_bytes(job))]).map_err(failed)?;
    let failed = |error| failed(assay_path::PathError::from(error));
    let mut scratch = Scratch::fresh(&job.target, "assay-index", &Plan::measured()).map_err(failed)?;
    let name = |part| if part == 0 { "pool".to_owned() } else { format!("pool-{part}") };
    let files = (0..parts).map(|part| scratch.claim(&name(part)).map_err(failed)).collect::<Result<_, _>>()?;
    Ok((files, Some(scratch)))
}

fn failed(error: assay_path::PathError) -> TreeError {
    TreeError::from(assay_buffer::BufferError::from(error))
}

/// Bytes that the load takes of a drive: entries in pages that are filled by two thirds, and the file's head.
pub(super) fn loaded_bytes(job: &IndexJob) -> u64 {
    let entry = (job.sizes.key.most + job.sizes.value.most + ENTRY_BYTES) as u64;
    job.keys.saturating_mul(entry) / 2 * 3 + HEAD_BYTES
}

impl<S: Structure> Factory for OnDrive<S>
where
    for<'a> SsdSession<'a, S>: Session,
{
    type Index = Parts<S>;
    type Counted = Parts<S>;

    fn is_there(&self) -> bool {
        self.named && self.files.iter().all(|file| file.is_file())
    }

    fn room(&self) -> Result<(), IndexError> {
        let folder = self.files[0].parent().unwrap_or(Path::new("."));
        Ok(assay_path::space::still_there(folder).map_err(failed)?)
    }

    fn create(&self) -> Result<Parts<S>, IndexError> {
        let make = |file: &PathBuf| OnPool::create(self.drive(file, true)?, self.config);
        Ok(Parts(self.files.iter().map(make).collect::<Result<_, _>>()?))
    }

    fn open(&self) -> Result<Opened<Parts<S>>, IndexError> {
        let start = Instant::now();
        let open = |file: &PathBuf| OnPool::open(self.drive(file, false)?, self.config);
        let index = Parts(self.files.iter().map(open).collect::<Result<_, _>>()?);
        Ok(Opened { index, recovery: start.elapsed() })
    }

    fn open_counted(&self) -> Option<Result<Parts<S>, IndexError>> {
        None
    }

    fn about(&self) -> About {
        let settings: [(&str, Value); 5] = [
            ("pool_bytes", (self.config.pool_bytes * self.files.len() as u64).into()),
            ("page_bytes", self.config.page_bytes.into()),
            ("io", self.access.path.name().into()),
            ("direct", self.access.direct.into()),
            ("file_bytes_at_most", self.bytes.into()),
        ];
        let settings: BTreeMap<_, _> = settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect();
        About { emulated: false, durability: "none", version: None, settings }
    }
}
