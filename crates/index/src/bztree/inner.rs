//! An inner node: separators and children. Only its pointers and its status ever change.
//!
//! ```text
//! 0        status: frozen (bit 60)
//! 1        shape
//! 8        heads of the separators; the first one is 0 and stands for nothing
//! 8+n      children
//! 8+2n     ragged only: offset of the rest in words (48 bits), length (16 bits)
//!          ragged only: rests
//! ```

use assay_pmem::{Medium, PmemError};

use super::{
    key::{HEAD_BYTES, Key, Separator},
    node::{HEADER, Node},
};

/// An inner node where it lies.
#[derive(Debug)]
pub(super) struct Inner<'m, M>(pub(super) Node<'m, M>);

impl<'m, M: Medium> Inner<'m, M> {
    pub(super) fn count(&self) -> usize {
        self.0.shape.count
    }

    /// Where the pointer to a child lies.
    #[inline(always)]
    pub(super) fn child_place(&self, index: usize) -> u64 {
        self.0.place(HEADER + self.count() + index)
    }

    /// Which child a key belongs to.
    ///
    /// # Errors
    /// Where the node is damaged.
    #[inline(always)]
    pub(super) fn child_of(&self, key: &Key<'_>) -> Result<usize, PmemError> {
        // The first separator is below every key.
        let mut index = self.0.search(HEADER + 1, self.count() - 1, key.head, true);
        while index > 0 && self.0.load(HEADER + index) == key.head && !self.not_above(index, key)? {
            index -= 1;
        }
        Ok(index)
    }

    /// Whether a separator whose head is the key's is not above the key.
    #[inline(always)]
    fn not_above(&self, index: usize, key: &Key<'_>) -> Result<bool, PmemError> {
        if !self.0.shape.ragged {
            return Ok(key.bytes.len() >= HEAD_BYTES);
        }
        let separator = self.separator(index)?;
        Ok(key.order(separator.head, separator.length, &separator.rest).is_ge())
    }

    /// The separator before a child.
    ///
    /// # Errors
    /// Where the node is damaged.
    pub(super) fn separator(&self, index: usize) -> Result<Separator, PmemError> {
        let head = self.0.load(HEADER + index);
        if !self.0.shape.ragged {
            return Ok(Separator { head, length: HEAD_BYTES, rest: Vec::new() });
        }
        let info = self.0.load(HEADER + 2 * self.count() + index);
        let length = (info & 0xffff) as usize;
        let rest = self.0.bytes((info >> 16) as usize, length.saturating_sub(HEAD_BYTES))?;
        Ok(Separator { head, length, rest: rest.to_vec() })
    }
}
