//! The medium that writes down what is done to it.

use std::{
    cell::Cell,
    panic::Location,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU16, Ordering},
    },
};

use super::{
    event::{Event, Mark, What},
    memory::Memory,
};
use crate::medium::{LINE_BYTES, Medium};

/// A medium in memory that records. Copies of it are the same medium.
#[derive(Clone, Debug)]
pub struct Recorder {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    memory: Memory,
    log: Mutex<Log>,
}

#[derive(Debug, Default)]
struct Log {
    records: bool,
    watches_reads: bool,
    /// In whose name events are written down, where it is not the thread that acts.
    plays: Option<u16>,
    events: Vec<Event>,
    /// Words as they were, so that an image can be left again without copying the pool.
    undo: Vec<(u32, u64)>,
}

impl Recorder {
    /// So many bytes of zero (rounded up to pages), not recording yet.
    pub fn new(bytes: usize) -> Self {
        Self { shared: Arc::new(Shared { memory: Memory::new(bytes), log: Mutex::default() }) }
    }

    /// Says that an operation begins.
    #[track_caller]
    pub fn begin(&self, operation: u64) {
        self.note(What::Mark(Mark::Begin(operation)), Location::caller());
    }

    /// Says that an operation is acknowledged.
    #[track_caller]
    pub fn end(&self, operation: u64) {
        self.note(What::Mark(Mark::End(operation)), Location::caller());
    }

    /// Begins a history, from what is there now.
    pub fn start_recording(&self) {
        let mut log = self.log();
        log.records = true;
        log.events.clear();
    }

    /// Ends a history: its events.
    pub fn stop_recording(&self) -> Vec<Event> {
        let mut log = self.log();
        log.records = false;
        std::mem::take(&mut log.events)
    }

    /// Also writes down reads from now on, for [`super::hints`].
    pub fn watch_reads(&self) {
        self.log().watches_reads = true;
    }

    /// From now on every step counts as one of the thread of this number: histories of several threads can be played by
    /// one, step by step as the case wants, the same each time.
    pub fn play_thread(&self, number: u16) {
        self.log().plays = Some(number);
    }

    /// A point to come back to.
    pub(super) fn here(&self) -> usize {
        self.log().undo.len()
    }

    /// Sets a word as a crash image has it.
    pub(super) fn poke(&self, word: u32, value: u64) {
        let before = self.shared.memory.put(word, value);
        self.log().undo.push((word, before));
    }

    /// Leaves everything since a point behind.
    pub(super) fn back_to(&self, point: usize) {
        let mut log = self.log();
        while log.undo.len() > point {
            if let Some((word, before)) = log.undo.pop() {
                self.shared.memory.put(word, before);
            }
        }
    }

    /// What a word is now.
    pub(super) fn peek(&self, word: u32) -> u64 {
        self.shared.memory.word(word).load(Ordering::SeqCst)
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        // A panic inside of recovery is a finding, and the log is right between any two steps.
        self.shared.log.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, what: What, site: &'static Location<'static>) {
        self.log().note(what, site);
    }

    /// Changes a word and writes it down, as one step. A change to the same value is written down too: it dirties the
    /// line all the same.
    fn change(&self, at: u64, site: &'static Location<'static>, new: impl FnOnce(u64) -> Option<u64>) -> (u64, bool) {
        let word = word_of(at);
        let mut log = self.log();
        let before = self.word(at).load(Ordering::SeqCst);
        let Some(value) = new(before) else { return (before, false) };
        self.shared.memory.put(word, value);
        log.undo.push((word, before));
        log.note(What::Store { word, value }, site);
        (before, true)
    }

