//! A mount from its beginning to its end.

use std::{
    ffi::CString,
    os::{fd::OwnedFd, unix::ffi::OsStrExt},
    path::{Path, PathBuf},
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::{Duration, Instant},
};

use assay_own::{Base, MOUNTED_AS, Mounted, mount_state};
use fuser::{BackgroundSession, Config, INodeNo, MountOption, Session as Fuse, SessionACL};

use crate::{
    awake::Awake,
    clock::{self, Clock, FirstInLine},
    drive::{DriveModel, Fixed},
    error::MountError,
    file_system::FileSystem,
    hold::Holder,
    job::{Cut, Job, PlayedBy},
    node::Nodes,
    player::Player,
    probe::{self, Probe},
    stage::Stage,
    state::State,
    twin,
    way::Way,
};

/// Threads that answer the kernel at least.
const THREADS: usize = 4;
/// What is learnt of this machine at the start takes some 50 ms, ns.
const LEARNS_NS: u64 = 100_000_000;
/// What lies open on the mount when it ends has so long to be closed.
const ENDS_WITHIN: Duration = Duration::from_secs(5);

/// A drive that is played.
pub struct MountSession {
    stage: Arc<Stage>,
    fuse: BackgroundSession,
    probe: Probe,
    noted: Mounted,
    state: State,
    state_path: PathBuf,
    began: Instant,
    awake: Awake,
}

impl MountSession {
    /// Mounts a folder.
    ///
    /// # Errors
    /// Where the folder is not this user's, FUSE cannot be had, or this machine is too slow for the drive.
    pub fn begin(job: &Job) -> Result<Self, MountError> {
        check(job)?;
        let drive = drive_of(job)?;
        let noted = Mounted::begin(&job.at)?;
        let (over, below) = below(job, noted.path())?;
        raise_open_files();
        let clock = Clock::start();
        let failed = |source| MountError::Io { action: "mounting", path: noted.path().to_owned(), source };
        // Before anything learns how long this machine takes.
        let awake = Awake::begin(clock);
        if let Some(spinners) = awake.spinners() {
            spinners.expect(clock.now_ns() + LEARNS_NS);
        }
        let first = FirstInLine::begin();
        let dead = Arc::new(AtomicBool::new(false));
        let holder = Holder::start(clock, job.injected_ns, Arc::clone(&dead), awake.spinners()).map_err(failed)?;
        let capacity = drive.as_ref().map_or(1 << 50, |drive| drive.capacity_bytes());
        let nodes = Nodes::new(below, capacity).map_err(|error| failed(error.into()))?;
        let mut stage = Stage::new(nodes, holder, clock, job.sync_below, dead);
        if let Some(cut) = job.cut {
            let after = if let Cut::AfterRequests(count) = cut { count } else { u64::MAX };
            stage.may_be_cut(drive.as_ref().map_or(0, |drive| drive.volatile_bytes()), after);
        }
        let stage = Arc::new(stage);
        let fuse = Fuse::new(FileSystem(Arc::clone(&stage)), noted.path(), &config(job)).map_err(failed)?;
        let fuse = fuse.spawn().map_err(failed)?;
        // What answers keeps it; what asks and tells waits with all others.
        let first_in_line = first.is_allowed();
        drop(first);
        let state_path = mount_state(noted.path())?;
        let way = probe::learn(&stage, noted.path()).map_err(|error| failed(error.into()))?;
        let read_ns = drive.as_ref().map_or(0, |drive| takes_ns(job, drive.idle_ns().0) as u64);
        let floor_ns = way.of(read_ns);
        let mut state = first_state(job, noted.path(), &over, floor_ns, stage.holder.watched_ns());
        state.first_in_line = first_in_line;
        if let Some(drive) = drive {
            let fits = fits(job, drive.idle_ns(), &way, &mut state);
            stage.play(Player::new(clock, drive, job.slow, way.clone(), job.drive.host_ns()));
            if let Err(error) = fits {
                let _ = take_off(fuse, noted.path());
                noted.end()?;
                return Err(error);
            }
        }
        // What the asking thread waits for a CPU is no part of the way; and while it asks, nobody can unmount.
        let first = FirstInLine::begin();
        let probe = Probe::start(Arc::clone(&stage), noted.path(), way, read_ns).map_err(failed)?;
        drop(first);
        let session = Self { stage, fuse, probe, noted, state, state_path, began: Instant::now(), awake };
        session.state().write(&session.state_path)?;
        Ok(session)
    }

