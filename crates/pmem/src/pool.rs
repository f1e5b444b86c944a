//! A pool: roots, blocks and transactions in persistent memory.

use std::{ops::Range, sync::Arc};

use crate::{
    claim::{Claim, Claims},
    class::Class,
    error::PmemError,
    geometry::{Geometry, INCARNATION, PAGE, ROOTS},
    header::{HEADER_BYTES, Header},
    heap::{BlockKind, Heap, Taken},
    lane::Lane,
    log,
    medium::Medium,
    offset::Offset,
};

/// What a new pool is to be.
#[derive(Clone, Debug)]
pub struct Shape {
    /// What it holds: a name and version of the structure, 1 to 32 printable letters.
    pub layout: String,
    /// How many transactions can be open at once.
    pub lanes: u32,
    /// The medium's bytes are all zero already, as those of a new file are.
    pub zeroed: bool,
}

impl Shape {
    /// 64 lanes, on a new file.
    pub fn new(layout: &str) -> Self {
        Self { layout: layout.to_owned(), lanes: 64, zeroed: true }
    }
}

/// Roots, blocks and transactions on a medium. Shared by threads as it is.
#[derive(Debug)]
pub struct Pool<M: Medium> {
    medium: M,
    geometry: Geometry,
    incarnation: u64,
    heap: Arc<Heap>,
    lanes: Claims<Lane>,
}

impl<M: Medium> Pool<M> {
    /// Makes a pool of a whole medium. Its header is written last: a pool that was not finished is none.
    ///
    /// # Errors
    /// Where the medium is too small, or the name of the layout cannot be.
    pub fn create(medium: M, shape: &Shape) -> Result<Self, PmemError> {
        let geometry = Geometry::new(medium.bytes() as u64, shape.lanes)?;
        let header = Header { bytes: geometry.bytes, lanes: shape.lanes, layout: shape.layout.clone() }.encode()?;
        if !shape.zeroed {
            zero(&medium, 0, geometry.data());
        }
        for at in [PAGE, 0] {
            write_header(&medium, at, &header);
        }
        Self::open(medium, &shape.layout)
    }

    /// Opens a pool and recovers it: applies what the logs hold, then reads a word per 64 KiB.
    ///
    /// # Errors
    /// Where there is no pool, or another one, or it is damaged: with what was seen.
    pub fn open(medium: M, layout: &str) -> Result<Self, PmemError> {
        let geometry = examine(&medium, layout)?;
        recover(&medium, &geometry)?;
        let incarnation = medium.load(INCARNATION).wrapping_add(1);
        medium.publish(INCARNATION, incarnation); // incarnation, and logs void
        let heap = Arc::new(Heap::open(&medium, geometry)?);
        let lane = |index| Lane::new(geometry.lane(index), incarnation as u16);
        let lanes = Claims::new((0..geometry.lanes as usize).map(lane));
        Ok(Self { medium, geometry, incarnation, heap, lanes })
    }

    /// What it lies on.
    #[inline(always)]
    pub fn medium(&self) -> &M {
        &self.medium
    }

    /// How often the pool was opened, this time included; durable before this value exists. What a former process left
    /// locked under a smaller number is void.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// A root. Its word is 0 in a new pool.
    ///
    /// # Panics
    /// Where there are fewer roots.
    #[inline(always)]
    pub fn root<T>(&self, index: usize) -> Offset<T> {
        Offset::new(self.geometry.root(index))
    }

    /// Address of what lies at an offset.
    ///
    /// # Panics
    /// Where it would reach beyond the pool, or is not aligned as a `T` is.
    #[inline(always)]
    #[track_caller]
    pub fn pointer<T>(&self, at: Offset<T>) -> *mut T {
        let pointer = self.medium.at(at.raw(), size_of::<T>()).cast::<T>();
        assert!(pointer.is_aligned(), "{at:?} is not aligned");
        pointer
    }

