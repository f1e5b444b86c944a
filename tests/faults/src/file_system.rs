//! What the kernel asks.

use std::{
    collections::BTreeMap,
    ffi::OsStr,
    path::Path,
    sync::{Arc, Mutex, MutexGuard},
    thread,
    time::SystemTime,
};

use fuser::{
    BsdFileFlags, Errno, FileHandle, FileType, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig,
    LockOwner, OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry,
    ReplyOpen, ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};

use crate::{
    body::{Body, PAGE},
    node::{BELIEVED, Content, Node},
    rule::{Effect, Operation},
    world::{self, World},
};

const SECTOR: u64 = 512;
const NO_HANDLE: FileHandle = FileHandle(0);
const FIRST: Generation = Generation(0);

pub struct FaultFs {
    world: Arc<Mutex<World>>,
}

impl FaultFs {
    pub fn new(world: Arc<Mutex<World>>) -> Self {
        Self { world }
    }

    fn world(&self) -> MutexGuard<'_, World> {
        self.world.lock().expect("no thread panics")
    }

    /// What becomes of a call, once it has waited for what it has to.
    fn fate(&self, operation: Operation, number: INodeNo) -> Result<Option<Effect>, world::Errno> {
        let fate = self.world().fate(operation, number.0);
        suffer(fate)
    }

    fn fate_of(&self, operation: Operation, name: &OsStr) -> Result<Option<Effect>, world::Errno> {
        let fate = self.world().fate_of(operation, &name.to_string_lossy());
        suffer(fate)
    }

    fn make(&self, parent: INodeNo, name: &OsStr, node: Node) -> Result<fuser::FileAttr, world::Errno> {
        self.fate_of(Operation::Create, name)?;
        let mut world = self.world();
        let number = world.make(parent.0, name, node)?;
        Ok(world.node(number)?.facts(number))
    }

    fn entry(&self, made: Result<fuser::FileAttr, world::Errno>, reply: ReplyEntry) {
        match made {
            Ok(facts) => reply.entry(&BELIEVED, &facts, FIRST),
            Err(errno) => reply.error(Errno::from_i32(errno)),
        }
    }

    fn remove(&self, parent: INodeNo, name: &OsStr, folder: bool) -> Result<(), world::Errno> {
        self.fate_of(Operation::Remove, name)?;
        self.world().remove(parent.0, name, folder)
    }

    fn synced(&self, number: INodeNo) -> Result<(), world::Errno> {
        let fate = self.fate(Operation::Sync, number);
        let mut world = self.world();
        match (fate, world.body(number.0)) {
            (Ok(Some(Effect::Lie)), _) => Ok(()),
            (Ok(_), Ok(body)) => {
                body.sync();
                Ok(())
            }
            (Ok(_), Err(_)) => Ok(()),
            (Err(errno), body) => {
                let _ = body.map(Body::drop_dirty);
                Err(errno)
            }
        }
    }

    fn wrote(&self, number: INodeNo, at: u64, data: &[u8], block: u64) -> Result<u32, world::Errno> {
        let fate = self.fate(Operation::Write, number)?;
        if fate == Some(Effect::Lie) {
            return Ok(data.len() as u32);
        }
        let part = Effect::part(fate, data.len(), block as usize);
        self.world().change(number.0, (at, part as u64), |body| body.write(at, &data[..part]))?;
        Ok(part as u32)
    }

    fn read_some(&self, number: INodeNo, at: u64, bytes: u32, block: u64) -> Result<Vec<u8>, world::Errno> {
        let bytes = Effect::part(self.fate(Operation::Read, number)?, bytes as usize, block as usize) as u32;
        Ok(self.world().body(number.0)?.read(at, u64::from(bytes)))
    }

    fn opened(&self, number: INodeNo) -> Result<FopenFlags, world::Errno> {
        self.fate(Operation::Open, number)?;
        let mut world = self.world();
        world.node(number.0)?.opened += 1;
        Ok(how(&world))
    }

    fn sized(&self, number: INodeNo, size: u64) -> Result<(), world::Errno> {
        self.fate(Operation::Size, number)?;
        self.world().change(number.0, (0, 0), |body| body.resize(size))
    }

    fn allocated(&self, number: INodeNo, at: u64, bytes: u64, mode: i32) -> Result<(), world::Errno> {
        self.fate(Operation::Size, number)?;
        let keep = mode & libc::FALLOC_FL_KEEP_SIZE != 0;
        let mut world = self.world();
        match mode & !libc::FALLOC_FL_KEEP_SIZE {
            0 => world.change(number.0, (at, bytes), |body| body.allocate(at, bytes, keep)),
            libc::FALLOC_FL_PUNCH_HOLE => world.change(number.0, (0, 0), |body| body.punch(at, bytes)),
            _ => Err(libc::EOPNOTSUPP),
        }
    }
}

