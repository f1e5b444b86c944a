//! A process that outlives this one and gives a drive back.
//!
//! However this process ends, the kernel closes its end of a pipe, and the guardian wakes up. It was split off before the
//! drive was opened and made everything that it needs beforehand: afterwards it does system calls and nothing else, which
//! is what a process split off from one with threads may do.

use std::{
    ffi::CString,
    fs::File,
    io::{self, Write},
    os::{
        fd::{AsRawFd, OwnedFd, RawFd},
        unix::ffi::OsStrExt,
    },
    path::Path,
};

use super::{
    resource::{BUS_MASTER, COMMAND},
    steps::{NVME, SetupStep},
};

/// Attempts to give the drive back, a second apart.
const ATTEMPTS: u32 = 60;
/// What the parent writes when there is nothing left to do.
const DISMISSED: u8 = b'.';

/// What a guardian does.
#[derive(Debug)]
pub(super) struct Duty {
    /// What gives the drive back.
    pub steps: Vec<(CString, Vec<u8>)>,
    /// The link that must name the kernel's driver in the end.
    pub link: CString,
    /// The entry in the ledger, which is removed then.
    pub entry: CString,
    /// Configuration space of a device whose mastering must be ended first.
    pub silence: Option<CString>,
}

impl Duty {
    /// Everything as the kernel takes it.
    pub fn new(steps: &[SetupStep], link: &Path, entry: &Path, silence: Option<&Path>) -> io::Result<Self> {
        let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).map_err(io::Error::from);
        let steps = steps.iter().map(|step| Ok((text(&step.file)?, step.text.clone().into_bytes())));
        Ok(Self {
            steps: steps.collect::<io::Result<_>>()?,
            link: text(link)?,
            entry: text(entry)?,
            silence: silence.map(text).transpose()?,
        })
    }
}

/// The way to a guardian. Dropping it without [`Self::dismiss`] sets it to work.
#[derive(Debug)]
pub(super) struct Guardian {
    pipe: File,
}

impl Guardian {
    /// Splits a guardian off. `keeps` stays open in it as long as it lives.
    ///
    /// # Errors
    /// Where the kernel gives no process or pipe.
    pub fn start(duty: &Duty, keeps: Option<RawFd>) -> io::Result<Self> {
        let (reader, writer): (OwnedFd, OwnedFd) = pipe()?;
        let mut open = [reader.as_raw_fd(), keeps.unwrap_or(reader.as_raw_fd())];
        open.sort_unstable();
        // SAFETY: the child does nothing but system calls on what was made before, and never returns.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            // SAFETY: in the child, as above.
            0 => unsafe { child(duty, reader.as_raw_fd(), open) },
            child => {
                reap(child);
                Ok(Self { pipe: File::from(writer) })
            }
        }
    }

    /// There is nothing left to do.
    pub fn dismiss(mut self) {
        let _ = self.pipe.write_all(&[DISMISSED]);
    }
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors.
    if unsafe { libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) } != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel made both just now.
    let own = |fd| unsafe { <OwnedFd as std::os::fd::FromRawFd>::from_raw_fd(fd) };
    Ok((own(ends[0]), own(ends[1])))
}

fn reap(child: libc::pid_t) {
    let mut status = 0;
    // SAFETY: a child of ours, which ends at once.
    while unsafe { libc::waitpid(child, &raw mut status, 0) } < 0
        && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
    {}
}

/// Splits off once more, so that the guardian belongs to nobody, and ends.
///
/// # Safety
/// To be called in a child of `fork` alone.
unsafe fn child(duty: &Duty, pipe: RawFd, open: [RawFd; 2]) -> ! {
    // SAFETY: system calls alone; nothing is allocated, locked or freed.
    unsafe {
        if libc::fork() == 0 {
            guard(duty, pipe, open);
        }
        libc::_exit(0)
    }
}

/// The guardian.
///
/// # Safety
/// As [`child`].
unsafe fn guard(duty: &Duty, pipe: RawFd, open: [RawFd; 2]) -> ! {
    // SAFETY: as above; pointers lead to what the parent made before it split.
    unsafe {
        libc::setsid();
        let mut all: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut all);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const all, std::ptr::null_mut());
        libc::prctl(libc::PR_SET_NAME, c"assay-guardian".as_ptr());
        close_others(open);
        let mut byte = 0_u8;
        loop {
            match libc::read(pipe, (&raw mut byte).cast(), 1) {
                1 => libc::_exit(0),
                0 => break,
                _ => {}
            }
        }
        for _ in 0..ATTEMPTS {
            if give_back(duty) {
                libc::unlink(duty.entry.as_ptr());
                libc::_exit(0);
            }
            let second = libc::timespec { tv_sec: 1, tv_nsec: 0 };
            libc::nanosleep(&raw const second, std::ptr::null_mut());
        }
        libc::_exit(1)
    }
}

/// Whatever else is open belongs to the parent: its output would never end, and the device never be free.
///
/// # Safety
/// As [`child`].
unsafe fn close_others(open: [RawFd; 2]) {
    let range = |first: RawFd, last: u32| {
        if first as u32 <= last {
            // SAFETY: descriptors of the parent's copy; nobody uses them here.
            unsafe { libc::syscall(libc::SYS_close_range, first as u32, last, 0_u32) };
        }
    };
    if open[0] > 0 {
        range(0, open[0] as u32 - 1);
    }
    if open[1] > open[0] {
        range(open[0] + 1, open[1] as u32 - 1);
    }
    range(open[1] + 1, u32::MAX);
}