    /// A lane that nobody has, this one rather than another.
    pub(crate) fn claim(&self, lane: usize) -> Option<Claim<'_, Lane>> {
        self.lanes.take(lane)
    }

    /// Reserves a block for those who keep a log of their own (a descriptor, a micro-log): a crash forgets it, and
    /// nothing is written. The order is: the log names the block, durably; [`Pool::mark`], durably; the block is
    /// linked; the log is reset. Recovery asks the log: [`Pool::mark`] again where the block is linked,
    /// [`Pool::unmark`] where not.
    ///
    /// # Errors
    /// Where the pool is full.
    pub fn reserve<T>(&self, bytes: usize) -> Result<Offset<T>, PmemError> {
        let mut transaction = self.begin();
        let block = transaction.alloc(bytes)?;
        transaction.keep_reserved();
        Ok(block)
    }

    /// Gives a reserved block back that was never marked, or is unmarked.
    pub fn cancel<T>(&self, block: Offset<T>, bytes: usize) {
        self.heap.release(Taken { at: block.raw(), kind: BlockKind::of(bytes as u64) });
    }

    /// As [`Pool::cancel`], once nobody who is pinned now is any more.
    pub fn cancel_later<T>(&self, block: Offset<T>, bytes: usize, guard: &crossbeam_epoch::Guard) {
        let (heap, block) = (Arc::clone(&self.heap), Taken { at: block.raw(), kind: BlockKind::of(bytes as u64) });
        guard.defer(move || heap.release(block));
    }

    /// Records a reserved block of so many bytes as allocated, and flushes that: durable after the next fence. Marking
    /// twice is marking once, also during recovery.
    ///
    /// # Errors
    /// Where no block of that size can begin there.
    pub fn mark<T>(&self, block: Offset<T>, bytes: usize) -> Result<(), PmemError> {
        let block = Taken { at: block.raw(), kind: BlockKind::of(bytes as u64) };
        self.heap.check_place(&self.medium, block)?;
        log::apply(&self.medium, &[self.heap.allocation(block)]);
        self.heap.adopt(&self.medium, block);
        Ok(())
    }

    /// Records a block of so many bytes as free, and flushes that: durable after the next fence. It stays reserved until
    /// [`Pool::cancel`] or [`Pool::cancel_later`]. Unmarking twice is unmarking once.
    ///
    /// # Errors
    /// Where no block of that size can begin there.
    pub fn unmark<T>(&self, block: Offset<T>, bytes: usize) -> Result<(), PmemError> {
        let block = Taken { at: block.raw(), kind: BlockKind::of(bytes as u64) };
        self.heap.check_place(&self.medium, block)?;
        log::apply(&self.medium, &[self.heap.deallocation(block)]);
        Ok(())
    }

    /// Visits the allocated blocks of the size that `bytes` get, where they begin in a range of offsets, in order: by a few
    /// words for each 64 KiB. Threads can share a pool that way. Blocks of whole chunks, and a chunk whose head is damaged,
    /// are passed over; so may be what others allocate or free meanwhile.
    pub fn allocated_blocks(&self, bytes: usize, places: Range<u64>, mut visit: impl FnMut(u64)) {
        let Some(class) = Class::of(bytes as u64) else { return };
        for chunk in self.geometry().chunks_that_begin_in(&places) {
            self.heap().allocated_in(self.medium(), class, chunk, &mut visit);
        }
    }

    pub(crate) fn heap(&self) -> &Heap {
        &self.heap
    }

    pub(crate) fn heap_shared(&self) -> &Arc<Heap> {
        &self.heap
    }

    pub(crate) fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    pub(crate) fn may_change(&self, at: u64) -> bool {
        at + 8 <= self.geometry.bytes && user_word(&self.geometry, at)
    }

    /// Brings free blocks together that are kept apart: reserved ahead by idle lanes, waiting, or in chunks of one size.
    #[cold]
    pub(crate) fn gather(&self) {
        for lane in 0..self.lanes.len() {
            if let Some(mut claim) = self.lanes.take(lane).filter(|claim| claim.index() == lane) {
                claim.with(|lane| lane.drain(&self.heap));
            }
        }
        for _ in 0..4 {
            crossbeam_epoch::pin().flush();
        }
        self.heap.give_back_empty_chunks(&self.medium);
    }
}

