//! Arrays in virtual time: which members a request meets, and the slowest of them.

use assay_libtwin::stations::Drive;
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::RngCore};

use crate::{
    Target, TwinError,
    document::{Device, StripeKind},
    simulated::{Action, Picoseconds, Request, Step},
};

/// Drives side by side; one of them alone is an array of one.
#[derive(Clone, Debug)]
pub struct ArrayStations {
    drives: Vec<Drive>,
    chunk: u64,
    layout: StripeKind,
    /// The member that is missing.
    missing: Option<usize>,
}

impl ArrayStations {
    /// The stations of a drive, of an instance's drives, or of a stripe of drives, with `used_bytes` of data on them.
    ///
    /// # Errors
    /// Where the target is no drive.
    pub fn new(target: &Target, seed: u64, used_bytes: f64) -> Result<Self, TwinError> {
        let no_model =
            || TwinError::NoModel { name: target.twin().name.clone(), family: target.twin().device.family() };
        let (member, count, chunk, layout, missing) = match target {
            Target::Device { .. } => (target, 1, 1 << 30, StripeKind::Interleave, 0),
            Target::Stripe { member, count, chunk_bytes, layout, missing } => {
                (&**member, *count, *chunk_bytes, *layout, *missing)
            }
            Target::Cache { .. } | Target::Block { .. } => return Err(no_model()),
        };
        let Target::Device { twin, .. } = member else {
            return Err(no_model());
        };
        let mut drives = Vec::new();
        for index in 0..count {
            let share = (used_bytes / target.capacity_bytes()).clamp(0.0, 1.0);
            let seed = seed.wrapping_add(u64::from(index));
            if let Device::CloudInstance(instance) = &twin.device {
                let each = Drive::of_instance(twin, instance, seed, share);
                drives.extend(std::iter::repeat_n(each, instance.drives.value.round().max(1.0) as usize));
            } else {
                drives.push(Drive::new(twin, seed, share)?);
            }
        }
        let missing = (missing > 0).then(|| drives.len() - 1);
        Ok(Self { drives, chunk: chunk.max(1), layout, missing })
    }

    /// Serves a request; a write of RAID 5 comes twice, as reads and then as writes.
    #[inline]
    pub fn step(&mut self, now: Picoseconds, request: &mut Request, random: &mut Xoshiro256PlusPlus) -> Step {
        if request.action == Action::Flush {
            return self.flush(now, request, random);
        }
        if self.drives.len() == 1 {
            return Step::Done(self.drives[0].serve(now, &request.at_drive(), random));
        }
        let (first, touched, part) = self.meets(request);
        let write = request.action == Action::Write;
        match self.layout {
            StripeKind::Raid5 if write => self.parity(now, request, first, touched, part, random),
            StripeKind::Raid10 => Step::Done(self.mirrored(now, request, first, touched, part, random)),
            _ => Step::Done(self.serve(now, request, first, touched, part, random)),
        }
    }

    /// A write or a trim of one drive alone that takes no time: what lies there before a play begins.
    pub fn lay(&mut self, request: &Request) {
        if let [drive] = &mut *self.drives {
            drive.lay(&request.at_drive());
        }
    }

    /// Bytes that the host has written and bytes copied, of one flash drive alone that is followed page by page.
    pub fn programmed(&self) -> Option<[f64; 2]> {
        match &*self.drives {
            [drive] => drive.programmed(),
            _ => None,
        }
    }

    /// Each member merges those that wait for it.
    fn flush(&mut self, now: Picoseconds, request: &Request, random: &mut Xoshiro256PlusPlus) -> Step {
        let missing = self.missing;
        let there = self.drives.iter_mut().enumerate().filter(|(index, _)| Some(*index) != missing);
        Step::Done(there.map(|(_, drive)| drive.serve(now, &request.at_drive(), random)).max().unwrap_or(now))
    }

    /// First member of a request, how many members it meets, and the bytes of each.
    fn meets(&self, request: &Request) -> (usize, usize, u32) {
        let count = self.drives.len();
        if self.layout == StripeKind::Interleave {
            let page = u64::from(request.bytes.max(1));
            return ((request.offset / page) as usize % count, 1, request.bytes);
        }
        let wide = match self.layout {
            StripeKind::Raid10 => count / 2,
            _ => count,
        };
        let chunks = u64::from(request.bytes).div_ceil(self.chunk).max(1) as usize;
        let touched = chunks.min(wide);
        ((request.offset / self.chunk) as usize % count, touched, request.bytes / touched as u32)
    }

