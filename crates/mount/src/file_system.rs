//! What the kernel asks: reads, writes and flushes are played, all else is done at once.

use std::{
    ffi::OsStr,
    fs::File,
    io,
    path::Path,
    sync::Arc,
    time::{Duration, SystemTime},
};

use fuser::{
    BsdFileFlags, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags, KernelConfig, LockOwner,
    OpenFlags, RenameFlags, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyOpen,
    ReplyStatfs, ReplyWrite, Request, TimeOrNow, WriteFlags,
};
use rustix::fs::OFlags;

use crate::{
    below::{self, FileChange},
    node::{Node, Result, errno, facts},
    open::Open,
    stage::Stage,
};

/// Nobody else changes the folder below.
const BELIEVED: Duration = Duration::from_secs(3600);
const FIRST: Generation = Generation(0);
/// Requests that the kernel sends on its own account (read-ahead, write-back, asynchronous I/O) before it waits.
const IN_BACKGROUND: u16 = 2048;
const MOST_BYTES: u32 = 1 << 20;

/// Answers the kernel.
pub struct FileSystem(pub Arc<Stage>);

fn empty(done: Result<()>, reply: ReplyEmpty) {
    match done {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(errno(error)),
    }
}

fn entry(found: Result<fuser::FileAttr>, reply: ReplyEntry) {
    match found {
        Ok(facts) => reply.entry(&BELIEVED, &facts, FIRST),
        Err(error) => reply.error(errno(error)),
    }
}

fn how(flags: i32) -> FopenFlags {
    if flags & libc::O_DIRECT == 0 {
        FopenFlags::FOPEN_KEEP_CACHE
    } else {
        FopenFlags::FOPEN_DIRECT_IO | FopenFlags::FOPEN_PARALLEL_DIRECT_WRITES
    }
}

impl FileSystem {
    fn found(&self, parent: INodeNo, name: &OsStr) -> Result<fuser::FileAttr> {
        self.0.alive()?;
        let (node, seen) = self.0.nodes.find(&*self.0.nodes.node(parent)?, name)?;
        Ok(facts(node.number, &seen))
    }

    /// Makes something in a folder and looks at it; it is of who asked.
    fn made(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        make: impl FnOnce(&Node) -> Result<()>,
    ) -> Result<fuser::FileAttr> {
        self.0.alive()?;
        let folder = self.0.nodes.node(parent)?;
        make(&folder)?;
        let (node, seen) = self.0.nodes.find(&folder, name)?;
        if request.uid() == seen.st_uid {
            return Ok(facts(node.number, &seen));
        }
        node.give(Some(request.uid()), Some(request.gid()))?;
        node.facts()
    }

    fn opened(&self, number: INodeNo, flags: i32) -> Result<FileHandle> {
        self.0.alive()?;
        let node = self.0.nodes.node(number)?;
        // The kernel reads what it writes in part, and knows itself where a file ends.
        let wanted = if flags & libc::O_ACCMODE == libc::O_RDONLY { OFlags::RDONLY } else { OFlags::RDWR };
        let file = node.open(wanted)?;
        let direct = flags & libc::O_DIRECT != 0;
        Ok(self.0.keep(Open { file, node, direct, durable: direct && flags & libc::O_DSYNC != 0 }))
    }

    fn at_names(&self, parent: INodeNo, act: impl FnOnce(&Node) -> Result<()>) -> Result<()> {
        self.0.alive()?;
        act(&*self.0.nodes.node(parent)?)
    }

    fn file_of(&self, number: INodeNo, handle: Option<FileHandle>) -> Result<Arc<File>> {
        match handle.and_then(|handle| self.0.open(handle).ok()) {
            Some(open) => Ok(Arc::new(open.file.try_clone().map_err(|_| rustix::io::Errno::MFILE)?)),
            None => Ok(Arc::new(self.0.nodes.node(number)?.open(OFlags::WRONLY)?)),
        }
    }

    fn changed(&self, number: INodeNo, handle: Option<FileHandle>, change: &FileChange) -> Result<fuser::FileAttr> {
        self.0.alive()?;
        let node = self.0.nodes.node(number)?;
        if let Some(size) = change.size {
            self.0.sized(&*self.file_of(number, handle)?, &node, size)?;
        }
        below::change(&node, change)?;
        node.facts()
    }
}

