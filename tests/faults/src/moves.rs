//! Whether what a path moves arrives: `assay-faultfs moves PATH buffered|direct FILE`, for a file of at least 128 KiB.
//!
//! Writes bytes that name their place, reads them again by the same path, and says where the file or the memory has
//! others. The path `kernel` is one operation of `io_uring` without any code of Assay's: what the kernel itself does.

use std::{
    fs::OpenOptions,
    io,
    os::{
        fd::AsRawFd,
        unix::fs::{FileExt, OpenOptionsExt},
    },
    path::Path,
};

use assay_path::{Arena, OpenParameters, Opened, Request, Segment, SegmentKind};
use assay_record::{Durability, DurabilityKind, Layout, PathKind, PathSpec};
use io_uring::{IoUring, opcode, types::Fd};

const BYTES: u32 = 64 << 10;
const AT: u64 = 8192;

/// A word for the answer: `whole`, or what is wrong.
pub fn moved(path: &str, direct: bool, file: &Path) -> io::Result<String> {
    let mut arena = Arena::new(2 * BYTES as usize)?;
    let (sent, received) = arena.as_mut_slice().split_at_mut(BYTES as usize);
    sent.iter_mut().zip(0_u32..).for_each(|(byte, at)| *byte = (at / 512) as u8 + 1);
    received.fill(0);
    match kind(path) {
        Some(kind) => by_path(kind, direct, file, &arena)?,
        None => by_kernel(direct, file, &arena)?,
    }
    let mut there = vec![0; BYTES as usize];
    OpenOptions::new().read(true).open(file)?.read_exact_at(&mut there, AT)?;
    let (sent, received) = arena.as_slice().split_at(BYTES as usize);
    let wrong = |seen: &[u8]| sent.iter().zip(seen).position(|(wanted, seen)| wanted != seen);
    Ok(match (wrong(&there), wrong(received)) {
        (None, None) => "whole".to_owned(),
        (Some(at), _) => format!("written to a wrong place: byte {at} of {BYTES}"),
        (None, Some(at)) => format!("read from a wrong place: byte {at} of {BYTES}"),
    })
}

fn kind(path: &str) -> Option<PathKind> {
    Some(match path {
        "pread" => PathKind::Pread,
        "mmap" => PathKind::Mmap,
        "libaio" => PathKind::Libaio,
        "io_uring" => PathKind::IoUring,
        _ => return None,
    })
}

fn by_path(kind: PathKind, direct: bool, file: &Path, arena: &Arena) -> io::Result<()> {
    let segment = Segment { path: file.to_owned(), kind: SegmentKind::File, base: 0, bytes: AT + u64::from(BYTES) };
    let parameters = OpenParameters {
        spec: &PathSpec { direct, ..PathSpec::plain(kind) },
        durability: Durability { kind: DurabilityKind::None, every: 1 },
        segments: &[segment],
        writes: true,
        layout: Layout::Written,
        arena,
        depth: 1,
        batch: 1,
    };
    let mut path = Opened::open(&parameters).map_err(io::Error::other)?;
    let write = Request { write: true, segment: 0, offset: AT, length: BYTES, memory: 0, slot: 0 };
    path.operate(write)?;
    path.operate(Request { write: false, memory: BYTES as usize, ..write })
}

/// One write and one read; a completion that says less than all is an error here.
fn by_kernel(direct: bool, file: &Path, arena: &Arena) -> io::Result<()> {
    let flags = if direct { libc::O_DIRECT } else { 0 };
    let file = OpenOptions::new().read(true).write(true).custom_flags(flags).open(file)?;
    let (fd, mut ring) = (Fd(file.as_raw_fd()), IoUring::new(2)?);
    let write = opcode::Write::new(fd, arena.start(), BYTES).offset(AT).build();
    let into = arena.start().wrapping_add(BYTES as usize);
    let read = opcode::Read::new(fd, into, BYTES).offset(AT).build();
    for entry in [write, read] {
        // SAFETY: the arena holds both buffers, and what is pushed is waited for.
        unsafe { ring.submission().push(&entry) }.map_err(io::Error::other)?;
        ring.submit_and_wait(1)?;
        let result = ring.completion().next().map_or(0, |completion| completion.result());
        if result != BYTES as i32 {
            return Err(io::Error::other(format!("the completion says {result}")));
        }
    }
    Ok(())
}
