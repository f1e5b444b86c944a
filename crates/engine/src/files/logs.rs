//! The files of logs, one for each.

use std::{path::PathBuf, sync::Arc};

use assay_buffer::disk::Disk;

use super::{FilesOptions, bare, opened};
use crate::{
    error::{EngineError, Result},
    log::Area,
    making::Making,
};

/// The logs of a database that is being made, each of its part of the bytes.
pub(super) fn made(options: &FilesOptions, making: &mut Option<Making>) -> Result<Vec<Arc<dyn Disk>>> {
    let count = options.count();
    match &options.log_devices {
        _ if !options.durability.logs() => Ok(Vec::new()),
        Some(devices) if count == 1 => Ok(vec![bare(devices, "log", options)?]),
        Some(devices) if devices.members.len() == count => {
            devices.one_by_one().map(|device| bare(&device, "log", options)).collect()
        }
        Some(devices) => {
            let what = format!("{count} logs were to lie on {} devices", devices.members.len());
            Err(EngineError::unfit(what, "name as many devices as logs, or a folder"))
        }
        None => {
            let bytes = options.bytes_of_each(count);
            options.logs_of(count).into_iter().map(|path| super::made(making, &[path], bytes, options)).collect()
        }
    }
}

/// The logs of a database that is there: as many as the first of them says.
pub(super) fn found(options: &FilesOptions) -> Result<Vec<Arc<dyn Disk>>> {
    let open_one = |path: &PathBuf| opened(std::slice::from_ref(path), options);
    let foreign = |what: String, fix: &str| Err(EngineError::Foreign { what, fix: fix.to_owned() });
    if !options.log.exists() {
        return Ok(Vec::new());
    }
    let first = open_one(&options.log)?;
    // What is no log is told when the database is opened.
    let count = Area::open(&*first).map_or(1, |area| area.count as usize);
    let name = options.log.display();
    if let Some(wanted) = options.logs.filter(|&wanted| wanted as usize != count) {
        let what = format!("the log {name} is one of {count}, and {wanted} were asked for");
        return foreign(what, "leave the number out: it is given when a database is made");
    }
    let mut logs = vec![first];
    for path in &options.logs_of(count)[1..] {
        if !path.exists() {
            let what = format!("the log {name} is one of {count}, and {} is missing", path.display());
            return foreign(what, "bring it back: the database cannot be opened without one of its logs");
        }
        logs.push(open_one(path)?);
    }
    Ok(logs)
}
