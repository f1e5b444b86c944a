//! A twin that is played: when would it answer?

use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

use crate::{
    Error,
    describe::{Description, describe},
    document::{self, Device},
    request::{Action, Picoseconds, Request},
    stations::Drive,
    streams::Streams,
};

/// What is asked of a drive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Says that nobody needs the bytes any more.
    Trim,
}

/// Picoseconds of a nanosecond.
const PS: u64 = 1000;

/// Everything that changes while it is played.
#[derive(Clone, Debug)]
struct State {
    drives: Vec<Drive>,
    random: Xoshiro256PlusPlus,
    streams: Streams,
    /// The moment of the first request: 0 of the drive's own time, ns.
    origin_ns: Option<u64>,
    /// The last request came then, ps.
    seen: Picoseconds,
}

/// A drive or volume in virtual time: it says of each request, when it comes, at which moment it is answered.
///
/// Nothing is read or written, no clock is looked at, and neither [`Twin::submit`] nor [`Twin::flush`] allocates. The same
/// file, seed and requests give the same answers. Later requests never change earlier answers.
#[derive(Clone, Debug)]
pub struct Twin {
    description: Description,
    document: document::Twin,
    seed: u64,
    used: f64,
    now: State,
}

impl Twin {
    /// A twin of a file's text, as in `catalog/twins`: idle, and in its steady state (full, and overwritten for long).
    ///
    /// # Errors
    /// [`Error`] where the text is no twin, or one of memory.
    pub fn open(text: &str, seed: u64) -> Result<Self, Error> {
        Self::open_holding(text, seed, 0.0)
    }

    /// The same of a drive of which `used` (0 to 1) holds data that was written once, in order: a fresh one, that copies
    /// nothing until its free blocks are used up. 0 is the steady state.
    ///
    /// # Errors
    /// Likewise.
    pub fn open_holding(text: &str, seed: u64, used: f64) -> Result<Self, Error> {
        Self::of(&document::read(text)?, seed, used)
    }

    /// The same of a document that was read before.
    ///
    /// # Errors
    /// Where the twin is one of memory.
    pub fn of(twin: &document::Twin, seed: u64, used: f64) -> Result<Self, Error> {
        let used = used.clamp(0.0, 1.0);
        let now = State::new(twin, seed, used)?;
        Ok(Self { description: describe(twin, &now.drives[0]), document: twin.clone(), seed, used, now })
    }

    /// Submits a request at `now_ns`; returns the moment at which it is answered, ns of the same clock, never before
    /// `now_ns`. The first request's moment is where the drive's time begins; one that lies before another's is taken as
    /// one of that moment. Requests may begin where one of the same kind ended (a stream in order); all others are random.
    #[inline]
    pub fn submit(&mut self, now_ns: u64, op: Op, offset: u64, bytes: u32) -> u64 {
        let now = self.now.arrive(now_ns);
        let (action, sequential) = match op {
            Op::Read => (Action::Read, self.now.streams.goes_on(false, offset, bytes)),
            Op::Write => (Action::Write, self.now.streams.goes_on(true, offset, bytes)),
            Op::Trim => (Action::Trim, false),
        };
        let request = Request { action, offset, bytes, sequential, group: 0 };
        let done = self.now.serve(now, &request);
        self.now.moment(done).max(now_ns)
    }

    /// Submits a flush at `now_ns`: returns the moment from which on all writes that were answered before it are durable.
    /// Flushes that come while one is under way share the next one, as Linux makes them.
    pub fn flush(&mut self, now_ns: u64) -> u64 {
        let now = self.now.arrive(now_ns);
        let request = Request { action: Action::Flush, ..Request::default() };
        let State { drives, random, .. } = &mut self.now;
        let done = drives.iter_mut().map(|drive| drive.serve(now, &request, random)).max().unwrap_or(now);
        self.now.moment(done).max(now_ns)
    }

    /// As it was when it was opened: the same requests give the same answers again.
    pub fn reset(&mut self) {
        // It was made of the same document before.
        if let Ok(fresh) = State::new(&self.document, self.seed, self.used) {
            self.now = fresh;
        }
    }

    /// What it is.
    pub fn describe(&self) -> &Description {
        &self.description
    }
}

impl State {
    fn new(twin: &document::Twin, seed: u64, used: f64) -> Result<Self, Error> {
        Ok(Self {
            drives: drives(twin, seed, used)?,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            streams: Streams::default(),
            origin_ns: None,
            seen: 0,
        })
    }

    /// The drive's own time at which something comes, ps.
    #[inline]
    fn arrive(&mut self, now_ns: u64) -> Picoseconds {
        let origin = *self.origin_ns.get_or_insert(now_ns);
        self.seen = self.seen.max(now_ns.saturating_sub(origin).saturating_mul(PS));
        self.seen
    }

    /// The moment of the user's clock at which it is done, ns, rounded up.
    #[inline]
    fn moment(&self, done: Picoseconds) -> u64 {
        self.origin_ns.unwrap_or(0).saturating_add(done.div_ceil(PS))
    }

    /// One drive serves it: of several, pages of the size of the request lie on one after the other.
    #[inline]
    fn serve(&mut self, now: Picoseconds, request: &Request) -> Picoseconds {
        let count = self.drives.len();
        if count == 1 {
            return self.drives[0].serve(now, request, &mut self.random);
        }
        let member = (request.offset / u64::from(request.bytes.max(1))) as usize % count;
        let part = Request { offset: request.offset / count as u64, ..*request };
        self.drives[member].serve(now, &part, &mut self.random)
    }
}

/// One drive, or those of an instance.
fn drives(twin: &document::Twin, seed: u64, used: f64) -> Result<Vec<Drive>, Error> {
    let Device::CloudInstance(instance) = &twin.device else {
        return Ok(vec![Drive::new(twin, seed, used)?]);
    };
    let count = instance.drives.value.round().max(1.0) as usize;
    // Each of its own: a copy would have less room for what comes.
    Ok((0..count).map(|_| Drive::of_instance(twin, instance, seed, used)).collect())
}
