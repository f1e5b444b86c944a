//! Linear hashing: segments are split in turn, one for each further stash that is chained to any of them.
//!
//! The root word holds the level and the next segment to be split: at level `l` there are `n = segments << l` and those
//! that this round has added. A segment's number is the hash modulo `n`, or modulo `2n` where that one was split in this
//! round. Publishing the next value of that word is the moment of a split; until it is durable both halves are locked.
//!
//! Segments lie in arrays, of which a table of fixed size tells the places: the first array holds the first ones, then
//! each level has four of equal size (hybrid expansion), so the table never grows, and space comes in steps of a quarter.

use std::sync::atomic::AtomicU64;

use assay_pmem::{Medium, Offset, PmemError, Pool, Transaction};

use super::{
    directory::{Directory, Spot, private::Sealed},
    extendible::write_empty,
    geometry::{DashShape, root},
    hash::{Hash, SEGMENT_BITS},
    image::Image,
    open::lies_in,
    table::Dash,
};
use crate::error::IndexError;

/// Arrays of a level.
const QUARTERS: u64 = 4;
/// Entries of the table of arrays.
const ARRAYS: u64 = 128;
const LEVEL_SHIFT: u32 = 48;

/// Linear hashing.
#[derive(Debug)]
pub struct Linear {
    /// Where the table of arrays lies.
    arrays: u64,
    /// The first segments are two to the power of it.
    first_bits: u32,
}

/// How far the table has grown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    level: u32,
    next: u64,
}

impl Extent {
    #[inline(always)]
    fn decode(word: u64) -> Self {
        Self { level: (word >> LEVEL_SHIFT).min(u64::from(SEGMENT_BITS)) as u32, next: word & ((1 << LEVEL_SHIFT) - 1) }
    }

    fn encode(self) -> u64 {
        u64::from(self.level) << LEVEL_SHIFT | self.next
    }

    /// Segments at the beginning of the round.
    #[inline(always)]
    fn base(self, first_bits: u32) -> u64 {
        1 << (first_bits + self.level)
    }

    #[inline(always)]
    fn number(self, hash: Hash, first_bits: u32) -> u64 {
        let base = self.base(first_bits);
        let number = hash.number() & (base - 1);
        if number < self.next { hash.number() & (2 * base - 1) } else { number }
    }

    fn count(self, first_bits: u32) -> u64 {
        self.base(first_bits) + self.next
    }

    fn after_split(self, first_bits: u32) -> Self {
        if self.next + 1 == self.base(first_bits) {
            Self { level: self.level + 1, next: 0 }
        } else {
            Self { next: self.next + 1, ..self }
        }
    }
}

/// Which array a segment lies in, and its place there.
#[inline(always)]
fn array_of(number: u64, first_bits: u32) -> (u64, u64) {
    let ratio = number >> first_bits;
    if ratio == 0 {
        return (0, number);
    }
    let level = ratio.ilog2();
    let quarter_bits = first_bits + level - 2;
    let within = number - (1 << (first_bits + level));
    (1 + QUARTERS * u64::from(level) + (within >> quarter_bits), within & ((1 << quarter_bits) - 1))
}

/// Segments of an array.
fn array_length(array: u64, first_bits: u32) -> u64 {
    match array.checked_sub(1) {
        None => 1 << first_bits,
        Some(index) => 1 << (first_bits + (index / QUARTERS) as u32 - 2),
    }
}

impl Directory for Linear {
    const NAME: &'static str = "dash-lh";
    const LAYOUT: &'static str = "dash-lh-1";
}

