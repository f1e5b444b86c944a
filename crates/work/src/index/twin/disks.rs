//! The twin of a drive in the place of an index's files: its bytes are in memory.

use std::sync::Arc;

use assay_buffer::disk::Disk;
use assay_index::{
    IndexError,
    ssd::{Disks, Needs},
};
use assay_scene::TwinDisk;

use super::Around;

/// Share of this machine's memory that pages of a twin and pools may take.
const OF_MEMORY: f64 = 0.9;

/// Disks on the station of a scene.
pub(super) struct TwinDisks(Vec<Arc<TwinDisk>>);

impl TwinDisks {
    /// On the twin of that name.
    ///
    /// # Errors
    /// Where this machine's memory cannot hold what lies on it.
    pub fn new(label: &str, around: &Around, needs: &Needs) -> Result<Self, IndexError> {
        let Needs { parts, bytes, .. } = *needs;
        let pools = needs.pool_bytes * parts;
        let (wanted, there) = (needs.loaded_bytes + pools, around.memory_bytes as f64 * OF_MEMORY);
        if wanted as f64 > there {
            let seen = format!(
                "what lies on the twin is kept in this machine's memory: about {} MiB with the pool, and {} MiB are available",
                wanted >> 20,
                around.memory_bytes >> 20
            );
            return Err(IndexError::job(seen, "ask for fewer keys or a smaller pool: what counts is data over pool"));
        }
        let most = (there as u64).saturating_sub(pools) / parts;
        let disk =
            |part: u64| Arc::new(TwinDisk::new(label, bytes, (around.station, part * bytes), &around.scene, most));
        Ok(Self((0..parts).map(disk).collect()))
    }
}

impl Disks for TwinDisks {
    fn disk(&self, part: usize, _make: bool) -> Result<Arc<dyn Disk>, IndexError> {
        Ok(Arc::clone(&self.0[part]) as Arc<dyn Disk>)
    }
}
