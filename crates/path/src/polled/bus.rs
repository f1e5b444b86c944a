//! How memory of the process gets an address that the device understands.

use std::io;

use super::{
    physical::{PAGE, Pins},
    vfio::Container,
};

/// The way to memory.
#[derive(Debug)]
pub(super) enum Bus {
    /// An IOMMU, which reaches what it was told about and nothing else.
    Iommu(Container),
    /// Physical addresses of pages that are pinned.
    Physical(Box<Pins>),
    /// Tests: the software controller lives in this process and uses its addresses, in one piece or page by page.
    #[cfg(test)]
    Same { pieces: bool },
}

/// Addresses of a range of memory, as the device knows it.
#[derive(Debug)]
pub(super) enum Translation {
    /// One piece from this address on, of so many bytes.
    Linear { start: u64, bytes: u64 },
    /// Each page has an address of its own.
    Pages { addresses: Box<[u64]>, pins: Vec<u32> },
}

impl Bus {
    /// Makes whole pages of memory known to the device until [`Self::unmap`]. They must stay mapped until then.
    pub fn map(&self, start: *mut u8, bytes: usize) -> io::Result<Translation> {
        match self {
            Self::Iommu(container) => {
                let at = container.map(start, bytes as u64)?;
                Ok(Translation::Linear { start: at, bytes: bytes as u64 })
            }
            Self::Physical(pins) => {
                let (addresses, pins) = pins.pin(start, bytes)?;
                Ok(Translation::Pages { addresses, pins })
            }
            #[cfg(test)]
            Self::Same { pieces: true } => Ok(Translation::Linear { start: start as u64, bytes: bytes as u64 }),
            #[cfg(test)]
            Self::Same { pieces: false } => {
                let addresses = (0..bytes).step_by(PAGE).map(|offset| (start as usize + offset) as u64).collect();
                Ok(Translation::Pages { addresses, pins: Vec::new() })
            }
        }
    }

    /// Takes memory back from the device, which must not use it any more.
    pub fn unmap(&self, translation: &Translation) {
        match (self, translation) {
            (Self::Iommu(container), Translation::Linear { start, bytes }) => container.unmap(*start, *bytes),
            (Self::Physical(pins), Translation::Pages { pins: held, .. }) => pins.release(held),
            _ => {}
        }
    }

    /// Memory in one piece has to be asked for.
    pub fn is_scattered(&self) -> bool {
        matches!(self, Self::Physical(_))
    }
}

impl Translation {
    /// Address of a byte of the range.
    #[inline(always)]
    pub fn at(&self, offset: usize) -> u64 {
        match self {
            Self::Linear { start, .. } => start + offset as u64,
            Self::Pages { addresses, .. } => addresses[offset / PAGE] + (offset % PAGE) as u64,
        }
    }

    /// A part of the range has no gaps.
    pub fn is_contiguous(&self, offset: usize, bytes: usize) -> bool {
        let first = self.at(offset);
        (0..bytes).step_by(PAGE).all(|further| self.at(offset + further) == first + further as u64)
    }

    /// The whole range is one piece.
    #[inline(always)]
    pub fn is_linear(&self) -> bool {
        matches!(self, Self::Linear { .. })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_have_addresses_of_their_own() {
        let addresses = vec![0x9000, 0xa000, 0x4000].into_boxed_slice();
        let pages = Translation::Pages { addresses, pins: Vec::new() };
        assert_eq!((pages.at(0), pages.at(5000), pages.at(8193)), (0x9000, 0xa000 + 904, 0x4001));
        assert!(pages.is_contiguous(0, 8192) && !pages.is_contiguous(4096, 8192));
        assert!(Translation::Linear { start: 7, bytes: 9 }.is_contiguous(0, 1 << 20));
    }
}
