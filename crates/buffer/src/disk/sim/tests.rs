use std::sync::Arc;

use rustix::io::Errno;

use super::*;
use crate::disk::{Action, Disk, DiskRequest, Memory, ONE, Queue};

struct User {
    memory: Arc<Memory>,
    queue: Box<dyn Queue>,
}

impl User {
    fn new(disk: &SimDisk) -> Self {
        let memory = Arc::new(Memory::new(1 << 16).unwrap());
        let queue = disk.queue(8, &memory).unwrap();
        Self { memory, queue }
    }

    fn reap(&mut self) -> Result<(), Errno> {
        let mut done = Vec::new();
        self.queue.reap(ONE, &mut done).unwrap();
        done[0].result
    }

    fn push(&mut self, action: Action, offset: u64, bytes: u32) {
        // SAFETY: nobody else has the memory.
        unsafe { self.queue.push(DiskRequest { action, offset, memory: 0, bytes, token: 0 }) }
    }

    fn write(&mut self, offset: u64, bytes: u32, with: u8) -> Result<(), Errno> {
        // SAFETY: inside of the memory, nothing in flight.
        unsafe { self.memory.start().write_bytes(with, bytes as usize) };
        self.push(Action::Write, offset, bytes);
        self.reap()
    }

    fn flush(&mut self) -> Result<(), Errno> {
        self.push(Action::Flush, 0, 0);
        self.reap()
    }

    fn read(&mut self, offset: u64, bytes: u32) -> Vec<u8> {
        self.push(Action::Read, offset, bytes);
        self.reap().unwrap();
        // SAFETY: inside of the memory, nothing in flight.
        unsafe { std::slice::from_raw_parts(self.memory.start(), bytes as usize) }.to_vec()
    }
}

fn disk() -> Arc<SimDisk> {
    World::new(1).add("disk", 1 << 20)
}

fn after(disk: &SimDisk, fate: Fate) -> User {
    User::new(&disk.world().image().after(fate).disk(0))
}

#[test]
fn only_a_flush_makes_durable() {
    let disk = disk();
    let mut user = User::new(&disk);
    user.write(4096, 4096, 1).unwrap();
    user.flush().unwrap();
    user.write(4096, 4096, 2).unwrap();
    assert_eq!(user.read(4096, 512), [2; 512]);
    assert_eq!(after(&disk, Fate::Lost).read(4096, 4096), [1; 4096]);
    assert_eq!(after(&disk, Fate::Kept).read(4096, 4096), [2; 4096]);
    user.flush().unwrap();
    assert_eq!(after(&disk, Fate::Lost).read(4096, 4096), [2; 4096]);
}

#[test]
fn a_flush_does_not_cover_what_was_not_reaped_before_it() {
    let disk = disk();
    let mut user = User::new(&disk);
    user.push(Action::Write, 0, 512);
    user.push(Action::Flush, 0, 0);
    user.reap().unwrap();
    while user.queue.in_flight() > 0 {
        user.reap().unwrap();
    }
    assert_eq!(disk.world().image().unsettled(), 1);
    user.flush().unwrap();
    assert_eq!(disk.world().image().unsettled(), 0);
}

#[test]
fn torn_writes_are_torn_between_sectors_and_by_seed() {
    let disk = disk();
    let mut user = User::new(&disk);
    user.write(0, 4096, 1).unwrap();
    user.flush().unwrap();
    user.write(0, 4096, 2).unwrap();
    let mut seen = std::collections::HashSet::new();
    for seed in 0..64 {
        let found = after(&disk, Fate::Torn(seed)).read(0, 4096);
        assert!(found.chunks(512).all(|sector| sector == [1; 512] || sector == [2; 512]), "seed {seed}");
        assert_eq!(found, after(&disk, Fate::Torn(seed)).read(0, 4096), "seed {seed}");
        seen.insert(found);
    }
    assert!(seen.len() > 10, "{}", seen.len());
    for seed in 0..64 {
        let found = after(&disk, Fate::Reordered(seed)).read(0, 4096);
        assert!(found == [1; 4096] || found == [2; 4096], "seed {seed}");
    }
}

