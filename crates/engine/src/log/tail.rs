//! The newest part of the log, in memory or in persistent memory: a ring by log positions.

use std::{fmt, sync::Arc};

use assay_buffer::disk::Memory;
use assay_pmem::Medium;

use crate::error::{EngineError, Result};

/// Bytes at the beginning of persistent memory that say whose log is in it.
pub const PMEM_HEADER: u64 = 4096;
const MAGIC: &[u8; 8] = b"assaywal";
const VERSION: u64 = 1;

/// Where the tail is.
pub enum Tail {
    /// Memory that a queue writes from.
    Volatile(Arc<Memory>),
    /// Persistent memory; what is appended is durable when `append` returns.
    Persistent(Box<dyn Medium>),
}

impl fmt::Debug for Tail {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Volatile(_) => "Volatile",
            Self::Persistent(_) => "Persistent",
        })
    }
}

impl Tail {
    /// Bytes of the ring.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Volatile(memory) => memory.bytes() as u64,
            Self::Persistent(medium) => (medium.bytes() as u64 - PMEM_HEADER) / 4096 * 4096,
        }
    }

    /// Stores a record at its position.
    ///
    /// # Safety
    /// Nobody else reads or writes the ring there: the range was reserved, and what was there has been written out.
    pub unsafe fn append(&self, position: u64, record: &[u8]) {
        let at = position % self.bytes();
        let first = record.len().min((self.bytes() - at) as usize);
        for (at, part) in [(at, &record[..first]), (0, &record[first..])] {
            if part.is_empty() {
                continue;
            }
            match self {
                Self::Volatile(memory) => {
                    // SAFETY: inside of the ring; the caller's promise.
                    unsafe { memory.start().add(at as usize).copy_from_nonoverlapping(part.as_ptr(), part.len()) }
                }
                Self::Persistent(medium) => medium.stream(PMEM_HEADER + at, part),
            }
        }
        if let Self::Persistent(medium) = self {
            medium.fence();
        }
    }

    /// Copies out of persistent memory; of the other kind there is nothing to be read.
    pub fn read(&self, position: u64, into: &mut [u8]) {
        let Self::Persistent(medium) = self else { return into.fill(0) };
        let at = position % self.bytes();
        let first = into.len().min((self.bytes() - at) as usize);
        medium.read(PMEM_HEADER + at, &mut into[..first]);
        medium.read(PMEM_HEADER, &mut into[first..]);
    }

    /// Writes into persistent memory whose log it keeps.
    pub fn claim(&self, identity: u64) {
        let Self::Persistent(medium) = self else { return };
        medium.write(0, &header(identity, self.bytes()));
        medium.persist(0, 32);
    }

    /// Looks whether persistent memory keeps this log, or, where nothing of it is `needed`, at least no other one: it is about
    /// to be written over.
    ///
    /// # Errors
    /// Where it is another's, another version's, or damaged.
    pub fn check(&self, identity: u64, needed: bool) -> Result<()> {
        let Self::Persistent(medium) = self else { return Ok(()) };
        let mut found = [0; 32];
        medium.read(0, &mut found);
        let ours = header(identity, self.bytes());
        // Of a tail that is not needed the length may have changed.
        if found == ours || !needed && (found == [0; 32] || found[..24] == ours[..24]) {
            return Ok(());
        }
        let (what, fix) = if found[..8] != *MAGIC || !needed { foreign(&found) } else { (NOT_OURS.to_owned(), OURS) };
        Err(EngineError::Foreign { what, fix: fix.to_owned() })
    }
}

const NOT_OURS: &str = "the persistent memory that was named does not hold this database's log";
const OURS: &str = "name the persistent memory that the database was opened with last: its newest commits are there";

/// What else is there, and what to do.
fn foreign(found: &[u8; 32]) -> (String, &'static str) {
    let version = u64::from_le_bytes(found[8..16].try_into().expect("eight bytes"));
    let seen = if *found == [0; 32] {
        return (format!("{NOT_OURS}: it is empty"), OURS);
    } else if found[..8] != *MAGIC {
        format!(
            "something else than a log's tail is in the persistent memory that was named: it begins with {:02x?}",
            &found[..8]
        )
    } else if version != VERSION {
        format!("the log's tail that was named has version {version}, and this program reads version {VERSION}")
    } else {
        "the persistent memory that was named holds the log's tail of another database".to_owned()
    };
    (seen, "name another folder for this database's: nothing was written")
}

fn header(identity: u64, bytes: u64) -> [u8; 32] {
    let mut header = [0; 32];
    header[..8].copy_from_slice(MAGIC);
    header[8..16].copy_from_slice(&VERSION.to_le_bytes());
    header[16..24].copy_from_slice(&identity.to_le_bytes());
    header[24..].copy_from_slice(&bytes.to_le_bytes());
    header
}
