//! Indexes that lie in a pool of persistent memory: how they are made, opened again and removed.

use std::{
    collections::BTreeMap,
    marker::PhantomData,
    path::{Path, PathBuf},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use assay_path::{Plan, Scratch};
use assay_pmem::{Delays, Mapped, Medium, Metered, Pool, PoolFile, PoolLock, Shape};
use serde_json::Value;

use crate::{
    error::IndexError,
    factory::{About, Factory, Opened},
    index::Index,
    setup::{AsIf, Setup},
    sizes::Sizes,
};

/// A kind of index in a pool, on whatever medium.
pub trait PoolIndex: Sync {
    /// The index.
    type On<M: Medium>: Index;

    /// Name and version of the structure in the pool's header, for keys and values of such lengths.
    fn layout(&self, sizes: &Sizes) -> &'static str;

    /// Makes an empty one in a new pool.
    ///
    /// # Errors
    /// Where the pool is too small.
    fn create<M: Medium>(&self, pool: Pool<M>, sizes: &Sizes) -> Result<Self::On<M>, IndexError>;

    /// Opens one and recovers it, whatever state a crash left it in.
    ///
    /// # Errors
    /// Where it is damaged.
    fn open<M: Medium>(&self, pool: Pool<M>, sizes: &Sizes) -> Result<Self::On<M>, IndexError>;

    /// Bytes of a pool that so many entries fit into, with something to spare.
    fn pool_bytes(&self, sizes: &Sizes, entries: u64) -> u64;

    /// What bears on its figures, for the record.
    fn settings(&self) -> BTreeMap<String, Value> {
        BTreeMap::new()
    }
}

/// An option that a kind of index does not have, or not with that value; `known` says what it has.
pub(crate) fn unknown_option(name: &str, value: &Value, known: &str) -> IndexError {
    IndexError::job(format!("the option {name} = {value} is not known"), known)
}

/// What a mapping becomes before a pool is made of it.
pub trait Wrap: Sync {
    /// The medium.
    type Medium: Medium;

    /// Wraps it.
    fn wrap(&self, mapped: Mapped) -> Self::Medium;
}

/// The mapping as it is: nothing is counted or delayed.
#[derive(Clone, Copy, Debug)]
pub struct Plain;

impl Wrap for Plain {
    type Medium = Mapped;

    fn wrap(&self, mapped: Mapped) -> Mapped {
        mapped
    }
}

/// As slow as modules that are not there.
#[derive(Clone, Debug)]
pub struct Delayed(pub AsIf);

impl Wrap for Delayed {
    type Medium = Metered<Mapped>;

    fn wrap(&self, mapped: Mapped) -> Metered<Mapped> {
        let delays = Delays {
            flush_ns: self.0.flush_ns,
            fence_ns: self.0.fence_ns,
            block_read_ns: self.0.block_read_ns,
            block_written_ns: self.0.block_written_ns,
        };
        Metered::new(mapped, self.0.cached_blocks).with_delays(delays)
    }
}

/// Blocks of 256 B that the counting pass takes a thread's caches to hold: 8 MiB.
const CACHED_BLOCKS: usize = 32 << 10;
/// Smallest pool that is made.
const POOL_BYTES_AT_LEAST: u64 = 64 << 20;
/// Inserts a second and thread that a pool has room for where its size is left to Assay.
const INSERTS_PER_S: f64 = 2e6;

/// An index with the lock on its pool's file.
pub struct Held<I> {
    index: I,
    _lock: PoolLock,
}

impl<I: Index> Index for Held<I> {
    type Session<'a>
        = I::Session<'a>
    where
        Self: 'a;

    fn session(&self) -> I::Session<'_> {
        self.index.session()
    }

    fn used_bytes(&self) -> u64 {
        self.index.used_bytes()
    }

    fn anatomy(&self) -> Vec<(&'static str, f64)> {
        self.index.anatomy()
    }

    fn make_durable(&self) -> Result<(), IndexError> {
        self.index.make_durable()
    }

    fn examine(&self) -> Option<Result<String, String>> {
        self.index.examine()
    }
}

/// An index on the medium that a mapping becomes.
type On<K, X> = Held<<K as PoolIndex>::On<<X as Wrap>::Medium>>;

/// Makes and opens one index in one file.
pub struct InPool<K, W> {
    kind: K,
    wrap: W,
    sizes: Sizes,
    bytes: u64,
    huge_pages: bool,
    place: Backing,
    emulated: AtomicBool,
}

/// Where the pool lies.
enum Backing {
    /// A folder of our own, removed with everything in it.
    Own { _scratch: Scratch, file: PathBuf },
    /// A file or device that the user named, and that stays.
    Named { file: PathBuf },
}

impl Backing {
    fn file(&self) -> &Path {
        match self {
            Self::Own { file, .. } | Self::Named { file } => file,
        }
    }
}

impl<K: PoolIndex, W: Wrap> InPool<K, W> {
    /// Where it is to lie.
    ///
    /// # Errors
    /// Where nothing can be made there.
    pub fn new(kind: K, wrap: W, setup: &Setup) -> Result<Self, IndexError> {
        let bytes = setup.pool_bytes.unwrap_or_else(|| own_reckoning(&kind, setup));
        let place = place(setup, bytes)?;
        let (sizes, huge_pages) = (setup.sizes, setup.huge_pages);
        Ok(Self { kind, wrap, sizes, bytes, huge_pages, place, emulated: AtomicBool::new(true) })
    }

