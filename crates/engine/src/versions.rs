//! Rows as they were before they were changed, for as long as a snapshot may ask.
//!
//! The newest version of a row is in its tree. What it replaced is kept here, in memory: a snapshot dies with the process,
//! so nobody needs it afterwards. Of a row that keeps its length only the bytes between the first and the last that differ
//! are kept: a snapshot takes them back, change by change, from the newest version on. A shard is a queue in the order of
//! commits; its front is dropped when no snapshot is older, which frees chains of versions without looking at them. Where a
//! snapshot lives so long that the shard is full, versions are dropped all the same, and that snapshot is told when it asks.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::{Mutex, MutexGuard, PoisonError},
};

const SHARDS: usize = 64;
const CHAINS: usize = 256;
const NONE: u64 = u64::MAX;

/// A version that was replaced.
#[derive(Clone, Copy, Debug)]
struct Version {
    table: u16,
    /// The row was not there: it had been deleted.
    deleted: bool,
    key_bytes: u16,
    /// Bytes of the value that are kept.
    value_bytes: u32,
    /// Where they lie in it, where the others are those of the next newer version.
    patch_at: Option<u32>,
    /// The commit that made it.
    made: u64,
    /// The commit that replaced it.
    replaced: u64,
    /// Number of the next older version of the same chain.
    older: u64,
    /// Number of its first byte.
    at: u64,
}

#[derive(Debug)]
struct Shard {
    versions: VecDeque<Version>,
    bytes: VecDeque<u8>,
    /// Number of the front version, and of the front byte.
    first: u64,
    first_byte: u64,
    chains: Box<[u64]>,
    /// Versions that were replaced up to this commit may be gone although somebody could ask for them.
    lost: u64,
}

/// What a snapshot sees of a row whose newest version is too new for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// Its value was copied.
    Value,
    /// It was not there.
    Absent,
    /// It is not known any more.
    Lost,
}

/// All versions that were replaced and may be asked for.
#[derive(Debug)]
pub struct Versions {
    shards: Box<[Mutex<Shard>]>,
    /// Bytes of a shard at most.
    most: usize,
}

/// What is replaced.
#[derive(Clone, Copy, Debug)]
pub struct Replaced<'a> {
    /// The table.
    pub table: u16,
    /// The key.
    pub key: &'a [u8],
    /// The value; none where the row was deleted.
    pub value: Option<&'a [u8]>,
    /// The value in its place; none where the row is deleted.
    pub new: Option<&'a [u8]>,
    /// The commit that made it.
    pub made: u64,
    /// The commit that replaces it.
    pub by: u64,
}

impl Versions {
    /// None yet; at most about `bytes` of keys and values are kept.
    pub fn new(bytes: usize) -> Self {
        let shard = |_| {
            Mutex::new(Shard {
                versions: VecDeque::new(),
                bytes: VecDeque::new(),
                first: 0,
                first_byte: 0,
                chains: vec![NONE; CHAINS].into(),
                lost: 0,
            })
        };
        Self { shards: (0..SHARDS).map(shard).collect(), most: bytes / SHARDS }
    }

    /// Keeps a version. `oldest` is the oldest snapshot in use: what no snapshot can ask for is dropped.
    pub fn keep(&self, hash: u64, replaced: &Replaced<'_>, oldest: u64) {
        let (value, patch_at) = replaced.kept();
        let mut shard = self.shard(hash);
        shard.make_room(replaced.key.len() + value.len(), oldest, self.most);
        let (number, at) = (shard.first + shard.versions.len() as u64, shard.first_byte + shard.bytes.len() as u64);
        let chain = chain(hash);
        let older = std::mem::replace(&mut shard.chains[chain], number);
        shard.versions.push_back(Version {
            table: replaced.table,
            deleted: replaced.value.is_none(),
            key_bytes: replaced.key.len() as u16,
            value_bytes: value.len() as u32,
            patch_at,
            made: replaced.made,
            replaced: replaced.by,
            older,
            at,
        });
        shard.bytes.extend(replaced.key);
        shard.bytes.extend(value);
    }

