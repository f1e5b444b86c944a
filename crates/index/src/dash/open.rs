//! Making a table, opening one, and closing it.

use std::{
    ptr::NonNull,
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use assay_pmem::{Medium, PmemError, Pool};

use super::{
    bucket::BUCKET_BYTES,
    directory::Directory,
    geometry::{DashShape, root},
    lock::STAMP_SHIFT,
    table::{Dash, REPAIRS},
};

/// The lowest bit of the marker: the table was closed, and nothing happened since.
const CLOSED: u64 = 1;

impl<M: Medium, D: Directory> Dash<M, D> {
    /// Makes a table in a pool that is new, with the layout that the directory names.
    ///
    /// # Errors
    /// Where the sizes cannot be, the pool holds a table already, or is too small.
    pub fn create(pool: Pool<M>, shape: &DashShape) -> Result<Self, PmemError> {
        let damaged = |what: &str| PmemError::Damaged { what: what.to_owned() };
        if !shape.is_possible() {
            let why = format!("{shape:?} is no shape: segments have 4 to 252 buckets and 1 to 4 more as a stash");
            return Err(PmemError::Size { asked: shape.segment_bytes(), why });
        }
        if pool.medium().load(pool.root::<u64>(root::SHAPE).raw()) != 0 {
            return Err(damaged("a table is to be made where one is already"));
        }
        let mut transaction = pool.begin();
        D::create(&pool, shape, &mut transaction)?;
        transaction.set(pool.root(root::SHAPE), shape.encode())?;
        transaction.set(pool.root(root::OPENED), pool.incarnation())?;
        transaction.set(pool.root(root::MARKER), pool.incarnation() << 1)?;
        transaction.commit();
        let floor = pool.incarnation();
        Self::with(pool, *shape, floor)
    }

    /// Opens a table. It takes the same time however large it is: after a crash each segment is repaired when it is first
    /// touched.
    ///
    /// # Errors
    /// Where the pool holds no table, or a damaged one.
    pub fn open(pool: Pool<M>) -> Result<Self, PmemError> {
        let (medium, root) = (pool.medium(), |index| pool.root::<u64>(index).raw());
        let damaged = |what: String| PmemError::Damaged { what };
        let word = medium.load(root(root::SHAPE));
        let shape = DashShape::decode(word)
            .ok_or_else(|| damaged(format!("the table's shape is {word:#x}; it was never finished, or overwritten")))?;
        let marker = medium.load(root(root::MARKER));
        let floor = if marker & CLOSED == CLOSED { marker >> 1 } else { pool.incarnation() };
        let (now, last) = (pool.incarnation(), medium.load(root(root::OPENED)));
        if last >= now {
            return Err(damaged(format!("opening {now} of the pool comes after opening {last} of the table")));
        }
        medium.store(root(root::OPENED), now);
        medium.store(root(root::MARKER), floor << 1);
        medium.persist(root(root::DIRECTORY), 64); // open, and what the last crash left is void
        Self::with(pool, shape, floor)
    }

    fn with(pool: Pool<M>, shape: DashShape, floor: u64) -> Result<Self, PmemError> {
        let now = pool.incarnation();
        if now >> (64 - STAMP_SHIFT) != 0 || floor > now {
            return Err(PmemError::Damaged { what: format!("openings {floor} and {now} of the pool cannot be") });
        }
        let directory = D::open(&pool, &shape)?;
        Ok(Self {
            directory,
            start: NonNull::new(pool.medium().start()).expect("a medium lies somewhere"),
            last: pool.medium().bytes() as u64 - BUCKET_BYTES,
            last_segment: (pool.medium().bytes() as u64).checked_sub(shape.segment_bytes()).ok_or_else(|| {
                PmemError::Damaged { what: format!("a segment of {shape:?} is larger than the pool") }
            })?,
            token: NonNull::from(pool.medium().word(pool.root::<u64>(root::DIRECTORY).raw())),
            shape,
            now: now << STAMP_SHIFT,
            floor: floor << STAMP_SHIFT,
            structure: Mutex::default(),
            repairing: (0..REPAIRS).map(|_| Mutex::default()).collect(),
            torn: AtomicBool::new(false),
            pool,
        })
    }

    /// Ends as a kill would: what is there is repaired when the table is opened next. For trying that out.
    pub fn abandon(self) {
        self.torn.store(true, Ordering::Relaxed);
    }
}

/// Whether words of so many bytes may lie at an offset of a pool.
pub(super) fn lies_in<M: Medium>(pool: &Pool<M>, at: u64, bytes: usize) -> bool {
    at != 0 && at % 8 == 0 && at.checked_add(bytes as u64).is_some_and(|end| end <= pool.medium().bytes() as u64)
}

/// A table that is dropped is closed: nothing is repaired when it is opened next.
impl<M: Medium, D> Drop for Dash<M, D> {
    fn drop(&mut self) {
        if !*self.torn.get_mut() && !std::thread::panicking() {
            let at = self.root(root::MARKER);
            self.medium().publish(at, self.medium().load(at) | CLOSED); // closed
        }
    }
}
