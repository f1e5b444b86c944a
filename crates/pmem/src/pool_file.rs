//! Pools in files and on device-DAX nodes: made, opened, and locked against everybody else.

use std::{
    fs::{File, OpenOptions},
    io,
    ops::Deref,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

use assay_path::SegmentKind;
use rustix::{
    fs::{FallocateFlags, FlockOperation, fallocate, flock},
    io::Errno,
};

use crate::{
    error::PmemError,
    header::{HEADER_BYTES, Header},
    mapped::Mapped,
    medium::Medium,
    pool::{Pool, Shape},
};

/// A pool in a file, on a medium that was made of its mapping. Nobody else has it while this value lives.
#[derive(Debug)]
pub struct PoolFile<M: Medium = Mapped> {
    pool: Pool<M>,
    path: PathBuf,
    _lock: File,
}

/// What keeps everybody else from a pool's file for as long as it lives.
#[derive(Debug)]
pub struct PoolLock {
    _file: File,
}

impl PoolFile<Mapped> {
    /// Makes a pool in a new file.
    ///
    /// # Errors
    /// Where the file is there already, cannot be made or mapped, or the size cannot be. A file that was made for
    /// nothing is removed.
    pub fn create(path: &Path, bytes: u64, shape: &Shape) -> Result<Self, PmemError> {
        Self::create_with(path, bytes, shape, |mapped| mapped)
    }

    /// Opens a pool and recovers it.
    ///
    /// # Errors
    /// Where somebody has it open, or it is no pool, another one, truncated or damaged.
    pub fn open(path: &Path, layout: &str) -> Result<Self, PmemError> {
        Self::open_with(path, layout, |mapped| mapped)
    }
}

impl<M: Medium> PoolFile<M> {
    /// As [`PoolFile::create`], on what `wrap` makes of the mapping (a [`crate::Metered`] one, say).
    ///
    /// # Errors
    /// As [`PoolFile::create`].
    pub fn create_with(
        path: &Path,
        bytes: u64,
        shape: &Shape,
        wrap: impl FnOnce(Mapped) -> M,
    ) -> Result<Self, PmemError> {
        crate::geometry::Geometry::new(bytes, shape.lanes)?;
        if is_device(path) {
            return Self::create_on_device(path, bytes, shape, wrap);
        }
        let lock = new_file(path, bytes)?;
        let made = (|| {
            let mapped = Mapped::open(path, SegmentKind::File, bytes)?;
            if mapped.is_persistent() {
                fallocate(&lock, FallocateFlags::empty(), 0, bytes).map_err(|error| failed("filling", path, error))?;
            }
            Pool::create(wrap(mapped), &Shape { zeroed: true, ..shape.clone() })
        })();
        match made {
            Ok(pool) => Ok(Self { pool, path: path.to_owned(), _lock: lock }),
            Err(error) => {
                // It was made just now, here, and holds nothing.
                let _ = std::fs::remove_file(path);
                Err(error)
            }
        }
    }

    /// As [`PoolFile::open`], on what `wrap` makes of the mapping.
    ///
    /// # Errors
    /// As [`PoolFile::open`].
    pub fn open_with(path: &Path, layout: &str, wrap: impl FnOnce(Mapped) -> M) -> Result<Self, PmemError> {
        let file =
            OpenOptions::new().read(true).write(true).open(path).map_err(|error| failed("opening", path, error))?;
        lock(&file, path)?;
        let (kind, bytes) = if is_device(path) {
            (SegmentKind::DeviceDax, header_on_device(path)?.bytes)
        } else {
            (SegmentKind::File, length_of_pool(&file, path)?)
        };
        let pool = Pool::open(wrap(Mapped::open(path, kind, bytes)?), layout)?;
        Ok(Self { pool, path: path.to_owned(), _lock: file })
    }

    /// The pool, for a structure that owns it, and the lock on its file, which must outlive it.
    pub fn split(self) -> (Pool<M>, PoolLock) {
        (self.pool, PoolLock { _file: self._lock })
    }

    /// Its file or device node.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A device that begins with zeros only, or with a pool that was never finished: what is on it is nobody's data.
    fn create_on_device(
        path: &Path,
        bytes: u64,
        shape: &Shape,
        wrap: impl FnOnce(Mapped) -> M,
    ) -> Result<Self, PmemError> {
        let file =
            OpenOptions::new().read(true).write(true).open(path).map_err(|error| failed("opening", path, error))?;
        lock(&file, path)?;
        let mapped = Mapped::open(path, SegmentKind::DeviceDax, bytes)?;
        let mut page = [0; 4096];
        mapped.read(0, &mut page);
        if page.iter().any(|&byte| byte != 0) {
            return Err(PmemError::Exists { path: path.to_owned(), bytes });
        }
        let pool = Pool::create(wrap(mapped), &Shape { zeroed: false, ..shape.clone() })?;
        Ok(Self { pool, path: path.to_owned(), _lock: file })
    }
}

impl<M: Medium> Deref for PoolFile<M> {
    type Target = Pool<M>;

    fn deref(&self) -> &Pool<M> {
        &self.pool
    }
}

fn new_file(path: &Path, bytes: u64) -> Result<File, PmemError> {
    let file = match OpenOptions::new().read(true).write(true).create_new(true).open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let bytes = path.metadata().map_or(0, |facts| facts.len());
            return Err(PmemError::Exists { path: path.to_owned(), bytes });
        }
        Err(error) => return Err(failed("making", path, error)),
    };
    let sized = lock(&file, path)
        .and_then(|()| check_space(&file, path, bytes))
        .and_then(|()| file.set_len(bytes).map_err(|error| failed("sizing", path, error)));
    if let Err(error) = sized {
        let _ = std::fs::remove_file(path);
        return Err(error);
    }
    Ok(file)
}

/// A store to a page that the file system cannot give would end the process.
fn check_space(file: &File, path: &Path, bytes: u64) -> Result<(), PmemError> {
    let facts = rustix::fs::fstatvfs(file).map_err(|error| failed("asking", path, error))?;
    if facts.f_blocks != 0 && facts.f_bavail.saturating_mul(facts.f_frsize) < bytes {
        return Err(failed("making", path, Errno::NOSPC));
    }
    Ok(())
}

fn lock(file: &File, path: &Path) -> Result<(), PmemError> {
    flock(file, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
        Errno::WOULDBLOCK => PmemError::InUse { path: path.to_owned() },
        other => failed("locking", path, other),
    })
}

/// The header is checked before the mapping, so that a short file is an error and no signal.
fn length_of_pool(file: &File, path: &Path) -> Result<u64, PmemError> {
    let bytes = file.metadata().map_err(|error| failed("asking", path, error))?.len();
    if bytes < 2 * HEADER_BYTES as u64 {
        return Err(PmemError::Short { seen: bytes, least: 2 * HEADER_BYTES as u64 });
    }
    Ok(bytes)
}

fn header_on_device(path: &Path) -> Result<Header, PmemError> {
    let mapped = Mapped::open(path, SegmentKind::DeviceDax, 4096)?;
    let mut bytes = [0; HEADER_BYTES];
    mapped.read(0, &mut bytes);
    Header::parse(&bytes)
}

fn is_device(path: &Path) -> bool {
    path.metadata().is_ok_and(|facts| facts.file_type().is_char_device() && facts.rdev() != 0)
}

fn failed(action: &'static str, path: &Path, source: impl Into<io::Error>) -> PmemError {
    PmemError::Io { action, path: path.to_owned(), source: source.into() }
}
