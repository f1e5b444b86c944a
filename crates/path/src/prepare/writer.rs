//! Writes a range of a file or device in large pieces, around the page cache where it can be.

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{FileExt, OpenOptionsExt},
    path::Path,
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering},
        mpsc,
    },
    thread,
    time::Duration,
};

use rustix::fs::{Advice, fadvise};

use super::{Work, fill::Filler};
use crate::{Arena, PathError};

/// Pieces in flight.
const WRITERS: u64 = 4;
/// What O_DIRECT wants lengths and offsets to be multiples of, on every device in use.
const ALIGNMENT: u64 = 4096;

/// The same file twice: with O_DIRECT where its file system has it, and without.
struct Handles {
    direct: Option<File>,
    plain: File,
}

impl Handles {
    fn open(path: &Path) -> io::Result<Self> {
        let plain = OpenOptions::new().read(true).write(true).open(path)?;
        let direct = OpenOptions::new().write(true).custom_flags(libc::O_DIRECT).open(path).ok();
        Ok(Self { direct, plain })
    }

    fn write(&self, buffer: &[u8], at: u64) -> io::Result<()> {
        let aligned = at % ALIGNMENT == 0 && buffer.len() as u64 % ALIGNMENT == 0;
        match &self.direct {
            Some(direct) if aligned => match direct.write_all_at(buffer, at) {
                Err(error) if error.raw_os_error() == Some(libc::EINVAL) => self.plain.write_all_at(buffer, at),
                answer => answer,
            },
            _ => self.plain.write_all_at(buffer, at),
        }
    }

    /// Everything reaches the device, and the page cache is left empty.
    fn finish(&self, base: u64, bytes: u64) -> io::Result<()> {
        self.plain.sync_all()?;
        let _ = fadvise(&self.plain, base, std::num::NonZeroU64::new(bytes), Advice::DontNeed);
        Ok(())
    }
}

/// Fills `bytes` from `base` on.
///
/// # Errors
/// The kernel's answer, or that the user interrupted.
pub(super) fn write(
    path: &Path,
    base: u64,
    bytes: u64,
    filler: Filler<'_>,
    work: &mut Work<'_, '_>,
) -> Result<(), PathError> {
    let failed = |source| PathError::Io { action: "writing", path: path.to_owned(), source };
    let handles = Handles::open(path).map_err(failed)?;
    let piece = filler.chunk_bytes();
    let put = |buffer: &mut [u8], offset: u64| {
        filler.fill(buffer, offset);
        handles.write(buffer, base + offset)
    };
    let pieces = Pieces { next: AtomicU64::new(0), stop: AtomicBool::new(false), piece, bytes };
    let interrupted = work.interrupted;
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    pieces.write_all(&put, |done| work.advance(done, &name), interrupted).map_err(|stop| match stop {
        Some(source) => failed(source),
        None => PathError::Interrupted { action: "preparing data" },
    })?;
    handles.finish(base, bytes).map_err(failed)
}

/// The pieces of a range, handed out to writers one by one.
struct Pieces {
    next: AtomicU64,
    stop: AtomicBool,
    piece: u64,
    bytes: u64,
}

impl Pieces {
    /// `Err(None)` is an interrupt.
    fn write_all(
        &self,
        put: &(impl Fn(&mut [u8], u64) -> io::Result<()> + Sync),
        mut advance: impl FnMut(u64),
        interrupted: &AtomicBool,
    ) -> Result<(), Option<io::Error>> {
        let writers = WRITERS.min(self.bytes.div_ceil(self.piece)).max(1);
        let (tell, told) = mpsc::channel();
        let outcome = thread::scope(|scope| {
            for _ in 0..writers {
                let tell = tell.clone();
                scope.spawn(move || self.write_some(put, &tell));
            }
            drop(tell);
            self.follow(&told, &mut advance, interrupted)
        });
        if outcome.is_ok() && self.stop.load(Ordering::Relaxed) {
            return Err(None);
        }
        outcome.map_err(Some)
    }

    /// Collects what the writers tell until all of them have ended; the first error stops the others.
    fn follow(
        &self,
        told: &mpsc::Receiver<io::Result<u64>>,
        advance: &mut impl FnMut(u64),
        interrupted: &AtomicBool,
    ) -> io::Result<()> {
        let mut outcome = Ok(());
        loop {
            match told.recv_timeout(Duration::from_millis(50)) {
                Ok(Ok(bytes)) => advance(bytes),
                Ok(Err(error)) => {
                    self.stop.store(true, Ordering::Relaxed);
                    outcome = outcome.and(Err(error));
                }
                Err(mpsc::RecvTimeoutError::Timeout) => {}
                Err(mpsc::RecvTimeoutError::Disconnected) => return outcome,
            }
            if interrupted.load(Ordering::Relaxed) {
                self.stop.store(true, Ordering::Relaxed);
            }
        }
    }

    fn write_some(&self, put: &impl Fn(&mut [u8], u64) -> io::Result<()>, tell: &mpsc::Sender<io::Result<u64>>) {
        let outcome = Arena::new(self.piece as usize).and_then(|mut arena| {
            while let Some((offset, length)) = self.take() {
                put(&mut arena.as_mut_slice()[..length], offset)?;
                let _ = tell.send(Ok(length as u64));
            }
            Ok(())
        });
        if let Err(error) = outcome {
            let _ = tell.send(Err(error));
        }
    }

    fn take(&self) -> Option<(u64, usize)> {
        if self.stop.load(Ordering::Relaxed) {
            return None;
        }
        let offset = self.next.fetch_add(1, Ordering::Relaxed) * self.piece;
        let length = self.bytes.checked_sub(offset).filter(|&left| left != 0)?.min(self.piece);
        Some((offset, length as usize))
    }
}
