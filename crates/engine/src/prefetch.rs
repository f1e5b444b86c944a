//! Keys that a transaction has said it will ask for. They are looked for some at a time, side by side, when the first of
//! them is asked for: what one waits for in memory, or on the drive, is waited for by all of them together.

use assay_btree::Finger;

use crate::trees::Trees;

/// How far behind the one that is expected next a key is looked for.
const AROUND: usize = 8;

/// One of them.
#[derive(Clone, Copy, Debug)]
struct Key {
    hash: u64,
    at: u32,
    bytes: u16,
    table: u16,
}

/// They are expected in the order in which they were announced; one that is left out does no harm.
#[derive(Debug, Default)]
pub(crate) struct Prefetch {
    keys: Vec<Key>,
    bytes: Vec<u8>,
    /// Where the first of them were found.
    fingers: Vec<Finger>,
    next: usize,
}

impl Prefetch {
    /// Forgets all of them.
    pub fn clear(&mut self) {
        self.keys.clear();
        self.bytes.clear();
        self.fingers.clear();
        self.next = 0;
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// One more.
    pub fn add(&mut self, hash: u64, table: u16, key: &[u8]) {
        self.keys.push(Key { hash, at: self.bytes.len() as u32, bytes: key.len() as u16, table });
        self.bytes.extend_from_slice(key);
    }

    /// Where a key was found, if it was announced.
    #[inline]
    pub fn finger(&mut self, trees: &impl Trees, hash: u64, table: u16) -> Finger {
        let end = (self.next + AROUND).min(self.keys.len());
        let is_it = |key: &Key| key.hash == hash && key.table == table;
        let Some(ahead) = self.keys[self.next..end].iter().position(is_it) else { return Finger::default() };
        let index = self.next + ahead;
        self.next = index + 1;
        if self.fingers.len() <= index {
            self.look_ahead(trees, index);
        }
        self.fingers.get(index).copied().unwrap_or_default()
    }

    /// Looks for a key and for those behind it, as many as there are lanes.
    fn look_ahead(&mut self, trees: &impl Trees, index: usize) {
        // Those that were left out are not looked for any more.
        self.fingers.resize(index, Finger::default());
        let key = |key: &Key| (key.table, &self.bytes[key.at as usize..][..usize::from(key.bytes)]);
        trees.approach(&mut self.keys[index..].iter().map(key), &mut self.fingers);
    }
}