    /// Makes of the value that the commit `newest` gave a row what a snapshot sees, which does not see that commit.
    pub fn find(
        &self,
        hash: u64,
        (table, key): (u16, &[u8]),
        newest: u64,
        snapshot: u64,
        value: &mut Vec<u8>,
    ) -> Found {
        let shard = self.shard(hash);
        let (mut number, mut by) = (shard.chains[chain(hash)], newest);
        while number != NONE && number >= shard.first {
            let version = shard.versions[(number - shard.first) as usize];
            if version.replaced == by && version.table == table && shard.is_key(&version, key) {
                shard.take_back(&version, value);
                if version.made <= snapshot {
                    return if version.deleted { Found::Absent } else { Found::Value };
                }
                by = version.made;
            }
            number = version.older;
        }
        if snapshot < shard.lost { Found::Lost } else { Found::Absent }
    }

    /// Bytes of keys and values that are kept.
    pub fn bytes(&self) -> usize {
        self.shards.iter().map(|shard| lock(shard).bytes.len()).sum()
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        lock(&self.shards[(hash >> 58) as usize % SHARDS])
    }
}

impl Shard {
    fn make_room(&mut self, bytes: usize, oldest: u64, most: usize) {
        while let Some(front) = self.versions.front() {
            let needed = front.replaced > oldest;
            if needed && self.bytes.len() + bytes <= most {
                return;
            }
            if needed {
                self.lost = self.lost.max(front.replaced);
            }
            let length = front.key_bytes as usize + front.value_bytes as usize;
            self.bytes.drain(..length);
            self.versions.pop_front();
            self.first += 1;
            self.first_byte += length as u64;
        }
    }

    /// Makes of the value that replaced a version the version's own.
    fn take_back(&self, version: &Version, value: &mut Vec<u8>) {
        let from = (version.at - self.first_byte) as usize + version.key_bytes as usize;
        let bytes = version.value_bytes as usize;
        let at = version.patch_at.map_or(0, |at| at as usize);
        if version.patch_at.is_none() {
            value.resize(bytes, 0);
        }
        copy(&self.bytes, from, &mut value[at..at + bytes]);
    }

    fn is_key(&self, version: &Version, key: &[u8]) -> bool {
        let from = (version.at - self.first_byte) as usize;
        version.key_bytes as usize == key.len() && self.bytes.range(from..from + key.len()).eq(key)
    }
}

fn lock(shard: &Mutex<Shard>) -> MutexGuard<'_, Shard> {
    // Its methods leave it whole at every point at which they could panic.
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}

fn chain(hash: u64) -> usize {
    (hash >> 40) as usize % CHAINS
}

impl<'a> Replaced<'a> {
    /// What of the value is kept, and where that lies in it, where the new value has the rest.
    fn kept(&self) -> (&'a [u8], Option<u32>) {
        match (self.value, self.new) {
            (Some(old), Some(new)) if old.len() == new.len() => {
                let differs = differing(old, new);
                (&old[differs.clone()], Some(differs.start as u32))
            }
            (old, _) => (old.unwrap_or_default(), None),
        }
    }
}

/// From the first byte to the last in which two values of one length differ, some more at either end.
fn differing(old: &[u8], new: &[u8]) -> Range<usize> {
    const STEP: usize = 16;
    let same = |(old, new): &(&[u8], &[u8])| old == new;
    let start = old.chunks_exact(STEP).zip(new.chunks_exact(STEP)).take_while(same).count() * STEP;
    let behind = old[start..].rchunks_exact(STEP).zip(new[start..].rchunks_exact(STEP)).take_while(same).count() * STEP;
    start..old.len() - behind
}