    fn wrapped<X: Wrap>(&self, wrap: &X, mapped: Mapped) -> X::Medium {
        if self.huge_pages {
            mapped.ask_for_huge_pages();
        }
        let medium = wrap.wrap(mapped);
        self.emulated.store(medium.emulated(), Ordering::Relaxed);
        medium
    }

    fn open_on<X: Wrap>(&self, wrap: &X) -> Result<Opened<On<K, X>>, IndexError> {
        let (start, mut mapping) = (Instant::now(), Duration::ZERO);
        let pool = PoolFile::open_with(self.place.file(), self.kind.layout(&self.sizes), |mapped| {
            let medium = self.wrapped(wrap, mapped);
            mapping = start.elapsed();
            medium
        })?;
        let (pool, lock) = pool.split();
        let index = self.kind.open(pool, &self.sizes)?;
        Ok(Opened { index: Held { index, _lock: lock }, recovery: start.elapsed().saturating_sub(mapping) })
    }
}

impl<K: PoolIndex, W: Wrap> Factory for InPool<K, W> {
    type Index = Held<K::On<W::Medium>>;
    type Counted = Held<K::On<Metered<Mapped>>>;

    fn is_there(&self) -> bool {
        matches!(&self.place, Backing::Named { file } if file.is_file())
    }

    fn create(&self) -> Result<Self::Index, IndexError> {
        let shape = Shape::new(self.kind.layout(&self.sizes));
        let pool =
            PoolFile::create_with(self.place.file(), self.bytes, &shape, |mapped| self.wrapped(&self.wrap, mapped))?;
        let (pool, lock) = pool.split();
        Ok(Held { index: self.kind.create(pool, &self.sizes)?, _lock: lock })
    }

    fn open(&self) -> Result<Opened<Self::Index>, IndexError> {
        self.open_on(&self.wrap)
    }

    fn open_counted(&self) -> Option<Result<Self::Counted, IndexError>> {
        let emulated = self.emulated.load(Ordering::Relaxed);
        let opened = self.open_on(&Counting(PhantomData));
        self.emulated.store(emulated, Ordering::Relaxed);
        Some(opened.map(|opened| opened.index))
    }

    fn about(&self) -> About {
        let mut settings = self.kind.settings();
        let file_bytes = self.place.file().metadata().map_or(self.bytes, |facts| facts.len());
        settings.insert("pool_bytes".to_owned(), file_bytes.into());
        settings.insert("huge_pages_asked".to_owned(), self.huge_pages.into());
        let flushed_by = Mapped::memory(4096).map(|mapped| mapped.persister().instruction());
        settings.insert("flushed_by".to_owned(), flushed_by.unwrap_or("unknown").into());
        About { emulated: self.emulated.load(Ordering::Relaxed), durability: "pmem", version: None, settings }
    }
}

/// Counts, and waits for nothing.
struct Counting(PhantomData<()>);

impl Wrap for Counting {
    type Medium = Metered<Mapped>;

    fn wrap(&self, mapped: Mapped) -> Metered<Mapped> {
        Metered::new(mapped, CACHED_BLOCKS)
    }
}

/// Room for what is loaded and for what may be added.
fn own_reckoning(kind: &impl PoolIndex, setup: &Setup) -> u64 {
    let entries = setup.keys + setup.inserts.at_most(INSERTS_PER_S) as u64 + setup.counted;
    kind.pool_bytes(&setup.sizes, entries).max(POOL_BYTES_AT_LEAST)
}

fn place(setup: &Setup, bytes: u64) -> Result<Backing, IndexError> {
    if let Some(file) = setup.named_file()? {
        return Ok(Backing::Named { file });
    }
    let facts = setup.target.metadata().map_err(|error| {
        let fix = "name a folder in memory (/dev/shm), a folder on DAX, or a device-DAX node";
        IndexError::job(format!("{} cannot be used: {error}", setup.target.display()), fix)
    })?;
    if !facts.is_dir() {
        use std::os::unix::fs::FileTypeExt;
        if facts.file_type().is_char_device() {
            return Ok(Backing::Named { file: setup.target.clone() });
        }
        let fix = "name a folder; Assay makes a file of its own in it and removes it again";
        return Err(IndexError::job(format!("{} is no folder", setup.target.display()), fix));
    }
    assay_path::space::reserve([(setup.target.as_path(), bytes)]).map_err(assay_pmem::PmemError::from)?;
    let failed = |error| assay_pmem::PmemError::from(assay_path::PathError::from(error));
    // What a twin plays is not measured in the folder where its bytes lie: others may measure there.
    let plan = if setup.measured { Plan::measured() } else { Plan::default() };
    let mut scratch = Scratch::fresh(&setup.target, "assay-index", &plan).map_err(failed)?;
    let file = scratch.claim("pool").map_err(failed)?;
    Ok(Backing::Own { _scratch: scratch, file })
}
