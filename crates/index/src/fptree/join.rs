//! Two leaves become one.

use assay_pmem::{Medium, Offset};

use super::{
    FpTree, Locked,
    inner::retire,
    key::Probe,
    leaf::{FULL, LINE, LOW, NEXT, RECORDS, bits, free_slot, record_at},
};
use crate::error::IndexError;

/// Records of a leaf that two others were joined into, at most: it must not split again at once. An empty leaf is joined
/// with any.
const TOGETHER: u32 = RECORDS as u32 * 3 / 4;

/// Two neighbours under one node: all three are locked.
struct Pair {
    left: u64,
    right: u64,
    /// The separator between both, in their node.
    position: usize,
}

impl<M: Medium> FpTree<M> {
    /// Joins a nearly empty leaf with a neighbour under the same node, if both fit into one. The node and the neighbour
    /// are only tried to lock: where somebody is at work there, a later removal tries again.
    #[cold]
    pub(super) fn join(&self, mut locked: Locked<'_, M>, probe: &Probe<'_>) -> Result<(), IndexError> {
        let spot = locked.spot;
        let (node, index, children) = (spot.node, spot.index, spot.node.count() + 1);
        if children < 2 || !node.latch.lock(spot.version) {
            return Ok(());
        }
        let position = index.min(children - 2);
        let pair = Pair { left: node.child(position), right: node.child(position + 1), position };
        let other = if pair.left == locked.at() { pair.right } else { pair.left };
        let latch = self.latch(other);
        let version = latch.version_if_open();
        let joined = match version.filter(|&version| latch.lock(version)) {
            None => Ok(false),
            Some(version) => {
                let joined = self.join_pair(&pair);
                if matches!(joined, Ok(true)) {
                    latch.changed(version)
                } else {
                    latch.unchanged(version)
                }
                joined
            }
        };
        let small = matches!(joined, Ok(true)) && node.is_small();
        if matches!(joined, Ok(true)) {
            retire(node.remove(pair.position), &assay_pmem::pin());
            locked.dirty = true;
            node.latch.changed(spot.version);
        } else {
            node.latch.unchanged(spot.version);
        }
        drop(locked);
        if small {
            self.inner.shrink(probe);
        }
        joined.map(drop)
    }

    /// Moves the right leaf's records to the left one and gives the right one back, in one transaction.
    fn join_pair(&self, pair: &Pair) -> Result<bool, IndexError> {
        let (medium, left, right) = (self.medium(), self.leaf(pair.left), self.leaf(pair.right));
        let (mut bitmap, from) = (left.bitmap(), right.bitmap());
        if bitmap != 0 && from != 0 && bitmap.count_ones() + from.count_ones() > TOGETHER {
            return Ok(false);
        }
        let mut transaction = self.pool.begin();
        let mut lines = 0;
        for slot in bits(from) {
            let free = free_slot(bitmap, right.print(slot));
            let record = record_at(pair.left, free);
            medium.store(record, right.head(slot));
            medium.store(record + 8, right.payload(slot));
            lines |= 1 << ((record - pair.left) / LINE);
            left.set_print(free, right.print(slot));
            bitmap |= 1 << free;
        }
        debug_assert!(bitmap & !FULL == 0);
        for line in bits(lines) {
            medium.flush(pair.left + line as u64 * LINE, LINE as usize); // records that moved
        }
        if from != 0 {
            medium.flush(pair.left, LINE as usize); // fingerprints that moved
            transaction.set(Offset::new(pair.left), bitmap)?;
        }
        transaction.set(Offset::new(pair.left + NEXT), right.next())?;
        if !self.words {
            transaction.free(Offset::<u64>::new(medium.load(pair.right + LOW)))?;
        }
        transaction.free(Offset::<u64>::new(pair.right))?;
        transaction.commit();
        Ok(true)
    }
}