#[allow(private_interfaces, reason = "sealed: only this module's directories have it")]
impl Sealed for Linear {
    fn create<M: Medium>(
        pool: &Pool<M>,
        shape: &DashShape,
        transaction: &mut Transaction<'_, M>,
    ) -> Result<(), PmemError> {
        let arrays: Offset<u64> = transaction.alloc(ARRAYS as usize * 8)?;
        let first: Offset<u64> = transaction.alloc((shape.segments * shape.segment_bytes()) as usize)?;
        let medium = pool.medium();
        (0..ARRAYS).for_each(|array| medium.store(arrays.raw() + array * 8, if array == 0 { first.raw() } else { 0 }));
        medium.flush(arrays.raw(), ARRAYS as usize * 8); // table of arrays
        for number in 0..shape.segments {
            write_empty(pool, shape, first.raw() + number * shape.segment_bytes(), number);
        }
        transaction.set(pool.root(root::ARRAYS), arrays.raw())?;
        transaction.set(pool.root(root::DIRECTORY), Extent { level: 0, next: 0 }.encode())
    }

    fn open<M: Medium>(pool: &Pool<M>, shape: &DashShape) -> Result<Self, PmemError> {
        let load = |root| pool.medium().load(pool.root::<u64>(root).raw());
        let (arrays, extent) = (load(root::ARRAYS), load(root::DIRECTORY));
        let wrong = if !lies_in(pool, arrays, ARRAYS as usize * 8) {
            format!("the table's arrays are at {arrays:#x}, which is no place for them")
        } else if !is_there(pool, shape, arrays, Extent::decode(extent)) {
            format!("the table's extent is {extent:#x}, and not all of its arrays are in the pool")
        } else {
            return Ok(Self { arrays, first_bits: shape.segments.trailing_zeros() });
        };
        Err(PmemError::Damaged { what: wrong })
    }

    #[inline(always)]
    fn locate<M: Medium>(table: &Dash<M, Self>, hash: Hash) -> Spot<'_> {
        let token = table.token();
        let (segment, entry) = place_of(table, Extent::decode(token).number(hash, table.directory.first_bits));
        Spot { segment, token, entry }
    }

    #[inline(always)]
    fn still<M: Medium>(table: &Dash<M, Self>, hash: Hash, spot: Spot<'_>) -> bool {
        table.token() == spot.token || Self::locate(table, hash).segment == spot.segment
    }

    fn belongs<M: Medium>(table: &Dash<M, Self>, segment: u64, hash: Hash) -> bool {
        Self::locate(table, hash).segment == segment
    }

    /// Splits the segment whose turn it is; a segment that was not it gets a further stash.
    #[cold]
    fn make_room<M: Medium>(table: &Dash<M, Self>, spot: Spot<'_>, hash: Hash) -> Result<(), IndexError> {
        let _alone = table.restructure();
        if !Self::still(table, hash, spot) {
            return Ok(());
        }
        match split_next(table) {
            Ok(split) if split == spot.segment => Ok(()),
            // Where there is no space for an array, there may be some for a stash.
            Ok(_) | Err(PmemError::Full { .. }) => Ok(table.lengthen_chain(spot.segment)?),
            Err(error) => Err(error.into()),
        }
    }

    fn emptied<M: Medium>(_: &Dash<M, Self>, _: Hash) -> Result<(), IndexError> {
        Ok(())
    }

    fn segments<M: Medium>(table: &Dash<M, Self>) -> Vec<u64> {
        (0..extent(table).count(table.directory.first_bits)).map(|number| segment_of(table, number)).collect()
    }

    fn examine<M: Medium>(table: &Dash<M, Self>) -> Result<(), String> {
        let extent = extent(table);
        if extent.next < extent.base(table.directory.first_bits) {
            return Ok(());
        }
        Err(format!("{extent:?} has no such segment to split next"))
    }

    fn blocks<M: Medium>(table: &Dash<M, Self>) -> Vec<u64> {
        let arrays = (0..ARRAYS).map(|array| table.medium().load(table.directory.arrays + array * 8));
        let chained = Self::segments(table).into_iter().flat_map(|segment| table.chain(segment).collect::<Vec<_>>());
        let mut blocks: Vec<u64> = arrays.filter(|&at| at != 0).chain(chained).collect();
        blocks.push(table.directory.arrays);
        blocks
    }
}

fn extent<M: Medium>(table: &Dash<M, Linear>) -> Extent {
    Extent::decode(table.medium().load(table.root(root::DIRECTORY)))
}

