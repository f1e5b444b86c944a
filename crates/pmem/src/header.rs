//! The first page of a pool: what it is and how large. Written once; a copy follows it.

use crate::error::PmemError;

/// `ASSAYPM` and a newline that a transfer as text would change.
const MAGIC: u64 = u64::from_le_bytes(*b"ASSAYPM\n");
const VERSION: u32 = 1;
const LAYOUT_BYTES: usize = 32;

/// Bytes of a header.
pub(crate) const HEADER_BYTES: usize = 64;

/// What a pool says of itself.
///
/// ```text
/// 0  magic    8  version u32, lanes u32    16  bytes    24  layout, 32 bytes    56  0 u32, CRC-32C of the rest u32
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Length of the pool, bytes.
    pub bytes: u64,
    /// Redo logs, which is how many transactions can be open at once.
    pub lanes: u32,
    /// What the pool holds: up to 32 bytes of printable ASCII.
    pub layout: String,
}

impl Header {
    /// The header as it is stored.
    ///
    /// # Errors
    /// Where the name of the layout is too long, empty, or not printable ASCII.
    pub fn encode(&self) -> Result<[u8; HEADER_BYTES], PmemError> {
        let name = self.layout.as_bytes();
        if name.is_empty() || name.len() > LAYOUT_BYTES || !name.iter().all(u8::is_ascii_graphic) {
            let wanted = "1 to 32 printable letters of ASCII without spaces".to_owned();
            return Err(PmemError::Layout { seen: self.layout.clone(), wanted });
        }
        let mut all = [0; HEADER_BYTES];
        all[..8].copy_from_slice(&MAGIC.to_le_bytes());
        all[8..12].copy_from_slice(&VERSION.to_le_bytes());
        all[12..16].copy_from_slice(&self.lanes.to_le_bytes());
        all[16..24].copy_from_slice(&self.bytes.to_le_bytes());
        all[24..24 + name.len()].copy_from_slice(name);
        let sum = crc32c::crc32c(&all[..60]);
        all[60..].copy_from_slice(&sum.to_le_bytes());
        Ok(all)
    }

    /// Reads a header from the first bytes of a pool.
    ///
    /// # Errors
    /// What is there instead: nothing, another file, another version, or damage.
    pub fn parse(bytes: &[u8]) -> Result<Self, PmemError> {
        let Some(all) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Err(PmemError::Short { seen: bytes.len() as u64, least: HEADER_BYTES as u64 });
        };
        let long = |at: usize| u64::from_le_bytes(std::array::from_fn(|byte| all[at + byte]));
        let short = |at: usize| u32::from_le_bytes(std::array::from_fn(|byte| all[at + byte]));
        match long(0) {
            MAGIC => {}
            0 => return Err(PmemError::Unfinished),
            seen => return Err(PmemError::NotAPool { seen, wanted: MAGIC }),
        }
        if short(8) != VERSION {
            return Err(PmemError::Version { seen: short(8), known: VERSION });
        }
        let (seen, wanted) = (short(60), crc32c::crc32c(&all[..60]));
        if seen != wanted {
            let what = format!("its header has the checksum {seen:#010x} where {wanted:#010x} would be right");
            return Err(PmemError::Damaged { what });
        }
        Ok(Self { bytes: long(16), lanes: short(12), layout: layout(&all[24..24 + LAYOUT_BYTES])? })
    }
}

fn layout(name: &[u8]) -> Result<String, PmemError> {
    let end = name.iter().position(|&byte| byte == 0).unwrap_or(name.len());
    let (name, rest) = name.split_at(end);
    let good = !name.is_empty() && name.iter().all(u8::is_ascii_graphic) && rest.iter().all(|&byte| byte == 0);
    if !good {
        return Err(PmemError::Damaged { what: "the name of its layout is not printable".to_owned() });
    }
    Ok(name.iter().map(|&byte| char::from(byte)).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> Header {
        Header { bytes: 1 << 30, lanes: 64, layout: "fptree-1".to_owned() }
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_read_again(bytes: u64, lanes: u32, layout in "[!-~]{1,32}") {
            let header = Header { bytes, lanes, layout };
            prop_assert_eq!(Header::parse(&header.encode().unwrap()).unwrap(), header);
        }

        #[test]
        fn every_changed_bit_is_seen(bit in 0usize..HEADER_BYTES * 8) {
            let mut bytes = sample().encode().unwrap();
            bytes[bit / 8] ^= 1 << (bit % 8);
            prop_assert!(Header::parse(&bytes).is_err());
        }

        #[test]
        fn any_bytes_are_read_or_refused_with_a_sentence(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            if let Err(error) = Header::parse(&bytes) {
                prop_assert!(error.to_string().len() > 10 && error.fix().len() > 10);
            }
        }
    }

    #[test]
    fn refusals_name_what_was_seen() {
        let refuse = |change: fn(&mut [u8; HEADER_BYTES])| {
            let mut bytes = sample().encode().unwrap();
            change(&mut bytes);
            Header::parse(&bytes).unwrap_err()
        };
        assert!(matches!(refuse(|bytes| bytes.fill(0)), PmemError::Unfinished));
        assert!(matches!(refuse(|bytes| bytes[0] = b'B'), PmemError::NotAPool { .. }));
        assert!(matches!(refuse(|bytes| bytes[8] = 9), PmemError::Version { seen: 9, known: 1 }));
        assert!(matches!(refuse(|bytes| bytes[30] = 0), PmemError::Damaged { .. }));
        assert!(matches!(Header::parse(&[1; 20]).unwrap_err(), PmemError::Short { seen: 20, least: 64 }));
    }

    #[test]
    fn a_layout_without_a_name_is_refused() {
        for layout in ["", "a b", "line\n", "a name that is longer than 32 bytes"] {
            assert!(Header { layout: layout.to_owned(), ..sample() }.encode().is_err(), "{layout:?}");
        }
    }
}
