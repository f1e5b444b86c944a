//! What a crash can leave behind, and a machine that tries it out.
//!
//! A [`Recorder`] is a medium whose stores, flushes and fences are written down. From such a history an [`Explorer`]
//! makes the images that a crash could have left at any moment, lets the case's own recovery run on each, and checks the
//! outcome against what had been acknowledged. A crash during recovery is one more history.
//!
//! What an image can be: a fence makes durable what the same thread flushed or streamed before. Of every other line, any
//! prefix of its stores in their order may have arrived, and of stores around the caches any of them; lines are
//! independent of each other, and aligned words arrive whole. This is what x86-64 and 64-bit Arm promise, and no more.
//!
//! Images are taken just before each fence and at the end of a history: until the next fence, what can have arrived only
//! grows, and so does what was acknowledged, so that these moments hold the images of all those before them to the
//! strictest demand.

mod case;
mod choice;
mod event;
mod explorer;
mod hints;
mod memory;
mod mutant;
mod recorder;
mod replay;
mod violation;

pub use case::{CrashCase, possible};
pub use event::{Event, Mark, What};
pub use explorer::{Explorer, Summary};
pub use hints::{Hints, hints};
pub use mutant::{Allowed, Mutant, MutantReport, Survivor, try_mutants, try_recovery_mutants};
pub use recorder::Recorder;
pub use violation::{CrashPoint, Violation};