    fn serve(
        &mut self,
        now: Picoseconds,
        request: &Request,
        first: usize,
        touched: usize,
        part: u32,
        random: &mut Xoshiro256PlusPlus,
    ) -> Picoseconds {
        let count = self.drives.len();
        let part = Request { bytes: part, offset: request.offset / count as u64, ..*request };
        // What lay on a member that is missing is worked out from all others.
        let lost = request.action == Action::Read && self.loses(first, touched);
        let (mut member, mut end) = (first, now);
        for _ in 0..if lost { count } else { touched } {
            if Some(member) != self.missing {
                end = end.max(self.drives[member].serve(now, &part.at_drive(), random));
            }
            member = if member + 1 == count { 0 } else { member + 1 };
        }
        end
    }

    /// One of the members from `first` on is missing.
    fn loses(&self, first: usize, touched: usize) -> bool {
        let count = self.drives.len();
        self.missing.is_some_and(|missing| (missing + count - first) % count < touched)
    }

    fn mirrored(
        &mut self,
        now: Picoseconds,
        request: &Request,
        first: usize,
        touched: usize,
        part: u32,
        random: &mut Xoshiro256PlusPlus,
    ) -> Picoseconds {
        let pairs = self.drives.len() / 2;
        let part = Request { bytes: part, offset: request.offset / pairs as u64, ..*request };
        let mut end = now;
        for step in 0..touched {
            let pair = (first + step) % pairs * 2;
            // Chance chooses the copy: taking turns would send one half of every large read to the same copies.
            let chosen = (random.next_u64() >> 63) as usize;
            let lonely = self.missing.is_some_and(|missing| missing / 2 == pair / 2);
            for copy in 0..2 {
                let wanted = request.action == Action::Write || copy == chosen || lonely;
                if wanted && Some(pair + copy) != self.missing {
                    end = end.max(self.drives[pair + copy].serve(now, &part.at_drive(), random));
                }
            }
        }
        end
    }

    fn parity(
        &mut self,
        now: Picoseconds,
        request: &mut Request,
        first: usize,
        touched: usize,
        part: u32,
        random: &mut Xoshiro256PlusPlus,
    ) -> Step {
        let data = self.drives.len() - 1;
        if u64::from(request.bytes) >= self.chunk * data as u64 {
            let all = self.drives.len();
            return Step::Done(self.serve(now, request, first, all, request.bytes / data as u32, random));
        }
        let touched = touched.min(data);
        if request.sequential && self.missing.is_none() {
            // Parity of a full stripe: once in as many writes as there are members with data.
            let parity = usize::from(request.offset / u64::from(request.bytes.max(1)) % data as u64 == 0) * touched;
            return Step::Done(self.serve(now, request, first, touched + parity, part, random));
        }
        if request.stage > 0 {
            return Step::Done(self.serve(now, request, first, touched + 1, part, random));
        }
        request.stage = 1;
        let (from, fetched) = self.fetched(first, touched);
        if fetched == 0 {
            return Step::At(now);
        }
        let reads = Request { action: Action::Read, sequential: false, ..*request };
        Step::At(self.fetch(now, &reads, from, fetched, part, random))
    }

    /// What a write of RAID 5 reads first: from which member on, and of how many. Parity lies after the chunks that are
    /// touched. Without parity nothing is read; a chunk that is missing makes the rest of its row be read, and a row that
    /// misses another one be read where it is written.
    fn fetched(&self, first: usize, touched: usize) -> (usize, usize) {
        let (count, data) = (self.drives.len(), self.drives.len() - 1);
        let rest = ((first + touched + 1) % count, data - touched);
        if self.loses((first + touched) % count, 1) {
            return (first, 0);
        }
        if self.loses(first, touched) {
            return rest;
        }
        let less = (first, (touched + 1).min(data - touched));
        if self.missing.is_some() { (first, touched + 1) } else { less }
    }

    /// Reads that a write needs, of members that are there.
    fn fetch(
        &mut self,
        now: Picoseconds,
        request: &Request,
        first: usize,
        count: usize,
        part: u32,
        random: &mut Xoshiro256PlusPlus,
    ) -> Picoseconds {
        let all = self.drives.len();
        let part = Request { bytes: part, offset: request.offset / all as u64, ..*request };
        let members = (0..count).map(|step| (first + step) % all).filter(|member| Some(*member) != self.missing);
        let ends = members.map(|member| self.drives[member].serve(now, &part.at_drive(), random)).max();
        ends.unwrap_or(now)
    }

    /// Its figures may still change after millions of operations.
    pub fn is_transient(&self, writes: bool) -> bool {
        self.drives.iter().any(|drive| drive.is_transient(writes))
    }

    /// Lets what changes slowly change `factor` times as fast.
    pub fn hasten(&mut self, factor: f64) {
        self.drives.iter_mut().for_each(|drive| drive.hasten(factor));
    }

    /// The busiest station of the busiest member.
    pub fn busiest(&self) -> (&'static str, Picoseconds) {
        self.drives.iter().map(Drive::busiest).max_by_key(|station| station.1).unwrap_or(("drive", 0))
    }
}
