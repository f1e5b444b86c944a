//! One drive or volume.

use rand_xoshiro::Xoshiro256PlusPlus;

use super::{DiskStations, FlashStations, OptaneStations, VolumeStations, flash::Flush};
use crate::{
    Error,
    document::{CloudInstance, Device, Twin},
    request::{Action, Picoseconds, Request},
    rules::limited,
};

/// What serves.
#[derive(Clone, Debug)]
enum Stations {
    /// Flash.
    Flash(Box<FlashStations>),
    /// 3D XPoint.
    Optane(Box<OptaneStations>),
    /// A rotating disk.
    Disk(Box<DiskStations>),
    /// A network volume.
    Volume(Box<VolumeStations>),
}

/// The flush that is under way, and the one that waits for its end. Linux merges flushes (`block/blk-flush.c`): all who ask
/// while one is under way share the next one.
#[derive(Clone, Copy, Debug, Default)]
struct Flushing {
    ends: Picoseconds,
    /// When it begins, and what it is.
    next: Option<(Picoseconds, Flush)>,
}

/// One drive or volume, with what has been asked of it.
#[derive(Clone, Debug)]
pub struct Drive {
    stations: Stations,
    flushing: Flushing,
}

impl Drive {
    /// An idle drive of which `used` (0..=1) holds data; 0 where nobody knows, which is one in its steady state.
    ///
    /// # Errors
    /// [`Error::NotADrive`] where the twin is memory, or several drives.
    pub fn new(twin: &Twin, seed: u64, used: f64) -> Result<Self, Error> {
        let capacity = twin.capacity_bytes.value;
        let stations = match &twin.device {
            Device::Nand(nand) => Stations::Flash(Box::new(FlashStations::new(nand, capacity, seed, used))),
            Device::OptaneSsd(drive) => Stations::Optane(Box::new(OptaneStations::new(drive))),
            Device::Disk(disk) => Stations::Disk(Box::new(DiskStations::new(disk, capacity))),
            Device::CloudVolume(volume) => Stations::Volume(Box::new(VolumeStations::new(volume))),
            _ => return Err(Error::NotADrive { name: twin.name.clone(), family: twin.device.family() }),
        };
        Ok(Self::of(stations))
    }

    /// One of the drives of an instance.
    pub fn of_instance(twin: &Twin, instance: &CloudInstance, seed: u64, used: f64) -> Self {
        let capacity = twin.capacity_bytes.value / instance.drives.value;
        Self::of(Stations::Flash(Box::new(FlashStations::new(&limited(instance), capacity, seed, used))))
    }

    fn of(stations: Stations) -> Self {
        Self { stations, flushing: Flushing::default() }
    }

    /// Serves a request that arrives at `now`, never earlier than the one before; returns when it is done.
    #[inline]
    pub fn serve(&mut self, now: Picoseconds, request: &Request, random: &mut Xoshiro256PlusPlus) -> Picoseconds {
        match &mut self.stations {
            Stations::Flash(_) => self.serve_flash(now, request, random),
            Stations::Optane(optane) => optane.serve(now, request, random),
            Stations::Disk(disk) => disk.serve(now, request, random),
            Stations::Volume(volume) => volume.serve(now, request, random),
        }
    }

    #[inline]
    fn serve_flash(&mut self, now: Picoseconds, request: &Request, random: &mut Xoshiro256PlusPlus) -> Picoseconds {
        let Stations::Flash(flash) = &mut self.stations else { return now };
        // What comes at the very moment at which the next one begins comes before it.
        if let Some((_, next)) = self.flushing.next.take_if(|(begins, _)| now > *begins) {
            flash.stop_for(&next);
            self.flushing.ends = next.ends;
        }
        if request.action != Action::Flush || flash.is_safe() {
            return flash.serve(now, request, random);
        }
        flush(flash, &mut self.flushing, now, random)
    }

    /// A write or a trim that takes no time: what lies there before a play begins.
    pub fn lay(&mut self, request: &Request) {
        if let Stations::Flash(flash) = &mut self.stations {
            flash.lay(request);
        }
    }

    /// Bytes that the host has written and bytes copied, of a flash drive that is followed page by page.
    pub fn programmed(&self) -> Option<[f64; 2]> {
        match &self.stations {
            Stations::Flash(flash) => flash.programmed(),
            _ => None,
        }
    }

    /// Its figures may still change after millions of operations.
    pub fn is_transient(&self, writes: bool) -> bool {
        match &self.stations {
            Stations::Flash(flash) => writes && flash.is_transient(),
            Stations::Optane(_) | Stations::Disk(_) => false,
            Stations::Volume(volume) => volume.is_transient(),
        }
    }

    /// Lets what changes slowly change `factor` times as fast.
    pub fn hasten(&mut self, factor: f64) {
        match &mut self.stations {
            Stations::Flash(flash) => flash.hasten(factor),
            Stations::Volume(volume) => volume.hasten(factor),
            Stations::Optane(_) | Stations::Disk(_) => {}
        }
    }

    /// The busiest station and its busy time.
    pub fn busiest(&self) -> (&'static str, Picoseconds) {
        match &self.stations {
            Stations::Flash(flash) => flash.busiest(),
            Stations::Optane(optane) => optane.busiest(),
            Stations::Disk(disk) => ("arm", disk.busy()),
            Stations::Volume(volume) => ("bucket", volume.busy()),
        }
    }
}

/// A flush of a drive that takes time for it.
fn flush(
    flash: &mut FlashStations,
    flushing: &mut Flushing,
    now: Picoseconds,
    random: &mut Xoshiro256PlusPlus,
) -> Picoseconds {
    if let Some((_, next)) = &mut flushing.next {
        flash.join_flush(next);
        return next.ends;
    }
    let begins = now.max(flushing.ends);
    let flush = flash.plan_flush(begins, random);
    if begins > now {
        flushing.next = Some((begins, flush));
    } else {
        flash.stop_for(&flush);
        flushing.ends = flush.ends;
    }
    flush.ends
}
