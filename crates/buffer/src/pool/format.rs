//! Making a pool on a disk, and opening one.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64},
};

use super::{
    Config, FRAMES_AT_LEAST, Grouping, Map, Numbers, Pool,
    atomics::ZeroedArray,
    dead_at_most,
    frames::Frames,
    gate::{Gate, WORKERS_AT_MOST},
    header::{self, HEADER_BYTES, MAP, PageSlot, ROOT, field},
    places::Places,
    slots::Slots,
    superblock::{self, ROOTS, SLOTS_AT, Superblock},
    units::Units,
    word::FRAME_BITS,
};
use crate::{
    BufferError, Counters,
    disk::{Action, Disk, DiskRequest, Memory, ONE, Queue, carry_out},
};

/// Bytes of the buffers through which a worker writes.
pub(crate) const STAGING_BYTES: usize = 2 << 20;
/// Bytes of a buffer through which several pages are read at once.
pub(crate) const STRETCH_BYTES: usize = 64 << 10;
/// Bytes of all those buffers at most; a sixteenth of the pool, where that is less, but one of them.
const STRETCHES_BYTES_AT_MOST: u64 = 4 << 20;

impl Pool {
    /// Makes an empty pool on a disk, over whatever is there.
    ///
    /// # Errors
    /// Where the configuration makes no sense, memory is too small, or the disk does not take it.
    pub fn create(disk: Arc<dyn Disk>, config: Config) -> Result<Self, BufferError> {
        let slots = disk.bytes().saturating_sub(SLOTS_AT) / u64::from(config.page_bytes.max(1));
        check(&config)?;
        let per_piece = entries(config.page_bytes);
        let most = ROOTS as u64 * per_piece * per_piece;
        if slots < FRAMES_AT_LEAST {
            let what = format!("{} has {} bytes, too few for {FRAMES_AT_LEAST} pages", disk.name(), disk.bytes());
            return Err(BufferError::unfit(what, "give it more"));
        }
        let (epoch, pages) = (0, slots.min(most));
        let block = Superblock {
            page_bytes: config.page_bytes,
            epoch,
            slots,
            pages,
            limit: 1,
            owner_bytes: Vec::new(),
            roots: Vec::new(),
            copy: 0,
        };
        let pool = Self::build(disk, config, &block)?;
        pool.write_first(&block)?;
        pool.measure_room();
        Ok(pool)
    }

    /// Opens the pool on a disk, as its last durable checkpoint says. `config.page_bytes` is taken from there.
    ///
    /// # Errors
    /// Where no pool is there, or one of another version, or a damaged one; else as [`Pool::create`].
    pub fn open(disk: Arc<dyn Disk>, config: Config) -> Result<Self, BufferError> {
        let block = read_superblock(&disk)?;
        let config = Config { page_bytes: block.page_bytes, ..config };
        check(&config)?;
        let bytes = SLOTS_AT + block.slots * u64::from(block.page_bytes);
        if disk.bytes() < bytes {
            let what = format!("{} has {} bytes where its pool has {bytes}", disk.name(), disk.bytes());
            return Err(BufferError::unfit(what, "it was cut off: restore it, or name the right one"));
        }
        let pool = Self::build(disk, config, &block)?;
        pool.load_map(&block)?;
        pool.measure_room();
        Ok(pool)
    }

    fn build(disk: Arc<dyn Disk>, config: Config, block: &Superblock) -> Result<Self, BufferError> {
        let frames = config.pool_bytes / u64::from(config.page_bytes);
        let per_piece = entries(config.page_bytes);
        let stretches = ((config.pool_bytes / 16).min(STRETCHES_BYTES_AT_MOST) as usize / STRETCH_BYTES).max(1);
        let buffers = config.workers * STAGING_BYTES + stretches * STRETCH_BYTES;
        let memory = Memory::new((frames * u64::from(config.page_bytes)) as usize + buffers)?;
        let places = Places::new(block.pages, per_piece)?;
        let pieces = vec![PageSlot::NOWHERE; places.pieces() as usize];
        let roots = vec![PageSlot::NOWHERE; places.pieces().div_ceil(per_piece) as usize];
        let units = match config.grouping {
            Grouping::None => None,
            Grouping::ByDeath { unit_bytes } => {
                Some(Units::new(unit_bytes, u64::from(config.page_bytes), SLOTS_AT, block.slots, block.pages)?)
            }
        };
        Ok(Self {
            disk,
            memory: Arc::new(memory),
            config,
            shift: config.page_bytes.trailing_zeros(),
            words: ZeroedArray::zeros(block.pages as usize)?,
            frames: Frames::new(frames as u32)?,
            places,
            slots: Slots::new(block.slots)?.grouped(units),
            gate: Gate::new(),
            epoch: AtomicU64::new(block.epoch + 1),
            snapshotting: AtomicBool::new(false),
            checkpointing: AtomicBool::new(false),
            preserved: Mutex::default(),
            numbers: Mutex::new(Numbers { free: Vec::new(), limit: block.limit }),
            map: Mutex::new(Map { pieces, roots, copy: block.copy }),
            owner_bytes: Mutex::new(block.owner_bytes.clone()),
            broken: Mutex::default(),
            totals: Mutex::new(Counters::default()),
            stretches: Mutex::new((0..stretches as u32).rev().collect()),
            below: None,
            waits_for_room: AtomicBool::new(false),
            room: AtomicU64::new(0),
            dead_at_most: dead_at_most(config.grouping, block.slots, frames),
            written: AtomicU64::new(0),
        })
    }

