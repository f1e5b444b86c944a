//! Whether a device range already holds bytes that cannot be compressed.

use std::{fs::File, io, os::unix::fs::FileExt, path::Path};

use rustix::fs::{Advice, fadvise};

/// Blocks looked at: where a twentieth of a range were trimmed, all of them would miss it once in half a million times.
const BLOCKS: u64 = 256;
const BLOCK: u64 = 4096;
/// Chi-square of 4 KiB of random bytes over 256 values is 255 +- 23.
const LIMIT: f64 = 400.0;

/// Reads a sample and says whether every block of it looks random.
pub(super) fn looks_random(path: &Path, base: u64, bytes: u64) -> io::Result<bool> {
    if bytes < BLOCK {
        return Ok(false);
    }
    let file = File::open(path)?;
    let blocks = bytes / BLOCK;
    let count = BLOCKS.min(blocks);
    let mut buffer = vec![0; BLOCK as usize];
    for index in 0..count {
        let stratum = blocks * index / count;
        let width = (blocks * (index + 1) / count - stratum).max(1);
        let block = stratum + index.wrapping_mul(0x9E37_79B9_7F4A_7C15) % width;
        file.read_exact_at(&mut buffer, base + block * BLOCK)?;
        if !is_random(&buffer) {
            return Ok(false);
        }
    }
    let _ = fadvise(&file, base, std::num::NonZeroU64::new(bytes), Advice::DontNeed);
    Ok(true)
}

fn is_random(block: &[u8]) -> bool {
    let mut counts = [0u32; 256];
    for &byte in block {
        counts[usize::from(byte)] += 1;
    }
    let expected = block.len() as f64 / 256.0;
    let chi_square: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
    chi_square < LIMIT
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::{RngCore, SeedableRng};

    use super::*;

    fn random(bytes: usize) -> Vec<u8> {
        let mut all = vec![0; bytes];
        rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(1).fill_bytes(&mut all);
        all
    }

    #[test]
    fn random_blocks_are_told_from_zeros_and_text() {
        assert!(random(1 << 20).chunks(4096).all(is_random));
        assert!(!is_random(&[0; 4096]));
        assert!(!is_random(&b"the quick brown fox jumps over the lazy dog".repeat(96)[..4096]));
    }

    #[test]
    fn a_trimmed_tenth_is_noticed() {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().write_all_at(&random(8 << 20), 0).unwrap();
        assert!(looks_random(file.path(), 0, 8 << 20).unwrap());
        file.as_file().write_all_at(&vec![0; 800 << 10], 3 << 20).unwrap();
        assert!(!looks_random(file.path(), 0, 8 << 20).unwrap());
    }
}
