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
    factory::{About, Factory, Opened},
    in_pool::unknown_option,
    index::Session,
    setup::Setup,
};

/// Bytes of the buffer pool where nobody says.
pub const POOL_BYTES: u64 = 256 << 20;
/// Bytes of an entry besides its key and its value.
const ENTRY_BYTES: usize = 8;
/// Bytes of a file that hold no entries.
const HEAD_BYTES: u64 = 1 << 20;
/// Inserts a second and thread that a file has room for. The file is sparse: room costs nothing.
const INSERTS_PER_S: f64 = 1e6;

/// What an index needs of its disks.
#[derive(Clone, Copy, Debug)]
pub struct Needs {
    /// How many there are: structures that the keys are split into.
    pub parts: u64,
    /// Bytes of each: room for what is loaded and what may be added, with copies that a checkpoint needs.
    pub bytes: u64,
    /// Bytes that the load takes of all: entries in pages that are filled by two thirds, and the file's head.
    pub loaded_bytes: u64,
    /// Bytes of the pool in front of each.
    pub pool_bytes: u64,
    /// How pages reach them.
    pub access: Access,
}

impl Needs {
    fn of(setup: &Setup, config: &Config, access: Access) -> Self {
        let (parts, sizes) = (parts(setup), &setup.sizes);
        let entry = sizes.key.most + sizes.value.most;
        let room = (setup.keys as f64 + setup.inserts.at_most(INSERTS_PER_S)) * (entry + 64) as f64 * 6.0;
        Self {
            parts,
            bytes: room as u64 / parts + (1 << 30),
            loaded_bytes: setup.keys.saturating_mul((entry + ENTRY_BYTES) as u64) / 2 * 3 + HEAD_BYTES,
            pool_bytes: config.pool_bytes,
            access,
        }
    }
}

/// The disks of an index: files on a drive, or what stands in their place.
pub trait Disks: Sync {
    /// That of a part, made anew where `make` says so.
    ///
    /// # Errors
    /// Where it cannot be made or opened.
    fn disk(&self, part: usize, make: bool) -> Result<Arc<dyn Disk>, IndexError>;

    /// As [`Factory::is_there`].
    fn is_there(&self) -> bool {
        false
    }

    /// As [`Factory::room`].
    ///
    /// # Errors
    /// As there.
    fn room(&self) -> Result<(), IndexError> {
        Ok(())
    }

    /// What bears on the figures.
    fn settings(&self) -> Vec<(&'static str, Value)> {
        Vec::new()
    }
}

/// Makes and opens one index on its disks.
pub struct OnDrive<S, D> {
    disks: D,
    parts: usize,
    config: Config,
    path: PathKind,
    structure: PhantomData<fn() -> S>,
}

impl<S: Structure, D: Disks> OnDrive<S, D> {
    /// On what `disks` makes of its needs. Options: `page_bytes` (4096), `io` (`io_uring`, `libaio` or `pread`), `direct`
    /// (true).
    ///
    /// # Errors
    /// Where the disks cannot be had, or an option is not known.
    pub fn new(setup: &Setup, disks: impl FnOnce(&Setup, &Needs) -> Result<D, IndexError>) -> Result<Self, IndexError> {
        let (config, access) = settings(setup)?;
        let needs = Needs::of(setup, &config, access);
        let disks = disks(setup, &needs)?;
        Ok(Self { disks, parts: needs.parts as usize, config, path: access.path, structure: PhantomData })
    }

    fn all(&self, make: bool) -> Result<Parts<S>, IndexError> {
        let part = |part| {
            let disk = self.disks.disk(part, make)?;
            if make { OnPool::create(disk, self.config) } else { OnPool::open(disk, self.config) }
        };
        Ok(Parts((0..self.parts).map(part).collect::<Result<_, _>>()?))
    }
}

/// Structures that the keys are split into.
fn parts(setup: &Setup) -> u64 {
    if setup.split { u64::from(setup.threads) } else { 1 }
}