fn suffer(fate: Option<Effect>) -> Result<Option<Effect>, world::Errno> {
    match fate {
        Some(Effect::Error(errno)) => Err(errno),
        Some(Effect::Slow(time)) => {
            thread::sleep(time);
            Ok(None)
        }
        other => Ok(other),
    }
}

/// Past the page cache where a rule shortens reads: it takes the end of a short one for the end of the file.
fn how(world: &World) -> FopenFlags {
    if world.shortens() { FopenFlags::FOPEN_DIRECT_IO } else { FopenFlags::empty() }
}

/// Direct transfers begin and end at sectors, as they do on a drive.
fn block(flags: OpenFlags) -> u64 {
    if flags.0 & libc::O_DIRECT == 0 { 1 } else { SECTOR }
}

fn may_be(flags: OpenFlags, at: u64, bytes: u64) -> bool {
    at % block(flags) == 0 && bytes % block(flags) == 0
}

fn owner(request: &Request) -> (u32, u32) {
    (request.uid(), request.gid())
}

fn empty(done: Result<(), world::Errno>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(errno) => reply.error(Errno::from_i32(errno)),
    }
}

impl Filesystem for FaultFs {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> std::io::Result<()> {
        // Where the kernel does not know how to map files that pass it by, nobody maps them.
        let _ = config.add_capabilities(InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let mut world = self.world();
        let found = world.find(parent.0, name).and_then(|number| Ok(world.node(number)?.facts(number)));
        drop(world);
        self.entry(found, reply);
    }

    fn getattr(&self, _: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.world().node(number.0) {
            Ok(node) => reply.attr(&BELIEVED, &node.facts(number.0)),
            Err(errno) => reply.error(Errno::from_i32(errno)),
        }
    }

