//! What every index can do.

use crate::error::IndexError;

/// Bytes of the longest key.
pub const KEY_BYTES_AT_MOST: usize = 1024;

/// What a scan hands each entry to; `false` ends it.
pub type Visit<'a> = dyn FnMut(&[u8], &[u8]) -> bool + 'a;

/// An index that threads share. A thread works through a [`Session`] of its own.
///
/// Keys are ordered as bytes: integers go in as big-endian, and an index may keep keys of 8 bytes as integers. What a
/// call of a session has returned is durable, unless the index was opened otherwise and says so.
pub trait Index: Send + Sync {
    /// What a thread works through.
    type Session<'a>: Session
    where
        Self: 'a;

    /// A session for the calling thread.
    fn session(&self) -> Self::Session<'_>;

    /// Parts that the keys are split into, each in a structure of its own; 1 where all threads share one.
    fn parts(&self) -> usize {
        1
    }

    /// A session for a part.
    fn session_of(&self, _part: usize) -> Self::Session<'_> {
        self.session()
    }

    /// Bytes of the medium or drive that are in use, for space amplification.
    fn used_bytes(&self) -> u64;

    /// Figures of its structure by name, unit last (`leaves`, `load_factor_ratio`), for records. Nobody works on it.
    fn anatomy(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Makes durable what has been acknowledged. Nothing is left to do where every call makes its own change durable.
    ///
    /// # Errors
    /// Where the drive does not take it: what was durable before still is.
    fn make_durable(&self) -> Result<(), IndexError> {
        Ok(())
    }

    /// A clean end: everything that has been acknowledged is durable, or the caller hears why not.
    ///
    /// # Errors
    /// As [`Index::make_durable`].
    fn close(self) -> Result<(), IndexError>
    where
        Self: Sized,
    {
        self.make_durable()
    }

    /// Checks its own structure while nobody works on it: what was seen, or what is wrong, in one sentence. None where
    /// it has no such check.
    fn examine(&self) -> Option<Result<String, String>> {
        None
    }
}

/// Pages that a session has moved between its pool and the drive.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Pages that were wanted and in memory.
    pub hits: u64,
    /// Pages read.
    pub read: u64,
    /// Pages written.
    pub written: u64,
    /// Requests to the drive.
    pub requests: u64,
    /// Sum over them of the session's requests in flight.
    pub depth_sum: u64,
}

impl Moved {
    /// What came to these since an earlier count.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            hits: self.hits - earlier.hits,
            read: self.read - earlier.read,
            written: self.written - earlier.written,
            requests: self.requests - earlier.requests,
            depth_sum: self.depth_sum - earlier.depth_sum,
        }
    }
}

impl std::iter::Sum for Moved {
    fn sum<I: Iterator<Item = Self>>(each: I) -> Self {
        each.fold(Self::default(), |sum, one| Self {
            hits: sum.hits + one.hits,
            read: sum.read + one.read,
            written: sum.written + one.written,
            requests: sum.requests + one.requests,
            depth_sum: sum.depth_sum + one.depth_sum,
        })
    }
}

/// A thread's way into an index. Operations are linearizable.
pub trait Session {
    /// Adds an entry; `false` where the key is there already, and nothing changed.
    ///
    /// # Errors
    /// Where key or value cannot be stored, or there is no space: nothing changed.
    fn insert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError>;

    /// Changes the value of a key; `false` where the key is not there.
    ///
    /// # Errors
    /// As [`Session::insert`].
    fn update(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError>;

    /// Adds an entry or changes its value; `true` where it was added.
    ///
    /// # Errors
    /// As [`Session::insert`].
    fn upsert(&mut self, key: &[u8], value: &[u8]) -> Result<bool, IndexError>;

    /// Appends the value of a key to `value`, which is cleared first; `false` where the key is not there.
    ///
    /// # Errors
    /// Where the medium cannot be read, or is damaged.
    fn lookup(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, IndexError>;

    /// Looks several keys up at once, which lets an index on a drive have that many reads in flight: `found` is called
    /// with the position of each key that is there, in any order.
    ///
    /// # Errors
    /// As [`Session::lookup`].
    fn lookup_many(&mut self, keys: &[&[u8]], found: &mut dyn FnMut(usize, &[u8])) -> Result<(), IndexError> {
        let mut value = Vec::new();
        for (position, key) in keys.iter().enumerate() {
            if self.lookup(key, &mut value)? {
                found(position, &value);
            }
        }
        Ok(())
    }

    /// Removes a key; `false` where it is not there.
    ///
    /// # Errors
    /// As [`Session::lookup`].
    fn remove(&mut self, key: &[u8]) -> Result<bool, IndexError>;

    /// Pages that it has moved since it began; none where the index lies in memory.
    fn moved(&self) -> Option<Moved> {
        None
    }

    /// Visits up to `limit` entries in order of their keys, from the first that is not below `from`.
    ///
    /// # Errors
    /// [`IndexError::Unsupported`] where there is no order; else as [`Session::lookup`].
    fn scan(&mut self, from: &[u8], limit: usize, visit: &mut Visit<'_>) -> Result<usize, IndexError>;
}