    /// Somebody has unmounted it.
    pub fn is_over(&self) -> bool {
        self.fuse.guard.is_finished()
    }

    /// Cuts the power where it is time; `signalled`: somebody asked for it.
    ///
    /// # Errors
    /// Where the folder below cannot be written.
    pub fn cut_when_due(&mut self, cut: Option<Cut>, signalled: bool) -> Result<(), MountError> {
        let due = match cut {
            None => false,
            Some(Cut::AfterRequests(count)) => self.stage.requests() >= count,
            Some(Cut::AfterSeconds(seconds)) => self.began.elapsed().as_secs_f64() >= seconds,
            Some(Cut::OnSignal) => signalled,
        };
        if !due || self.state.cut.is_some() {
            return Ok(());
        }
        let over = self.state.over.clone();
        let failed = |source| MountError::Io { action: "writing to", path: over, source };
        self.state.cut = Some(self.stage.cut(self.state.seed).map_err(failed)?);
        // What the page cache of this machine held is gone with its power, too.
        let notifier = self.fuse.notifier();
        for number in self.stage.nodes.numbers() {
            let _ = notifier.inval_inode(INodeNo(number), 0, 0);
        }
        self.tell()
    }

    /// What it has played so far.
    pub fn state(&self) -> State {
        let (way_p50, way_p99) = self.probe.waits().unwrap_or((self.state.floor_ns, self.state.floor_ns));
        State {
            seconds: self.began.elapsed().as_secs_f64(),
            cpu_s: clock::process_cpu_ns() as f64 / 1e9,
            holder_cpu_s: self.stage.holder.cpu_ns() as f64 / 1e9,
            awake: self.awake.is_kept(),
            awake_cpu_s: self.awake.cpu_ns() as f64 / 1e9,
            played: self.stage.holder.summaries(),
            way_p50_ns: way_p50 as i64 - self.state.floor_ns as i64,
            way_p99_ns: way_p99 as i64 - self.state.floor_ns as i64,
            ..self.state.clone()
        }
        .judged()
    }

    /// Writes what it has played so far.
    ///
    /// # Errors
    /// Where the state folder takes no file.
    pub fn tell(&self) -> Result<(), MountError> {
        self.state().write(&self.state_path)
    }

    /// Unmounts it; what it has played.
    ///
    /// # Errors
    /// Where that cannot be written.
    pub fn end(mut self) -> Result<State, MountError> {
        let last = self.state();
        self.probe.end();
        let closed = take_off(self.fuse, self.noted.path());
        self.stage.holder.end();
        self.state = State { mounted: false, played: self.stage.holder.summaries(), ..last };
        if !closed {
            let note = "files were open when it was unmounted: what was not flushed of them is lost";
            self.state.notes.push(note.to_owned());
        }
        let state = self.state.judged();
        state.write(&self.state_path)?;
        self.noted.end()?;
        Ok(state)
    }
}

fn check(job: &Job) -> Result<(), MountError> {
    if !(0.1..=1e6).contains(&job.slow) {
        return Err(MountError::Job(format!("--slow {} is no factor between 0.1 and 1,000,000", job.slow)));
    }
    Ok(())
}

fn drive_of(job: &Job) -> Result<Option<Box<dyn DriveModel>>, MountError> {
    Ok(match &job.drive {
        PlayedBy::Pass => None,
        PlayedBy::Fixed { read_ns, write_ns, flush_ns } => {
            Some(Box::new(Fixed { read_ns: *read_ns, write_ns: *write_ns, flush_ns: *flush_ns }))
        }
        PlayedBy::Twin { text, .. } => Some(Box::new(twin::Played::open(text, job.seed)?)),
    })
}

/// The folder below, open before anything lies over it.
fn below(job: &Job, at: &Path) -> Result<(PathBuf, OwnedFd), MountError> {
    let named = job.over.as_deref().unwrap_or(at);
    let base = Base::open(named)?;
    let path = base.path().to_owned();
    let failed = |source: std::io::Error| MountError::Io { action: "opening", path: path.clone(), source };
    let facts = rustix::fs::fstat(&base).map_err(|error| failed(error.into()))?;
    if facts.st_uid != rustix::process::geteuid().as_raw() {
        return Err(MountError::Foreign { path, uid: facts.st_uid });
    }
    let flags = rustix::fs::OFlags::PATH | rustix::fs::OFlags::DIRECTORY | rustix::fs::OFlags::CLOEXEC;
    let open =
        rustix::fs::openat(&base, ".", flags, rustix::fs::Mode::empty()).map_err(|error| failed(error.into()))?;
    Ok((path, open))
}

