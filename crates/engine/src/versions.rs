//! Rows as they were before they were changed, for as long as a snapshot may ask.
//!
//! The newest version of a row is in its tree. What it replaced is kept here, in memory: a snapshot dies with the process,
//! so nobody needs it afterwards. A shard is a queue in the order of commits; its front is dropped when no snapshot is
//! older, which frees chains of versions without looking at them. Where a snapshot lives so long that the shard is full,
//! versions are dropped all the same, and that snapshot is told when it asks.

use std::{
    collections::VecDeque,
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
    value_bytes: u32,
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
        let mut shard = self.shard(hash);
        let value = replaced.value.unwrap_or_default();
        shard.make_room(replaced.key.len() + value.len(), oldest, self.most);
        let (number, at) = (shard.first + shard.versions.len() as u64, shard.first_byte + shard.bytes.len() as u64);
        let chain = chain(hash);
        let older = std::mem::replace(&mut shard.chains[chain], number);
        shard.versions.push_back(Version {
            table: replaced.table,
            deleted: replaced.value.is_none(),
            key_bytes: replaced.key.len() as u16,
            value_bytes: value.len() as u32,
            made: replaced.made,
            replaced: replaced.by,
            older,
            at,
        });
        shard.bytes.extend(replaced.key);
        shard.bytes.extend(value);
    }

    /// Copies into `into` what a snapshot sees of a row whose newest version it does not see.
    pub fn find(&self, hash: u64, table: u16, key: &[u8], snapshot: u64, into: &mut Vec<u8>) -> Found {
        let shard = self.shard(hash);
        let mut number = shard.chains[chain(hash)];
        while number != NONE && number >= shard.first {
            let version = shard.versions[(number - shard.first) as usize];
            let seen = version.made <= snapshot && snapshot < version.replaced;
            if seen && version.table == table && shard.is_key(&version, key) {
                if version.deleted {
                    return Found::Absent;
                }
                into.clear();
                let from = (version.at - shard.first_byte) as usize + version.key_bytes as usize;
                copy(&shard.bytes, from, version.value_bytes as usize, into);
                return Found::Value;
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

fn copy(from: &VecDeque<u8>, at: usize, length: usize, into: &mut Vec<u8>) {
    let (front, back) = from.as_slices();
    let here = front.len().saturating_sub(at).min(length);
    if here > 0 {
        into.extend_from_slice(&front[at..at + here]);
    }
    if here < length {
        let start = (at + here) - front.len();
        into.extend_from_slice(&back[start..start + length - here]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keep(versions: &Versions, value: Option<&[u8]>, made: u64, by: u64, oldest: u64) {
        versions.keep(7, &Replaced { table: 1, key: b"key", value, made, by }, oldest);
    }

    fn find(versions: &Versions, snapshot: u64) -> (Found, Vec<u8>) {
        let mut into = Vec::new();
        (versions.find(7, 1, b"key", snapshot, &mut into), into)
    }

    #[test]
    fn each_snapshot_finds_its_version() {
        let versions = Versions::new(1 << 20);
        keep(&versions, Some(b"a"), 1, 5, 0);
        keep(&versions, Some(b"bb"), 5, 8, 0);
        keep(&versions, None, 8, 9, 0);
        assert_eq!(find(&versions, 0), (Found::Absent, vec![]));
        assert_eq!(find(&versions, 4), (Found::Value, b"a".to_vec()));
        assert_eq!(find(&versions, 5), (Found::Value, b"bb".to_vec()));
        assert_eq!(find(&versions, 8), (Found::Absent, vec![]));
        let mut into = Vec::new();
        assert_eq!(versions.find(7, 2, b"key", 4, &mut into), Found::Absent, "another table");
        assert_eq!(versions.find(7, 1, b"kez", 4, &mut into), Found::Absent, "another key of the same chain");
    }

    #[test]
    fn what_nobody_can_ask_for_is_dropped_and_what_was_dropped_for_space_is_said() {
        let versions = Versions::new(64 * SHARDS);
        for commit in 1..200 {
            keep(&versions, Some(&[commit as u8; 20]), commit, commit + 1, commit.saturating_sub(1));
            assert_eq!(find(&versions, commit), (Found::Value, vec![commit as u8; 20]));
            assert!(versions.bytes() <= 64);
        }
        for commit in 200..210 {
            keep(&versions, Some(&[9; 20]), commit, commit + 1, 199);
        }
        assert_eq!(find(&versions, 199).0, Found::Lost);
        assert_eq!(find(&versions, 209).0, Found::Value);
    }
}
