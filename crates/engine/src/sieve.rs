//! What a scan shows of the rows that it comes to: those that its snapshot sees, and its transaction's own among them.

use std::{collections::VecDeque, sync::Arc};

use crate::{
    core::{Core, Purge},
    error::Result,
    hash,
    row::Stamp,
    session::{older, too_short},
    writes::Writes,
};

/// Rows go in, in order; what the transaction sees comes out.
pub(crate) struct Sieve<'a> {
    pub core: &'a Arc<Core>,
    pub writes: &'a Writes,
    /// The transaction's own changes in the range that were not come to yet, in the scan's order.
    pub own: &'a [u32],
    pub table: u16,
    pub down: bool,
    pub snapshot: u64,
    pub newest_seen: &'a mut u64,
    pub purges: &'a mut VecDeque<Purge>,
    /// Memory for an older version.
    pub value: &'a mut Vec<u8>,
}

impl Sieve<'_> {
    /// Visits a row and the own changes before it, as far as they are seen; whether to go on.
    #[inline]
    pub fn row(&mut self, key: &[u8], row: &[u8], visit: &mut impl FnMut(&[u8], &[u8]) -> bool) -> Result<bool> {
        if !self.own.is_empty() {
            let (goes_on, replaced) = self.own_before(key, visit);
            if !goes_on || replaced {
                return Ok(goes_on);
            }
        }
        let Some((stamp, newest)) = Stamp::split(row) else { return Err(too_short(self.table)) };
        if stamp.commit > self.snapshot {
            return self.older(key, (stamp, newest), visit);
        }
        *self.newest_seen = stamp.commit.max(*self.newest_seen);
        if !stamp.deleted {
            return Ok(visit(key, newest));
        }
        if stamp.commit <= self.core.opened {
            self.purges.push_back(Purge { commit: stamp.commit, table: self.table, key: key.to_vec() });
        }
        Ok(true)
    }

    /// Visits the own changes up to a row; whether to go on, and whether one of them is of that row.
    fn own_before(&mut self, key: &[u8], visit: &mut impl FnMut(&[u8], &[u8]) -> bool) -> (bool, bool) {
        while let Some((&write, rest)) = self.own.split_first() {
            let order = self.writes.key(write as usize).cmp(key);
            let order = if self.down { order.reverse() } else { order };
            if order.is_gt() {
                break;
            }
            self.own = rest;
            if !self.show(write, visit) {
                return (false, order.is_eq());
            }
            if order.is_eq() {
                return (true, true);
            }
        }
        (true, false)
    }

    /// Visits the own changes behind the last row.
    pub fn rest(&mut self, visit: &mut impl FnMut(&[u8], &[u8]) -> bool) {
        let _visited = self.own.iter().all(|&write| self.show(write, visit));
    }

    /// Visits an own change, where it is no removal; whether to go on.
    fn show(&self, write: u32, visit: &mut impl FnMut(&[u8], &[u8]) -> bool) -> bool {
        let value = self.writes.value(write as usize);
        value.is_none_or(|value| visit(self.writes.key(write as usize), value))
    }

    /// Visits the version of a row that the snapshot sees, if there is one; whether to go on.
    #[cold]
    fn older(
        &mut self,
        key: &[u8],
        (stamp, newest): (Stamp, &[u8]),
        visit: &mut impl FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<bool> {
        self.value.clear();
        self.value.extend_from_slice(newest);
        let (hash, place) = (hash::of(self.table, key), (self.table, key));
        let there = older(self.core, hash, place, (stamp.commit, self.snapshot), self.value)?;
        Ok(!there || visit(key, self.value))
    }
}