impl Filesystem for FileSystem {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        for wanted in [
            InitFlags::FUSE_WRITEBACK_CACHE,
            InitFlags::FUSE_ASYNC_DIO,
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_DIRECT_IO_ALLOW_MMAP,
        ] {
            // What the kernel does not know it does without.
            let _ = config.add_capabilities(wanted);
        }
        let _ = config.set_max_background(IN_BACKGROUND);
        let _ = config.set_congestion_threshold(IN_BACKGROUND);
        let _ = config.set_max_write(MOST_BYTES);
        Ok(())
    }

    fn lookup(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        entry(self.found(parent, name), reply);
    }

    fn forget(&self, _: &Request, number: INodeNo, times: u64) {
        self.0.nodes.forget(number, times);
    }

    fn getattr(&self, request: &Request, number: INodeNo, _: Option<FileHandle>, reply: ReplyAttr) {
        match self.0.nodes.node(number).and_then(|node| node.facts()) {
            Ok(facts) if self.0.is_probe(request.pid()) => self.0.answer_probe(facts, reply),
            Ok(facts) => match self.0.alive() {
                Ok(()) => reply.attr(&BELIEVED, &facts),
                Err(error) => reply.error(errno(error)),
            },
            Err(error) => reply.error(errno(error)),
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
        atime: Option<TimeOrNow>,
        mtime: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<FileHandle>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<BsdFileFlags>,
        reply: ReplyAttr,
    ) {
        match self.changed(number, handle, &FileChange { mode, uid, gid, size, atime, mtime }) {
            Ok(facts) => reply.attr(&BELIEVED, &facts),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn readlink(&self, _: &Request, number: INodeNo, reply: ReplyData) {
        match self.0.nodes.node(number).and_then(|node| rustix::fs::readlinkat(&node.place, "", Vec::new())) {
            Ok(to) => reply.data(to.as_bytes()),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn mknod(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let make = |folder: &Node| below::node(folder, name, mode & (!umask | libc::S_IFMT));
        entry(self.made(request, parent, name, make), reply);
    }

    fn mkdir(&self, request: &Request, parent: INodeNo, name: &OsStr, mode: u32, umask: u32, reply: ReplyEntry) {
        entry(self.made(request, parent, name, |folder| below::folder(folder, name, mode & !umask)), reply);
    }

    fn symlink(&self, request: &Request, parent: INodeNo, name: &OsStr, target: &Path, reply: ReplyEntry) {
        let make = |folder: &Node| rustix::fs::symlinkat(target, &folder.place, name);
        entry(self.made(request, parent, name, make), reply);
    }

    fn unlink(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(self.at_names(parent, |folder| below::unlink(folder, name, false)), reply);
    }

    fn rmdir(&self, _: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEmpty) {
        empty(self.at_names(parent, |folder| below::unlink(folder, name, true)), reply);
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
        let how = rustix::fs::RenameFlags::from_bits_retain(flags.bits());
        let done = self.at_names(parent, |from| {
            let to = self.0.nodes.node(new_parent)?;
            rustix::fs::renameat_with(&from.place, name, &to.place, new_name, how)
        });
        empty(done, reply);
    }

    fn link(&self, _: &Request, number: INodeNo, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let linked = self.at_names(parent, |folder| below::link(&*self.0.nodes.node(number)?, folder, name));
        entry(linked.and_then(|()| self.found(parent, name)), reply);
    }

    fn open(&self, _: &Request, number: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        match self.opened(number, flags.0) {
            Ok(handle) => reply.opened(handle, how(flags.0)),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn create(
        &self,
        request: &Request,
        parent: INodeNo,
        name: &OsStr,
        mode: u32,
        umask: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let exclusive = flags & libc::O_EXCL != 0;
        let make = |folder: &Node| below::file(folder, name, mode & !umask, exclusive);
        let made = self.made(request, parent, name, make);
        match made.and_then(|facts| Ok((facts, self.opened(facts.ino, flags)?))) {
            Ok((facts, handle)) => reply.created(&BELIEVED, &facts, FIRST, handle, how(flags)),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn read(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        at: u64,
        bytes: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.0.read(handle, at, bytes, reply);
    }

    fn write(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        at: u64,
        data: &[u8],
        _: WriteFlags,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyWrite,
    ) {
        self.0.write(handle, at, data, reply);
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        empty(self.0.alive(), reply);
    }

    fn release(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.0.close(handle);
        reply.ok();
    }

    fn fsync(&self, _: &Request, _: INodeNo, handle: FileHandle, data_only: bool, reply: ReplyEmpty) {
        self.0.sync(handle, data_only, reply);
    }

    fn fsyncdir(&self, _: &Request, number: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        self.0.sync_folder(number, reply);
    }

    fn readdir(&self, _: &Request, number: INodeNo, _: FileHandle, at: u64, mut reply: ReplyDirectory) {
        let names = self.0.alive().and_then(|()| below::names(&*self.0.nodes.node(number)?));
        match names {
            Err(error) => reply.error(errno(error)),
            Ok(names) => {
                let rest = names.iter().enumerate().skip(at as usize);
                for (n, (name, number, kind)) in rest {
                    if reply.add(INodeNo(*number), n as u64 + 1, *kind, name) {
                        break;
                    }
                }
                reply.ok();
            }
        }
    }

    fn statfs(&self, _: &Request, number: INodeNo, reply: ReplyStatfs) {
        match self.0.nodes.node(number).and_then(|node| rustix::fs::fstatvfs(&node.place)) {
            Ok(seen) => reply.statfs(
                seen.f_blocks,
                seen.f_bfree,
                seen.f_bavail,
                seen.f_files,
                seen.f_ffree,
                seen.f_bsize as u32,
                seen.f_namemax as u32,
                seen.f_frsize as u32,
            ),
            Err(error) => reply.error(errno(error)),
        }
    }

    fn fallocate(
        &self,
        _: &Request,
        _: INodeNo,
        handle: FileHandle,
        at: u64,
        bytes: u64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        empty(self.0.allocate(handle, at, bytes, mode), reply);
    }
}