fn copy(from: &VecDeque<u8>, at: usize, into: &mut [u8]) {
    let (front, back) = from.as_slices();
    let here = front.len().saturating_sub(at).min(into.len());
    let (begin, end) = into.split_at_mut(here);
    if !begin.is_empty() {
        begin.copy_from_slice(&front[at..at + here]);
    }
    if !end.is_empty() {
        let start = (at + here) - front.len();
        end.copy_from_slice(&back[start..start + end.len()]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Value<'a> = Option<&'a [u8]>;

    fn keep(versions: &Versions, (value, new): (Value<'_>, Value<'_>), (made, by): (u64, u64), oldest: u64) {
        versions.keep(7, &Replaced { table: 1, key: b"key", value, new, made, by }, oldest);
    }

    /// What a snapshot sees of a row to which a commit gave its newest value.
    fn find(versions: &Versions, (newest, value): (u64, &[u8]), snapshot: u64) -> (Found, Vec<u8>) {
        let mut value = value.to_vec();
        (versions.find(7, (1, b"key"), newest, snapshot, &mut value), value)
    }

    #[test]
    fn each_snapshot_finds_its_version() {
        let versions = Versions::new(1 << 20);
        keep(&versions, (Some(b"a"), Some(b"bb")), (1, 5), 0);
        keep(&versions, (Some(b"bb"), None), (5, 8), 0);
        keep(&versions, (None, Some(b"c")), (8, 9), 0);
        let seen = |snapshot| find(&versions, (9, b"c"), snapshot);
        assert_eq!(seen(0).0, Found::Absent);
        assert_eq!(seen(4), (Found::Value, b"a".to_vec()));
        assert_eq!(seen(5), (Found::Value, b"bb".to_vec()));
        assert_eq!(seen(8).0, Found::Absent);
        assert_eq!(find(&versions, (8, b""), 5), (Found::Value, b"bb".to_vec()), "seen before the newest commit");
        let mut value = Vec::new();
        assert_eq!(versions.find(7, (2, b"key"), 9, 4, &mut value), Found::Absent, "another table");
        assert_eq!(versions.find(7, (1, b"kez"), 9, 4, &mut value), Found::Absent, "another key of the same chain");
    }

    #[test]
    fn of_a_long_row_what_differs_is_kept_and_taken_back() {
        let versions = Versions::new(1 << 20);
        let value = |commit: u64| {
            let mut value = vec![0xee; 333];
            (1..=commit).for_each(|at| value[at as usize * 37 % 333] = at as u8);
            value
        };
        for commit in 1..20 {
            keep(&versions, (Some(&value(commit)), Some(&value(commit + 1))), (commit, commit + 1), 0);
        }
        assert!(versions.bytes() < 19 * 50, "{} bytes", versions.bytes());
        for snapshot in 1..20 {
            assert_eq!(find(&versions, (20, &value(20)), snapshot), (Found::Value, value(snapshot)));
        }
    }

    #[test]
    fn what_differs_is_found_wherever_it_lies() {
        for bytes in [0, 1, 15, 16, 17, 40] {
            let old = vec![1; bytes];
            assert!(differing(&old, &old).len() < 16);
            for at in 0..bytes {
                let mut new = old.clone();
                new[at] = 2;
                let differs = differing(&old, &new);
                assert!(differs.contains(&at) && differs.len() <= 32, "{bytes} {at}: {differs:?}");
            }
        }
    }

    #[test]
    fn what_nobody_can_ask_for_is_dropped_and_what_was_dropped_for_space_is_said() {
        let versions = Versions::new(64 * SHARDS);
        let value = |commit: u64| [commit as u8; 20];
        let keep = |commit: u64, oldest| {
            keep(&versions, (Some(&value(commit)), Some(&value(commit + 1))), (commit, commit + 1), oldest);
        };
        for commit in 1..200 {
            keep(commit, commit.saturating_sub(1));
            let newest = (commit + 1, &value(commit + 1)[..]);
            assert_eq!(find(&versions, newest, commit), (Found::Value, value(commit).to_vec()));
            assert!(versions.bytes() <= 64);
        }
        (200..210).for_each(|commit| keep(commit, 199));
        assert_eq!(find(&versions, (210, &value(210)), 199).0, Found::Lost);
        assert_eq!(find(&versions, (210, &value(210)), 209).0, Found::Value);
    }
}
