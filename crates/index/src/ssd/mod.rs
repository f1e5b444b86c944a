//! Indexes on a drive, over the buffer pool: a B+-tree and a hash table.
//!
//! Durability. What [`Index::make_durable`] has covered is there after a crash, as it was at one moment; what came later
//! is lost as a whole. Closing an index covers everything. A session alone makes nothing durable: the record of a run says
//! `none`.

mod bucket;
mod factory;
mod hash;
mod parts;
mod session;
mod table;

use std::sync::Arc;

use assay_btree::{Tree, TreeError};
use assay_buffer::{BufferError, Config, Pool, Worker, disk::Disk};

use crate::{
    error::IndexError,
    index::{Index, Session},
};

pub use factory::{Disks, FileDisks, Needs, OnDrive, POOL_BYTES};
pub use parts::Parts;
pub use session::SsdSession;
pub use table::{HashTable, Put};

/// A structure in a pool that a session works on.
pub trait Structure: Sized + Send + Sync {
    /// Makes an empty one.
    ///
    /// # Errors
    /// Where there is no space.
    fn create(worker: &Worker<'_>) -> Result<Self, TreeError>;

    /// The one that the owner's bytes tells of.
    ///
    /// # Errors
    /// Where the owner's bytes are another structure's.
    fn open(pool: &Pool) -> Result<Self, TreeError>;

    /// What the owner's bytes tell: a name of eight bytes and the number of the first page.
    fn owner_bytes(&self) -> Vec<u8>;

    /// Goes through all pages while nobody changes them.
    ///
    /// # Errors
    /// What does not fit together, or that a page cannot be read.
    fn survey(&self, worker: &Worker<'_>) -> Result<Survey, TreeError>;
}

/// What a structure was found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Survey {
    /// In words.
    pub seen: String,
    /// Pages that belong to it.
    pub pages: u64,
}

/// The owner's bytes of a structure: its name and its first page.
fn owner_bytes(name: &[u8; 8], first: u64) -> Vec<u8> {
    [name.as_slice(), &first.to_le_bytes()].concat()
}

/// The first page that the owner's bytes name, where it is of a structure of this name.
fn first_page(pool: &Pool, name: &[u8; 8]) -> Result<u64, TreeError> {
    let owner_bytes = pool.owner_bytes();
    match (owner_bytes.first_chunk::<8>(), owner_bytes.last_chunk::<8>()) {
        (Some(found), Some(first)) if owner_bytes.len() == 16 && found == name => Ok(u64::from_le_bytes(*first)),
        _ => Err(BufferError::unfit(
            format!(
                "the pool holds {:?}, not {:?}",
                String::from_utf8_lossy(&owner_bytes[..owner_bytes.len().min(name.len())]),
                String::from_utf8_lossy(name)
            ),
            "name the file of such an index",
        )
        .into()),
    }
}

impl Structure for Tree {
    fn create(worker: &Worker<'_>) -> Result<Self, TreeError> {
        Self::create(worker, &worker.write())
    }

    fn open(pool: &Pool) -> Result<Self, TreeError> {
        Ok(Self::open(pool, first_page(pool, b"ssdbtree")?))
    }

    fn owner_bytes(&self) -> Vec<u8> {
        owner_bytes(b"ssdbtree", self.root())
    }

    fn survey(&self, worker: &Worker<'_>) -> Result<Survey, TreeError> {
        let facts = self.check(worker)?;
        let seen = format!("{} entries in {} leaves under {} levels", facts.entries, facts.leaf_pages, facts.levels);
        Ok(Survey { seen, pages: facts.pages() })
    }
}

/// A structure and the pool that it lies in. Dropped, it leaves what the last checkpoint has, as after a crash;
/// [`Index::close`] makes one before.
pub struct OnPool<S> {
    structure: S,
    pool: Pool,
}

impl<S: Structure> OnPool<S> {
    /// Makes an empty index on a disk, durably.
    ///
    /// # Errors
    /// Where the disk or the memory does not suffice.
    pub fn create(disk: Arc<dyn Disk>, config: Config) -> Result<Self, IndexError> {
        let pool = Pool::create(disk, config).map_err(TreeError::from)?;
        let structure = {
            let worker = pool.worker().map_err(TreeError::from)?;
            S::create(&worker)?
        };
        let this = Self { structure, pool };
        this.checkpoint()?;
        Ok(this)
    }

    /// Opens the index on a disk, as the last checkpoint has it.
    ///
    /// # Errors
    /// Where there is none, or it is damaged.
    pub fn open(disk: Arc<dyn Disk>, config: Config) -> Result<Self, IndexError> {
        let pool = Pool::open(disk, config).map_err(TreeError::from)?;
        let structure = S::open(&pool)?;
        Ok(Self { structure, pool })
    }

    /// The structure.
    pub fn structure(&self) -> &S {
        &self.structure
    }

    /// The pool.
    pub fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Whether the structure is sound, and every page that is in use its own. Nobody works on it.
    fn inspect(&self) -> Result<String, String> {
        let say = |error: TreeError| format!("{error}: {}", error.fix());
        let worker = self.pool.worker().map_err(|error| say(error.into()))?;
        let Survey { seen, pages } = self.structure.survey(&worker).map_err(say)?;
        match self.pool.pages() {
            used if used == pages => Ok(format!("{seen}, and no page of {pages} lost")),
            used => Err(format!("{seen}, on {pages} pages, but {used} are in use")),
        }
    }

    fn checkpoint(&self) -> Result<(), IndexError> {
        let worker = self.pool.worker().map_err(TreeError::from)?;
        worker.checkpoint(|| self.structure.owner_bytes(), || Ok(())).map_err(TreeError::from)?;
        Ok(())
    }
}

impl<S: Structure> Index for OnPool<S>
where
    for<'a> SsdSession<'a, S>: Session,
{
    type Session<'a>
        = SsdSession<'a, S>
    where
        Self: 'a;

    fn session(&self) -> SsdSession<'_, S> {
        SsdSession::new(&self.structure, &self.pool)
    }

    fn used_bytes(&self) -> u64 {
        self.pool.used_bytes()
    }

    fn make_durable(&self) -> Result<(), IndexError> {
        self.checkpoint()
    }

    fn examine(&self) -> Option<Result<String, String>> {
        Some(self.inspect())
    }
}
