//! Where requests meet the drive: the real work is done in the folder below, and the answer waits until the drive's
//! would come.

use std::{
    collections::HashMap,
    fs::File,
    os::unix::fs::FileExt,
    sync::{
        Arc, Mutex, RwLock,
        atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering},
    },
};

use fuser::{FileAttr, FileHandle, INodeNo, ReplyAttr, ReplyData, ReplyEmpty, ReplyWrite};
use rustix::{
    fs::{FallocateFlags, OFlags},
    io::Errno,
};

use crate::{
    clock::Clock,
    drive::Op,
    hold::{Held, HeldAnswer, Holder},
    lateness::Class,
    node::{Node, Nodes, Result, errno},
    open::{Open, below},
    player::Player,
    volatile::{Left, Volatile},
};

/// All that threads share which answer the kernel.
pub struct Stage {
    /// Files that the kernel knows.
    pub nodes: Nodes,
    /// Holds answers.
    pub holder: Holder,
    clock: Clock,
    /// None: everything is answered at once.
    player: RwLock<Option<Player>>,
    opened: RwLock<HashMap<u64, Arc<Open>>>,
    next_handle: AtomicU64,
    probe: AtomicU32,
    probe_held_ns: AtomicU64,
    dead: Arc<AtomicBool>,
    /// What a loss of power would take; none where none is wanted.
    volatile: Option<Mutex<Volatile>>,
    /// Reads, writes and flushes so far.
    requests: AtomicU64,
    /// So many are answered before the power is cut.
    ends_after: u64,
    /// Flushes reach the folder below, too.
    sync_below: bool,
}

impl Stage {
    /// With nothing to play yet.
    pub fn new(nodes: Nodes, holder: Holder, clock: Clock, sync_below: bool, dead: Arc<AtomicBool>) -> Self {
        Self {
            nodes,
            holder,
            clock,
            player: RwLock::new(None),
            opened: RwLock::default(),
            next_handle: AtomicU64::new(1),
            probe: AtomicU32::new(0),
            probe_held_ns: AtomicU64::new(0),
            dead,
            volatile: None,
            requests: AtomicU64::new(0),
            ends_after: u64::MAX,
            sync_below,
        }
    }

    /// Plays a drive from now on.
    pub fn play(&self, player: Player) {
        *self.player.write().expect("no thread panics") = Some(player);
    }

    /// The power may be cut of a drive that holds so much of what was written in a buffer, after so many requests at
    /// the latest.
    pub fn may_be_cut(&mut self, holds_bytes: u64, after_requests: u64) {
        self.volatile = Some(Mutex::new(Volatile::new(holds_bytes)));
        self.ends_after = after_requests;
    }

    /// Reads, writes and flushes so far.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// The power is gone. The folder below holds then what would be there, and all is answered with EIO.
    ///
    /// # Errors
    /// Where the folder below cannot be written.
    pub fn cut(&self, seed: u64) -> std::io::Result<Left> {
        let mut volatile = self.volatile.as_ref().map(|volatile| volatile.lock().expect("no thread panics"));
        self.dead.store(true, Ordering::SeqCst);
        // A flush that was answered before was due before now.
        volatile.as_mut().map_or_else(|| Ok(Left::default()), |volatile| volatile.cut(self.clock.now_ns(), seed))
    }

    /// # Errors
    /// EIO after the power was cut.
    pub fn alive(&self) -> Result<()> {
        if self.dead.load(Ordering::Relaxed) { Err(Errno::IO) } else { Ok(()) }
    }

    /// A thread of this process asks for facts only to learn how long that takes when the answer is held for so long, ns.
    pub fn probe_by(&self, thread: u32, held_ns: u64) {
        self.probe_held_ns.store(held_ns, Ordering::Relaxed);
        self.probe.store(thread, Ordering::Relaxed);
    }

    /// Whether a request is the probe's.
    pub fn is_probe(&self, thread: u32) -> bool {
        thread != 0 && thread == self.probe.load(Ordering::Relaxed)
    }

    /// The probe's answer goes the way of all that are held.
    pub fn answer_probe(&self, facts: FileAttr, reply: ReplyAttr) {
        let seen_ns = self.clock.now_ns();
        let due_ns = seen_ns + self.probe_held_ns.load(Ordering::Relaxed);
        self.hold(seen_ns, Some(due_ns), None, HeldAnswer::Facts(reply, Box::new(facts)));
    }

    /// Keeps an open file; its handle.
    pub fn keep(&self, open: Open) -> FileHandle {
        let handle = self.next_handle.fetch_add(1, Ordering::Relaxed);
        self.opened.write().expect("no thread panics").insert(handle, Arc::new(open));
        FileHandle(handle)
    }

    /// The open file of a handle.
    ///
    /// # Errors
    /// EBADF where it is none; EIO after the power was cut.
    pub fn open(&self, handle: FileHandle) -> Result<Arc<Open>> {
        self.alive()?;
        self.opened.read().expect("no thread panics").get(&handle.0).cloned().ok_or(Errno::BADF)
    }

    /// Nobody uses a handle any more.
    pub fn close(&self, handle: FileHandle) {
        self.opened.write().expect("no thread panics").remove(&handle.0);
    }

