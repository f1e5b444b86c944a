//! What is allocated, and whether the tables agree with themselves.

use crate::{class::BITMAP_WORDS, error::PmemError, geometry::Geometry, heap::Head, medium::Medium, pool::Pool};

/// An allocated block.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Allocation {
    /// Where it begins.
    pub at: u64,
    /// Bytes that it takes.
    pub bytes: u64,
}

/// How a pool is filled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Allocated blocks.
    pub blocks: u64,
    /// Bytes that they take.
    pub allocated_bytes: u64,
    /// Bytes in chunks that hold nothing.
    pub free_bytes: u64,
    /// Bytes of free blocks in chunks that hold others.
    pub partly_free_bytes: u64,
    /// Bytes of the pool's own tables, and what is left over at its end.
    pub overhead_bytes: u64,
}

impl<M: Medium> Pool<M> {
    /// All allocated blocks, by offset. It reads every bitmap; nobody should be changing the pool.
    ///
    /// # Errors
    /// Where the tables contradict themselves.
    pub fn allocated(&self) -> Result<Vec<Allocation>, PmemError> {
        let mut all = Vec::new();
        self.walk(|chunk, head| blocks_of(self.medium(), self.geometry(), chunk, head, &mut all))?;
        Ok(all)
    }

    /// How it is filled. It reads every bitmap.
    ///
    /// # Errors
    /// Where the tables contradict themselves.
    pub fn usage(&self) -> Result<Usage, PmemError> {
        let blocks = self.allocated()?;
        let mut usage = Usage { blocks: blocks.len() as u64, ..Usage::default() };
        usage.allocated_bytes = blocks.iter().map(|block| block.bytes).sum();
        let mut in_use = 0;
        self.walk(|_, head| {
            let bytes = head.chunks() * crate::CHUNK_BYTES;
            *(if head == Head::Free { &mut usage.free_bytes } else { &mut in_use }) += bytes;
            Ok(())
        })?;
        usage.partly_free_bytes = in_use - usage.allocated_bytes;
        usage.overhead_bytes = self.geometry().bytes - usage.free_bytes - in_use;
        Ok(usage)
    }

    fn walk(&self, mut action: impl FnMut(u64, Head) -> Result<(), PmemError>) -> Result<(), PmemError> {
        let mut chunk = 0;
        while chunk < self.geometry().chunks {
            let head = Head::read(self.medium(), self.geometry(), chunk)?;
            action(chunk, head)?;
            chunk += head.chunks();
        }
        Ok(())
    }
}

fn blocks_of(
    medium: &impl Medium,
    geometry: &Geometry,
    chunk: u64,
    head: Head,
    all: &mut Vec<Allocation>,
) -> Result<(), PmemError> {
    let start = geometry.chunk(chunk);
    let (bytes, blocks) = match head {
        Head::Large(chunks) => {
            all.push(Allocation { at: start, bytes: chunks * crate::CHUNK_BYTES });
            return no_strays(medium, geometry, chunk, chunks);
        }
        Head::Slab(class) => (class.bytes(), class.blocks()),
        Head::Free => (0, 0),
    };
    for index in set_bits(medium, geometry.bitmap(chunk)) {
        if index >= blocks {
            let what = format!("the bitmap of chunk {chunk} has bit {index} set, of {blocks} blocks");
            return Err(PmemError::Damaged { what });
        }
        all.push(Allocation { at: start + index * bytes, bytes });
    }
    Ok(())
}

/// Chunks inside of a large block have heads and bitmaps of nothing.
fn no_strays(medium: &impl Medium, geometry: &Geometry, first: u64, chunks: u64) -> Result<(), PmemError> {
    let stray = |chunk: u64| {
        (chunk != first && medium.load(geometry.head(chunk)) != 0)
            || set_bits(medium, geometry.bitmap(chunk)).next().is_some()
    };
    match (first..first + chunks).find(|&chunk| stray(chunk)) {
        Some(chunk) => {
            let what =
                format!("chunk {chunk} is inside of the large block of chunk {first} and has contents of its own");
            Err(PmemError::Damaged { what })
        }
        None => Ok(()),
    }
}

fn set_bits(medium: &impl Medium, bitmap: u64) -> impl Iterator<Item = u64> {
    (0..BITMAP_WORDS as u64).flat_map(move |word| {
        let mut left = medium.load(bitmap + word * 8);
        std::iter::from_fn(move || {
            let bit = (left != 0).then(|| u64::from(left.trailing_zeros()))?;
            left &= left - 1;
            Some(word * 64 + bit)
        })
    })
}
