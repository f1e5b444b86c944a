//! The parts of a database besides its pages: its logs, and their tails.

use std::sync::Arc;

use assay_buffer::disk::{Disk, Memory};
use assay_pmem::Medium;

use crate::{
    durability::Durability,
    error::{EngineError, Result},
    log::{Area, Reader, Tail, area::BLOCK, logs::LOGS_AT_MOST, merge::Stream},
    options::{Disks, Options},
    superblock::Superblock,
};

/// A log's area, its disk and its tail.
pub(crate) struct Planned {
    pub area: Area,
    pub disk: Arc<dyn Disk>,
    pub tail: Tail,
}

/// The logs of a database that is being made, and where their tails are; none where there is to be no log.
pub(crate) fn plan_logs(
    disks: Vec<Arc<dyn Disk>>,
    tails: Vec<Box<dyn Medium>>,
    options: &Options,
    identity: u64,
) -> Result<Vec<Planned>> {
    if disks.is_empty() && options.durability.logs() {
        let what = format!("durability {} needs a log, and none was named", options.durability.name());
        return Err(EngineError::unfit(what, "name one, or ask for durability none"));
    }
    let count = disks.len();
    if count > LOGS_AT_MOST {
        let what = format!("{count} logs were asked for");
        return Err(EngineError::unfit(what, format!("a database has at most {LOGS_AT_MOST}")));
    }
    if options.durability == Durability::Pmem && tails.len() < count {
        return Err(no_memory());
    }
    let mut planned = Vec::with_capacity(count);
    for (index, (disk, tail)) in disks.into_iter().zip(each(tails, count)).enumerate() {
        let tail = tail_of(tail, options.tail_bytes / BLOCK * BLOCK)?;
        let area = Area::plan(&*disk, identity, tail.bytes())?.of_several(index, count);
        planned.push(Planned { area, disk, tail });
    }
    Ok(planned)
}

/// A place for each log's persistent memory, if it has any.
fn each(tails: Vec<Box<dyn Medium>>, count: usize) -> Vec<Option<Box<dyn Medium>>> {
    tails.into_iter().map(Some).chain(std::iter::repeat_with(|| None)).take(count).collect()
}

fn no_memory() -> EngineError {
    EngineError::unfit("durability pmem needs persistent memory, and none was named", "name where it is")
}

/// A log's tail: in persistent memory, or in memory of so many bytes.
fn tail_of(medium: Option<Box<dyn Medium>>, bytes: u64) -> Result<Tail> {
    Ok(match medium {
        Some(medium) => Tail::Persistent(medium),
        None => Tail::Volatile(Arc::new(Memory::new(bytes as usize)?)),
    })
}

/// Whether all parts of a database were named that it has, and none is asked for that it has not.
pub(crate) fn check_parts(superblock: &Superblock, disks: &Disks, options: &Options, name: &str) -> Result<()> {
    let foreign = |what: String, fix: &str| Err(EngineError::Foreign { what, fix: fix.to_owned() });
    let (has_log, count) = (!superblock.begins.is_empty(), superblock.begins.len());
    if has_log && disks.logs.is_empty() {
        return foreign(format!("the database in {name} has a log, and none was named"), "name its log");
    }
    if options.durability.logs() && !has_log {
        let what = format!("the database in {name} was made without a log");
        return foreign(what, "open it with durability none, or make a new one");
    }
    let tails = disks.tails.len();
    if superblock.durability == Durability::Pmem && !superblock.closed && tails < count {
        let what = format!("the newest commits of the database in {name} are in persistent memory, and none was named");
        return foreign(what, "name the persistent memory that it was opened with last");
    }
    if options.durability == Durability::Pmem && tails < count {
        return Err(no_memory());
    }
    Ok(())
}

/// The areas of a database's logs, each in its place.
fn areas(superblock: &Superblock, disks: &[Arc<dyn Disk>], name: &str) -> Result<Vec<Area>> {
    let foreign = |what: String| {
        Err(EngineError::Foreign { what, fix: "name the log that the database was made with".to_owned() })
    };
    let count = superblock.begins.len();
    let mut areas = Vec::with_capacity(count);
    for (index, disk) in disks.iter().enumerate() {
        let area = Area::open(&**disk)?;
        if area.identity != superblock.identity {
            return foreign(format!("the log in {} belongs to another database than {name}", disk.name()));
        }
        if (area.index, area.count) != (index as u64, count as u64) {
            let place = format!("{} of {count} of {name} was to be there", index + 1);
            let seen = format!("the log in {} is number {} of {}", disk.name(), area.index + 1, area.count);
            return foreign(format!("{seen}, and number {place}"));
        }
        areas.push(area);
    }
    if areas.len() < count {
        return foreign(format!("the database in {name} has {count} logs, and {} were named", areas.len()));
    }
    Ok(areas)
}

/// The logs of a database that is opened, and the memory that their tails need.
pub(crate) fn found(
    superblock: &Superblock,
    disks: Vec<Arc<dyn Disk>>,
    tails: Vec<Box<dyn Medium>>,
    needed: bool,
    name: &str,
) -> Result<Vec<Planned>> {
    let areas = areas(superblock, &disks, name)?;
    let tails = each(tails, areas.len());
    let mut logs = Vec::with_capacity(areas.len());
    for ((area, disk), tail) in areas.into_iter().zip(disks).zip(tails) {
        let tail = tail_of(tail, area.ring)?;
        if tail.bytes() > area.ring {
            let what = format!("the log in {} was made for a tail of {} bytes", disk.name(), area.ring);
            return Err(EngineError::unfit(what, "name no more persistent memory than that, and 4096 bytes"));
        }
        tail.check(area.seal(), needed)?;
        logs.push(Planned { area, disk, tail });
    }
    Ok(logs)
}

/// What a recovery reads, from where the checkpoint says; the tails as well where the newest commits are `in_memory`.
pub(crate) fn streams<'a>(logs: &'a [Planned], begins: &[u64], in_memory: bool) -> Result<Vec<Stream<'a>>> {
    let stream = |(log, &begin): (&'a Planned, &u64)| {
        let tail = Some(&log.tail).filter(|_| in_memory);
        Ok(Stream::new(Reader::new(log.area, &*log.disk, tail)?, begin))
    };
    logs.iter().zip(begins).map(stream).collect()
}