#[test]
fn a_failed_flush_is_not_mended_by_the_next_one() {
    let disk = disk();
    let mut user = User::new(&disk);
    user.write(0, 512, 1).unwrap();
    let next = disk.world().ios();
    disk.world().fail(next, Errno::IO, false);
    assert_eq!(user.flush(), Err(Errno::IO));
    user.flush().unwrap();
    assert_eq!(after(&disk, Fate::Lost).read(0, 512), [0; 512]);
    assert_eq!(after(&disk, Fate::Kept).read(0, 512), [1; 512]);
}

#[test]
fn the_io_that_was_named_fails_and_a_full_disk_fails_writes_only() {
    let disk = disk();
    let mut user = User::new(&disk);
    disk.world().fail(1, Errno::IO, false);
    user.write(0, 512, 1).unwrap();
    assert_eq!(user.write(0, 512, 2), Err(Errno::IO));
    user.write(0, 512, 3).unwrap();
    disk.world().fail_writes(0, Errno::NOSPC, true);
    user.flush().unwrap();
    assert_eq!(user.write(0, 512, 4), Err(Errno::NOSPC));
    assert_eq!(user.write(0, 512, 4), Err(Errno::NOSPC));
    assert_eq!(user.read(0, 512), [3; 512]);
    disk.world().heal();
    user.write(0, 512, 4).unwrap();
}

#[test]
fn power_is_off_from_the_io_that_was_named() {
    let disk = disk();
    let mut user = User::new(&disk);
    user.write(0, 512, 1).unwrap();
    user.flush().unwrap();
    disk.world().cut_power(3);
    user.write(0, 512, 2).unwrap();
    assert_eq!(user.flush(), Err(Errno::IO));
    assert_eq!(user.write(0, 512, 3), Err(Errno::IO));
    assert_eq!(after(&disk, Fate::Lost).read(0, 512), [1; 512]);
    assert_eq!(after(&disk, Fate::Kept).read(0, 512), [2; 512]);
}

#[test]
fn pictures_are_kept_before_each_io_with_their_notes() {
    let disk = disk();
    let mut user = User::new(&disk);
    disk.world().keep_images(1);
    for round in 1..4 {
        user.write(0, 512, round).unwrap();
        user.flush().unwrap();
        disk.world().mark(u64::from(round));
    }
    let images = disk.world().take_images();
    assert_eq!(images.iter().map(|image| image.mark).collect::<Vec<_>>(), [0, 0, 1, 1, 2, 2]);
    for image in images {
        let lost = User::new(&image.after(Fate::Lost).disk(0)).read(0, 512)[0];
        assert_eq!(u64::from(lost), image.mark);
    }
}

#[test]
fn a_flipped_bit_stays_and_a_lying_disk_keeps_nothing() {
    let disk = disk();
    let mut user = User::new(&disk);
    user.write(512, 512, 0).unwrap();
    disk.world().flip(0, 512 * 8 + 9);
    assert_eq!(user.read(512, 512)[1], 2);
    assert_eq!(after(&disk, Fate::Lost).read(512, 512)[1], 2);
    disk.world().lie();
    user.write(0, 512, 7).unwrap();
    user.flush().unwrap();
    assert_eq!(after(&disk, Fate::Lost).read(0, 512), [0; 512]);
    assert_eq!(disk.world().written(0), [(0, 4096)]);
}

#[test]
fn requests_that_do_not_fit_are_refused() {
    let disk = disk();
    let mut user = User::new(&disk);
    for (offset, bytes) in [(1 << 20, 512), (100, 512), (0, 100), (0, 1 << 17)] {
        user.push(Action::Read, offset, bytes);
        assert_eq!(user.reap(), Err(Errno::INVAL), "{offset} {bytes}");
    }
}