    /// Writes the first superblock; nothing else refers to anything yet. The other copy is wiped, so that an older pool
    /// does not come back.
    fn write_first(&self, block: &Superblock) -> Result<(), BufferError> {
        let mut queue = self.disk.queue(1, &self.memory)?;
        for (offset, block) in [(superblock::SECOND, None), (0, Some(block))] {
            // SAFETY: no worker is there yet: the memory is this function's.
            let buffer = unsafe { std::slice::from_raw_parts_mut(self.memory.start(), superblock::BYTES) };
            buffer.fill(0);
            if let Some(block) = block {
                block.write(buffer);
            }
            let request =
                DiskRequest { action: Action::Write, offset, memory: 0, bytes: superblock::BYTES as u32, token: 0 };
            // SAFETY: the buffer is left alone until the request has ended.
            unsafe { carry_out(&mut *queue, &*self.disk, request)? };
            // SAFETY: a flush has no memory.
            unsafe { carry_out(&mut *queue, &*self.disk, DiskRequest::flush(0))? };
        }
        Ok(())
    }

    fn load_map(&self, block: &Superblock) -> Result<(), BufferError> {
        let mut queue = self.disk.queue(64, &self.memory)?;
        let mut map = super::locked(&self.map);
        let roots = block.roots.len().min(map.roots.len());
        map.roots[..roots].copy_from_slice(&block.roots[..roots]);
        let per_piece = entries(self.config.page_bytes) as usize;
        let listed: Vec<_> = block.roots.iter().enumerate().map(|(index, &place)| (index as u64, place)).collect();
        let mut pieces = Vec::new();
        self.load_pages(&mut *queue, ROOT, &listed, &mut |index, at, place| {
            pieces.push((index * per_piece as u64 + at, place));
        })?;
        pieces.retain(|&(piece, place)| piece < self.places.pieces() && place != PageSlot::NOWHERE);
        pieces.iter().for_each(|&(piece, place)| map.pieces[piece as usize] = place);
        let mut twice = None;
        let mut occupy = |page: u64, place: PageSlot| {
            let Some(slot) = place.slot() else { return };
            if !self.slots.occupy(slot) {
                twice.get_or_insert((page, place));
            }
        };
        block.roots.iter().for_each(|&place| occupy(ROOT, place));
        pieces.iter().for_each(|&(piece, place)| occupy(MAP | piece, place));
        self.load_pages(&mut *queue, MAP, &pieces, &mut |piece, at, place| {
            let page = piece * per_piece as u64 + at;
            if page < block.limit && place != PageSlot::NOWHERE {
                occupy(page, place);
                self.places.begin(page, place);
                self.words[page as usize].begin_evicted();
            }
        })?;
        if let Some((page, place)) = twice {
            return Err(self.damaged(page, place, "the map names its slot twice, or it lies outside"));
        }
        let free = (1..block.limit).rev().filter(|&page| self.places.current(page) == PageSlot::NOWHERE);
        super::locked(&self.numbers).free = free.collect();
        Ok(())
    }

    /// Reads pages of the map, as many at once as there are frames for; `each` gets every word of each.
    fn load_pages(
        &self,
        queue: &mut dyn Queue,
        kind: u64,
        pages: &[(u64, PageSlot)],
        each: &mut dyn FnMut(u64, u64, PageSlot),
    ) -> Result<(), BufferError> {
        let bytes = self.page_bytes();
        for batch in pages.chunks((self.frames.count() as usize).min(256)) {
            for (index, &(_, place)) in batch.iter().enumerate() {
                let offset = place.slot().map_or(0, |slot| self.slot_offset(slot));
                let (memory, token) = (index * bytes, index as u64);
                let request = DiskRequest { action: Action::Read, offset, memory, bytes: bytes as u32, token };
                // SAFETY: no worker is there yet: the memory is this function's.
                unsafe { queue.push(request) };
            }
            let mut done = Vec::new();
            while queue.in_flight() > 0 {
                queue.reap(ONE, &mut done)?;
            }
            for completion in done {
                let (number, place) = batch[completion.token as usize];
                completion.result.map_err(|errno| self.unreadable(place, errno))?;
                // SAFETY: read completely; nobody else touches it.
                let page = unsafe { std::slice::from_raw_parts(self.frame(completion.token as u32), bytes) };
                if let Some(what) = header::fault(page, kind | number, place) {
                    return Err(self.damaged(kind | number, place, &what));
                }
                for at in 0..(bytes - HEADER_BYTES) / 8 {
                    each(number, at as u64, PageSlot(field(page, HEADER_BYTES + at * 8)));
                }
            }
        }
        Ok(())
    }

