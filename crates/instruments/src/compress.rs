//! Whether data could be compressed or deduplicated by a device that does such things behind everybody's back.

use std::{
    alloc::Layout,
    collections::HashSet,
    fs::{File, OpenOptions},
    hash::{DefaultHasher, Hash, Hasher},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
};

/// Size of a sampled block, bytes: what devices that deduplicate work on.
pub const BLOCK_BYTES: usize = 4096;
/// Neighbouring blocks that are compressed together: devices compress more than one block at a time.
const BLOCKS_PER_SAMPLE: usize = 8;
/// Samples per file, spread over it.
const SAMPLES: u64 = 16;

/// What samples of some data say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Compressibility {
    /// Compressed size by size, with LZ4: 1 (or a little more) is incompressible.
    pub ratio: f64,
    /// Share of blocks that are a copy of another block of the samples, 0..=1.
    pub repeated_share: f64,
    /// Share of blocks that are all zeros, 0..=1: never written, trimmed, or written as zeros.
    pub zero_share: f64,
    /// Blocks sampled.
    pub blocks: u64,
}

/// Looks at samples in memory; their length in whole blocks counts. None where there is no whole block.
pub fn compressibility<'a>(samples: impl IntoIterator<Item = &'a [u8]>) -> Option<Compressibility> {
    let (mut bytes, mut compressed, mut blocks, mut zeros) = (0_usize, 0_usize, 0_u64, 0_u64);
    let mut seen = HashSet::new();
    for sample in samples {
        let whole = &sample[..sample.len() / BLOCK_BYTES * BLOCK_BYTES];
        if whole.is_empty() {
            continue;
        }
        bytes += whole.len();
        compressed += lz4_flex::block::compress(whole).len();
        for block in whole.chunks_exact(BLOCK_BYTES) {
            blocks += 1;
            zeros += u64::from(block.iter().all(|&byte| byte == 0));
            seen.insert(digest(block));
        }
    }
    (blocks > 0).then(|| Compressibility {
        ratio: compressed as f64 / bytes as f64,
        repeated_share: (blocks - seen.len() as u64) as f64 / blocks as f64,
        zero_share: zeros as f64 / blocks as f64,
        blocks,
    })
}

fn digest(block: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    block.hash(&mut hasher);
    hasher.finish()
}

/// Reads half a mebibyte of a file or device, in places spread over `bytes` from `base`, and looks at it. Reads past
/// the page cache where the file system can; otherwise it drops from the cache what it read, so call it when nobody
/// depends on what is cached. None where the range is shorter than a block.
///
/// # Errors
/// The kernel's answer where the file cannot be opened or read.
pub fn sample_file(path: &Path, base: u64, bytes: u64) -> io::Result<Option<Compressibility>> {
    let length = (BLOCK_BYTES * BLOCKS_PER_SAMPLE).min(bytes as usize / BLOCK_BYTES * BLOCK_BYTES);
    if length == 0 {
        return Ok(None);
    }
    let mut buffer = Aligned::new(length);
    let mut samples: Vec<Vec<u8>> = Vec::new();
    let mut direct = OpenOptions::new().read(true).custom_flags(libc::O_DIRECT).open(path).ok();
    let plain = File::open(path)?;
    for offset in offsets(bytes, length as u64) {
        let read = read_at(&mut direct, &plain, buffer.bytes(), base + offset)?;
        samples.push(buffer.bytes()[..read].to_vec());
    }
    Ok(compressibility(samples.iter().map(Vec::as_slice)))
}

/// Starts of samples, whole blocks, evenly spread, without doubles.
fn offsets(bytes: u64, length: u64) -> Vec<u64> {
    let room = bytes - length;
    let block = BLOCK_BYTES as u64;
    let mut starts: Vec<u64> = (0..SAMPLES).map(|index| room * index / (SAMPLES - 1) / block * block).collect();
    // Samples of a short file would overlap, and a block would be taken for a copy of itself.
    starts.dedup_by(|next, kept| *next < *kept + length);
    starts
}

