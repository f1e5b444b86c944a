//! Files, folders and symbolic links.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    path::PathBuf,
    time::{Duration, SystemTime},
};

use fuser::{FileAttr, FileType, INodeNo};

use crate::body::{Body, PAGE};

/// How long the kernel believes an answer: not at all, since a crash changes what is there.
pub const BELIEVED: Duration = Duration::ZERO;

pub enum Content {
    File(Body),
    Folder(BTreeMap<OsString, u64>),
    Link(PathBuf),
}

pub struct Node {
    pub content: Content,
    /// The name that it was made with.
    pub name: String,
    pub mode: u32,
    pub owner: (u32, u32),
    pub changed: SystemTime,
    pub opened: u64,
    pub named: bool,
}

impl Node {
    pub fn new(content: Content, name: String, mode: u32, owner: (u32, u32)) -> Self {
        Self { content, name, mode: mode & 0o7777, owner, changed: SystemTime::now(), opened: 0, named: true }
    }

    pub fn kind(&self) -> FileType {
        match self.content {
            Content::File(_) => FileType::RegularFile,
            Content::Folder(_) => FileType::Directory,
            Content::Link(_) => FileType::Symlink,
        }
    }

    pub fn pages(&self) -> u64 {
        if let Content::File(body) = &self.content { body.pages() } else { 0 }
    }

    pub fn facts(&self, number: u64) -> FileAttr {
        let size = match &self.content {
            Content::File(body) => body.size(),
            Content::Folder(_) => PAGE,
            Content::Link(to) => to.as_os_str().len() as u64,
        };
        FileAttr {
            ino: INodeNo(number),
            size,
            blocks: self.pages() * PAGE / 512,
            atime: self.changed,
            mtime: self.changed,
            ctime: self.changed,
            crtime: self.changed,
            kind: self.kind(),
            perm: self.mode as u16,
            nlink: u32::from(self.named),
            uid: self.owner.0,
            gid: self.owner.1,
            rdev: 0,
            blksize: PAGE as u32,
            flags: 0,
        }
    }
}
