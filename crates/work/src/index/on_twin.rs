//! The twin that stands in the place of a run's folder.

use std::path::PathBuf;

use assay_index::{IndexError, Kind};
use assay_twin::{Driven, PathKey, TWIN_VERSION, Target, TwinError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Time of a turn that can be declared, ns.
const TURN_NS: std::ops::RangeInclusive<f64> = 10.0..=1e9;

/// A twin as the place of an index: modules of memory, or a drive. The job's target is where its bytes lie meanwhile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnTwin {
    /// What holds the index; its host runs it.
    pub data: Driven,
    /// Bytes that the CPU's caches hold, of all cores together. For what lies in memory alone.
    pub cache_bytes: u64,
    /// CPU time of each operation, ns, in the place of what it takes here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn_ns: Option<f64>,
    /// Folder in which it is kept what operations cost here, so that the same job gives the same play; learnt for this run
    /// alone where none is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub costs: Option<PathBuf>,
    /// Learn anew what operations cost, whatever is kept.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub learn: bool,
}

/// What a job asks of a twin.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Asked<'a> {
    pub(crate) index: Kind,
    pub(crate) threads: u32,
    /// Of all keys and values.
    pub(crate) bytes: f64,
    /// Lookups wait together.
    pub(crate) batched: bool,
    /// By which calls pages reach a drive; empty where it is not said.
    pub(crate) io: &'a str,
    pub(crate) direct: bool,
    /// A file is kept, memory is to be as slow as something, or threads are to keep to CPUs.
    pub(crate) of_here: bool,
}

impl OnTwin {
    /// By which calls pages reach a drive.
    pub(crate) fn path(io: &str) -> PathKey {
        match io {
            "pread" => PathKey::PreadDirect,
            "libaio" => PathKey::Libaio,
            _ => PathKey::IoUring,
        }
    }

    /// Refuses what cannot be played.
    ///
    /// # Errors
    /// With what is wrong.
    pub(crate) fn validate(&self, asked: &Asked<'_>) -> Result<(), IndexError> {
        if self.data.version != TWIN_VERSION {
            return Err(told(&TwinError::Version { seen: self.data.version, wanted: TWIN_VERSION }));
        }
        self.data.target.validate().and_then(|()| self.data.host.validate()).map_err(|error| told(&error))?;
        self.fits_the_index(asked)?;
        self.fits_the_host(asked)?;
        if let Some(length) = self.turn_ns.filter(|length| !TURN_NS.contains(length)) {
            return Err(IndexError::job(format!("turns of {length} ns were asked for"), "ask for 10 ns to 1 s"));
        }
        if self.cache_bytes < 4096 {
            return Err(IndexError::job("caches of less than 4 KiB were asked for", "ask for at least 4KiB"));
        }
        Ok(())
    }

    fn fits_the_index(&self, asked: &Asked<'_>) -> Result<(), IndexError> {
        let (label, index) = (&self.data.label, asked.index.name());
        let is_memory = self.data.target.is_memory();
        if asked.index.in_pmem() && !matches!(self.data.target, Target::Device { .. } if is_memory) {
            let seen = format!("{index} lies in persistent memory, and {label} is none");
            return Err(IndexError::job(
                seen,
                "name modules of memory, such as twin:pmem100-128g*4, or ssd-btree or ssd-hash",
            ));
        }
        if !asked.index.in_pmem() && is_memory {
            let seen = format!("{index} lies on a drive, and {label} is memory");
            return Err(IndexError::job(seen, "name a drive, such as twin:p4800x, or an index that lies in memory"));
        }
        if asked.index.is_rival() {
            return Err(IndexError::job(
                format!("{index} is a rival: its code cannot be played"),
                "name an index of Assay's",
            ));
        }
        if asked.of_here {
            let fix = "leave --pool-file, --as-if and --pin away, or name a folder";
            return Err(IndexError::job("a twin keeps no file, is as slow as it is, and has no CPUs to pin to", fix));
        }
        if Self::path(asked.io) == PathKey::PreadDirect && asked.batched {
            let seen = "pread has one page in flight, and lookups were to wait together";
            return Err(IndexError::job(seen, "leave --batch away, or use --path io_uring"));
        }
        if !asked.direct {
            return Err(IndexError::job("a twin has no page cache beside the pool", "leave direct=false away"));
        }
        Ok(())
    }

    fn fits_the_host(&self, asked: &Asked<'_>) -> Result<(), IndexError> {
        let host = &self.data.host;
        if f64::from(asked.threads) > host.hardware_threads() {
            let (threads, has) = (asked.threads, host.hardware_threads());
            let seen =
                format!("{threads} threads were asked for, and the host {} has {has} hardware threads", host.name);
            return Err(IndexError::job(
                seen,
                format!("ask for at most {has}, or name another host (--host, --cores)"),
            ));
        }
        if asked.bytes > self.data.target.capacity_bytes() {
            let gb = |bytes: f64| bytes / 1e9;
            let (label, holds) = (&self.data.label, gb(self.data.target.capacity_bytes()));
            let wanted = gb(asked.bytes);
            let seen = format!("keys and values of {wanted:.0} GB do not fit into {holds:.0} GB of {label}");
            return Err(IndexError::job(seen, "ask for fewer keys, or for more modules"));
        }
        Ok(())
    }
}

/// What a twin says against a job.
pub(crate) fn told(error: &TwinError) -> IndexError {
    IndexError::job(error.to_string(), error.fix())
}
