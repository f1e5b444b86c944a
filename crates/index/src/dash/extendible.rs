//! Extendible hashing: a directory of 2^depth entries, one per hash prefix, several of which may lead to one segment.
//!
//! The root word holds the directory's offset and depth; a segment's identity is its prefix. A split allocates the new
//! half, sets the entries that lead to it and halves the old segment's prefix in one transaction; where the directory is
//! too small, or too many entries change for one transaction, a new directory is written first and the root word is set
//! instead. A merge writes a new segment and frees two. Both halves stay locked until the transaction is durable.

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU64, Ordering::Relaxed},
};

use assay_pmem::{Medium, Offset, PmemError, Pool, Transaction};

use super::{
    bucket::{BUCKET_BYTES, HEAD_WORDS, LOCK, WORDS},
    directory::{Directory, Spot, private::Sealed},
    geometry::{DashShape, IDENTITY, Prefix, root},
    hash::{Hash, SEGMENT_BITS},
    image::Image,
    open::lies_in,
    settle::write_block,
    table::Dash,
};
use crate::error::IndexError;

/// Entries that a transaction changes at most, beside blocks and other words; beyond it the directory is written anew.
const MOST_ENTRIES: u64 = 48;
const DEPTH_SHIFT: u32 = 48;

/// Extendible hashing.
#[derive(Debug)]
pub struct Extendible {
    /// Buckets that became empty, so that only some of them have their segment counted.
    emptied: AtomicU64,
}

/// A directory: where it lies, and how many bits of a hash it tells apart.
#[derive(Clone, Copy, Debug)]
struct Entries {
    at: u64,
    depth: u32,
}

impl Entries {
    #[inline(always)]
    fn decode(word: u64) -> Self {
        Self { at: word & ((1 << DEPTH_SHIFT) - 1), depth: (word >> DEPTH_SHIFT).min(u64::from(SEGMENT_BITS)) as u32 }
    }

    fn encode(self) -> u64 {
        u64::from(self.depth) << DEPTH_SHIFT | self.at
    }

    #[inline(always)]
    fn entry(self, index: u64) -> u64 {
        self.at + index * 8
    }

    fn bytes(depth: u32) -> usize {
        8 << depth
    }
}

impl Directory for Extendible {
    const NAME: &'static str = "dash-eh";
    const LAYOUT: &'static str = "dash-eh-1";
}

#[allow(private_interfaces, reason = "sealed: only this module's directories have it")]
impl Sealed for Extendible {
    fn create<M: Medium>(
        pool: &Pool<M>,
        shape: &DashShape,
        transaction: &mut Transaction<'_, M>,
    ) -> Result<(), PmemError> {
        let segment: Offset<u64> = transaction.alloc(shape.segment_bytes() as usize)?;
        let directory: Offset<u64> = transaction.alloc(Entries::bytes(0))?;
        write_empty(pool, shape, segment.raw(), Prefix { depth: 0, bits: 0 }.encode());
        pool.medium().store(directory.raw(), segment.raw());
        pool.medium().flush(directory.raw(), 8); // first directory
        transaction.set(pool.root(root::DIRECTORY), Entries { at: directory.raw(), depth: 0 }.encode())
    }

    fn open<M: Medium>(pool: &Pool<M>, _: &DashShape) -> Result<Self, PmemError> {
        let word = pool.medium().load(pool.root::<u64>(root::DIRECTORY).raw());
        let Entries { at, depth } = Entries::decode(word);
        if !lies_in(pool, at, Entries::bytes(depth)) {
            return Err(PmemError::Damaged {
                what: format!("the table's directory is {word:#x}, which is no place for one"),
            });
        }
        Ok(Self { emptied: AtomicU64::new(0) })
    }