/// Pool and way of an index.
fn settings(setup: &Setup) -> Result<(Config, Access), IndexError> {
    let (mut config, mut access) = (Config::default(), Access::default());
    let parts = parts(setup);
    config.pool_bytes = setup.pool_bytes.unwrap_or(POOL_BYTES) / parts;
    config.workers = setup.threads as usize / parts as usize + 2;
    for (name, value) in &setup.options {
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

/// FileDisks on a drive.
pub struct FileDisks {
    /// One, or one for each thread.
    files: Vec<PathBuf>,
    named: bool,
    bytes: u64,
    access: Access,
    _scratch: Option<Scratch>,
}

impl FileDisks {
    /// In a folder, or the file that is named.
    ///
    /// # Errors
    /// Where nothing can be made at the target.
    pub fn new(setup: &Setup, needs: &Needs) -> Result<Self, IndexError> {
        let (files, scratch) = place(setup, needs)?;
        let Needs { bytes, access, .. } = *needs;
        Ok(Self { files, named: setup.file.is_some(), bytes, access, _scratch: scratch })
    }
}

impl Disks for FileDisks {
    fn disk(&self, part: usize, make: bool) -> Result<Arc<dyn Disk>, IndexError> {
        let paths = [self.files[part].clone()];
        let drive =
            if make { Drive::create(&paths, self.bytes, self.access) } else { Drive::open(&paths, self.access) };
        Ok(Arc::new(drive.map_err(TreeError::from)?))
    }

    fn is_there(&self) -> bool {
        self.named && self.files.iter().all(|file| file.is_file())
    }

    fn room(&self) -> Result<(), IndexError> {
        let folder = self.files[0].parent().unwrap_or(Path::new("."));
        Ok(assay_path::space::still_there(folder).map_err(failed)?)
    }

    fn settings(&self) -> Vec<(&'static str, Value)> {
        vec![("direct", self.access.direct.into()), ("file_bytes_at_most", self.bytes.into())]
    }
}

fn place(setup: &Setup, needs: &Needs) -> Result<(Vec<PathBuf>, Option<Scratch>), IndexError> {
    if let Some(file) = setup.named_file()? {
        return Ok((vec![file], None));
    }
    if !setup.target.is_dir() {
        let fix = "name a folder; Assay makes a file of its own in it and removes it again";
        return Err(IndexError::job(format!("{} is no folder", setup.target.display()), fix));
    }
    assay_path::space::reserve([(setup.target.as_path(), needs.loaded_bytes)]).map_err(failed)?;
    let failed = |error| failed(assay_path::PathError::from(error));
    let mut scratch = Scratch::fresh(&setup.target, "assay-index", &Plan::measured()).map_err(failed)?;
    let name = |part| if part == 0 { "pool".to_owned() } else { format!("pool-{part}") };
    let files = (0..needs.parts).map(|part| scratch.claim(&name(part)).map_err(failed)).collect::<Result<_, _>>()?;
    Ok((files, Some(scratch)))
}

fn failed(error: assay_path::PathError) -> TreeError {
    TreeError::from(assay_buffer::BufferError::from(error))
}

impl<S: Structure, D: Disks> Factory for OnDrive<S, D>
where
    for<'a> SsdSession<'a, S>: Session,
{
    type Index = Parts<S>;
    type Counted = Parts<S>;

    fn is_there(&self) -> bool {
        self.disks.is_there()
    }

    fn room(&self) -> Result<(), IndexError> {
        self.disks.room()
    }

    fn create(&self) -> Result<Parts<S>, IndexError> {
        self.all(true)
    }

    fn open(&self) -> Result<Opened<Parts<S>>, IndexError> {
        let start = Instant::now();
        Ok(Opened { index: self.all(false)?, recovery: start.elapsed() })
    }

    fn open_counted(&self) -> Option<Result<Parts<S>, IndexError>> {
        None
    }

    fn about(&self) -> About {
        let mut settings: BTreeMap<String, Value> = BTreeMap::from([
            ("pool_bytes".to_owned(), (self.config.pool_bytes * self.parts as u64).into()),
            ("page_bytes".to_owned(), self.config.page_bytes.into()),
            ("io".to_owned(), self.path.name().into()),
        ]);
        settings.extend(self.disks.settings().into_iter().map(|(name, value)| (name.to_owned(), value)));
        About { emulated: false, durability: "none", version: None, settings }
    }
}