fn read_at(direct: &mut Option<File>, plain: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    if let Some(file) = direct {
        match file.read_at(buffer, offset) {
            Ok(read) => return Ok(read),
            // The file system takes the flag and refuses the request: go through the cache from here on.
            Err(_) => *direct = None,
        }
    }
    let read = plain.read_at(buffer, offset)?;
    let _ = rustix::fs::fadvise(plain, offset, std::num::NonZeroU64::new(read as u64), rustix::fs::Advice::DontNeed);
    Ok(read)
}

/// Memory that direct I/O accepts.
struct Aligned {
    start: *mut u8,
    layout: Layout,
}

impl Aligned {
    fn new(bytes: usize) -> Self {
        let layout = Layout::from_size_align(bytes, BLOCK_BYTES).expect("a small size and a power of two");
        // SAFETY: the size is not zero: callers pass at least one block.
        let start = unsafe { std::alloc::alloc_zeroed(layout) };
        if start.is_null() {
            std::alloc::handle_alloc_error(layout);
        }
        Self { start, layout }
    }

    fn bytes(&mut self) -> &mut [u8] {
        // SAFETY: allocated, zeroed, that long, and borrowed from its only owner.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.layout.size()) }
    }
}

impl Drop for Aligned {
    fn drop(&mut self) {
        // SAFETY: exactly what was allocated.
        unsafe { std::alloc::dealloc(self.start, self.layout) };
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;
    use rand_xoshiro::{
        Xoshiro256PlusPlus,
        rand_core::{RngCore, SeedableRng},
    };

    use super::*;

    fn random(bytes: usize, seed: u64) -> Vec<u8> {
        let mut data = vec![0; bytes];
        Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut data);
        data
    }

    fn file_of(data: &[u8]) -> tempfile::NamedTempFile {
        let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
        file.write_all(data).expect("written");
        file.as_file().sync_all().expect("synced");
        file
    }

    fn sampled(data: &[u8]) -> Compressibility {
        sample_file(file_of(data).path(), 0, data.len() as u64).expect("readable").expect("has blocks")
    }

    #[test]
    fn random_bytes_can_be_neither_compressed_nor_deduplicated() {
        let seen = sampled(&random(4 << 20, 1));
        assert!(seen.ratio > 0.99, "{seen:?}");
        assert_eq!((seen.repeated_share, seen.zero_share), (0.0, 0.0));
    }

    #[test]
    fn zeros_text_and_copies_are_seen() {
        let zeros = sampled(&vec![0; 4 << 20]);
        assert!(zeros.ratio < 0.05 && zeros.zero_share == 1.0, "{zeros:?}");
        let text = b"a table of customers and their orders ".repeat(100_000);
        assert!(sampled(&text).ratio < 0.1);
        let copies = sampled(&random(BLOCK_BYTES, 2).repeat(1024));
        assert!(copies.repeated_share > 0.9, "{copies:?}");
    }

    #[test]
    fn a_short_file_is_sampled_without_overlap() {
        for blocks in [1, 3, 8, 9, 20, 130] {
            let seen = sampled(&random(blocks * BLOCK_BYTES, 3));
            assert_eq!(seen.repeated_share, 0.0, "{blocks} blocks: {seen:?}");
        }
        let file = file_of(b"short");
        assert_eq!(sample_file(file.path(), 0, 5).expect("readable"), None);
    }

    #[test]
    fn a_missing_file_is_an_error_and_an_end_of_file_is_not() {
        assert!(sample_file(Path::new("/nonexistent"), 0, 1 << 20).is_err());
        let file = file_of(&random(BLOCK_BYTES, 4));
        assert!(sample_file(file.path(), 0, 1 << 20).expect("readable").is_some());
    }

    proptest! {
        #[test]
        fn offsets_are_whole_blocks_inside_the_range(bytes in 4096_u64..1 << 40) {
            let length = (bytes / 4096 * 4096).min(32_768);
            for start in offsets(bytes, length) {
                prop_assert!(start % 4096 == 0 && start + length <= bytes);
            }
        }
    }
}