    /// Bytes of a file, at the moment at which the drive has read them.
    pub fn read(&self, handle: FileHandle, at: u64, bytes: u32, reply: ReplyData) {
        let seen_ns = self.clock.now_ns();
        let read = self.open(handle).and_then(|open| {
            open.require_sectors(at, u64::from(bytes))?;
            let (data, size) = open.read(at, bytes as usize)?;
            let place = self.nodes.place(&open.node, at, u64::from(bytes), size);
            Ok((data, place))
        });
        match read {
            Err(error) => reply.error(errno(error)),
            // Past its end a file has nothing that a drive could read.
            Ok((data, _)) if data.is_empty() => reply.data(&data),
            Ok((data, place)) => {
                let due = self.due(seen_ns, Op::Read, place, data.len() as u64);
                self.hold(seen_ns, due, Some(Class::Read), HeldAnswer::Data(reply, data));
            }
        }
    }

    /// Bytes go to a file, and are answered for at the moment at which the drive has them.
    pub fn write(&self, handle: FileHandle, at: u64, data: &[u8], reply: ReplyWrite) {
        let seen_ns = self.clock.now_ns();
        let bytes = data.len() as u64;
        let written = self.open(handle).and_then(|open| {
            open.require_sectors(at, bytes)?;
            self.put(&open, at, data)?;
            let place = self.nodes.place(&open.node, at, bytes, at + bytes);
            let mut due = self.due(seen_ns, Op::Write, place, bytes);
            if open.durable {
                // The flush begins when the write has ended.
                due = self.flush_due(seen_ns).zip(due).map(|(flush, write)| flush + write.saturating_sub(seen_ns));
                self.covered(due.unwrap_or(seen_ns));
                self.synced(&open, true)?;
            }
            Ok(due)
        });
        match written {
            Err(error) => reply.error(errno(error)),
            Ok(due) => {
                self.hold(seen_ns, due, Some(Class::Write), HeldAnswer::Written(reply, data.len() as u32));
            }
        }
    }

    fn put(&self, open: &Arc<Open>, at: u64, data: &[u8]) -> Result<()> {
        let Some(volatile) = &self.volatile else {
            return open.file.write_all_at(data, at).map_err(|error| below(&error));
        };
        let mut volatile = volatile.lock().expect("no thread panics");
        // Asked again: the power may have gone while this waited.
        self.alive()?;
        volatile.write(open, at, data, self.clock.now_ns()).map_err(|error| below(&error))
    }

    /// All that was written is on the medium when it is answered.
    pub fn sync(&self, handle: FileHandle, data_only: bool, reply: ReplyEmpty) {
        self.flush(reply, || self.synced(&*self.open(handle)?, data_only));
    }

    fn synced(&self, open: &Open, data_only: bool) -> Result<()> {
        let done = match (self.sync_below, data_only) {
            (false, _) => Ok(()),
            (true, true) => open.file.sync_data(),
            (true, false) => open.file.sync_all(),
        };
        done.map_err(|error| below(&error))
    }

    fn flush_due(&self, seen_ns: u64) -> Option<u64> {
        self.player.read().expect("no thread panics").as_ref().map(|player| player.flush(seen_ns))
    }

    /// What was written so far is durable from that moment on.
    fn covered(&self, due_ns: u64) {
        if let Some(volatile) = &self.volatile {
            volatile.lock().expect("no thread panics").flush(due_ns);
        }
    }

    /// A folder's names are on the medium when it is answered.
    pub fn sync_folder(&self, number: INodeNo, reply: ReplyEmpty) {
        self.flush(reply, || {
            self.alive()?;
            let node = self.nodes.node(number)?;
            if !self.sync_below {
                return Ok(());
            }
            node.open(OFlags::RDONLY | OFlags::DIRECTORY)?.sync_all().map_err(|error| below(&error))
        });
    }

    fn flush(&self, reply: ReplyEmpty, work: impl FnOnce() -> Result<()>) {
        let seen_ns = self.clock.now_ns();
        // The drive begins when it is asked, and this machine works meanwhile.
        let due = self.flush_due(seen_ns);
        self.covered(due.unwrap_or(seen_ns));
        match work() {
            Err(error) => reply.error(errno(error)),
            Ok(()) => self.hold(seen_ns, due, Some(Class::Flush), HeldAnswer::Done(reply)),
        }
    }

    /// Changes the size of a file.
    ///
    /// # Errors
    /// What the folder below says.
    pub fn sized(&self, file: &File, node: &Node, size: u64) -> Result<()> {
        self.settle(node);
        file.set_len(size).map_err(|error| below(&error))
    }

    /// Makes room, or holes.
    ///
    /// # Errors
    /// What the folder below says.
    pub fn allocate(&self, handle: FileHandle, at: u64, bytes: u64, mode: i32) -> Result<()> {
        let open = self.open(handle)?;
        self.settle(&open.node);
        rustix::fs::fallocate(&open.file, FallocateFlags::from_bits_retain(mode as u32), at, bytes)
    }

    /// Sizes and room are durable at once, and with them what lies there.
    fn settle(&self, node: &Node) {
        if let Some(volatile) = &self.volatile {
            volatile.lock().expect("no thread panics").settle_file(node.number);
        }
    }

    fn due(&self, seen_ns: u64, op: Op, place: u64, bytes: u64) -> Option<u64> {
        let player = self.player.read().expect("no thread panics");
        player.as_ref().map(|player| player.submit(seen_ns, op, place, bytes))
    }

    fn hold(&self, seen_ns: u64, due_ns: Option<u64>, class: Option<Class>, answer: HeldAnswer) {
        if self.requests.fetch_add(u64::from(class.is_some()), Ordering::Relaxed) >= self.ends_after {
            // Whoever looks for the moment of the cut finds it later; until then nothing more is answered.
            self.dead.store(true, Ordering::SeqCst);
        }
        match due_ns {
            None if class.is_some() => answer.say(),
            due => self.holder.hold(Held { seen_ns, due_ns: due.unwrap_or(seen_ns), class, answer }),
        }
    }
}
