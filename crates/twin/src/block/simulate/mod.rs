//! Stations of block families in virtual time.

mod attention;
mod beside;
mod collector;
mod disk;
mod flash;
mod optane;
mod volume;

use attention::Attention;
use beside::Beside;
pub use collector::Collector;
pub use disk::DiskStations;
pub use flash::FlashStations;
pub use optane::OptaneStations;
pub use volume::VolumeStations;

use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::RngCore};

use crate::{
    Device, Twin, TwinError,
    document::CloudInstance,
    simulated::{PS_PER_NS, Picoseconds, Request},
};

/// One drive or volume.
#[derive(Clone, Debug)]
pub enum Drive {
    /// Flash.
    Flash(Box<FlashStations>),
    /// 3D XPoint.
    Optane(Box<OptaneStations>),
    /// A rotating disk.
    Disk(Box<DiskStations>),
    /// A network volume.
    Volume(Box<VolumeStations>),
}

impl Drive {
    /// An idle drive of which `used` (0..=1) holds data; 0 where nobody knows, which is one in its steady state.
    ///
    /// # Errors
    /// [`TwinError::NoModel`] where the twin is no drive.
    pub fn new(twin: &Twin, seed: u64, used: f64) -> Result<Self, TwinError> {
        let capacity = twin.capacity_bytes.value;
        match &twin.device {
            Device::Nand(nand) => Ok(Self::Flash(Box::new(FlashStations::new(nand, capacity, seed, used)))),
            Device::OptaneSsd(drive) => Ok(Self::Optane(Box::new(OptaneStations::new(drive)))),
            Device::Disk(disk) => Ok(Self::Disk(Box::new(DiskStations::new(disk, capacity)))),
            Device::CloudVolume(volume) => Ok(Self::Volume(Box::new(VolumeStations::new(volume)))),
            _ => Err(TwinError::NoModel { name: twin.name.clone(), family: twin.device.family() }),
        }
    }

    /// One of the drives of an instance.
    pub fn of_instance(twin: &Twin, instance: &CloudInstance, seed: u64, used: f64) -> Self {
        let capacity = twin.capacity_bytes.value / instance.drives.value;
        Self::Flash(Box::new(FlashStations::new(&super::limited(instance), capacity, seed, used)))
    }

    /// Serves a request that arrives at `now`; returns when it is done.
    #[inline]
    pub fn serve(&mut self, now: Picoseconds, request: &Request, random: &mut Xoshiro256PlusPlus) -> Picoseconds {
        match self {
            Self::Flash(flash) => flash.serve(now, request, random),
            Self::Optane(optane) => optane.serve(now, request, random),
            Self::Disk(disk) => disk.serve(now, request, random),
            Self::Volume(volume) => volume.serve(now, request, random),
        }
    }

    /// Its flushes take their time, so that Linux makes one of those that wait; a drive that is safe answers each at once.
    pub fn merges_flushes(&self) -> bool {
        matches!(self, Self::Flash(flash) if !flash.is_safe())
    }

    /// Its figures may still change after millions of operations.
    pub fn is_transient(&self, writes: bool) -> bool {
        match self {
            Self::Flash(flash) => writes && flash.is_transient(),
            Self::Optane(_) | Self::Disk(_) => false,
            Self::Volume(volume) => volume.is_transient(),
        }
    }

    /// Lets what changes slowly change `factor` times as fast.
    pub fn hasten(&mut self, factor: f64) {
        match self {
            Self::Flash(flash) => flash.hasten(factor),
            Self::Volume(volume) => volume.hasten(factor),
            Self::Optane(_) | Self::Disk(_) => {}
        }
    }

    /// The busiest station and its busy time.
    pub fn busiest(&self) -> (&'static str, Picoseconds) {
        match self {
            Self::Flash(flash) => flash.busiest(),
            Self::Optane(optane) => optane.busiest(),
            Self::Disk(disk) => ("arm", disk.busy()),
            Self::Volume(volume) => ("bucket", volume.busy()),
        }
    }
}

/// A station of one server: first come, first served.
#[derive(Clone, Copy, Debug, Default)]
pub struct Server {
    free_at: Picoseconds,
    busy: Picoseconds,
}

impl Server {
    /// A customer of `service` that arrives at `now` leaves at the returned instant.
    #[inline]
    pub fn serve(&mut self, now: Picoseconds, service: Picoseconds) -> Picoseconds {
        self.free_at = self.free_at.max(now) + service;
        self.busy += service;
        self.free_at
    }

    /// Nothing is served before `until`.
    pub fn hold(&mut self, until: Picoseconds) {
        self.free_at = self.free_at.max(until);
    }

    /// When the last customer so far leaves.
    pub fn free_at(&self) -> Picoseconds {
        self.free_at
    }

    /// Time spent serving.
    pub fn busy(&self) -> Picoseconds {
        self.busy
    }
}

/// Picoseconds of some nanoseconds.
pub(crate) fn ps(ns: f64) -> Picoseconds {
    (ns * PS_PER_NS).round() as Picoseconds
}

/// Picoseconds that a byte takes.
pub(crate) fn ps_per_byte(bytes_per_s: f64) -> f64 {
    1e12 / bytes_per_s
}

/// A number below `count`, each as often (Lemire's multiplication; dividing would take longer than all else of a read).
#[inline]
pub(crate) fn below(count: usize, random: &mut Xoshiro256PlusPlus) -> usize {
    ((u128::from(random.next_u64()) * count as u128) >> 64) as usize
}

/// A number that is uniform on 0..1.
#[inline]
pub(crate) fn uniform(random: &mut Xoshiro256PlusPlus) -> f64 {
    (random.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
}