/// Does every step, whether or not those before it worked; true where the kernel's driver has the drive.
///
/// # Safety
/// As [`child`].
unsafe fn give_back(duty: &Duty) -> bool {
    // SAFETY: as above.
    unsafe {
        if has_driver(duty) {
            return true;
        }
        if let Some(configuration) = &duty.silence {
            silence(configuration);
        }
        for (file, text) in &duty.steps {
            let fd = libc::open(file.as_ptr(), libc::O_WRONLY);
            if fd >= 0 {
                libc::write(fd, text.as_ptr().cast(), text.len());
                libc::close(fd);
            }
        }
        has_driver(duty)
    }
}

/// # Safety
/// As [`child`].
unsafe fn has_driver(duty: &Duty) -> bool {
    let mut name = [0_u8; 256];
    // SAFETY: room for 256 bytes; the kernel says how many there are.
    let length = unsafe { libc::readlink(duty.link.as_ptr(), name.as_mut_ptr().cast(), name.len()) };
    let length = usize::try_from(length).unwrap_or(0);
    let wanted = NVME.as_bytes();
    length > wanted.len() && name[..length].ends_with(wanted) && name[length - wanted.len() - 1] == b'/'
}

/// Ends the device's right to read and write memory.
///
/// # Safety
/// As [`child`].
unsafe fn silence(configuration: &CString) {
    let mut command = 0_u16;
    let at = COMMAND as libc::off_t;
    // SAFETY: two bytes are read and written.
    unsafe {
        let fd = libc::open(configuration.as_ptr(), libc::O_RDWR);
        if fd < 0 {
            return;
        }
        if libc::pread(fd, (&raw mut command).cast(), 2, at) == 2 {
            command &= !BUS_MASTER;
            libc::pwrite(fd, (&raw const command).cast(), 2, at);
        }
        libc::close(fd);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::symlink,
        time::{Duration, Instant},
    };

    use super::*;

    struct Ground {
        folder: tempfile::TempDir,
        duty: Duty,
    }

    /// A driver that takes the device as soon as it is told: the link is there beforehand, under another name.
    fn ground(driver: &str) -> Ground {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["unbind", "override", "bind", "entry"] {
            fs::write(at(name), "").unwrap();
        }
        fs::write(at("config"), [0x86, 0x80, 0, 0, 0x07, 0x04, 0, 0]).unwrap();
        symlink(format!("../../drivers/{driver}"), at("link")).unwrap();
        let step = |name: &str, text: &str| SetupStep { file: at(name), text: text.to_owned() };
        let steps = [step("unbind", "0000:01:00.0"), step("override", "\n"), step("bind", "0000:01:00.0")];
        let duty = Duty::new(&steps, &at("link"), &at("entry"), Some(&at("config"))).unwrap();
        Ground { folder, duty }
    }

    impl Ground {
        fn text(&self, name: &str) -> Vec<u8> {
            fs::read(self.folder.path().join(name)).unwrap_or_default()
        }

        /// Waits for the guardian, without end only where it does not work.
        fn awaits(&self, done: impl Fn(&Self) -> bool) -> bool {
            let began = Instant::now();
            while began.elapsed() < Duration::from_secs(30) {
                if done(self) {
                    return true;
                }
                std::thread::sleep(Duration::from_millis(5));
            }
            false
        }

        fn entry_is_gone(&self) -> bool {
            !self.folder.path().join("entry").exists()
        }
    }

    #[test]
    fn a_guardian_gives_back_what_its_parent_could_not() {
        let ground = ground("vfio-pci");
        let guardian = Guardian::start(&ground.duty, None).unwrap();
        assert_eq!(ground.text("bind"), b"", "nothing happens while the parent lives");
        drop(guardian);
        assert!(ground.awaits(|ground| ground.text("bind") == b"0000:01:00.0"), "the drive was not bound");
        assert_eq!((ground.text("unbind"), ground.text("override")), (b"0000:01:00.0".to_vec(), b"\n".to_vec()));
        assert_eq!(ground.text("config")[4..6], [0x03, 0x04], "the device may reach no memory any more");
        // The kernel's driver has it now: the guardian sees that and ends.
        let link = ground.folder.path().join("link");
        fs::remove_file(&link).unwrap();
        symlink("../../drivers/nvme", &link).unwrap();
        assert!(ground.awaits(Ground::entry_is_gone), "the entry of the ledger is still there");
    }

    #[test]
    fn a_drive_that_the_kernel_has_is_left_alone() {
        let ground = ground("nvme");
        drop(Guardian::start(&ground.duty, None).unwrap());
        assert!(ground.awaits(Ground::entry_is_gone));
        assert_eq!((ground.text("bind"), ground.text("config")[4]), (Vec::new(), 0x07));
    }

    #[test]
    fn a_dismissed_guardian_does_nothing() {
        let ground = ground("vfio-pci");
        let (reader, writer) = pipe().unwrap();
        let guardian = Guardian::start(&ground.duty, Some(writer.as_raw_fd())).unwrap();
        guardian.dismiss();
        drop(writer);
        // Its copy of the pipe ends with it: then it is gone.
        let mut byte = 0_u8;
        // SAFETY: one byte.
        let read = unsafe { libc::read(reader.as_raw_fd(), (&raw mut byte).cast(), 1) };
        assert_eq!((read, ground.text("bind"), ground.entry_is_gone()), (0, Vec::new(), false));
    }
}
