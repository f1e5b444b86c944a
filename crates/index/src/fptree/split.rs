//! A full leaf becomes two.

use assay_pmem::{Medium, Offset};

use super::{
    FpTree, Locked,
    inner::{key, word},
    key::{BLOCK_HEAD, Probe, block, fill_block},
    leaf::{FULL, LEAF_BYTES, LOW, Leaf, NEXT, PRINTS, RECORDS, free_slot, record_at},
};
use crate::error::IndexError;

/// A leaf that is put together before it is written.
struct Draft {
    bytes: [u8; LEAF_BYTES],
}

impl<M: Medium> FpTree<M> {
    /// Moves the upper half of a full, locked leaf to a new one. What is allocated, the old leaf's bitmap and its link
    /// change in one transaction; the new leaf is complete before. The old leaf stays locked until the inner nodes know
    /// the new one, so whoever looks for a key that moved waits, and then looks again.
    #[cold]
    pub(super) fn split(&self, locked: &mut Locked<'_, M>) -> Result<(), IndexError> {
        let (medium, at) = (self.medium(), locked.at());
        let leaf = locked.leaf();
        let slots = self.sorted_slots(&leaf)?;
        let (stay, go) = slots.split_at(RECORDS / 2);
        let low = self.separator(&leaf, stay[stay.len() - 1], go[0])?;
        let mut transaction = self.pool.begin();
        let new: Offset<u64> = transaction.alloc(LEAF_BYTES)?;
        let low_word = if self.words {
            u64::from_be_bytes(std::array::from_fn(|byte| low[byte]))
        } else {
            let length = BLOCK_HEAD + low.len();
            let block: Offset<u64> = transaction.alloc(length)?;
            fill_block(medium, block.raw(), &low, &[]);
            medium.flush(block.raw(), length); // low key
            block.raw()
        };
        let draft = Draft::of(&leaf, go, low_word);
        medium.write(new.raw(), &draft.bytes);
        medium.flush(new.raw(), LEAF_BYTES); // new leaf
        let moved = go.iter().fold(0, |bits, &slot| bits | 1 << slot);
        transaction.set(Offset::new(at), FULL & !moved)?;
        transaction.set(Offset::new(at + NEXT), new.raw())?;
        locked.dirty = true;
        transaction.commit();
        let probe = if self.words { Probe::word(&low)? } else { Probe::any(&low)? };
        let separator = if self.words { word(low_word) } else { key(&low) };
        self.inner.insert(&probe, separator, new.raw());
        Ok(())
    }

    /// Slots of a full leaf in order of their keys.
    fn sorted_slots(&self, leaf: &Leaf<'_, M>) -> Result<[usize; RECORDS], IndexError> {
        let mut slots: [usize; RECORDS] = std::array::from_fn(|slot| slot);
        if self.words {
            slots.sort_unstable_by_key(|&slot| leaf.head(slot));
            return Ok(slots);
        }
        let mut keys: Vec<&[u8]> = Vec::with_capacity(RECORDS);
        for slot in 0..RECORDS {
            keys.push(block(&self.pool, leaf.payload(slot))?.0);
        }
        slots.sort_unstable_by_key(|&slot| keys[slot]);
        Ok(slots)
    }

    /// The shortest key that is above one and not above the other.
    fn separator(&self, leaf: &Leaf<'_, M>, below: usize, above: usize) -> Result<Vec<u8>, IndexError> {
        if self.words {
            return Ok(leaf.head(above).to_be_bytes().to_vec());
        }
        let (below, _) = block(&self.pool, leaf.payload(below))?;
        let (above, _) = block(&self.pool, leaf.payload(above))?;
        let common = below.iter().zip(above).take_while(|(one, other)| one == other).count();
        Ok(above[..=common.min(above.len() - 1)].to_vec())
    }
}

impl Draft {
    /// Records of another leaf, each where a search looks first, and its place in the list.
    fn of<M: Medium>(leaf: &Leaf<'_, M>, slots: &[usize], low: u64) -> Self {
        let mut draft = Self { bytes: [0; LEAF_BYTES] };
        let mut bitmap = 0;
        draft.put(NEXT as usize, leaf.next());
        draft.put(LOW as usize, low);
        for &slot in slots {
            let print = leaf.print(slot);
            let free = free_slot(bitmap, print);
            let record = record_at(0, free) as usize;
            draft.bytes[PRINTS as usize + free] = print;
            draft.put(record, leaf.head(slot));
            draft.put(record + 8, leaf.payload(slot));
            bitmap |= 1 << free;
        }
        draft.put(0, bitmap);
        draft
    }

    fn put(&mut self, at: usize, word: u64) {
        self.bytes[at..at + 8].copy_from_slice(&word.to_ne_bytes());
    }
}
