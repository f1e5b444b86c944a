//! One step of a history.

use std::{fmt, panic::Location};

/// What a case says about its operations while they are recorded; a crash says so itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// An operation began. The number is the case's own.
    Begin(u64),
    /// It was acknowledged: from here on no crash may undo it.
    End(u64),
    /// The machine stopped, and recovery began. What had begun and not ended may have happened, or not, but not half.
    Crash,
}

/// A step, the thread that took it, and where in the code.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    /// What was done.
    pub what: What,
    /// Number of the thread.
    pub thread: u16,
    /// Line of the code that asked for it.
    pub site: &'static Location<'static>,
}

/// What was done. Words and lines are counted from the medium's start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// A word became a value.
    Store {
        /// Which.
        word: u32,
        /// The value.
        value: u64,
    },
    /// As a store, around the caches.
    Stream {
        /// Which.
        word: u32,
        /// The value.
        value: u64,
    },
    /// Lines were flushed.
    Flush {
        /// The first.
        line: u32,
        /// How many.
        lines: u32,
    },
    /// What the thread flushed is durable.
    Fence,
    /// Words were read; only where the recorder was told to watch reads.
    Read {
        /// The first.
        word: u32,
        /// How many.
        words: u32,
    },
    /// The case said something.
    Mark(Mark),
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.what {
            What::Store { word, value } => write!(formatter, "store {:#x} := {value:#x}", u64::from(word) * 8)?,
            What::Stream { word, value } => write!(formatter, "stream {:#x} := {value:#x}", u64::from(word) * 8)?,
            What::Flush { line, lines } => write!(formatter, "flush {:#x}, {lines} lines", u64::from(line) * 64)?,
            What::Fence => write!(formatter, "fence")?,
            What::Read { word, words } => write!(formatter, "read {:#x}, {words} words", u64::from(word) * 8)?,
            What::Mark(mark) => write!(formatter, "{mark:?}")?,
        }
        write!(formatter, "  (thread {}, {}:{})", self.thread, self.site.file(), self.site.line())
    }
}