    fn setattr(
        &self,
        _: &Request,
        number: INodeNo,
        mode: Option<u32>,
        uid: Option<u32>,
        gid: Option<u32>,
        size: Option<u64>,
        _: Option<TimeOrNow>,
        _: Option<TimeOrNow>,
        _: Option<SystemTime>,
        _: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        if let Some(Err(errno)) = size.map(|size| self.sized(number, size)) {
            return reply.error(Errno::from_i32(errno));
        }
        match self.world().node(number.0) {
            Err(errno) => reply.error(Errno::from_i32(errno)),
            Ok(node) => {
                node.mode = mode.map_or(node.mode, |mode| mode & 0o7777);
                node.owner = (uid.unwrap_or(node.owner.0), gid.unwrap_or(node.owner.1));
                reply.attr(&BELIEVED, &node.facts(number.0));
            }
        }
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        match self.world().node(number.0).map(|node| &node.content) {
            Ok(Content::Link(to)) => reply.data(to.as_os_str().as_encoded_bytes()),
            Ok(_) => reply.error(Errno::EINVAL),
            Err(errno) => reply.error(Errno::from_i32(errno)),
        }
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        let node = Node::new(Content::Folder(BTreeMap::new()), String::new(), mode & !umask, owner(request));
        self.entry(self.make(parent, name, node), reply);
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let node = Node::new(Content::Link(target.to_owned()), String::new(), 0o777, owner(request));
        self.entry(self.make(parent, name, node), reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(self.remove(parent, name, false), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(self.remove(parent, name, true), reply);
    }

    fn rename(
        &self,
        _: &Request,
        parent: INodeNo,
        name: &OsStr,
        new_parent: INodeNo,
        new_name: &OsStr,
        flags: RenameFlags,
        reply: ReplyEmpty,
    ) {
        if flags.contains(RenameFlags::RENAME_EXCHANGE) {
            return reply.error(Errno::EINVAL);
        }
        let replace = !flags.contains(RenameFlags::RENAME_NOREPLACE);
        let fate = self.fate_of(Operation::Rename, name);
        let done = fate.and_then(|_| self.world().rename((parent.0, name), (new_parent.0, new_name), replace));
        empty(done, reply);
    }

    fn open(&self, _: &Request, number: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        match self.opened(number) {
            Ok(how) => reply.opened(NO_HANDLE, how),
            Err(errno) => reply.error(Errno::from_i32(errno)),
        }
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: i32,
        reply: ReplyCreate,
    ) {
        let node = Node::new(Content::File(Body::default()), String::new(), mode & !umask, owner(request));
        match self.make(parent, name, node) {
            Err(errno) => reply.error(Errno::from_i32(errno)),
            Ok(facts) => {
                let mut world = self.world();
                let _ = world.node(facts.ino.0).map(|node| node.opened += 1);
                let how = how(&world);
                drop(world);
                reply.created(&BELIEVED, &facts, FIRST, NO_HANDLE, how);
            }
        }
    }

    fn read(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        at: u64,
        bytes: u32,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        if !may_be(flags, at, u64::from(bytes)) {
            return reply.error(Errno::EINVAL);
        }
        match self.read_some(number, at, bytes, block(flags)) {
            Ok(data) => reply.data(&data),
            Err(errno) => reply.error(Errno::from_i32(errno)),
        }
    }

    fn write(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        at: u64,
        data: &[u8],
        _: WriteFlags,
        flags: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        if !may_be(flags, at, data.len() as u64) {
            return reply.error(Errno::EINVAL);
        }
        match self.wrote(number, at, data, block(flags)) {
            Ok(bytes) => reply.written(bytes),
            Err(errno) => reply.error(Errno::from_i32(errno)),
        }
    }

    fn flush(&self, _: &Request, number: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        empty(self.fate(Operation::Close, number).map(drop), reply);
    }

    fn release(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        let mut world = self.world();
        let _ = world.node(number.0).map(|node| node.opened = node.opened.saturating_sub(1));
        world.forget(number.0);
        drop(world);
        reply.ok();
    }

    fn fsync(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        empty(self.synced(number), reply);
    }

    fn fsyncdir(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        empty(self.synced(number), reply);
    }

    fn readdir(&self, _: &Request, number: INodeNo, _: FileHandle, at: u64, mut reply: ReplyDirectory) {
        if let Err(errno) = self.fate(Operation::List, number) {
            return reply.error(Errno::from_i32(errno));
        }
        let mut world = self.world();
        let names = match world.folder(number.0) {
            Ok(names) => names.clone(),
            Err(errno) => return reply.error(Errno::from_i32(errno)),
        };
        let dots = [(OsStr::new("."), number.0), (OsStr::new(".."), number.0)];
        let all = dots.into_iter().chain(names.iter().map(|(name, number)| (name.as_os_str(), *number)));
        for (n, (name, number)) in all.enumerate().skip(at as usize) {
            let kind = world.nodes.get(&number).map_or(FileType::RegularFile, Node::kind);
            if reply.add(INodeNo(number), n as u64 + 1, kind, name) {
                break;
            }
        }
        reply.ok();
    }

    fn statfs(&self, _: &Request, _: INodeNo, reply: ReplyStatfs) {
        let (all, free) = self.world().room();
        reply.statfs(all, free, free, 1 << 20, 1 << 20, PAGE as u32, 255, PAGE as u32);
    }

    fn fallocate(
        &self,
        _: &Request,
        number: INodeNo,
        _: FileHandle,
        at: u64,
        bytes: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        empty(self.allocated(number, at, bytes, mode), reply);
    }
}
