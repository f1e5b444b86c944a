//! Whether a target may be used, and the hold that keeps it so.

use std::{
    collections::BTreeSet,
    fs::File,
    io,
    os::unix::fs::{FileTypeExt, MetadataExt},
    path::{Path, PathBuf},
};

use assay_record::{Target, TargetKind};
use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};

use super::{InUse, Node, dax::DaxNode, failed, on_media, open_exclusive, refused, refused_by_kernel, uses};
use crate::{
    PathError, SegmentKind,
    facts::{Block, DeviceNumber, System},
    polled::Hold,
};

/// A target that was looked at. Devices that are written to are held exclusively until this is dropped.
#[derive(Debug)]
pub struct Admitted {
    /// Its members, in the order of the target; empty for `memory` and `null`.
    pub members: Vec<Member>,
}

/// A member of an admitted target.
#[derive(Debug)]
pub struct Member {
    /// Canonical path.
    pub path: PathBuf,
    /// Kind of a segment on it; [`SegmentKind::File`] for a folder.
    pub kind: SegmentKind,
    /// Size of a device or file, bytes; 0 for a folder.
    pub bytes: u64,
    /// The block device itself, for a block device.
    pub block: Option<Block>,
    /// Exclusive hold on a device that is written to.
    hold: Option<File>,
}

impl Admitted {
    /// Hands over the exclusive holds on its block devices.
    pub(crate) fn release(&mut self) -> Vec<Hold> {
        let block = self.members.iter_mut().filter(|member| member.kind == SegmentKind::BlockDevice);
        block.filter_map(|member| Some(Hold { path: member.path.clone(), _file: member.hold.take()? })).collect()
    }
}

/// Looks at every member of a target and says whether it may be read (`writes` false) or read and written.
///
/// # Errors
/// With what was seen and what to do: not there, in use, not confirmed with `--serial` and `--yes-destroy`, read-only.
pub fn admit(target: &Target, writes: bool) -> Result<Admitted, PathError> {
    let member = |(index, path): (usize, &String)| {
        let path = absolute(Path::new(path))?;
        match target.kind {
            TargetKind::Folder => folder(path, writes),
            TargetKind::File => file(path, writes),
            TargetKind::BlockDevice => block_device(target, index, path, writes),
            TargetKind::DeviceDax => device_dax(target, index, path, writes),
            TargetKind::Memory | TargetKind::Null | TargetKind::Twin => {
                Ok(Member::plain(path.to_owned(), SegmentKind::Null, 0))
            }
        }
    };
    if matches!(target.kind, TargetKind::Memory | TargetKind::Null | TargetKind::Twin) {
        return Ok(Admitted { members: Vec::new() });
    }
    if target.members.is_empty() {
        return Err(refused(Path::new(&target.id), "this target has no members", "name at least one path with --on"));
    }
    no_member_twice(target)?;
    let members = target.members.iter().enumerate().map(member).collect::<Result<Vec<_>, _>>()?;
    Ok(Admitted { members })
}

impl Member {
    fn plain(path: PathBuf, kind: SegmentKind, bytes: u64) -> Self {
        Self { path, kind, bytes, block: None, hold: None }
    }
}

fn absolute(path: &Path) -> Result<&Path, PathError> {
    let fix = "give the path from the root on";
    if path.is_absolute() { Ok(path) } else { Err(refused(path, "its path is not absolute", fix)) }
}

/// Folders may be shared by members; a device or file that is two members would overwrite itself.
///
/// Asked before any is held, since a second hold would be refused as if by another user.
fn no_member_twice(target: &Target) -> Result<(), PathError> {
    let mut seen = BTreeSet::new();
    for path in target.members.iter().map(Path::new) {
        let Some(thing) = thing(path) else { continue };
        if !seen.insert(thing) {
            return Err(refused(path, "it is named twice in one target", "name every device once"));
        }
    }
    Ok(())
}

/// What a path stands for, whatever it is called: the number of a device, or the file system and inode of a file.
fn thing(path: &Path) -> Option<(u64, u64)> {
    let facts = path.metadata().ok().filter(|facts| !facts.is_dir())?;
    let kind = facts.file_type();
    let device = kind.is_block_device() || kind.is_char_device();
    Some(if device { (facts.rdev(), 0) } else { (facts.dev(), facts.ino()) })
}

fn folder(path: &Path, writes: bool) -> Result<Member, PathError> {
    let at = path.canonicalize().map_err(|source| failed("opening", path, source))?;
    // A file system that shut itself down answers with an error, which is not to be taken for another kind of file.
    let facts = at.metadata().map_err(|source| failed("looking at", path, source))?;
    if !facts.is_dir() {
        return Err(refused(path, "it is no folder", "name a folder, or say what it is with the target's kind"));
    }
    if writes {
        let flags = statvfs(&at).map_err(|errno| failed("looking at", path, errno.into()))?.f_flag;
        if flags.contains(StatVfsMountFlags::RDONLY) {
            return Err(failed("writing to", path, io::Error::from_raw_os_error(libc::EROFS)));
        }
        access(&at, Access::WRITE_OK | Access::EXEC_OK).map_err(|errno| failed("writing to", path, errno.into()))?;
    }
    Ok(Member::plain(at, SegmentKind::File, 0))
}