/// Words that belong to the pool's user.
fn user_word(geometry: &Geometry, at: u64) -> bool {
    at >= geometry.data() || (at >= geometry.root(0) && at <= geometry.root(ROOTS - 1))
}

/// The first word, which says that a pool is here, is stored last and lies in the line of the others.
fn write_header(medium: &impl Medium, at: u64, header: &[u8; HEADER_BYTES]) {
    let (first, rest) = header.split_at(8);
    medium.write(at + 8, rest);
    medium.store(at, u64::from_ne_bytes(std::array::from_fn(|byte| first[byte])));
    medium.persist(at, HEADER_BYTES);
}

fn zero(medium: &impl Medium, from: u64, to: u64) {
    let page = [0; PAGE as usize];
    // The header goes first and is fenced apart, so that an older pool is never seen over empty tables.
    medium.stream(from, &page[..HEADER_BYTES]);
    medium.fence();
    for at in (from..to).step_by(page.len()) {
        medium.stream(at, &page[..page.len().min((to - at) as usize)]);
    }
    medium.fence();
}

/// Reads the header, or its copy where the media lost the first one.
fn examine(medium: &impl Medium, layout: &str) -> Result<Geometry, PmemError> {
    let seen = medium.bytes() as u64;
    let read = |at: u64| {
        let mut bytes = [0; HEADER_BYTES];
        if seen < at + HEADER_BYTES as u64 {
            return Err(PmemError::Short { seen, least: at + HEADER_BYTES as u64 });
        }
        medium.read(at, &mut bytes);
        Header::parse(&bytes)
    };
    // A pool that was never finished has a copy and no header: it is none, and must not be taken for one.
    let header = match read(0) {
        Err(PmemError::Damaged { what }) => read(PAGE).map_err(|_| PmemError::Damaged { what })?,
        Err(PmemError::Unfinished) => match openings(medium, &read) {
            0 => return Err(PmemError::Unfinished),
            times => {
                let what =
                    format!("its header does not begin as one but with zeros, and yet it was opened {times} times");
                return Err(PmemError::Damaged { what });
            }
        },
        other => other?,
    };
    if header.bytes != seen {
        return Err(PmemError::Truncated { seen, wanted: header.bytes });
    }
    if header.layout != layout {
        return Err(PmemError::Layout { seen: header.layout, wanted: layout.to_owned() });
    }
    let damaged = |error: PmemError| PmemError::Damaged { what: format!("its header cannot be: {error}") };
    Geometry::new(header.bytes, header.lanes).map_err(damaged)
}

/// How often a pool was opened whose header is gone: where it was, it had been finished, and nobody may be told to remove
/// it. Where not even the copy of the header is there, that word is anybody's.
fn openings(medium: &impl Medium, read: &impl Fn(u64) -> Result<Header, PmemError>) -> u64 {
    let whole = read(PAGE).is_ok_and(|copy| copy.bytes == medium.bytes() as u64);
    if whole { medium.load(INCARNATION) } else { 0 }
}

/// Brings the logs to their end. All are read before anything is changed; the next fence makes their clearing durable.
fn recover(medium: &impl Medium, geometry: &Geometry) -> Result<(), PmemError> {
    let allowed = |at: u64| {
        let table = at >= geometry.head(0) && at < geometry.bitmap(geometry.chunks);
        at + 8 <= geometry.bytes && (table || user_word(geometry, at))
    };
    let lanes = || (0..geometry.lanes as usize).map(|index| geometry.lane(index));
    let damaged = |what| PmemError::Damaged { what };
    let logs: Vec<_> =
        lanes().map(|lane| log::read(medium, lane, allowed).map_err(damaged)).collect::<Result<_, _>>()?;
    let valid: Vec<_> = logs.into_iter().flatten().collect();
    if !valid.is_empty() {
        valid.iter().for_each(|changes| log::apply(medium, changes));
        medium.fence(); // logs applied
    }
    // Void logs that are not 0 too: new changes stored under an old header must never make it valid.
    lanes().filter(|&lane| medium.load(lane) != 0).for_each(|lane| log::clear(medium, lane));
    Ok(())
}
