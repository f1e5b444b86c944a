//! What a controller and its namespaces say about themselves.

/// Bytes that `Identify` returns.
pub(super) const IDENTIFY_BYTES: usize = 4096;

/// A controller's own words.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ControllerFacts {
    /// Serial number.
    pub serial: String,
    /// Model.
    pub model: String,
    /// Bytes of a transfer at most; none where it sets no limit.
    pub transfer_bytes_at_most: Option<u64>,
    /// It takes scatter-gather lists for reads and writes.
    pub has_sgl: bool,
}

/// A namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamespaceFacts {
    /// Number.
    pub id: u32,
    /// Blocks.
    pub blocks: u64,
    /// Binary logarithm of a block's length in bytes.
    pub block_shift: u32,
    /// Bytes of metadata behind each block.
    pub metadata_bytes: u16,
}

impl ControllerFacts {
    /// Out of the answer about a controller.
    pub fn of(page: &[u8; IDENTIFY_BYTES]) -> Self {
        let largest = page[77];
        let sgl = u32::from_le_bytes([page[536], page[537], page[538], page[539]]);
        Self {
            serial: text(&page[4..24]),
            model: text(&page[24..64]),
            transfer_bytes_at_most: (1..48).contains(&largest).then(|| 4096 << largest),
            has_sgl: sgl & 3 != 0,
        }
    }
}

impl NamespaceFacts {
    /// Out of the answer about a namespace; none where it is not active or its format makes no sense.
    pub fn of(id: u32, page: &[u8; IDENTIFY_BYTES]) -> Option<Self> {
        let wide = |at: usize| u64::from_le_bytes(page[at..at + 8].try_into().unwrap_or_default());
        let format = usize::from(page[26] & 0xf) | usize::from((page[26] >> 5) & 3) << 4;
        let at = 128 + 4 * format;
        let block_shift = u32::from(page[at + 2]);
        let metadata_bytes = u16::from_le_bytes([page[at], page[at + 1]]);
        let known = wide(0) > 0 && (9..=16).contains(&block_shift);
        known.then_some(Self { id, blocks: wide(0), block_shift, metadata_bytes })
    }

    /// Length, bytes.
    pub fn bytes(self) -> u64 {
        self.blocks << self.block_shift
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_matches(|c: char| c.is_whitespace() || c == '\0').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_controller_is_read() {
        let mut page = [0; IDENTIFY_BYTES];
        page[4..24].copy_from_slice(b"assay-nv0           ");
        page[24..28].copy_from_slice(b"QEMU");
        (page[77], page[536]) = (7, 1);
        let facts = ControllerFacts::of(&page);
        assert_eq!((facts.serial.as_str(), facts.model.as_str()), ("assay-nv0", "QEMU"));
        assert_eq!((facts.transfer_bytes_at_most, facts.has_sgl), (Some(512 << 10), true));
        page[77] = 0;
        assert_eq!(ControllerFacts::of(&page).transfer_bytes_at_most, None);
    }

    #[test]
    fn a_namespace_is_read_in_the_format_that_it_has() {
        let mut page = [0; IDENTIFY_BYTES];
        page[0..8].copy_from_slice(&1000_u64.to_le_bytes());
        page[26] = 2;
        page[136..140].copy_from_slice(&[8, 0, 12, 0]);
        let facts = NamespaceFacts::of(3, &page).unwrap();
        assert_eq!((facts.id, facts.bytes(), facts.metadata_bytes), (3, 4_096_000, 8));
        page[138] = 0;
        assert_eq!(NamespaceFacts::of(3, &page), None, "no format");
    }
}
