//! What goes beyond the caches of a CPU, in its order: what modules of memory would have to do.

use std::sync::{
    Arc, Mutex, MutexGuard, PoisonError,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use crate::{
    medium::{LINE_BYTES, MEDIA_BLOCK_BYTES, Medium},
    near::Near,
};

/// One thing that the modules see. Bytes are whole lines that follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touch {
    /// Lines that were not near are waited for; `near` where the block of the media that they lie in was read just before.
    Read {
        /// Where the first begins.
        at: u64,
        /// Of all of them.
        bytes: u32,
        /// Their block is still open.
        near: bool,
    },
    /// Lines that had been changed begin to be written back: the next fence waits for them.
    WrittenBack {
        /// Where the first begins.
        at: u64,
        /// Of all of them.
        bytes: u32,
    },
    /// The same of lines that are stored around the caches.
    Streamed {
        /// Where the first begins.
        at: u64,
        /// Of all of them.
        bytes: u32,
    },
    /// A changed line that had to make room: nobody waits for it.
    PushedOut {
        /// Where it begins.
        at: u64,
        /// Of a line.
        bytes: u32,
    },
    /// What was written back and streamed is waited for.
    Fence,
}

/// What media write onto, where they are to: one tape for all that lies on the same modules.
#[derive(Clone, Debug)]
pub struct Tape(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    runs: AtomicBool,
    reel: Mutex<Reel>,
}

#[derive(Debug)]
struct Reel {
    near: Near,
    touched: Vec<Touch>,
    /// The block of the media that was read last.
    open: Option<u64>,
    lines: u64,
    missed: u64,
}

impl Tape {
    /// A tape behind caches of so many bytes. It stands still.
    pub fn new(cache_bytes: u64) -> Self {
        let near = Near::new(cache_bytes / LINE_BYTES as u64);
        let reel = Reel { near, touched: Vec::new(), open: None, lines: 0, missed: 0 };
        Self(Arc::new(Shared { runs: AtomicBool::new(false), reel: Mutex::new(reel) }))
    }

    /// It runs, or stands still: nothing is noted then, and nothing comes near.
    pub fn run(&self, runs: bool) {
        self.0.runs.store(runs, Relaxed);
    }

    /// What was noted since it was asked last goes behind `into`. Blocks that are open are closed: others come between.
    pub fn take(&self, into: &mut Vec<Touch>) {
        let mut reel = self.reel();
        into.append(&mut reel.touched);
        reel.open = None;
    }

    /// Lines that were touched so far, and those of them that were not near.
    pub fn lines(&self) -> [u64; 2] {
        let reel = self.reel();
        [reel.lines, reel.missed]
    }

    fn reel(&self) -> MutexGuard<'_, Reel> {
        self.0.reel.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[inline]
    fn note(&self, action: impl FnOnce(&mut Reel)) {
        if self.0.runs.load(Relaxed) {
            action(&mut self.reel());
        }
    }
}

/// Numbers of the lines of a range.
fn lines(at: u64, length: usize) -> std::ops::Range<u64> {
    let line = LINE_BYTES as u64;
    if length == 0 { 0..0 } else { at / line..(at + length as u64).div_ceil(line) }
}

impl Reel {
    fn touch(&mut self, at: u64, length: usize, changes: bool) {
        let mut run = 0..0;
        for line in lines(at, length) {
            let look = self.near.touch(line, changes);
            self.lines += 1;
            if let Some(gone) = look.pushed_out {
                let bytes = LINE_BYTES as u32;
                self.touched.push(Touch::PushedOut { at: gone * u64::from(bytes), bytes });
            }
            if !look.hit {
                self.missed += 1;
                run = if run.end == line && !run.is_empty() { run.start..line + 1 } else { self.read(run, line) };
            }
        }
        self.read(run, 0);
    }

    /// A run of lines that were not near has ended; the one that begins with `line`.
    fn read(&mut self, run: std::ops::Range<u64>, line: u64) -> std::ops::Range<u64> {
        if !run.is_empty() {
            let block = |line: u64| line / (MEDIA_BLOCK_BYTES / LINE_BYTES) as u64;
            let near = self.open == Some(block(run.start));
            self.open = Some(block(run.end - 1));
            let (at, bytes) = extent(&run);
            self.touched.push(Touch::Read { at, bytes, near });
        }
        line..line + 1
    }

    fn write_back(&mut self, at: u64, length: usize) {
        let mut run = 0..0;
        for line in lines(at, length).filter(|&line| self.near.write_back(line)).collect::<Vec<_>>() {
            if run.end != line || run.is_empty() {
                self.written(&run);
                run = line..line;
            }
            run.end = line + 1;
        }
        self.written(&run);
    }

    fn written(&mut self, run: &std::ops::Range<u64>) {
        if !run.is_empty() {
            let (at, bytes) = extent(run);
            self.touched.push(Touch::WrittenBack { at, bytes });
        }
    }

    fn stream(&mut self, at: u64, length: usize) {
        let all = lines(at, length);
        if !all.is_empty() {
            all.clone().for_each(|line| self.near.forget(line));
            let (at, bytes) = extent(&all);
            self.touched.push(Touch::Streamed { at, bytes });
        }
    }
}

