//! Inserts, updates and removals in one leaf.

use assay_pmem::{Medium, Offset, Transaction};

use super::{
    FpTree, Locked,
    key::{Probe, block_length, check_value, fill_block},
    leaf::{FULL, RECORD_BYTES, RECORDS, free_slot, record_at},
};
use crate::error::IndexError;

/// What to do with a key that is there, and with one that is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Write {
    /// Adds only.
    Insert,
    /// Changes only.
    Update,
    /// Either.
    Upsert,
}

/// Records of a leaf below which it looks for a neighbour to join, and at how many it does: not at every removal.
const FEW: u32 = RECORDS as u32 / 4;
const EVERY: u32 = 4;

impl<M: Medium> FpTree<M> {
    /// Adds or changes; `true` where it added, `false` where it changed; none where it did neither.
    #[inline(always)]
    pub(super) fn write(&self, probe: &Probe<'_>, value: &[u8], how: Write) -> Result<Option<bool>, IndexError> {
        loop {
            let mut locked = self.lock(probe);
            if let Some(slot) = self.slot_of(&locked.leaf(), probe)? {
                if how == Write::Insert {
                    return Ok(None);
                }
                self.replace(&mut locked, slot, probe, value)?;
                return Ok(Some(false));
            }
            if how == Write::Update {
                return Ok(None);
            }
            let bitmap = locked.leaf().bitmap();
            if bitmap != FULL {
                self.add(&mut locked, free_slot(bitmap, probe.print), probe, value)?;
                return Ok(Some(true));
            }
            self.split(&mut locked)?;
        }
    }

    /// A new record in a free slot of a locked leaf.
    #[inline(always)]
    fn add(&self, locked: &mut Locked<'_, M>, slot: usize, probe: &Probe<'_>, value: &[u8]) -> Result<(), IndexError> {
        let (medium, at) = (self.medium(), locked.at());
        let (record, bitmap) = (record_at(at, slot), locked.leaf().bitmap() | 1 << slot);
        if !self.words {
            return self.add_block(locked, record, slot, probe, value);
        }
        let value = word(value)?;
        medium.store(record, probe.head);
        medium.store(record + 8, value);
        medium.flush(record, RECORD_BYTES as usize); // record
        medium.fence(); // record durable
        locked.dirty = true;
        locked.leaf().set_print(slot, probe.print);
        medium.store(at, bitmap);
        medium.flush(at, 8); // bitmap with a new record
        medium.fence(); // record counts
        Ok(())
    }

    fn add_block(
        &self,
        locked: &mut Locked<'_, M>,
        record: u64,
        slot: usize,
        probe: &Probe<'_>,
        value: &[u8],
    ) -> Result<(), IndexError> {
        let (medium, at) = (self.medium(), locked.at());
        let mut transaction = self.pool.begin();
        let block = self.new_block(&mut transaction, probe, value)?;
        medium.store(record, probe.head);
        medium.store(record + 8, block);
        medium.flush(record, RECORD_BYTES as usize); // record of a block
        let bitmap = locked.leaf().bitmap() | 1 << slot;
        transaction.set(Offset::new(at), bitmap)?;
        locked.dirty = true;
        locked.leaf().set_print(slot, probe.print);
        transaction.commit();
        Ok(())
    }

    /// A block with key and value, flushed: durable with the transaction's first fence.
    fn new_block(
        &self,
        transaction: &mut Transaction<'_, M>,
        probe: &Probe<'_>,
        value: &[u8],
    ) -> Result<u64, IndexError> {
        check_value(value)?;
        let length = block_length(probe.key, value);
        let block: Offset<u64> = transaction.alloc(length)?;
        fill_block(self.medium(), block.raw(), probe.key, value);
        self.medium().flush(block.raw(), length); // block
        Ok(block.raw())
    }

    /// Another value in a record that counts.
    #[inline(always)]
    fn replace(
        &self,
        locked: &mut Locked<'_, M>,
        slot: usize,
        probe: &Probe<'_>,
        value: &[u8],
    ) -> Result<(), IndexError> {
        let medium = self.medium();
        let payload = record_at(locked.at(), slot) + 8;
        if self.words {
            let value = word(value)?;
            locked.dirty = true;
            medium.store(payload, value);
            medium.flush(payload, 8); // value
            medium.fence(); // value durable
            return Ok(());
        }
        let mut transaction = self.pool.begin();
        let block = self.new_block(&mut transaction, probe, value)?;
        transaction.free(Offset::<u64>::new(medium.load(payload)))?;
        transaction.set(Offset::new(payload), block)?;
        locked.dirty = true;
        transaction.commit();
        Ok(())
    }

    /// Removes a key; `false` where it is not there.
    #[inline(always)]
    pub(super) fn remove(&self, probe: &Probe<'_>) -> Result<bool, IndexError> {
        let mut locked = self.lock(probe);
        let Some(slot) = self.slot_of(&locked.leaf(), probe)? else { return Ok(false) };
        let (medium, at) = (self.medium(), locked.at());
        let bitmap = locked.leaf().bitmap() & !(1 << slot);
        if self.words {
            locked.dirty = true;
            medium.store(at, bitmap);
            medium.flush(at, 8); // bitmap without a record
            medium.fence(); // record gone
        } else {
            let mut transaction = self.pool.begin();
            transaction.free(Offset::<u64>::new(locked.leaf().payload(slot)))?;
            transaction.set(Offset::new(at), bitmap)?;
            locked.dirty = true;
            transaction.commit();
        }
        let left = bitmap.count_ones();
        if left <= FEW && left % EVERY == 0 {
            self.join(locked, probe)?;
        }
        Ok(true)
    }
}

/// A value of 8 bytes, as it lies in a record.
#[inline(always)]
fn word(value: &[u8]) -> Result<u64, IndexError> {
    let bytes = <[u8; 8]>::try_from(value).map_err(|_| IndexError::NotAWord { what: "value", bytes: value.len() })?;
    Ok(u64::from_ne_bytes(bytes))
}
