//! What makes and opens an index on the twin of a drive.

use std::{marker::PhantomData, sync::Arc, time::Instant};

use assay_buffer::{Config, disk::Disk};
use assay_record::PathKind;
use assay_scene::TwinDisk;

use super::{
    OnPool, Parts, SsdSession, Structure,
    factory::{loaded_bytes, parts, room, settings},
};
use crate::{
    error::IndexError,
    index::Session,
    job::IndexJob,
    run::{About, Around, Factory, Opened},
};

/// Share of this machine's memory that pages of a twin and pools may take.
const OF_MEMORY: f64 = 0.9;

/// Makes and opens one index on disks whose bytes are in memory.
pub struct OnTwinDrive<S> {
    disks: Vec<Arc<TwinDisk>>,
    config: Config,
    path: PathKind,
    structure: PhantomData<fn() -> S>,
}

impl<S: Structure> OnTwinDrive<S> {
    /// Of a job, on the station of a scene.
    ///
    /// # Errors
    /// Where an option is not known, or this machine's memory cannot hold it.
    pub(crate) fn new(job: &IndexJob, around: &Around) -> Result<Self, IndexError> {
        let (config, access) = settings(job)?;
        let (parts, label) = (parts(job), job.twin.as_ref().map_or("", |twin| twin.data.label.as_str()));
        let (wanted, there) = (loaded_bytes(job) + config.pool_bytes * parts, around.memory_bytes as f64 * OF_MEMORY);
        if wanted as f64 > there {
            let seen = format!(
                "what lies on the twin is kept in this machine's memory: about {} MiB with the pool, and {} MiB are available",
                wanted >> 20,
                around.memory_bytes >> 20
            );
            return Err(IndexError::job(seen, "ask for fewer keys or a smaller pool: what counts is data over pool"));
        }
        let (bytes, most) = (room(job, parts), (there as u64).saturating_sub(config.pool_bytes * parts) / parts);
        let disk =
            |part: u64| Arc::new(TwinDisk::new(label, bytes, (around.station, part * bytes), &around.scene, most));
        Ok(Self { disks: (0..parts).map(disk).collect(), config, path: access.path, structure: PhantomData })
    }

    fn disks(&self) -> impl Iterator<Item = Arc<dyn Disk>> {
        self.disks.iter().map(|disk| Arc::clone(disk) as Arc<dyn Disk>)
    }
}

impl<S: Structure> Factory for OnTwinDrive<S>
where
    for<'a> SsdSession<'a, S>: Session,
{
    type Index = Parts<S>;
    type Counted = Parts<S>;

    fn create(&self) -> Result<Parts<S>, IndexError> {
        Ok(Parts(self.disks().map(|disk| OnPool::create(disk, self.config)).collect::<Result<_, _>>()?))
    }

    fn open(&self) -> Result<Opened<Parts<S>>, IndexError> {
        let start = Instant::now();
        let index = Parts(self.disks().map(|disk| OnPool::open(disk, self.config)).collect::<Result<_, _>>()?);
        Ok(Opened { index, recovery: start.elapsed() })
    }

    fn open_counted(&self) -> Option<Result<Parts<S>, IndexError>> {
        None
    }

    fn about(&self) -> About {
        let settings = [
            ("pool_bytes", (self.config.pool_bytes * self.disks.len() as u64).into()),
            ("page_bytes", self.config.page_bytes.into()),
            ("io", self.path.name().into()),
        ];
        let settings = settings.into_iter().map(|(name, value): (&str, serde_json::Value)| (name.to_owned(), value));
        About { emulated: false, durability: "none", version: None, settings: settings.collect() }
    }
}
