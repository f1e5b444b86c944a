//! Ground for the tests of paths: real files in folders that vanish afterwards.
// Each test binary uses its own part.
#![allow(dead_code)]

use std::{fs, path::Path};

use assay_path::{Arena, OpenParameters, Opened, PathError, Request, Segment, SegmentKind};
use assay_record::{Durability, DurabilityKind, Layout, PathKind, PathSpec, PollMode};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

pub const BLOCK: u32 = 4096;

/// Files with known content, and an arena.
pub struct Ground {
    pub folder: tempfile::TempDir,
    pub arena: Arena,
    pub segments: Vec<Segment>,
}

impl Ground {
    /// `files` files of `bytes` random bytes in a folder of its own on the disk of the build folder.
    pub fn new(files: usize, bytes: u64) -> Self {
        Self::in_folder(Path::new(env!("CARGO_TARGET_TMPDIR")), files, bytes)
    }

    pub fn in_folder(folder: &Path, files: usize, bytes: u64) -> Self {
        let folder = tempfile::tempdir_in(folder).expect("a folder for the test");
        let mut arena = Arena::new(1 << 20).expect("memory for the test");
        arena.fill_random(1);
        let segments = (0..files).map(|index| make_file(folder.path(), index, bytes)).collect();
        Self { folder, arena, segments }
    }

    pub fn parameters<'a>(&'a self, spec: &'a PathSpec, kind: DurabilityKind, writes: bool) -> OpenParameters<'a> {
        OpenParameters {
            spec,
            durability: Durability { kind, every: 1 },
            segments: &self.segments,
            writes,
            layout: Layout::Written,
            arena: &self.arena,
            depth: 1,
            batch: 1,
        }
    }

    pub fn open(&self, spec: &PathSpec, kind: DurabilityKind, writes: bool) -> Result<Opened, PathError> {
        Opened::open(&self.parameters(spec, kind, writes))
    }

    pub fn content(&self, file: usize) -> Vec<u8> {
        fs::read(&self.segments[file].path).expect("the file is there")
    }

    /// The arena's bytes, copied where no path uses them.
    pub fn memory(&self, at: usize, length: usize) -> Vec<u8> {
        self.arena.as_slice()[at..at + length].to_vec()
    }
}

fn make_file(folder: &Path, index: usize, bytes: u64) -> Segment {
    let path = folder.join(format!("data.{index}"));
    fs::write(&path, random(index as u64 + 7, bytes as usize)).expect("the file can be written");
    fs::File::open(&path).and_then(|file| file.sync_all()).expect("the file can be synced");
    Segment { path, kind: SegmentKind::File, base: 0, bytes }
}

pub fn random(seed: u64, bytes: usize) -> Vec<u8> {
    let mut data = vec![0; bytes];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut data);
    data
}

pub fn request(write: bool, offset: u64, length: u32, memory: usize) -> Request {
    Request { write, segment: 0, offset, length, memory, slot: 0 }
}

/// Every variant of a path that moves bytes, whether or not it is available here.
pub fn moving() -> Vec<(String, PathSpec)> {
    let mut all = Vec::new();
    for kind in [PathKind::Pread, PathKind::Libaio, PathKind::IoUring] {
        for direct in [false, true] {
            all.push((format!("{kind:?} direct={direct}"), PathSpec { direct, ..PathSpec::plain(kind) }));
        }
    }
    all.push(("Mmap".to_owned(), PathSpec::plain(PathKind::Mmap)));
    for (poll, direct) in [(PollMode::None, false), (PollMode::None, true), (PollMode::Sqpoll, true)] {
        let spec = PathSpec { direct, fixed: true, poll, ..PathSpec::plain(PathKind::IoUring) };
        all.push((format!("IoUring fixed direct={direct} poll={poll:?}"), spec));
    }
    all
}

/// Those of [`moving`] that open on `ground`; the others are named with their reason.
pub fn available(ground: &Ground) -> Vec<(String, PathSpec)> {
    let opens = |(name, spec): &(String, PathSpec)| match ground.open(spec, DurabilityKind::None, false) {
        Ok(_) => true,
        Err(error) => {
            eprintln!("skipped: {name}: {error}");
            false
        }
    };
    moving().into_iter().filter(opens).collect()
}

/// The means of durability that a path has.
pub fn durabilities(kind: PathKind) -> &'static [DurabilityKind] {
    match kind {
        PathKind::Mmap => &[DurabilityKind::None, DurabilityKind::Msync],
        _ => &[
            DurabilityKind::None,
            DurabilityKind::Fdatasync,
            DurabilityKind::Fsync,
            DurabilityKind::ODsync,
            DurabilityKind::RwfDsync,
        ],
    }
}

/// Whether the tests may mount and attach devices.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
