//! What a twin is, in a line.

use std::fmt;

use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

use crate::{
    document::Twin,
    request::{Action, PS_PER_S, Picoseconds, Request},
    stations::Drive,
};

/// What a twin is, and how quick it is at best.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// As in `twin:NAME`.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Family of devices, as in the file.
    pub family: &'static str,
    /// Bytes that a user can store.
    pub capacity_bytes: u64,
    /// Median time of a lone read of 4 KiB at random, ns: whoever answers later than this by much plays something else.
    pub floor_read_ns: u64,
    /// Median time of a lone write of 4 KiB at random, ns.
    pub floor_write_ns: u64,
}

impl fmt::Display for Description {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, title, family, capacity_bytes, floor_read_ns, floor_write_ns } = self;
        let [read, write] = [*floor_read_ns, *floor_write_ns].map(|ns| ns as f64 / 1e3);
        write!(
            out,
            "{name}: {title} ({family}), {capacity_bytes} bytes, alone: reads {read:.1} us, writes {write:.1} us"
        )
    }
}

/// Lone requests of which the median is taken.
const TRIED: u64 = 101;

pub(crate) fn describe(twin: &Twin, drive: &Drive) -> Description {
    Description {
        name: twin.name.clone(),
        title: twin.title.clone(),
        family: twin.device.family(),
        capacity_bytes: twin.capacity_bytes.value as u64,
        floor_read_ns: floor_ns(drive, Action::Read),
        floor_write_ns: floor_ns(drive, Action::Write),
    }
}

/// Median of requests of 4 KiB that come one a second, ns.
fn floor_ns(drive: &Drive, action: Action) -> u64 {
    let (mut drive, mut random) = (drive.clone(), Xoshiro256PlusPlus::seed_from_u64(0));
    let mut took: Vec<Picoseconds> = (0..TRIED)
        .map(|index| {
            let now = index * PS_PER_S as Picoseconds;
            let request = Request { action, offset: (index * 7919) << 20, bytes: 4096, sequential: false, group: 0 };
            drive.serve(now, &request, &mut random) - now
        })
        .collect();
    took.sort_unstable();
    took[took.len() / 2] / 1000
}
