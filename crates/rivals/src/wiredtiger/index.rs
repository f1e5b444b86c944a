//! WiredTiger as an index: every change is a transaction of its own.

use assay_index::{Index, IndexError, KEY_BYTES_AT_MOST, Visit};

use super::{Cursor, Session, WiredtigerStore};
use crate::{
    error::{Result, RivalError},
    place::allocated_bytes,
};

/// Times that a change is tried that meets others.
const TRIES: u32 = 10_000;

impl Index for WiredtigerStore {
    type Session<'a> = WiredTigerSession<'a>;

    fn session(&self) -> WiredTigerSession<'_> {
        WiredTigerSession { db: self, open: None }
    }

    fn used_bytes(&self) -> u64 {
        allocated_bytes(&self.folder)
    }
}

/// A thread's way into it.
pub struct WiredTigerSession<'a> {
    db: &'a WiredtigerStore,
    /// Opened at the first operation, which then says what is wrong.
    open: Option<Open>,
}

/// Fields are dropped in this order; cursors are closed by their session.
struct Open {
    /// Looks whether the key is there.
    cursor: Cursor,
    _session: Session,
}

impl WiredTigerSession<'_> {
    fn cursor(&mut self) -> Result<&mut Cursor> {
        if self.open.is_none() {
            let session = Session::open(self.db)?;
            self.open = Some(Open { cursor: session.cursor(0, false)?, _session: session });
        }
        Ok(&mut self.open.as_mut().expect("it was opened above").cursor)
    }

    /// Does something with the cursor, which then leaves its page.
    fn act<R>(&mut self, act: impl FnOnce(&mut Cursor) -> Result<R>) -> Result<R> {
        let cursor = self.cursor()?;
        let done = act(cursor);
        cursor.reset()?;
        done
    }

    /// Changes a key, again where another change was in the way.
    fn change(&mut self, key: &[u8], mut act: impl FnMut(&mut Cursor) -> Result<bool>) -> Result<bool> {
        check_key(key)?;
        for _ in 1..TRIES {
            match self.act(&mut act) {
                Err(RivalError::Conflict) => std::thread::yield_now(),
                done => return done,
            }
        }
        self.act(&mut act)
    }
}

fn check_key(key: &[u8]) -> Result<()> {
    if key.is_empty() || key.len() > KEY_BYTES_AT_MOST {
        return Err(RivalError::KeyLength { bytes: key.len(), most: KEY_BYTES_AT_MOST });
    }
    Ok(())
}

impl assay_index::Session for WiredTigerSession<'_> {
    fn insert(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<bool, IndexError> {
        Ok(self.change(key, |cursor| cursor.insert(key, value))?)
    }

    fn update(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<bool, IndexError> {
        Ok(self.change(key, |cursor| cursor.update(key, value))?)
    }

    fn upsert(&mut self, key: &[u8], value: &[u8]) -> std::result::Result<bool, IndexError> {
        loop {
            if self.insert(key, value)? {
                return Ok(true);
            }
            // Another thread may remove it in between.
            if self.update(key, value)? {
                return Ok(false);
            }
        }
    }

    fn lookup(&mut self, key: &[u8], value: &mut Vec<u8>) -> std::result::Result<bool, IndexError> {
        check_key(key)?;
        value.clear();
        Ok(self.act(|cursor| {
            let there = cursor.search(key)?;
            if there {
                value.extend_from_slice(cursor.value()?);
            }
            Ok(there)
        })?)
    }

    fn remove(&mut self, key: &[u8]) -> std::result::Result<bool, IndexError> {
        Ok(self.change(key, |cursor| cursor.remove(key))?)
    }

    fn scan(&mut self, from: &[u8], limit: usize, visit: &mut Visit<'_>) -> std::result::Result<usize, IndexError> {
        Ok(self.act(|cursor| {
            let mut seen = 0;
            let mut there = limit > 0 && cursor.search_from(from)?;
            while there {
                seen += 1;
                if !visit(cursor.key()?, cursor.value()?) || seen == limit {
                    break;
                }
                there = cursor.next()?;
            }
            Ok(seen)
        })?)
    }
}
