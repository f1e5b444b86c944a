//! What the engine notes in each checkpoint of its pool.
//!
//! ```text
//! 0   magic "engine" and version (2)
//! 8   identity of the database, which its log has too
//! 16  newest commit that the checkpoint holds
//! 24  durability (1), closed in order (1), logs (1), nothing, tables (2), nothing
//! 32  of each log the position from which a recovery reads; then the root page of each table
//! ```

use assay_buffer::{OWNER_BYTES, PageId};

use crate::{
    durability::Durability,
    error::{EngineError, Result},
    log::logs::LOGS_AT_MOST,
};

const MAGIC: &[u8; 6] = b"engine";
/// Version of the database's format.
pub const VERSION: u16 = 2;
const FRONT: usize = 32;
/// Tables of a database at most.
pub const TABLES_AT_MOST: usize = (OWNER_BYTES - FRONT) / 8 - LOGS_AT_MOST;
const DURABILITIES: [Durability; 4] = [Durability::None, Durability::Fdatasync, Durability::Plp, Durability::Pmem];

/// A superblock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Superblock {
    /// Identity of the database.
    pub identity: u64,
    /// Of each log the position from which a recovery reads.
    pub begins: Vec<u64>,
    /// Newest commit that the checkpoint holds.
    pub commit: u64,
    /// What made commits durable after it.
    pub durability: Durability,
    /// Nothing was committed after it.
    pub closed: bool,
    /// Root page of each table.
    pub roots: Vec<PageId>,
}

impl Superblock {
    /// As it is stored.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(FRONT + (self.begins.len() + self.roots.len()) * 8);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        for word in [self.identity, self.commit] {
            bytes.extend_from_slice(&word.to_le_bytes());
        }
        bytes.extend_from_slice(&[self.durability as u8, u8::from(self.closed), self.begins.len() as u8, 0]);
        bytes.extend_from_slice(&(self.roots.len() as u16).to_le_bytes());
        bytes.extend_from_slice(&[0; 2]);
        self.begins.iter().chain(&self.roots).for_each(|word| bytes.extend_from_slice(&word.to_le_bytes()));
        bytes
    }

    /// Reads a superblock; `name` is that of the disk.
    ///
    /// # Errors
    /// Where it is not an engine's, or another version's.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self> {
        let foreign = |what: String, fix: &str| EngineError::Foreign { what, fix: fix.to_owned() };
        if bytes.len() < FRONT || &bytes[..6] != MAGIC {
            let what = format!("no database of the engine is in {name}: its pages belong to something else");
            return Err(foreign(what, "name the file of a database, or make a new one"));
        }
        let version = u16::from_le_bytes([bytes[6], bytes[7]]);
        if version != VERSION {
            let what =
                format!("the database in {name} has version {version}, and this program reads version {VERSION}");
            return Err(foreign(what, "open it with the program that made it"));
        }
        let long = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("eight bytes"));
        let (logs, tables) = (usize::from(bytes[26]), usize::from(u16::from_le_bytes([bytes[28], bytes[29]])));
        let durability = DURABILITIES.get(bytes[24] as usize).copied();
        let damaged = || EngineError::Damaged {
            place: format!("the database in {name}"),
            what: "the superblock in its checkpoint makes no sense".to_owned(),
        };
        if logs > LOGS_AT_MOST || bytes.len() < FRONT + (logs + tables) * 8 {
            return Err(damaged());
        }
        Ok(Self {
            identity: long(8),
            commit: long(16),
            durability: durability.ok_or_else(damaged)?,
            closed: bytes[25] != 0,
            begins: (0..logs).map(|log| long(FRONT + log * 8)).collect(),
            roots: (logs..logs + tables).map(|word| long(FRONT + word * 8)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn superblocks_come_back_and_others_are_refused() {
        let superblock = Superblock {
            identity: 1,
            begins: (1..=LOGS_AT_MOST as u64).map(|log| log * 4096).collect(),
            commit: 77,
            durability: Durability::Pmem,
            closed: true,
            roots: (1..=TABLES_AT_MOST as u64).collect(),
        };
        let mut bytes = superblock.to_bytes();
        assert!(bytes.len() <= OWNER_BYTES);
        assert_eq!(Superblock::parse(&bytes, "it").unwrap(), superblock);
        assert!(matches!(Superblock::parse(&bytes[..bytes.len() - 1], "it"), Err(EngineError::Damaged { .. })));
        bytes[6] = 9;
        assert!(Superblock::parse(&bytes, "it").unwrap_err().to_string().contains("version 9"));
        assert!(matches!(Superblock::parse(b"", "it"), Err(EngineError::Foreign { .. })));
    }
}
