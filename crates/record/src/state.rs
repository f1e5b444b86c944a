//! What a job must satisfy that asks for a state of cache and drive.

use crate::{
    Cache, Job, JobError, Layout, TargetKind,
    validate::{check, wrong},
};

/// Smallest page cache that can be asked for, bytes: the kernel needs some pages to read and to write at all.
pub const CACHE_BYTES_AT_LEAST: u64 = 8 << 20;
/// Longest rest, seconds.
pub const COOL_DOWN_S_AT_MOST: f64 = 86_400.0;

impl Job {
    pub(crate) fn validate_state(&self) -> Result<(), JobError> {
        let rests = self.cool_down_s.is_finite() && (0.0..=COOL_DOWN_S_AT_MOST).contains(&self.cool_down_s);
        check(rests, "cool_down_s", self.cool_down_s, "use 0 to 86400 seconds")?;
        self.validate_cache_bytes()?;
        self.validate_trim()
    }

    fn validate_cache_bytes(&self) -> Result<(), JobError> {
        let Some(bytes) = self.cache_bytes else { return Ok(()) };
        let enough = bytes >= CACHE_BYTES_AT_LEAST;
        check(enough, "cache_bytes", bytes, "use at least 8 MiB: the kernel needs some pages to work at all")?;
        let used = self.cache != Cache::Bypassed;
        check(used, "cache_bytes", "a page cache that is bypassed", "leave cache_bytes out, or the cache as found")?;
        let cached = [TargetKind::Folder, TargetKind::File, TargetKind::BlockDevice];
        match self.targets.iter().find(|target| !cached.contains(&target.kind)) {
            None => Ok(()),
            Some(other) => wrong(
                "cache_bytes".to_owned(),
                format!("target {} has no page cache", other.id),
                "leave cache_bytes out, or use a folder, a file or a block device",
            ),
        }
    }

    fn validate_trim(&self) -> Result<(), JobError> {
        if !self.trim {
            return Ok(());
        }
        for dataset in &self.datasets {
            let own = dataset.layout != Layout::AsFound;
            let seen = format!("data set {} is used as it is found", dataset.name);
            check(own, "trim", seen, "leave trim out: only data that this run makes itself is discarded")?;
            let kind = self.target_of(dataset).map(|target| target.kind);
            let drive = matches!(kind, Some(TargetKind::Folder | TargetKind::BlockDevice) | None);
            let seen = format!("data set {} lies on no drive", dataset.name);
            check(drive, "trim", seen, "leave trim out, or use a folder or a block device")?;
        }
        Ok(())
    }
}