/// Whether a table of that extent can be, with all of its arrays in the pool.
fn is_there<M: Medium>(pool: &Pool<M>, shape: &DashShape, arrays: u64, extent: Extent) -> bool {
    let bits = shape.segments.trailing_zeros();
    if bits + extent.level >= SEGMENT_BITS || extent.next >= extent.base(bits) {
        return false;
    }
    let (last, _) = array_of(extent.count(bits) - 1, bits);
    let place = |array: u64| pool.medium().load(arrays + array * 8);
    last < ARRAYS && (0..=last).all(|array| lies_in(pool, place(array), shape.segment_bytes() as usize))
}

fn segment_of<M: Medium>(table: &Dash<M, Linear>, number: u64) -> u64 {
    place_of(table, number).0
}

/// A segment, and the word that leads to its array.
#[inline(always)]
fn place_of<M: Medium>(table: &Dash<M, Linear>, number: u64) -> (u64, &AtomicU64) {
    let (array, place) = array_of(number, table.directory.first_bits);
    let entry = table.cell(table.directory.arrays + array * 8);
    (table.load(entry) + place * table.shape.segment_bytes(), entry)
}

/// Splits the segment whose turn it is, and answers which one that was. Where the records that are to go do not fit into
/// a segment without a chain, which an even hash does not bring about, nothing is split.
fn split_next<M: Medium>(table: &Dash<M, Linear>) -> Result<u64, PmemError> {
    let (extent, bits) = (extent(table), table.directory.first_bits);
    let (old_number, new_number) = (extent.next, extent.next + extent.base(bits));
    let old = segment_of(table, old_number);
    make_array(table, new_number)?;
    let after = extent.after_split(bits);
    let held = table.lock_segment(old);
    let before = Image::of(table, old);
    let moves = |hash: Hash| after.number(hash, bits) == new_number;
    let Some(moved) = before.clone().without_chain(moves) else { return Ok(0) };
    let new = segment_of(table, new_number);
    table.write_segment(new, new_number, &moved);
    table.medium().fence(); // new segment durable
    table.medium().publish(table.root(root::DIRECTORY), after.encode()); // split
    let _new_held = table.hold_segment(new);
    table.settle(&before, before.clone(), |hash| !moves(hash));
    table.drop_empty_chain(old)?;
    drop(held);
    Ok(old)
}

/// The array of a segment that does not exist yet.
fn make_array<M: Medium>(table: &Dash<M, Linear>, number: u64) -> Result<(), PmemError> {
    let (array, _) = array_of(number, table.directory.first_bits);
    let entry = table.directory.arrays + array * 8;
    if table.medium().load(entry) != 0 {
        return Ok(());
    }
    let mut transaction = table.pool().begin();
    let bytes = array_length(array, table.directory.first_bits) * table.shape.segment_bytes();
    let block: Offset<u64> = transaction.alloc(bytes as usize)?;
    transaction.set(Offset::new(entry), block.raw())?;
    transaction.commit();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_segment_has_a_place_of_its_own_and_arrays_are_filled_in_order() {
        for first_bits in 2..6 {
            let mut wanted = (0, 0);
            for number in 0..1u64 << 14 {
                assert_eq!(array_of(number, first_bits), wanted, "{number} {first_bits}");
                wanted.1 += 1;
                if wanted.1 == array_length(wanted.0, first_bits) {
                    wanted = (wanted.0 + 1, 0);
                }
            }
        }
    }

    #[test]
    fn a_round_splits_each_segment_once_and_no_hash_changes_otherwise() {
        let mut extent = Extent { level: 0, next: 0 };
        let hashes: Vec<Hash> = (0..4000u64).map(Hash::of_word).collect();
        for _ in 0..60 {
            let after = extent.after_split(2);
            let (old, new) = (extent.next, extent.count(2));
            for &hash in &hashes {
                let (before, now) = (extent.number(hash, 2), after.number(hash, 2));
                assert!(now == before || before == old && now == new, "{extent:?}: {before} became {now}");
                assert!(now < after.count(2));
            }
            extent = after;
        }
        assert_eq!(extent, Extent { level: 4, next: 0 });
    }
}