fn file(path: &Path, writes: bool) -> Result<Member, PathError> {
    let at = path.canonicalize().map_err(|source| failed("opening", path, source))?;
    let facts = at.metadata().map_err(|source| failed("looking at", path, source))?;
    if !facts.is_file() {
        return Err(refused(
            path,
            "it is no regular file",
            "name a regular file, or say what it is with the target's kind",
        ));
    }
    if writes {
        let fix = "name its folder as target: Assay writes only to files that it made";
        return Err(refused(path, "it is somebody's file and would be written to", fix));
    }
    File::open(&at).map_err(|source| failed("opening", path, source))?;
    Ok(Member::plain(at, SegmentKind::File, facts.len()))
}

fn block_device(target: &Target, index: usize, path: &Path, writes: bool) -> Result<Member, PathError> {
    let system = System::default();
    let node = Node::resolve(&system, path)?;
    let hold = if writes { Some(hold_for_writes(&system, target, index, path, &node)?) } else { None };
    if !writes {
        File::open(&node.path).map_err(|source| failed("opening", path, source))?;
    }
    let (bytes, kind) = (node.block.bytes(), SegmentKind::BlockDevice);
    Ok(Member { path: node.path, kind, bytes, block: Some(node.block), hold })
}

/// The hold comes first: whatever is seen after it stays as it is.
fn hold_for_writes(
    system: &System,
    target: &Target,
    index: usize,
    path: &Path,
    node: &Node,
) -> Result<File, PathError> {
    let hold = open_exclusive(&node.path);
    let mut found = used(system, path, node)?;
    if let Err(error) = &hold {
        found.push(refused_by_kernel(&node.path, error));
    }
    if node.block.attribute("ro") == "1" {
        found.push(InUse::new("it is read-only", "name a device that can be written to"));
    }
    free(path, &found)?;
    confirmed(target, index, path, &node.block.identity(system))?;
    let hold = hold.map_err(|source| failed("opening", path, source))?;
    same_device(path, &hold, node.block.number)?;
    Ok(hold)
}

/// Holds a block device exclusively that nobody uses, for one who takes it from the kernel whether to read or to write.
pub(crate) fn hold_unused(system: &System, path: &Path) -> Result<File, PathError> {
    let node = Node::resolve(system, path)?;
    let hold = open_exclusive(&node.path);
    let mut found = used(system, path, &node)?;
    if let Err(error) = &hold {
        found.push(refused_by_kernel(&node.path, error));
    }
    free(path, &found)?;
    let hold = hold.map_err(|source| failed("opening", path, source))?;
    same_device(path, &hold, node.block.number)?;
    Ok(hold)
}

/// Looks again at a block device that is held.
pub(crate) fn still_unused(system: &System, path: &Path) -> Result<(), PathError> {
    let node = Node::resolve(system, path)?;
    free(path, &used(system, path, &node)?)
}

fn used(system: &System, path: &Path, node: &Node) -> Result<Vec<InUse>, PathError> {
    let mut found = uses(system, &node.block).map_err(|source| failed("checking", path, source))?;
    found.extend(on_media(system, node).map_err(|source| failed("reading", path, source))?);
    Ok(found)
}

/// The node may have been replaced between looking it up and opening it.
fn same_device(path: &Path, hold: &File, number: DeviceNumber) -> Result<(), PathError> {
    let facts = hold.metadata().map_err(|source| failed("looking at", path, source))?;
    let fix = "run it again when nobody changes device nodes";
    if facts.rdev() == number.0 { Ok(()) } else { Err(refused(path, "its node was replaced meanwhile", fix)) }
}

fn free(path: &Path, found: &[InUse]) -> Result<(), PathError> {
    if found.is_empty() {
        return Ok(());
    }
    let reasons: Vec<_> = found.iter().map(|use_| use_.reason.as_str()).collect();
    let mut fixes: Vec<_> = found.iter().map(|use_| use_.fix.as_str()).collect();
    fixes.dedup();
    Err(refused(path, reasons.join("; "), fixes.join("; ")))
}

/// The user named the device twice, by path and by serial number, and said that it may be destroyed.
fn confirmed(target: &Target, index: usize, path: &Path, identity: &str) -> Result<(), PathError> {
    let ask = format!("if its content may be destroyed, add --serial {identity} --yes-destroy");
    if !target.yes_destroy {
        return Err(refused(path, "its content would be destroyed, and that was not confirmed", ask));
    }
    match target.serials.get(index).map(|serial| serial.trim()) {
        Some(serial) if serial == identity && !identity.is_empty() => Ok(()),
        Some(serial) => Err(refused(path, format!("its serial number is {identity}, not {serial}"), ask)),
        None => Err(refused(path, "no serial number was given to confirm it", ask)),
    }
}

fn device_dax(target: &Target, index: usize, path: &Path, writes: bool) -> Result<Member, PathError> {
    let system = System::default();
    let node = DaxNode::resolve(&system, path)?;
    let hold = if writes {
        free(path, &node.uses(&system))?;
        confirmed(target, index, path, &node.identity())?;
        Some(node.hold()?)
    } else {
        None
    };
    Ok(Member { path: node.path, kind: SegmentKind::DeviceDax, bytes: node.bytes, block: None, hold })
}

#[cfg(test)]
mod tests;