fn extent(run: &std::ops::Range<u64>) -> (u64, u32) {
    (run.start * LINE_BYTES as u64, (run.end - run.start) as u32 * LINE_BYTES as u32)
}

/// A medium whose accesses are noted on a tape.
#[derive(Debug)]
pub struct Taped<M> {
    medium: M,
    tape: Tape,
}

impl<M: Medium> Taped<M> {
    /// A medium before a tape.
    pub fn new(medium: M, tape: Tape) -> Self {
        Self { medium, tape }
    }

    #[inline(always)]
    fn touch(&self, at: u64, length: usize, changes: bool) {
        self.tape.note(|reel| reel.touch(at, length, changes));
    }
}

// SAFETY: memory and its life are those of the medium inside.
unsafe impl<M: Medium> Medium for Taped<M> {
    #[inline(always)]
    fn start(&self) -> *mut u8 {
        self.medium.start()
    }

    #[inline(always)]
    fn bytes(&self) -> usize {
        self.medium.bytes()
    }

    fn emulated(&self) -> bool {
        true
    }

    #[track_caller]
    fn store(&self, at: u64, value: u64) {
        self.medium.store(at, value);
        self.touch(at, 8, true);
    }

    #[track_caller]
    fn compare_exchange(&self, at: u64, current: u64, new: u64) -> Result<u64, u64> {
        let found = self.medium.compare_exchange(at, current, new);
        self.touch(at, 8, found.is_ok());
        found
    }

    #[track_caller]
    fn set_bits(&self, at: u64, bits: u64) -> u64 {
        let before = self.medium.set_bits(at, bits);
        self.touch(at, 8, true);
        before
    }

    #[track_caller]
    fn clear_bits(&self, at: u64, bits: u64) -> u64 {
        let before = self.medium.clear_bits(at, bits);
        self.touch(at, 8, true);
        before
    }

    #[track_caller]
    fn write(&self, at: u64, bytes: &[u8]) {
        self.medium.write(at, bytes);
        self.touch(at, bytes.len(), true);
    }

    #[track_caller]
    fn stream(&self, at: u64, bytes: &[u8]) {
        self.medium.stream(at, bytes);
        self.tape.note(|reel| reel.stream(at, bytes.len()));
    }

    #[track_caller]
    fn flush(&self, at: u64, length: usize) {
        self.medium.flush(at, length);
        self.tape.note(|reel| reel.write_back(at, length));
    }

    #[track_caller]
    fn fence(&self) {
        self.medium.fence();
        self.tape.note(|reel| reel.touched.push(Touch::Fence));
    }

    #[track_caller]
    fn reads(&self, at: u64, length: usize) {
        self.medium.reads(at, length);
        self.touch(at, length, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Mapped;

    fn noted(medium: &Taped<Mapped>, action: impl FnOnce(&Taped<Mapped>)) -> Vec<Touch> {
        let mut touched = Vec::new();
        action(medium);
        medium.tape.take(&mut touched);
        touched
    }

    fn medium(cache_bytes: u64) -> Taped<Mapped> {
        let tape = Tape::new(cache_bytes);
        tape.run(true);
        Taped::new(Mapped::memory(1 << 20).unwrap(), tape)
    }

    #[test]
    fn a_change_is_read_for_written_back_once_and_fenced() {
        let medium = medium(1 << 16);
        let first = noted(&medium, |medium| {
            medium.write(8192 + 60, &[7; 8]);
            medium.persist(8192 + 60, 8);
        });
        let (at, bytes) = (8192, 128);
        assert_eq!(first, [Touch::Read { at, bytes, near: false }, Touch::WrittenBack { at, bytes }, Touch::Fence]);
        assert_eq!(noted(&medium, |medium| medium.persist(8192, 128)), [Touch::Fence], "nothing was changed since");
    }

    #[test]
    fn lines_of_an_open_block_are_near_and_only_lines_that_were_missing_are_read() {
        let medium = medium(1 << 16);
        let touched = noted(&medium, |medium| {
            medium.reads(4096, 8);
            medium.reads(4096 + 64, 130);
            medium.reads(4096, 256);
        });
        let [first, rest] = [(4096, 64, false), (4096 + 64, 192, true)];
        let read = |(at, bytes, near)| Touch::Read { at, bytes, near };
        assert_eq!(touched, [read(first), read(rest)]);
        assert_eq!(medium.tape.lines(), [8, 4]);
    }

    #[test]
    fn what_is_streamed_is_read_anew_and_a_tape_that_stands_still_notes_nothing() {
        let medium = medium(1 << 16);
        let touched = noted(&medium, |medium| {
            medium.stream(65536, &[1; 128]);
            medium.fence();
            medium.load(65536);
        });
        let (at, bytes) = (65536, 128);
        assert_eq!(touched, [Touch::Streamed { at, bytes }, Touch::Fence, Touch::Read { at, bytes: 64, near: false }]);
        medium.tape.run(false);
        assert_eq!(noted(&medium, |medium| medium.store(0, 1)), []);
    }

    #[test]
    fn a_changed_line_that_makes_room_is_written_and_nobody_waits_for_it() {
        let medium = medium(8 * 64);
        let touched = noted(&medium, |medium| (0..9).for_each(|line| medium.store(line * 64, 1)));
        assert!(touched.contains(&Touch::PushedOut { at: 0, bytes: 64 }), "{touched:?}");
    }
}
