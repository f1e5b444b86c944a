//! What a simulated disk holds: what is durable, what is visible, and what is between the two.

use std::sync::Arc;

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

/// Bytes that a power cut leaves old or new, never mixed.
pub(super) const SECTOR: usize = 512;
/// Bytes that share one allocation.
const BLOCK: usize = 4096;

type Blocks = Vec<Option<Arc<[u8; BLOCK]>>>;

/// What a power cut does to writes that no flush made durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// None of them arrived.
    Lost,
    /// All of them arrived.
    Kept,
    /// Each arrived whole or not at all, by chance: they were carried out in another order.
    Reordered(u64),
    /// Each sector of each arrived or not, by chance: writes are torn as well.
    Torn(u64),
}

/// A write that no flush has covered yet.
#[derive(Debug)]
pub(super) struct Pending {
    pub id: u64,
    offset: u64,
    bytes: Vec<u8>,
}

/// The surface of one disk. Cloning it shares its blocks.
#[derive(Clone, Debug)]
pub(super) struct Platter {
    pub name: String,
    pub bytes: u64,
    durable: Blocks,
    visible: Blocks,
    pending: Vec<Arc<Pending>>,
    /// Writes up to this number were there when a flush failed: no later flush says anything about them.
    doubtful: Vec<Arc<Pending>>,
}

impl Platter {
    pub fn new(name: &str, bytes: u64) -> Self {
        let blocks = vec![None; bytes.div_ceil(BLOCK as u64) as usize];
        Self {
            name: name.to_owned(),
            bytes,
            durable: blocks.clone(),
            visible: blocks,
            pending: Vec::new(),
            doubtful: Vec::new(),
        }
    }

    pub fn read(&self, offset: u64, into: &mut [u8]) {
        each_part(offset, into.len(), |block, inside, range| match &self.visible[block] {
            Some(held) => into[range.clone()].copy_from_slice(&held[inside..inside + range.len()]),
            None => into[range].fill(0),
        });
    }

    pub fn write(&mut self, id: u64, offset: u64, bytes: &[u8]) {
        put(&mut self.visible, offset, bytes);
        self.pending.push(Arc::new(Pending { id, offset, bytes: bytes.to_vec() }));
    }

    /// A write that failed: each sector is old or new.
    pub fn write_torn(&mut self, id: u64, offset: u64, bytes: &[u8], chance: &mut Xoshiro256PlusPlus) {
        for (index, sector) in bytes.chunks(SECTOR).enumerate() {
            if chance.next_u64() & 1 == 0 {
                self.write(id, offset + (index * SECTOR) as u64, sector);
            }
        }
    }

    /// Makes durable what `covers` says, in the order in which it was written.
    pub fn flush(&mut self, covers: impl Fn(u64) -> bool) {
        let (covered, left) = std::mem::take(&mut self.pending).into_iter().partition(|write| covers(write.id));
        self.pending = left;
        let covered: Vec<Arc<Pending>> = covered;
        covered.iter().for_each(|write| put(&mut self.durable, write.offset, &write.bytes));
    }

    /// A flush failed: what was to be made durable may or may not be, for good.
    pub fn flush_failed(&mut self) {
        self.doubtful.append(&mut self.pending);
    }

    /// Changes one bit of what is stored.
    pub fn flip(&mut self, bit: u64) {
        for blocks in [&mut self.durable, &mut self.visible] {
            let mut byte = [0];
            let (block, inside) = ((bit / 8) as usize / BLOCK, (bit / 8) as usize % BLOCK);
            byte[0] = blocks[block].as_ref().map_or(0, |held| held[inside]) ^ (1 << (bit % 8));
            put(blocks, bit / 8, &byte);
        }
    }

    /// First and one past the last byte of each block that was ever written.
    pub fn written(&self) -> Vec<(u64, u64)> {
        let held = self.visible.iter().enumerate().filter(|(_, block)| block.is_some());
        held.map(|(index, _)| ((index * BLOCK) as u64, ((index + 1) * BLOCK) as u64)).collect()
    }

    /// Whether anything hangs between visible and durable.
    pub fn unsettled(&self) -> usize {
        self.pending.len() + self.doubtful.len()
    }

    /// The disk as it is when power comes back.
    pub fn after(&self, fate: Fate) -> Self {
        let mut blocks = self.durable.clone();
        let seed = match fate {
            Fate::Reordered(seed) | Fate::Torn(seed) => seed,
            Fate::Lost | Fate::Kept => 0,
        };
        let mut chance = Xoshiro256PlusPlus::seed_from_u64(seed);
        for write in self.doubtful.iter().chain(&self.pending) {
            settle(&mut blocks, write, fate, &mut chance);
        }
        let (name, visible) = (self.name.clone(), blocks.clone());
        Self { name, bytes: self.bytes, durable: blocks, visible, pending: Vec::new(), doubtful: Vec::new() }
    }
}

fn settle(blocks: &mut Blocks, write: &Pending, fate: Fate, chance: &mut Xoshiro256PlusPlus) {
    match fate {
        Fate::Lost => {}
        Fate::Kept => put(blocks, write.offset, &write.bytes),
        Fate::Reordered(_) if chance.next_u64() & 1 == 0 => put(blocks, write.offset, &write.bytes),
        Fate::Reordered(_) => {}
        Fate::Torn(_) => {
            for (index, sector) in write.bytes.chunks(SECTOR).enumerate() {
                if chance.next_u64() & 1 == 0 {
                    put(blocks, write.offset + (index * SECTOR) as u64, sector);
                }
            }
        }
    }
}

fn put(blocks: &mut Blocks, offset: u64, bytes: &[u8]) {
    each_part(offset, bytes.len(), |block, inside, range| {
        let held = blocks[block].get_or_insert_with(|| Arc::new([0; BLOCK]));
        Arc::make_mut(held)[inside..inside + range.len()].copy_from_slice(&bytes[range]);
    });
}

/// Calls `each` with block, place inside of it, and range of the bytes.
fn each_part(offset: u64, length: usize, mut each: impl FnMut(usize, usize, std::ops::Range<usize>)) {
    let mut done = 0;
    while done < length {
        let at = offset as usize + done;
        let (block, inside) = (at / BLOCK, at % BLOCK);
        let here = (BLOCK - inside).min(length - done);
        each(block, inside, done..done + here);
        done += here;
    }
}
