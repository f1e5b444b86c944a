//! What a disk in virtual time holds: bytes in memory.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering::Relaxed},
};

/// Bytes that share one allocation.
const CHUNK: usize = 64 << 10;

type Chunk = Box<[u8]>;

/// Bytes that read as zeros until they are written.
pub struct Bytes {
    chunks: Mutex<Vec<Option<Chunk>>>,
    held: AtomicU64,
    most: u64,
}

impl Bytes {
    /// A range of `bytes`, of which `most` may be held in memory.
    pub fn new(bytes: u64, most: u64) -> Self {
        let count = bytes.div_ceil(CHUNK as u64) as usize;
        let chunks = Mutex::new((0..count).map(|_| None).collect());
        Self { chunks, held: AtomicU64::new(0), most }
    }

    /// Bytes that it takes.
    pub fn held(&self) -> u64 {
        self.held.load(Relaxed)
    }

    /// Copies out.
    pub fn read(&self, offset: u64, into: &mut [u8]) {
        let chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        pieces(offset, into.len(), |chunk, at, from, length| {
            let into = &mut into[from..from + length];
            match &chunks[chunk] {
                Some(bytes) => into.copy_from_slice(&bytes[at..at + length]),
                None => into.fill(0),
            }
            true
        });
    }

    /// Copies in; `false` where that would be more than it may hold.
    pub fn write(&self, offset: u64, bytes: &[u8]) -> bool {
        let mut chunks = self.chunks.lock().unwrap_or_else(PoisonError::into_inner);
        pieces(offset, bytes.len(), |chunk, at, from, length| {
            let there = &mut chunks[chunk];
            if there.is_none() {
                if self.held.fetch_add(CHUNK as u64, Relaxed) + CHUNK as u64 > self.most {
                    self.held.fetch_sub(CHUNK as u64, Relaxed);
                    return false;
                }
                *there = Some(vec![0; CHUNK].into_boxed_slice());
            }
            if let Some(there) = there {
                there[at..at + length].copy_from_slice(&bytes[from..from + length]);
            }
            true
        })
    }
}

/// Calls `each` with chunk, place in the chunk, place in the range and length, until it says `false`.
fn pieces(offset: u64, length: usize, mut each: impl FnMut(usize, usize, usize, usize) -> bool) -> bool {
    let mut done = 0;
    while done < length {
        let position = offset as usize + done;
        let (chunk, at) = (position / CHUNK, position % CHUNK);
        let piece = (CHUNK - at).min(length - done);
        if !each(chunk, at, done, piece) {
            return false;
        }
        done += piece;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_is_read_across_chunks_and_no_more_is_held_than_may_be() {
        let bytes = Bytes::new(4 << 20, 3 * CHUNK as u64);
        let data: Vec<u8> = (0..CHUNK + 100).map(|at| at as u8).collect();
        assert!(bytes.write(CHUNK as u64 - 50, &data));
        let mut read = vec![9; data.len() + 100];
        bytes.read(CHUNK as u64 - 100, &mut read);
        assert_eq!((&read[..50], &read[50..data.len() + 50]), (&[0; 50][..], &data[..]));
        assert_eq!(bytes.held(), 3 * CHUNK as u64);
        assert!(!bytes.write(3 << 20, &[1]));
    }
}