    #[inline(always)]
    fn locate<M: Medium>(table: &Dash<M, Self>, hash: Hash) -> Spot<'_> {
        let token = table.token();
        let entries = Entries::decode(token);
        let entry = table.cell(entries.entry(hash.prefix(entries.depth)));
        Spot { segment: table.load(entry), token, entry }
    }

    #[inline(always)]
    fn still<M: Medium>(table: &Dash<M, Self>, hash: Hash, spot: Spot<'_>) -> bool {
        let same = table.token() == spot.token && table.load(spot.entry) == spot.segment;
        same || Self::locate(table, hash).segment == spot.segment
    }

    fn belongs<M: Medium>(table: &Dash<M, Self>, segment: u64, hash: Hash) -> bool {
        prefix_of(table, segment).covers(hash)
    }

    #[cold]
    fn make_room<M: Medium>(table: &Dash<M, Self>, spot: Spot<'_>, hash: Hash) -> Result<(), IndexError> {
        let _alone = table.restructure();
        if !Self::still(table, hash, spot) {
            return Ok(());
        }
        if prefix_of(table, spot.segment).depth == SEGMENT_BITS {
            return Err(IndexError::Crowded { bits: SEGMENT_BITS });
        }
        split(table, spot.segment)?;
        Ok(())
    }

    /// Of so many buckets that become empty, about one a segment, one has its segment looked at.
    fn emptied<M: Medium>(table: &Dash<M, Self>, hash: Hash) -> Result<(), IndexError> {
        let every = (table.shape.buckets / 5).max(1);
        if table.directory.emptied.fetch_add(1, Relaxed) % every != 0 {
            return Ok(());
        }
        let Ok(_alone) = table.structure.try_lock() else { return Ok(()) };
        loop {
            match merge(table, hash) {
                Ok(true) => {}
                // The record is gone; segments that cannot be merged now will be another time.
                Ok(false) | Err(PmemError::Full { .. }) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn segments<M: Medium>(table: &Dash<M, Self>) -> Vec<u64> {
        let entries = current(table);
        let all = (0..1 << entries.depth).map(|index| table.medium().load(entries.entry(index)));
        all.collect::<BTreeSet<u64>>().into_iter().collect()
    }

    fn examine<M: Medium>(table: &Dash<M, Self>) -> Result<(), String> {
        let entries = current(table);
        let mut led = 0;
        for segment in Self::segments(table) {
            let prefix = prefix_of(table, segment);
            if prefix.depth > entries.depth || prefix.bits >> prefix.depth != 0 {
                return Err(format!(
                    "segment {segment:#x} has depth {} and bits {:#x}, the directory depth {}",
                    prefix.depth, prefix.bits, entries.depth
                ));
            }
            let mine = prefix.entries(entries.depth);
            if let Some(index) = mine.clone().find(|&index| table.medium().load(entries.entry(index)) != segment) {
                return Err(format!(
                    "segment {segment:#x} stands for entries {mine:?}, and {index} does not lead to it"
                ));
            }
            led += mine.end - mine.start;
        }
        // No entry leads to two of them, so those that are left over lead to segments that do not stand for them.
        match (1 << entries.depth) - led {
            0 => Ok(()),
            strays => Err(format!("{strays} entries lead to segments that stand for others")),
        }
    }

    fn blocks<M: Medium>(table: &Dash<M, Self>) -> Vec<u64> {
        let mut blocks = Self::segments(table);
        blocks.push(current(table).at);
        blocks
    }
}

fn current<M: Medium>(table: &Dash<M, Extendible>) -> Entries {
    Entries::decode(table.medium().load(table.root(root::DIRECTORY)))
}

fn prefix_of<M: Medium>(table: &Dash<M, Extendible>, segment: u64) -> Prefix {
    Prefix::decode(table.medium().load(segment + IDENTITY))
}

/// Splits a segment in two by the next bit of the hash.
fn split<M: Medium>(table: &Dash<M, Extendible>, segment: u64) -> Result<(), PmemError> {
    let _held = table.lock_segment(segment);
    let (prefix, entries) = (prefix_of(table, segment), current(table));
    let (old_half, new_half) = (prefix.half(0), prefix.half(1));
    let before = Image::of(table, segment);
    let mut transaction = table.pool().begin();
    let new: Offset<u64> = transaction.alloc(table.shape.segment_bytes() as usize)?;
    let moved = before.clone().without_chain(|hash| new_half.covers(hash));
    let moved = moved.expect("a half of what fitted, each record where it was or nearer to its home");
    table.write_segment(new.raw(), new_half.encode(), &moved);
    let depth = entries.depth.max(new_half.depth);
    lead_to(table, &mut transaction, entries, depth, new_half, new.raw())?;
    transaction.set(Offset::new(segment + IDENTITY), old_half.encode())?;
    transaction.commit();
    let _new_held = table.hold_segment(new.raw());
    table.settle(&before, before.clone(), |hash| old_half.covers(hash));
    Ok(())
}

/// Merges a hash's segment with its other half where both together are at most half full; whether it did.
fn merge<M: Medium>(table: &Dash<M, Extendible>, hash: Hash) -> Result<bool, PmemError> {
    let segment = Extendible::locate(table, hash).segment;
    let (prefix, entries) = (prefix_of(table, segment), current(table));
    if prefix.depth == 0 {
        return Ok(false);
    }
    let other_half = prefix.other_half();
    let other = table.medium().load(entries.entry(other_half.entries(entries.depth).start));
    let most = table.shape.capacity() / 2;
    if prefix_of(table, other) != other_half || count(table, segment) + count(table, other) > most {
        return Ok(false);
    }
    let (_held, _other_held) = (table.lock_segment(segment), table.lock_segment(other));
    let mut image = Image::of(table, segment);
    let others = Image::of(table, other).records();
    let Some(()) = others.iter().all(|(_, record)| image.put_anywhere(record)).then_some(()) else { return Ok(false) };
    let Some(image) = image.without_chain(|_| true) else { return Ok(false) };
    let whole = prefix.whole();
    let mut transaction = table.pool().begin();
    let new: Offset<u64> = transaction.alloc(table.shape.segment_bytes() as usize)?;
    table.write_segment(new.raw(), whole.encode(), &image);
    lead_to(table, &mut transaction, entries, entries.depth, whole, new.raw())?;
    transaction.free(Offset::<u64>::new(segment))?;
    transaction.free(Offset::<u64>::new(other))?;
    transaction.commit();
    let _new_held = table.hold_segment(new.raw());
    halve(table)?;
    Ok(true)
}

/// Records of a segment, about.
fn count<M: Medium>(table: &Dash<M, Extendible>, segment: u64) -> u64 {
    table.own_buckets(segment).map(|bucket| u64::from(table.head(bucket).count())).sum()
}

/// Makes a prefix lead to a segment: in the directory, or in a new one of that depth, which the transaction puts in place.
fn lead_to<M: Medium>(
    table: &Dash<M, Extendible>,
    transaction: &mut Transaction<'_, M>,
    entries: Entries,
    depth: u32,
    prefix: Prefix,
    segment: u64,
) -> Result<(), PmemError> {
    let mine = prefix.entries(depth);
    if depth == entries.depth && mine.end - mine.start <= MOST_ENTRIES {
        return mine.into_iter().try_for_each(|index| transaction.set(Offset::new(entries.entry(index)), segment));
    }
    let old = |index: u64| table.medium().load(entries.entry(index >> (depth - entries.depth)));
    write_anew(table, transaction, entries, depth, |index| if mine.contains(&index) { segment } else { old(index) })
}

/// Halves the directory as long as nobody needs its last bit.
fn halve<M: Medium>(table: &Dash<M, Extendible>) -> Result<(), PmemError> {
    loop {
        let entries = current(table);
        let entry = |index: u64| table.medium().load(entries.entry(index));
        let needed = (0..1u64 << entries.depth).step_by(2).any(|index| entry(index) != entry(index + 1));
        if entries.depth == 0 || needed {
            return Ok(());
        }
        let mut transaction = table.pool().begin();
        write_anew(table, &mut transaction, entries, entries.depth - 1, |index| entry(index * 2))?;
        transaction.commit();
    }
}

/// Writes a directory of that depth, which takes the place of the one before when the transaction commits.
fn write_anew<M: Medium>(
    table: &Dash<M, Extendible>,
    transaction: &mut Transaction<'_, M>,
    before: Entries,
    depth: u32,
    entry: impl Fn(u64) -> u64,
) -> Result<(), PmemError> {
    let medium = table.medium();
    let block: Offset<u64> = transaction.alloc(Entries::bytes(depth))?;
    let after = Entries { at: block.raw(), depth };
    (0..1u64 << depth).for_each(|index| medium.store(after.entry(index), entry(index)));
    medium.flush(after.at, Entries::bytes(depth)); // directory written
    transaction.free(Offset::<u64>::new(before.at))?;
    transaction.set(table.pool().root(root::DIRECTORY), after.encode())
}

/// Writes a segment without records: durable after the next fence.
pub(super) fn write_empty<M: Medium>(pool: &Pool<M>, shape: &DashShape, segment: u64, identity: u64) {
    for index in 0..shape.segment_bytes() / BUCKET_BYTES {
        let mut words = [0; WORDS];
        match index {
            0 => words[IDENTITY as usize / 8] = identity,
            _ => words[LOCK as usize / 8] = pool.incarnation() << super::lock::STAMP_SHIFT,
        }
        debug_assert!(LOCK as usize / 8 == HEAD_WORDS - 1);
        write_block(pool.medium(), segment + index * BUCKET_BYTES, &words);
    }
}

#[cfg(test)]
mod tests {
    use assay_pmem::{Mapped, Shape};

    use super::*;
    use crate::index::{Index, Session};

    /// Keys whose hash begins with these bits.
    fn keys(prefix: Prefix, count: usize) -> impl Iterator<Item = u64> {
        (0u64..).filter(move |&key| prefix.covers(Hash::of_word(key))).take(count)
    }

    #[test]
    fn a_split_that_changes_many_entries_writes_the_directory_anew() {
        let pool = Pool::create(Mapped::memory(16 << 20).unwrap(), &Shape::new(Extendible::LAYOUT)).unwrap();
        let table: Dash<Mapped, Extendible> = Dash::create(pool, &DashShape::tiny()).unwrap();
        let mut session = table.session();
        let mut insert = |key: u64| assert!(session.insert(&key.to_le_bytes(), &key.to_le_bytes()).unwrap());
        // Segments of one corner split again and again; the other half of all hashes stays one segment.
        keys(Prefix { depth: 6, bits: 0 }, 300).for_each(&mut insert);
        let deep = current(&table);
        let half = Prefix { depth: 1, bits: 1 };
        assert!(half.half(1).entries(deep.depth).count() as u64 > MOST_ENTRIES, "{deep:?}");
        keys(half, 300).for_each(&mut insert);
        let after = current(&table);
        assert!(after.depth == deep.depth && after.at != deep.at, "{deep:?} {after:?}");
        assert_eq!(table.verify().unwrap().records, 600);
        let mut found = |key: u64| session.get(key) == Some(key);
        assert!(keys(half, 300).all(&mut found) && keys(Prefix { depth: 6, bits: 0 }, 300).all(found));
    }
}
