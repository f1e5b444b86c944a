//! What a data set is read from, once the run is over.

use std::{fs::File, io::ErrorKind, os::unix::fs::FileExt};

use assay_path::{
    PathError, Segment, SegmentKind,
    pmem::{Mapping, Region},
};

/// A segment that is read, or the reason why nothing of it is there.
#[derive(Debug)]
pub(super) enum Source {
    File(File, Segment),
    /// A device-DAX node knows no `read`.
    Mapping(Region),
    Gone(String),
}

impl Source {
    /// A file that is gone has lost its data; one that may not be opened says nothing about it.
    pub(super) fn open(segment: &Segment) -> Result<Self, PathError> {
        if segment.kind == SegmentKind::DeviceDax {
            return Ok(Self::Mapping(Mapping::shared(segment, false)?));
        }
        match File::open(&segment.path) {
            Ok(file) => Ok(Self::File(file, segment.clone())),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Ok(Self::Gone(format!("{} is gone", segment.path.display())))
            }
            Err(source) => Err(PathError::Io { action: "opening", path: segment.path.clone(), source }),
        }
    }

    /// Fills the buffer from an offset of the segment; or says what is missing.
    pub(super) fn read(&self, offset: u64, into: &mut [u8]) -> Result<Option<String>, PathError> {
        match self {
            Self::Gone(why) => Ok(Some(why.clone())),
            Self::Mapping(region) => Ok(copy(region, offset, into)),
            Self::File(file, segment) => match file.read_exact_at(into, segment.base + offset) {
                Ok(()) => Ok(None),
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => {
                    Ok(Some("the file ends before it".to_owned()))
                }
                Err(source) => Err(PathError::Io { action: "reading", path: segment.path.clone(), source }),
            },
        }
    }
}

fn copy(region: &Region, offset: u64, into: &mut [u8]) -> Option<String> {
    let end = offset.checked_add(into.len() as u64);
    if end.is_none_or(|end| end > region.bytes() as u64) {
        return Some("the device ends before it".to_owned());
    }
    // SAFETY: the range lies inside the mapping, as was checked just now, and the buffer is memory of its own.
    unsafe { std::ptr::copy_nonoverlapping(region.start().add(offset as usize), into.as_mut_ptr(), into.len()) };
    None
}
