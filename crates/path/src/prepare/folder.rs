//! Data sets as files in scratch folders.

use std::{
    collections::BTreeMap,
    fs::{File, OpenOptions},
    io,
    os::unix::fs::{MetadataExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use assay_record::{Content, Job, Layout, TargetKind};
use rustix::fs::{FallocateFlags, fallocate};

use super::{
    Work,
    fill::Filler,
    memory,
    shape::{Shape, emulated_on},
    trim, writer,
};
use crate::{
    PathError, Scratch, Segment, SegmentKind,
    extents::{self, Survey},
    guard::Admitted,
    ledger::{self, Ledger},
    pmem,
};

/// One scratch folder with its ledger.
#[derive(Debug)]
struct ScratchFolder {
    scratch: Scratch,
    ledger: Ledger,
    /// Files made by this run.
    fresh: Vec<String>,
}

/// All scratch folders of a job: one in each folder, however many members name it.
#[derive(Debug)]
pub(super) struct Places {
    all: BTreeMap<PathBuf, ScratchFolder>,
    /// Members of each folder target, canonical.
    members: BTreeMap<String, Vec<PathBuf>>,
    keep: bool,
}

impl Places {
    pub(super) fn open(job: &Job, admitted: &BTreeMap<String, Admitted>) -> Result<Self, PathError> {
        let mut places = Self { all: BTreeMap::new(), members: BTreeMap::new(), keep: job.keep_scratch };
        for target in job.targets.iter().filter(|target| target.kind == TargetKind::Folder) {
            let Some(known) = admitted.get(&target.id) else { continue };
            let folders: Vec<_> = known.members.iter().map(|member| member.path.clone()).collect();
            for folder in &folders {
                places.open_one(folder, &job.scratch)?;
            }
            places.members.insert(target.id.clone(), folders);
        }
        Ok(places)
    }

    fn open_one(&mut self, folder: &Path, name: &str) -> Result<(), PathError> {
        if self.all.contains_key(folder) {
            return Ok(());
        }
        let mut scratch = Scratch::open(folder, name)?;
        // What an earlier run left ready must not go because this run ends early.
        let ledger = Ledger::load(scratch.path());
        scratch.keep(self.keep && !ledger.is_empty());
        for file in Ledger::own_files() {
            scratch.claim(file)?;
        }
        self.all.insert(folder.to_owned(), ScratchFolder { scratch, ledger, fresh: Vec::new() });
        Ok(())
    }

    /// The scratch folder inside a folder.
    pub(super) fn scratch_of(&self, folder: &Path) -> Option<&Path> {
        self.all.get(folder).map(|place| place.scratch.path())
    }

    /// Makes a data set's files; says whether the `pmem` path is emulated on them.
    pub(super) fn make(
        &mut self,
        shape: &Shape<'_>,
        work: &mut Work<'_, '_>,
    ) -> Result<(Vec<Vec<Segment>>, bool), PathError> {
        let folders = self.members[&shape.target.id].clone();
        let mut emulated = false;
        for (file, member) in shape.parts() {
            let place = self.all.get_mut(&folders[member as usize]).expect("opened for every member");
            emulated |= place.make(shape, file, member, work)?;
        }
        let path = |file, member: u64| {
            let place = &self.all[&folders[member as usize]];
            place.scratch.path().join(shape.file_name(file, member))
        };
        Ok((shape.segments(|file, member| (path(file, member), SegmentKind::File, 0)), emulated))
    }

    /// Everything is ready: notes which stamped files may be written to now, and keeps the folders if they are to stay.
    pub(super) fn settle(&mut self, shapes: &[Shape<'_>]) -> Result<(), PathError> {
        for shape in shapes.iter().filter(|shape| shape.writable && shape.dataset.content == Content::Stamped) {
            let Some(folders) = self.members.get(&shape.target.id) else { continue };
            for (file, member) in shape.parts() {
                let place = self.all.get_mut(&folders[member as usize]).expect("opened for every member");
                place.ledger.writing(&shape.file_name(file, member), shape.keeps_stamps);
            }
        }
        for place in self.all.values_mut() {
            place.scratch.keep(self.keep);
            place.save()?;
        }
        Ok(())
    }

    /// Removes what this run made. After an interrupt finished files stay, if the folder is to stay.
    pub(super) fn give_up(&mut self, error: &PathError) {
        let interrupted = matches!(error, PathError::Interrupted { .. });
        for place in self.all.values_mut() {
            if !(self.keep && interrupted) {
                place.remove_fresh();
            }
            place.scratch.keep(self.keep && !place.ledger.is_empty());
        }
    }
}

impl Drop for Places {
    /// The run has ended: stamped files are whole again.
    fn drop(&mut self) {
        if !self.keep || std::thread::panicking() {
            return;
        }
        for place in self.all.values_mut().filter(|place| !place.ledger.is_empty()) {
            place.ledger.nothing_is_written();
            // A ledger that cannot be written leaves files that are prepared again.
            let _ = place.save();
        }
    }
}

impl ScratchFolder {
    fn save(&self) -> Result<(), PathError> {
        let failed =
            |source| PathError::Io { action: "noting prepared files in", path: self.scratch.path().into(), source };
        self.ledger.save(self.scratch.path()).map_err(failed)
    }

    fn remove_fresh(&mut self) {
        for name in std::mem::take(&mut self.fresh) {
            self.ledger.forget(&name);
            let _ = self.scratch.remove(&name);
        }
        let _ = self.save();
    }

    fn make(&mut self, shape: &Shape<'_>, file: u32, member: u64, work: &mut Work<'_, '_>) -> Result<bool, PathError> {
        let name = shape.file_name(file, member);
        let path = self.scratch.path().join(&name);
        if shape.dataset.layout == Layout::AsFound {
            self.check_as_found(&path, shape.bytes_on(member))?;
        } else if !usable(shape, self.scratch.path(), &self.ledger, file, member) || !self.scratch.lists(&name) {
            self.make_anew(shape, file, member, &name, work)?;
        }
        let there = shape.dataset.layout != Layout::Grow;
        if shape.pmem && there { emulated_on(&path) } else { Ok(shape.pmem && self.emulated_here()?) }
    }

    fn check_as_found(&self, path: &Path, bytes: u64) -> Result<(), PathError> {
        let failed = |source| PathError::Io { action: "opening", path: path.to_owned(), source };
        let seen = path.metadata().map_err(failed)?.len();
        if seen >= bytes {
            return Ok(());
        }
        let reason = format!("it has {seen} bytes where the data set has {bytes}");
        let fix = "prepare it with layout \"written\" first".to_owned();
        Err(PathError::Refused { path: path.to_owned(), reason, fix })
    }

    fn make_anew(
        &mut self,
        shape: &Shape<'_>,
        file: u32,
        member: u64,
        name: &str,
        work: &mut Work<'_, '_>,
    ) -> Result<(), PathError> {
        let path = self.scratch.claim(name)?;
        self.ledger.forget(name);
        self.scratch.remove(name)?;
        if shape.trim {
            trim::settle(self.scratch.path())?;
        }
        self.fresh.push(name.to_owned());
        if shape.pmem {
            self.emulated_here()?;
        }
        let made = match shape.dataset.layout {
            Layout::Grow | Layout::AsFound => Ok(()),
            Layout::Preallocated => preallocate(&path, shape.bytes_on(member)),
            Layout::Written => write(shape, file, member, &path, work),
        };
        if let Err(error) = made {
            let _ = self.scratch.remove(name);
            return Err(error);
        }
        if shape.dataset.layout == Layout::Written {
            let inode = path.metadata().map_or(0, |facts| facts.ino());
            self.ledger.note(name, preparation(shape, member), inode);
            self.save()?;
        }
        Ok(())
    }

    /// Whether the `pmem` path is emulated on files of this folder. Asked before anything large is written.
    fn emulated_here(&mut self) -> Result<bool, PathError> {
        const PROBE: &str = "probe.data";
        let path = self.scratch.claim(PROBE)?;
        let failed = |source| PathError::Io { action: "making", path: path.clone(), source };
        let file = create(&path).map_err(failed)?;
        let facts = rustix::fs::fstatfs(&file).map_err(|errno| failed(errno.into()))?;
        file.set_len(facts.f_bsize.max(4096) as u64).map_err(failed)?;
        let answer = emulated_on(&path);
        self.scratch.remove(PROBE)?;
        answer
    }
}

fn preparation(shape: &Shape<'_>, member: u64) -> ledger::Prepared {
    let stamped = shape.dataset.content == Content::Stamped;
    ledger::Prepared {
        bytes: shape.bytes_on(member),
        content: shape.dataset.content,
        stamp_bytes: shape.stamp_bytes,
        stripe_bytes: if stamped { shape.stripe_bytes } else { 0 },
        members: if stamped { shape.members } else { 0 },
    }
}

/// Whether an earlier run left a file just as it is needed: noted, the same file, as long, and nothing punched into it.
pub(super) fn usable(shape: &Shape<'_>, scratch: &Path, ledger: &Ledger, file: u32, member: u64) -> bool {
    if shape.dataset.layout != Layout::Written || shape.anew {
        return false;
    }
    let name = shape.file_name(file, member);
    let path = scratch.join(&name);
    let Ok(facts) = path.symlink_metadata() else { return false };
    let bytes = shape.bytes_on(member);
    let noted = ledger.has(&name, &preparation(shape, member), facts.ino());
    noted && facts.is_file() && facts.len() >= bytes && is_full(shape, &path, bytes).unwrap_or(false)
}

fn is_full(shape: &Shape<'_>, path: &Path, bytes: u64) -> io::Result<bool> {
    let seen = extents::survey(&File::open(path)?, 0..bytes)?;
    Ok(shape.dataset.content == Content::Zero || (seen.holes == 0 && seen.unwritten == 0))
}

fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(true).truncate(true).mode(0o600).custom_flags(libc::O_NOFOLLOW).open(path)
}

fn preallocate(path: &Path, bytes: u64) -> Result<(), PathError> {
    let failed = |source| PathError::Io { action: "allocating", path: path.to_owned(), source };
    let file = create(path).map_err(failed)?;
    if let Err(errno) = fallocate(&file, FallocateFlags::empty(), 0, bytes) {
        return Err(cannot_allocate(path, errno));
    }
    file.sync_all().map_err(failed)?;
    let seen = extents::survey(&file, 0..bytes).map_err(failed)?;
    if !seen.supported || seen.unwritten == bytes {
        return Ok(());
    }
    Err(unexpected(path, &seen, "to be allocated and unwritten"))
}

fn cannot_allocate(path: &Path, errno: rustix::io::Errno) -> PathError {
    if errno != rustix::io::Errno::OPNOTSUPP {
        return PathError::Io { action: "allocating", path: path.to_owned(), source: errno.into() };
    }
    PathError::Unavailable {
        what: format!("preallocating {}", path.display()),
        reason: "its file system has no fallocate".to_owned(),
        fix: "use layout \"written\" or \"grow\", or another file system".to_owned(),
    }
}

fn write(shape: &Shape<'_>, file: u32, member: u64, path: &Path, work: &mut Work<'_, '_>) -> Result<(), PathError> {
    let failed = |source| PathError::Io { action: "writing", path: path.to_owned(), source };
    let (bytes, filler) = (shape.bytes_on(member), Filler::new(shape, file, member));
    let created = create(path).map_err(failed)?;
    if pmem::only_mapped(&created).map_err(failed)? {
        let grain = rustix::fs::fstatfs(&created).map_err(|errno| failed(errno.into()))?.f_bsize as u64;
        created.set_len(bytes.next_multiple_of(grain)).map_err(failed)?;
        fallocate(&created, FallocateFlags::empty(), 0, bytes).map_err(|errno| failed(errno.into()))?;
        return memory::fill(&segment(path, bytes), filler, work);
    }
    // Space first: a full file system is found before anything is written, and the file lies in few pieces.
    match fallocate(&created, FallocateFlags::empty(), 0, bytes) {
        Ok(()) | Err(rustix::io::Errno::OPNOTSUPP) => {}
        Err(errno) => return Err(failed(errno.into())),
    }
    writer::write(path, 0, bytes, filler, work)?;
    verify(shape, path, bytes)
}

fn segment(path: &Path, bytes: u64) -> Segment {
    Segment { path: path.to_owned(), kind: SegmentKind::File, base: 0, bytes }
}

/// A file of zeros may become a hole on a file system that compresses; that is what such a data set is there to show.
fn verify(shape: &Shape<'_>, path: &Path, bytes: u64) -> Result<(), PathError> {
    let failed = |source| PathError::Io { action: "surveying", path: path.to_owned(), source };
    let seen = extents::survey(&File::open(path).map_err(failed)?, 0..bytes).map_err(failed)?;
    if shape.dataset.content == Content::Zero || (seen.holes == 0 && seen.unwritten == 0) {
        return Ok(());
    }
    Err(unexpected(path, &seen, "to be written"))
}

fn unexpected(path: &Path, seen: &Survey, wanted: &str) -> PathError {
    PathError::Refused {
        path: path.to_owned(),
        reason: format!(
            "all of it was {wanted}, and its file system shows {} bytes written, {} unwritten, {} of holes",
            seen.written, seen.unwritten, seen.holes
        ),
        fix: "use another file system, or switch off what turns its data into holes (compression, deduplication)"
            .to_owned(),
    }
}