    /// Stores bytes as production does: whole words, but those before the first and after the last of them byte by byte.
    fn spread(&self, at: u64, bytes: &[u8], site: &'static Location<'static>, what: fn(u32, u64) -> What) {
        self.at(at, bytes.len());
        let mut log = self.log();
        for (first, length) in pieces(at, bytes.len()) {
            let word = word_of(at + first as u64);
            let piece = &bytes[first..first + length];
            let within = (at + first as u64) as usize % 8;
            let mut value = self.peek(word).to_ne_bytes();
            value[within..within + length].copy_from_slice(piece);
            let value = u64::from_ne_bytes(value);
            let before = self.shared.memory.put(word, value);
            log.undo.push((word, before));
            log.note(what(word, value), site);
        }
    }
}

/// Beginnings and lengths of the stores that bytes are written with.
fn pieces(at: u64, length: usize) -> impl Iterator<Item = (usize, usize)> {
    let head = (at.next_multiple_of(8) - at).min(length as u64) as usize;
    let whole = head + (length - head) / 8 * 8;
    let bytes = |range: std::ops::Range<usize>| range.map(|index| (index, 1));
    bytes(0..head).chain((head..whole).step_by(8).map(|index| (index, 8))).chain(bytes(whole..length))
}

fn word_of(at: u64) -> u32 {
    u32::try_from(at / 8).expect("a recorded pool is far below 32 GiB")
}

impl Log {
    fn note(&mut self, what: What, site: &'static Location<'static>) {
        if self.records {
            let thread = self.plays.unwrap_or_else(this_thread);
            self.events.push(Event { what, thread, site });
        }
    }
}

fn this_thread() -> u16 {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    thread_local! {
        static THIS: Cell<Option<u16>> = const { Cell::new(None) };
    }
    THIS.with(|this| {
        let number = this.get().unwrap_or_else(|| NEXT.fetch_add(1, Ordering::Relaxed));
        this.set(Some(number));
        number
    })
}

// SAFETY: the memory is aligned to pages, is held by every copy of the value, and never moves.
unsafe impl Medium for Recorder {
    fn start(&self) -> *mut u8 {
        self.shared.memory.start()
    }

    fn bytes(&self) -> usize {
        self.shared.memory.bytes()
    }

    fn emulated(&self) -> bool {
        true
    }

    #[track_caller]
    fn store(&self, at: u64, value: u64) {
        self.change(at, Location::caller(), |_| Some(value));
    }

    #[track_caller]
    fn compare_exchange(&self, at: u64, current: u64, new: u64) -> Result<u64, u64> {
        let (before, changed) = self.change(at, Location::caller(), |now| (now == current).then_some(new));
        if changed { Ok(before) } else { Err(before) }
    }

    #[track_caller]
    fn set_bits(&self, at: u64, bits: u64) -> u64 {
        self.change(at, Location::caller(), |now| Some(now | bits)).0
    }

    #[track_caller]
    fn clear_bits(&self, at: u64, bits: u64) -> u64 {
        self.change(at, Location::caller(), |now| Some(now & !bits)).0
    }

    #[track_caller]
    fn write(&self, at: u64, bytes: &[u8]) {
        self.spread(at, bytes, Location::caller(), |word, value| What::Store { word, value });
    }

    #[track_caller]
    fn stream(&self, at: u64, bytes: &[u8]) {
        self.spread(at, bytes, Location::caller(), |word, value| What::Stream { word, value });
    }

    #[track_caller]
    fn flush(&self, at: u64, length: usize) {
        self.at(at, length);
        let line = (at / LINE_BYTES as u64) as u32;
        let lines = (at as usize % LINE_BYTES + length).div_ceil(LINE_BYTES) as u32;
        self.note(What::Flush { line, lines }, Location::caller());
    }

    #[track_caller]
    fn fence(&self) {
        self.note(What::Fence, Location::caller());
    }

    #[track_caller]
    fn reads(&self, at: u64, length: usize) {
        let mut log = self.log();
        if log.watches_reads {
            let word = word_of(at);
            let words = (at as usize % 8 + length).div_ceil(8) as u32;
            log.note(What::Read { word, words }, Location::caller());
        }
    }
}
