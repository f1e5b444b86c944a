//! The parts of a database besides its pages: its log, and the log's tail.

use std::sync::Arc;

use assay_buffer::disk::{Disk, Memory};
use assay_pmem::Medium;

use crate::{
    database::{Disks, Options},
    durability::Durability,
    error::{EngineError, Result},
    log::{Area, Tail, area::BLOCK},
    note::Note,
};

/// A log's area, its disk and its tail.
pub(crate) type Planned = ((Area, Arc<dyn Disk>), Tail);

/// The log of a database that is being made, and where its tail is; none where there is to be no log.
pub(crate) fn plan_log(
    disk: Option<Arc<dyn Disk>>,
    tail: Option<Box<dyn Medium>>,
    options: &Options,
    identity: u64,
) -> Result<Option<Planned>> {
    let Some(disk) = disk else {
        if options.durability.logs() {
            let what = format!("durability {} needs a log, and none was named", options.durability.name());
            return Err(EngineError::unfit(what, "name one, or ask for durability none"));
        }
        return Ok(None);
    };
    if options.durability == Durability::Pmem && tail.is_none() {
        return Err(no_memory());
    }
    let tail = tail_of(tail, options.tail_bytes / BLOCK * BLOCK)?;
    Ok(Some(((Area::plan(&*disk, identity, tail.bytes())?, disk), tail)))
}

fn no_memory() -> EngineError {
    EngineError::unfit("durability pmem needs persistent memory, and none was named", "name where it is")
}

/// The log's tail: in persistent memory, or in memory of so many bytes.
pub(crate) fn tail_of(medium: Option<Box<dyn Medium>>, bytes: u64) -> Result<Tail> {
    Ok(match medium {
        Some(medium) => Tail::Persistent(medium),
        None => Tail::Volatile(Arc::new(Memory::new(bytes as usize)?)),
    })
}

/// Whether all parts of a database were named that it has, and none is asked for that it has not.
pub(crate) fn check_parts(note: &Note, disks: &Disks, options: &Options, name: &str) -> Result<()> {
    let foreign = |what: String, fix: &str| Err(EngineError::Foreign { what, fix: fix.to_owned() });
    if note.has_log && disks.log.is_none() {
        return foreign(format!("the database in {name} has a log, and none was named"), "name its log");
    }
    if options.durability.logs() && !note.has_log {
        let what = format!("the database in {name} was made without a log");
        return foreign(what, "open it with durability none, or make a new one");
    }
    if note.durability == Durability::Pmem && !note.closed && disks.tail.is_none() {
        let what = format!("the newest commits of the database in {name} are in persistent memory, and none was named");
        return foreign(what, "name the persistent memory that it was opened with last");
    }
    if options.durability == Durability::Pmem && disks.tail.is_none() {
        return Err(no_memory());
    }
    Ok(())
}
