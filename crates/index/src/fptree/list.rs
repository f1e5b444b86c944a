//! The list of leaves, read when a tree is opened.
//!
//! Who follows it from leaf to leaf waits for memory once for each. So threads first note what all leaves say, each in a
//! part of the pool, in order of place; then the list is followed in these summaries. A block that is no leaf may be noted
//! too: nothing leads to it. Nothing is written, so a crash meanwhile changes nothing.

use std::{num::NonZeroUsize, panic::resume_unwind};

use assay_pmem::{CHUNK_BYTES, Medium, Pool};

use super::{
    inner::{key, word},
    key::block,
    leaf::{FULL, LEAF_BYTES, LINE, Leaf},
    node::Separator,
};
use crate::error::IndexError;

/// Bytes of a pool for which another thread is worth beginning: some thousand leaves.
const BYTES_OF_A_THREAD: usize = 8 << 20;
/// Threads that read at most: more than a memory has use for.
const MOST_THREADS: usize = 32;
/// In a note: somebody looked. The next leaf's offset has no such bit.
const SEEN: u64 = 1;

/// A leaf of the list.
struct Listed {
    at: u64,
    /// Its low key, or the offset of that key's block.
    low: u64,
}

/// What a leaf says: the offset of the next one, and of its low key or that key itself. Zeros where nobody looked, or where
/// it cannot be a leaf.
type Summary = [u64; 2];

/// Threads that read the leaves of a pool where nobody says how many.
pub(super) fn usual_threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZeroUsize::get)
}

/// Separators and leaves in order.
///
/// # Errors
/// Where the list contradicts itself.
pub(super) fn leaves<M: Medium>(
    pool: &Pool<M>,
    first: u64,
    words: bool,
    threads: usize,
) -> Result<Vec<(Separator, u64)>, IndexError> {
    let all = follow(pool, first, &summaries(pool, threads))?;
    let Some((first, others)) = all.split_first() else { return Ok(Vec::new()) };
    let lowest = [(word(0), first.at)].into_iter();
    if words {
        others.windows(2).try_for_each(|pair| rises(pair[1].at, pair[0].low < pair[1].low))?;
        return Ok(lowest.chain(others.iter().map(|leaf| (word(leaf.low), leaf.at))).collect());
    }
    let keys = low_keys(pool, others, threads)?;
    let mut pairs = keys.windows(2).zip(others.iter().skip(1));
    pairs.try_for_each(|(pair, leaf)| rises(leaf.at, pair[0] < pair[1]))?;
    Ok(lowest.chain(keys.into_iter().zip(others).map(|(low, leaf)| (key(&low), leaf.at))).collect())
}

/// Notes by place: one for each offset at which a leaf can lie.
fn summaries<M: Medium>(pool: &Pool<M>, threads: usize) -> Vec<Summary> {
    let places = pool.medium().bytes() / LEAF_BYTES + 1;
    let mut summaries = vec![[0; 2]; places];
    let part = part_of(places, threads, BYTES_OF_A_THREAD / LEAF_BYTES);
    let parts = summaries.chunks_mut(part).enumerate();
    in_parts(parts, |(number, summaries)| summarize(pool, number * part, summaries));
    summaries
}

/// Notes what the leaves say from the n-th place on.
fn summarize<M: Medium>(pool: &Pool<M>, first: usize, summaries: &mut [Summary]) {
    let offset = |place: usize| (place * LEAF_BYTES) as u64;
    // Chunks are made of whole places, and no chunk lies in two parts but at its end.
    pool.allocated_blocks(LEAF_BYTES, offset(first)..offset(first + summaries.len()), |at| {
        let Some(note) = summaries.get_mut(at as usize / LEAF_BYTES - first) else { return };
        if let Ok((next, low)) = look(pool, at) {
            if next % LEAF_BYTES as u64 == 0 {
                *note = [next | SEEN, low];
            }
        }
    });
}

/// Next leaf and low key of a leaf.
fn look<M: Medium>(pool: &Pool<M>, at: u64) -> Result<(u64, u64), IndexError> {
    let medium = pool.medium();
    if at % LEAF_BYTES as u64 != 0 || at.saturating_add(LEAF_BYTES as u64) > medium.bytes() as u64 {
        return Err(damaged(at, "no leaf can lie there"));
    }
    medium.reads(at, 2 * LINE as usize);
    let leaf = Leaf::new(medium, at);
    if leaf.bitmap() & !FULL != 0 {
        return Err(damaged(at, "its bitmap has bits beyond its records"));
    }
    Ok((leaf.next(), leaf.low()))
}

/// Leaves in order. What was not noted is looked at now, and what is wrong with it said.
fn follow<M: Medium>(pool: &Pool<M>, first: u64, summaries: &[Summary]) -> Result<Vec<Listed>, IndexError> {
    let mut all = Vec::new();
    let mut at = first;
    while at != 0 {
        let noted = if at % LEAF_BYTES as u64 == 0 { summaries.get(at as usize / LEAF_BYTES) } else { None };
        let (next, low) = match noted {
            Some(&[next, low]) if next & SEEN != 0 => (next & !SEEN, low),
            _ => look(pool, at)?,
        };
        all.push(Listed { at, low });
        if all.len() > summaries.len() {
            return Err(damaged(at, "the list of leaves ends nowhere"));
        }
        at = next;
    }
    Ok(all)
}

/// Low keys of leaves, whose blocks lie anywhere.
fn low_keys<M: Medium>(pool: &Pool<M>, leaves: &[Listed], threads: usize) -> Result<Vec<Box<[u8]>>, IndexError> {
    let part = part_of(leaves.len(), threads, BYTES_OF_A_THREAD / LEAF_BYTES);
    let keys = in_parts(leaves.chunks(part), |leaves| {
        leaves.iter().map(|leaf| Ok(block(pool, leaf.low)?.0.into())).collect::<Result<Vec<_>, IndexError>>()
    });
    Ok(keys.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

/// How many of all things one of several threads has to do, where for fewer than `least` none is worth beginning: whole
/// chunks of leaves.
fn part_of(all: usize, threads: usize, least: usize) -> usize {
    let leaves_of_a_chunk = CHUNK_BYTES as usize / LEAF_BYTES;
    all.div_ceil(threads.clamp(1, MOST_THREADS)).max(least).next_multiple_of(leaves_of_a_chunk)
}

/// Does the parts of a work, each by a thread, but for a single one: results in order.
fn in_parts<T: Send, R: Send>(parts: impl ExactSizeIterator<Item = T>, work: impl Fn(T) -> R + Sync) -> Vec<R> {
    if parts.len() < 2 {
        return parts.map(work).collect();
    }
    let work = &work;
    std::thread::scope(|scope| {
        let running: Vec<_> = parts.map(|part| scope.spawn(move || work(part))).collect();
        running.into_iter().map(|one| one.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    })
}

fn rises(at: u64, rises: bool) -> Result<(), IndexError> {
    if rises { Ok(()) } else { Err(damaged(at, "its low key is not above that of the leaf before it")) }
}

fn damaged(at: u64, what: &str) -> IndexError {
    IndexError::Damaged { what: format!("leaf {at:#x}: {what}") }
}