fn config(job: &Job) -> Config {
    let mut config = Config::default();
    config.mount_options = vec![
        MountOption::FSName(MOUNTED_AS.to_owned()),
        MountOption::DefaultPermissions,
        MountOption::NoSuid,
        MountOption::NoDev,
        MountOption::NoAtime,
    ];
    // The folder's mode keeps all others out; without others nobody else comes in at all.
    config.acl = if job.others.is_empty() { SessionACL::Owner } else { SessionACL::All };
    config.n_threads = Some(thread::available_parallelism().map_or(THREADS, |n| n.get().max(THREADS)));
    config.clone_fd = true;
    config
}

fn first_state(job: &Job, at: &Path, over: &Path, floor_ns: u64, watched_ns: u64) -> State {
    State {
        at: at.to_owned(),
        over: over.to_owned(),
        name: job.name.clone(),
        slow: job.slow,
        seed: job.seed,
        pid: std::process::id(),
        mounted: true,
        floor_ns,
        watched_ns,
        ..State::default()
    }
}

/// What a request takes as a whole, of which the drive takes so much, ns.
fn takes_ns(job: &Job, drive_ns: u64) -> f64 {
    drive_ns as f64 * job.slow + job.drive.host_ns() as f64
}

/// Whether this machine can answer as fast as the drive would.
fn fits(job: &Job, (read_ns, write_ns): (u64, u64), way: &Way, state: &mut State) -> Result<(), MountError> {
    let (read, write) = (takes_ns(job, read_ns), takes_ns(job, write_ns));
    let (read_way, write_way) = (way.of(read as u64) as f64, way.of(write as u64) as f64);
    if read < read_way {
        return Err(MountError::TooFast { drive_us: read_ns as f64 / 1e3, floor_us: read_way / 1e3, slow: job.slow });
    }
    if write < write_way {
        let wanted = (2.0 * write_way / write * job.slow).ceil();
        state.slow_wanted = Some(wanted);
        state.notes.push(format!(
            "a write of 4 KiB takes the drive {:.1} \u{b5}s, and the way alone takes {:.1} \u{b5}s here: writes are \
             late; --slow {wanted:.0} plays them",
            write_ns as f64 * job.slow / 1e3,
            write_way / 1e3,
        ));
    }
    let both = [("read", read, read_way), ("write", write, write_way)];
    state.notes.extend(both.into_iter().filter_map(|(what, ns, way_ns)| near(what, ns, way_ns)));
    Ok(())
}

/// What is said of a request that is hardly longer than the way, which is not the same each time: it may end too early,
/// which lateness does not show.
fn near(what: &str, ns: f64, way_ns: f64) -> Option<String> {
    (way_ns..2.0 * way_ns).contains(&ns).then(|| {
        format!(
            "a {what} of 4 KiB takes {:.1} \u{b5}s, and {:.1} \u{b5}s of that are the way here: it may be played too fast or \
             late by as much as the way varies",
            ns / 1e3,
            way_ns / 1e3,
        )
    })
}

/// Each file and folder that the kernel knows is held open.
fn raise_open_files() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where that fails fewer files can be known at a time, and the kernel is told so.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

/// Takes a mount off; false where somebody kept files open on it.
fn take_off(fuse: BackgroundSession, at: &Path) -> bool {
    let Ok(named) = CString::new(at.as_os_str().as_bytes()) else { return false };
    // SAFETY: the name ends with a zero and outlives the calls.
    let unmount = |flags| unsafe { libc::umount2(named.as_ptr(), flags) } == 0;
    if fuse.guard.is_finished() {
        // Somebody has unmounted it, which nobody can while files are open.
        std::mem::forget(fuse);
        return true;
    }
    // Writes back what the page cache holds before it goes.
    let closed = unmount(libc::UMOUNT_NOFOLLOW);
    if !closed && !unmount(libc::UMOUNT_NOFOLLOW | libc::MNT_DETACH) {
        return fuse.umount_and_join().is_ok();
    }
    let begin = Instant::now();
    while !fuse.guard.is_finished() && begin.elapsed() < ENDS_WITHIN {
        thread::sleep(Duration::from_millis(5));
    }
    // Its end would unmount whatever is mounted there by then.
    std::mem::forget(fuse);
    closed
}