    /// A page that could not be read.
    pub(crate) fn unreadable(&self, place: PageSlot, errno: rustix::io::Errno) -> BufferError {
        let offset = place.slot().map_or(0, |slot| self.slot_offset(slot));
        let bytes = self.page_bytes() as u32;
        BufferError::io(&*self.disk, DiskRequest { action: Action::Read, offset, memory: 0, bytes, token: 0 }, errno)
    }
}

/// Places in a page of the map.
pub(crate) fn entries(page_bytes: u32) -> u64 {
    (u64::from(page_bytes) - HEADER_BYTES as u64) / 8
}

fn read_superblock(disk: &Arc<dyn Disk>) -> Result<Superblock, BufferError> {
    if disk.bytes() < SLOTS_AT {
        let (name, bytes) = (disk.name(), disk.bytes());
        let what =
            format!("no pool is on {name}: it has {bytes} bytes in whole blocks, and a pool begins with {SLOTS_AT}");
        let fix = "name what was made as one; if this once was, it was cut short: restore it from a copy";
        return Err(BufferError::unfit(what, fix));
    }
    let memory = Arc::new(Memory::new(2 * superblock::BYTES)?);
    let mut queue = disk.queue(2, &memory)?;
    for (offset, at) in [(0, 0), (superblock::SECOND, superblock::BYTES)] {
        let bytes = superblock::BYTES as u32;
        // SAFETY: the memory is this function's, and left alone until the read has ended.
        unsafe {
            let request = DiskRequest { action: Action::Read, offset, memory: at, bytes, token: 0 };
            carry_out(&mut *queue, &**disk, request)?;
        }
    }
    drop(queue);
    // SAFETY: both were read, and the queue is gone.
    let both = unsafe { std::slice::from_raw_parts(memory.start(), 2 * superblock::BYTES) };
    let (first, second) = both.split_at(superblock::BYTES);
    Superblock::choose(disk.name(), first, second)
}

fn check(config: &Config) -> Result<(), BufferError> {
    let Config { page_bytes, pool_bytes, workers, depth, grouping } = *config;
    if !page_bytes.is_power_of_two() || !(4096..=65536).contains(&page_bytes) {
        let what = format!("a page of {page_bytes} bytes was asked for");
        return Err(BufferError::unfit(what, "use 4096, 8192, 16384, 32768 or 65536"));
    }
    let frames = pool_bytes / u64::from(page_bytes);
    if !(FRAMES_AT_LEAST..1 << FRAME_BITS).contains(&frames) {
        let what = format!("a pool of {pool_bytes} bytes has {frames} pages of {page_bytes}");
        let most = (1_u64 << FRAME_BITS) - 1;
        return Err(BufferError::unfit(what, format!("a pool has {FRAMES_AT_LEAST} to {most} pages")));
    }
    if let Grouping::ByDeath { unit_bytes } = grouping
        && (unit_bytes == 0 || unit_bytes % u64::from(page_bytes) != 0)
    {
        let what = format!("collection units of {unit_bytes} bytes were asked for, with pages of {page_bytes}");
        return Err(BufferError::unfit(what, "use a multiple of the page"));
    }
    let available = available_bytes();
    if available.is_some_and(|available| pool_bytes > available) {
        let what = format!("a pool of {pool_bytes} bytes does not fit into the {} bytes of free memory", {
            available.unwrap_or(0)
        });
        return Err(BufferError::unfit(what, "make the pool smaller, or end what else uses the memory"));
    }
    if !(1..=WORKERS_AT_MOST).contains(&workers) || !(1..=4096).contains(&depth) {
        let what = format!("{workers} workers with {depth} requests each were asked for");
        return Err(BufferError::unfit(what, format!("use 1 to {WORKERS_AT_MOST} workers and a depth of 1 to 4096")));
    }
    Ok(())
}

/// Memory that can be had without pushing anybody out, bytes; none where the kernel does not say.
fn available_bytes() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find(|line| line.starts_with("MemAvailable:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? << 10)
}
