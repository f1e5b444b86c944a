//! Opening one name in an open folder, and nowhere else.

use std::{
    os::fd::{AsFd, OwnedFd},
    path::Path,
};

use rustix::{
    fs::{Mode, OFlags, ResolveFlags, openat, openat2},
    io::Errno,
};

/// Opens a name in a folder: no link is followed, nothing above is reached. `across` allows the name to be the root of
/// another file system.
pub(crate) fn open(folder: impl AsFd, name: impl AsRef<Path>, flags: OFlags, across: bool) -> Result<OwnedFd, Errno> {
    let (folder, name) = (folder.as_fd(), name.as_ref());
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    if !across {
        resolve |= ResolveFlags::NO_XDEV;
    }
    match openat2(folder, name, flags, Mode::empty(), resolve) {
        // A sandbox that does not know the call. A single name without a link at its end cannot lead out either.
        Err(Errno::NOSYS) if is_single(name) => {
            let opened = openat(folder, name, flags, Mode::empty())?;
            let device = |fd: std::os::fd::BorrowedFd<'_>| Ok::<_, Errno>(rustix::fs::fstat(fd)?.st_dev);
            if !across && device(opened.as_fd())? != device(folder)? {
                return Err(Errno::XDEV);
            }
            Ok(opened)
        }
        other => other,
    }
}

/// One plain name, no path.
pub(crate) fn is_single(name: &Path) -> bool {
    let mut parts = name.components();
    let first = parts.next();
    matches!(first, Some(std::path::Component::Normal(part)) if part == name) && parts.next().is_none()
}
