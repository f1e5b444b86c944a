//! Where the log lies on its disk: a header, and an area that is written round and round.
//!
//! ```text
//! 0      header: magic, version, identity, bytes of the area, bytes of the tail's ring, which log of how many, CRC32C
//! 4096   area: position p of the endless log lies at p modulo its bytes
//! ```

use std::sync::Arc;

use assay_buffer::disk::{Action, Disk, DiskRequest, Memory, Queue, carry_out};

use super::logs::LOGS_AT_MOST;
use crate::error::{EngineError, Result};

/// Bytes before the area.
pub const FRONT: u64 = 4096;
/// What writes are multiples of: no block that was ever durable is written again before its round is over.
pub const BLOCK: u64 = 4096;
const MAGIC: &[u8; 8] = b"assaylog";
/// Version of the log's format.
pub const VERSION: u64 = 2;
const HEADER_BYTES: usize = 60;

/// The log's place on a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// Whose log it is.
    pub identity: u64,
    /// Bytes of the area.
    pub bytes: u64,
    /// Bytes of the tail's ring: no more was ever under way.
    pub ring: u64,
    /// Which of the database's logs it is, from 0.
    pub index: u64,
    /// How many there are.
    pub count: u64,
}

impl Area {
    /// Lays a log out on a disk.
    ///
    /// # Errors
    /// Where the disk is too small for the ring.
    pub fn plan(disk: &dyn Disk, identity: u64, ring: u64) -> Result<Self> {
        let bytes = disk.bytes().saturating_sub(FRONT) / BLOCK * BLOCK;
        if ring == 0 || ring % BLOCK != 0 || bytes < 4 * ring {
            let what = format!("a log of {} bytes cannot have a tail of {ring}", disk.bytes());
            return Err(EngineError::unfit(what, "make the log at least four times as long as its tail, plus 4096"));
        }
        Ok(Self { identity, bytes, ring, index: 0, count: 1 })
    }

    /// The same as one of several.
    #[must_use]
    pub fn of_several(self, index: usize, count: usize) -> Self {
        Self { index: index as u64, count: count as u64, ..self }
    }

    /// What its records are sealed with: none of them passes for one of another log of the same database.
    pub fn seal(&self) -> u64 {
        self.identity.wrapping_add(self.index.wrapping_mul(0x9e37_79b9_7f4a_7c15))
    }

    /// Where a position lies on the disk.
    pub fn offset(&self, position: u64) -> u64 {
        FRONT + position % self.bytes
    }

    /// Writes zeros over the whole log and then its header, and makes both durable: from here on the log's file has all
    /// its space, and a flush has no map of extents to write.
    ///
    /// # Errors
    /// Where the disk fails.
    pub fn create(&self, disk: &dyn Disk) -> Result<()> {
        const CHUNK: u64 = 1 << 20;
        let memory = Arc::new(Memory::new(CHUNK as usize)?);
        let mut queue = disk.queue(1, &memory)?;
        let end = FRONT + self.bytes;
        let mut offset = 0;
        while offset < end {
            let bytes = CHUNK.min(end - offset) as u32;
            act(&mut *queue, disk, DiskRequest { action: Action::Write, offset, memory: 0, bytes, token: 0 })?;
            offset += u64::from(bytes);
        }
        act(&mut *queue, disk, DiskRequest::flush(0))?;
        // SAFETY: nothing is in flight, and nobody else has the memory.
        unsafe { std::slice::from_raw_parts_mut(memory.start(), HEADER_BYTES) }.copy_from_slice(&self.header());
        act(&mut *queue, disk, DiskRequest { action: Action::Write, offset: 0, memory: 0, bytes: 4096, token: 0 })?;
        act(&mut *queue, disk, DiskRequest::flush(0))
    }

    /// Finds a log on a disk.
    ///
    /// # Errors
    /// Where none is there, or another version's, or a damaged one.
    pub fn open(disk: &dyn Disk) -> Result<Self> {
        let memory = Arc::new(Memory::new(4096)?);
        let mut queue = disk.queue(1, &memory)?;
        act(&mut *queue, disk, DiskRequest { action: Action::Read, offset: 0, memory: 0, bytes: 4096, token: 0 })?;
        // SAFETY: nothing is in flight, and nobody else has the memory.
        let found = unsafe { std::slice::from_raw_parts(memory.start(), HEADER_BYTES) };
        Self::parse(found, disk)
    }

    fn parse(found: &[u8], disk: &dyn Disk) -> Result<Self> {
        let long = |at: usize| u64::from_le_bytes(found[at..at + 8].try_into().expect("eight bytes"));
        let foreign = |what: String, fix: &str| Err(EngineError::Foreign { what, fix: fix.to_owned() });
        let name = disk.name();
        if &found[..8] != MAGIC {
            let fix = "name the log that the database was made with";
            return foreign(format!("no log is in {name}: it begins with {:02x?}", &found[..8]), fix);
        }
        if long(8) != VERSION {
            let fix = "open it with the program that made it";
            let what = format!("the log in {name} has version {}, and this program reads version {VERSION}", long(8));
            return foreign(what, fix);
        }
        let area = Self { identity: long(16), bytes: long(24), ring: long(32), index: long(40), count: long(48) };
        if found != area.header() {
            let what = "its header does not agree with its CRC".to_owned();
            return Err(EngineError::Damaged { place: format!("the log in {name}"), what });
        }
        if area.count > LOGS_AT_MOST as u64 || area.index >= area.count {
            let what = format!("its header says that it is number {} of {}", area.index, area.count);
            return Err(EngineError::Damaged { place: format!("the log in {name}"), what });
        }
        if disk.bytes() < FRONT + area.bytes {
            let what = format!("{} bytes are there, and its header says {}", disk.bytes(), FRONT + area.bytes);
            return Err(EngineError::Damaged { place: format!("the log in {name}"), what });
        }
        Ok(area)
    }

    fn header(&self) -> [u8; HEADER_BYTES] {
        let mut header = [0; HEADER_BYTES];
        header[..8].copy_from_slice(MAGIC);
        let words = [VERSION, self.identity, self.bytes, self.ring, self.index, self.count];
        for (index, word) in words.into_iter().enumerate() {
            header[8 + index * 8..16 + index * 8].copy_from_slice(&word.to_le_bytes());
        }
        let checksum = crc32c::crc32c(&header[..HEADER_BYTES - 4]);
        header[HEADER_BYTES - 4..].copy_from_slice(&checksum.to_le_bytes());
        header
    }
}

fn act(queue: &mut dyn Queue, disk: &dyn Disk, request: DiskRequest) -> Result<()> {
    // SAFETY: the functions here hold no reference into the memory while they call this, and have nothing in flight.
    Ok(unsafe { carry_out(queue, disk, request) }?)
}
