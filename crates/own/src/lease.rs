//! A folder under measurement is one run's: a lock on the folder itself, which no file has to be made for.

use std::{
    collections::HashMap,
    env, fs,
    os::fd::{BorrowedFd, OwnedFd, RawFd},
    sync::{Arc, LazyLock, Mutex, PoisonError, Weak},
    thread,
    time::Duration,
};

use rustix::fs::{FlockOperation, flock};

use crate::{
    Result,
    base::Base,
    error::{OwnError, failed},
    identity::{Facts, Identity},
    note::command_of,
};

/// Names descriptors of folders that whoever started this process has locked: this process inherited them.
pub const INHERITED: &str = "ASSAY_HOLDS";
/// Attempts; together they last 50 ms. Whoever only looks holds a lock for a moment.
const ATTEMPTS: u64 = 5;

/// Leases of this process by device and inode.
type Leases = HashMap<(u64, u64), Weak<Lease>>;

static HELD: LazyLock<Mutex<Leases>> = LazyLock::new(Mutex::default);

/// A folder under measurement, as long as this is held. The kernel lets go of it however the process ends.
#[derive(Debug)]
pub struct Lease {
    // None where whoever started this process holds it.
    lock: Option<OwnedFd>,
}

impl Lease {
    /// Takes a folder; within one process as often as one likes.
    ///
    /// # Errors
    /// Where another run measures there.
    pub fn take(base: &Base) -> Result<Arc<Self>> {
        let facts = Facts::of(base).map_err(failed("looking at", base.path()))?;
        let key = (facts.identity.device, facts.identity.inode);
        let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(lease) = held.get(&key).and_then(Weak::upgrade) {
            return Ok(lease);
        }
        let lease = Arc::new(Self::anew(base, &facts.identity)?);
        held.insert(key, Arc::downgrade(&lease));
        Ok(lease)
    }

    fn anew(base: &Base, identity: &Identity) -> Result<Self> {
        if inherited(identity) {
            return Ok(Self { lock: None });
        }
        let own = rustix::fs::openat(
            base,
            ".",
            rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC,
            rustix::fs::Mode::empty(),
        );
        let own = own.map_err(failed("opening", base.path()))?;
        let taken = (0..ATTEMPTS).any(|attempt| {
            thread::sleep(Duration::from_millis(attempt * 5));
            flock(&own, FlockOperation::NonBlockingLockExclusive).is_ok()
        });
        if taken { Ok(Self { lock: Some(own) }) } else { Err(taken_by(base, identity)) }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        if let Some(lock) = &self.lock {
            // Closing alone would leave it to a process that was forked meanwhile and has not yet begun its program.
            let _ = flock(lock, FlockOperation::Unlock);
        }
    }
}

/// Whether a descriptor that this process was started with holds the lock: locking it again changes nothing then.
fn inherited(identity: &Identity) -> bool {
    let named = env::var(INHERITED).unwrap_or_default();
    named.split(',').filter_map(|word| word.parse::<RawFd>().ok()).filter(|&fd| fd > 2).any(|fd| {
        // SAFETY: F_GETFD asks whether the number is open, and touches nothing.
        if unsafe { libc::fcntl(fd, libc::F_GETFD) } < 0 {
            return false;
        }
        // SAFETY: it is open, and nothing in this process closes a descriptor that it inherited.
        let fd = unsafe { BorrowedFd::borrow_raw(fd) };
        let same = Facts::of(fd)
            .is_ok_and(|facts| (facts.identity.device, facts.identity.inode) == (identity.device, identity.inode));
        same && flock(fd, FlockOperation::NonBlockingLockExclusive).is_ok()
    })
}

fn taken_by(base: &Base, identity: &Identity) -> OwnError {
    let (who, fix) = match holder(identity) {
        Some(pid) => {
            let name = command_of(pid);
            (format!("process {pid} ({name})"), format!("wait until it has ended, or stop it (kill -INT {pid})"))
        }
        None => {
            let fix = "wait until that has ended; `lslocks` shows it to root on the host".to_owned();
            ("a process that is not seen from here (of another container)".to_owned(), fix)
        }
    };
    OwnError::refused(base.path(), format!("{who} measures there, and both would be measured at once"), fix)
}

/// Who has the lock, where the kernel shows that process here.
fn holder(identity: &Identity) -> Option<u32> {
    let (major, minor) = (libc::major(identity.device), libc::minor(identity.device));
    let wanted = format!("{major:02x}:{minor:02x}:{}", identity.inode);
    fs::read_to_string("/proc/locks").ok()?.lines().find_map(|line| {
        let parts: Vec<_> = line.split_ascii_whitespace().collect();
        let is_it = parts.get(1) == Some(&"FLOCK") && parts.get(5) == Some(&wanted.as_str());
        let pid = parts.get(4).and_then(|pid| pid.parse::<u32>().ok());
        pid.filter(|&pid| is_it && pid > 0)
    })
}
