//! A page of a mapping that cannot be filled: the kernel raises SIGBUS, and the thread is inside a copy.
//!
//! It happens when a file is cut short while it is mapped, when its device reports an error on reading the page in, and
//! when a store needs a block that a full file system cannot give. The handler puts an anonymous page in the place of
//! the missing one, so that the copy ends, and marks the mapping as lost; the path asks for that mark after each copy
//! and returns an error that the run can report. A SIGBUS at any other address goes to whoever handled it before.

use std::{
    io, mem, ptr,
    sync::{
        OnceLock,
        atomic::{AtomicBool, AtomicPtr, AtomicUsize, Ordering},
    },
};

use libc::{c_int, c_void};

/// A range of addresses that the handler knows. Slots are never freed, only used again: the handler walks the list at
/// any moment.
#[derive(Debug)]
pub(crate) struct Watched {
    used: AtomicBool,
    start: AtomicUsize,
    end: AtomicUsize,
    /// A page of it was lost.
    lost: AtomicBool,
    next: AtomicPtr<Watched>,
}

static FIRST: AtomicPtr<Watched> = AtomicPtr::new(ptr::null_mut());
static PAGE_BYTES: AtomicUsize = AtomicUsize::new(4096);
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();

impl Watched {
    /// Watches a range from now on.
    pub fn watch(start: usize, bytes: usize) -> io::Result<&'static Self> {
        install()?;
        let watched = Self::claim();
        watched.lost.store(false, Ordering::Relaxed);
        watched.start.store(start, Ordering::Relaxed);
        watched.end.store(start + bytes, Ordering::Release);
        Ok(watched)
    }

    /// Stops watching; the range may be unmapped afterwards.
    pub fn release(&self) {
        self.end.store(0, Ordering::Release);
        self.used.store(false, Ordering::Release);
    }

    /// Whether a page was lost since the range is watched.
    #[inline(always)]
    pub fn is_lost(&self) -> bool {
        self.lost.load(Ordering::Relaxed)
    }

    fn claim() -> &'static Self {
        let free = list()
            .find(|watched| watched.used.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok());
        free.unwrap_or_else(|| Box::leak(Box::new(Self::used())).link())
    }

    fn used() -> Self {
        Self {
            used: AtomicBool::new(true),
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            lost: AtomicBool::new(false),
            next: AtomicPtr::new(ptr::null_mut()),
        }
    }

    fn link(&'static mut self) -> &'static Self {
        let this: *mut Self = self;
        let mut first = FIRST.load(Ordering::Acquire);
        loop {
            // SAFETY: the slot was leaked by `claim` and lives for ever.
            unsafe { (*this).next.store(first, Ordering::Relaxed) };
            match FIRST.compare_exchange_weak(first, this, Ordering::AcqRel, Ordering::Acquire) {
                // SAFETY: as above; all its fields are atomic, so shared references suffice from here on.
                Ok(_) => return unsafe { &*this },
                Err(now) => first = now,
            }
        }
    }

    fn holds(&self, address: usize) -> bool {
        let end = self.end.load(Ordering::Acquire);
        address < end && address >= self.start.load(Ordering::Relaxed)
    }
}

fn list() -> impl Iterator<Item = &'static Watched> {
    let mut next = FIRST.load(Ordering::Acquire);
    std::iter::from_fn(move || {
        // SAFETY: slots are leaked and never freed; null ends the list.
        let watched = unsafe { next.as_ref() }?;
        next = watched.next.load(Ordering::Acquire);
        Some(watched)
    })
}

fn install() -> io::Result<()> {
    static INSTALLED: OnceLock<Result<(), i32>> = OnceLock::new();
    let answer = INSTALLED.get_or_init(|| {
        PAGE_BYTES.store(rustix::param::page_size(), Ordering::Relaxed);
        set_handler().map_err(|error| error.raw_os_error().unwrap_or(libc::EINVAL))
    });
    answer.map_err(io::Error::from_raw_os_error)
}

fn set_handler() -> io::Result<()> {
    // SAFETY: zero is a valid value of every field.
    let (mut wanted, mut before): (libc::sigaction, libc::sigaction) = unsafe { (mem::zeroed(), mem::zeroed()) };
    // SAFETY: asks only for what is there; the result is kept before the handler can need it.
    if unsafe { libc::sigaction(libc::SIGBUS, ptr::null(), &mut before) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let _ = BEFORE.set(before);
    wanted.sa_sigaction = on_sigbus as *const () as usize;
    wanted.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
    // SAFETY: the handler only uses atomics and system calls that are safe in a handler.
    if unsafe { libc::sigaction(libc::SIGBUS, &wanted, ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

extern "C" fn on_sigbus(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid siginfo; for SIGBUS it holds the address.
    let address = unsafe { (*info).si_addr() } as usize;
    match list().find(|watched| watched.holds(address)) {
        Some(watched) => {
            watched.lost.store(true, Ordering::Relaxed);
            replace_page(address);
        }
        None => pass_on(signal, info, context),
    }
}

/// Puts an anonymous page where the file's page is missing, so that the interrupted copy can end.
fn replace_page(address: usize) {
    let page_bytes = PAGE_BYTES.load(Ordering::Relaxed);
    let page = address & !(page_bytes - 1);
    let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED;
    // SAFETY: the page lies in a mapping that this path owns and watches; `mmap` is one system call.
    let at = unsafe { libc::mmap(page as *mut c_void, page_bytes, libc::PROT_READ | libc::PROT_WRITE, flags, -1, 0) };
    if at == libc::MAP_FAILED {
        let sentence =
            b"assayer: a page of a mapped file was lost (cut short, full or failing), and no memory was left\n";
        // SAFETY: both calls are safe in a handler; the second does not return.
        unsafe {
            libc::write(2, sentence.as_ptr().cast(), sentence.len());
            libc::_exit(1);
        }
    }
}

fn pass_on(signal: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    let Some(before) = BEFORE.get() else { return };
    let handler = before.sa_sigaction;
    if handler == libc::SIG_DFL || handler == libc::SIG_IGN {
        // SAFETY: the faulting instruction runs again and now meets the default action, as if nobody had watched.
        unsafe { libc::signal(signal, libc::SIG_DFL) };
    } else if before.sa_flags & libc::SA_SIGINFO != 0 {
        // SAFETY: with SA_SIGINFO the field holds a function of this type.
        let handler: extern "C" fn(c_int, *mut libc::siginfo_t, *mut c_void) = unsafe { mem::transmute(handler) };
        handler(signal, info, context);
    } else {
        // SAFETY: without SA_SIGINFO the field holds a function of this type.
        let handler: extern "C" fn(c_int) = unsafe { mem::transmute(handler) };
        handler(signal);
    }
}
