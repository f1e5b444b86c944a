//! An open file.

use std::{fs::File, os::unix::fs::FileExt, sync::Arc};

use rustix::io::Errno;

use crate::node::{Node, Result};

/// Direct transfers begin and end at sectors, as they do on a drive.
const SECTOR: u64 = 512;

/// An open file.
pub struct Open {
    /// In the folder below.
    pub file: File,
    /// What it is.
    pub node: Arc<Node>,
    /// Opened with `O_DIRECT`.
    pub direct: bool,
    /// Each write is durable when it is answered, and the kernel sends no flush for that (`O_DIRECT` with `O_DSYNC`).
    pub durable: bool,
}

impl Open {
    /// Refuses a direct transfer that does not lie on sectors.
    pub fn require_sectors(&self, at: u64, bytes: u64) -> Result<()> {
        if self.direct && (at % SECTOR != 0 || bytes % SECTOR != 0) { Err(Errno::INVAL) } else { Ok(()) }
    }

    /// What is there of so many bytes, and how large the file is at least.
    pub fn read(&self, at: u64, bytes: usize) -> Result<(Vec<u8>, u64)> {
        let mut data = vec![0; bytes];
        let mut got = 0;
        while got < bytes {
            match self.file.read_at(&mut data[got..], at + got as u64) {
                Ok(0) => break,
                Ok(more) => got += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(below(&error)),
            }
        }
        data.truncate(got);
        let size = self.file.metadata().map(|facts| facts.len()).unwrap_or(at + got as u64);
        Ok((data, size))
    }
}

/// What the folder below said.
pub fn below(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
