//! A stage on which the pool's users play in virtual time.
//!
//! The code of workers, tasks, log and checkpoints is the same as ever. What is different is who lets them go on: on a
//! stage, each thread is an *actor*, a stack of its own on the one thread that plays, and the actor that is first in
//! virtual time goes on until it waits. What it computes costs it the CPU time that it took on this machine (the clock of
//! the thread, read where it begins and ends to wait), as the [`World`] scales it; what it waits for ends when the world's
//! devices say so. Nothing else passes time, so a busy machine changes nothing but how long one waits for the answer.
//!
//! An actor's turn is played at once, though it takes virtual time: what it changes is there from the turn's beginning.
//! Turns are some microseconds long, since an actor gives way at the end of each operation at the latest: those who measure
//! operations end each of them with a [`turn`]. Tasks of one worker are one actor, and take turns among themselves as they
//! do off stage.
//!
//! Off stage every function here does what the standard library's does, or nothing.

mod actor;
mod cpu;
mod play;
mod signal;

use std::{
    cell::RefCell,
    rc::Rc,
    time::{Duration, Instant},
};

pub use actor::{Account, Handle, spawn};
pub use cpu::{Cpu, TurnCosts};
pub use play::{Stage, World};
pub use signal::Signal;

/// Virtual time, picoseconds.
pub type Picoseconds = u64;

thread_local! {
    static STAGE: RefCell<Option<Rc<Stage>>> = const { RefCell::new(None) };
}

/// The stage that the calling thread plays on, if any.
pub fn current() -> Option<Rc<Stage>> {
    STAGE.with_borrow(Clone::clone)
}

/// The stage, where the caller is one of its actors.
pub fn acting() -> Option<Rc<Stage>> {
    current().filter(|stage| stage.is_acting())
}

/// The calling thread is on a stage until this is dropped.
#[derive(Debug)]
#[must_use]
pub struct Entered(());

impl Drop for Entered {
    fn drop(&mut self) {
        STAGE.set(None);
    }
}

/// Lets the calling thread be on a stage.
///
/// # Panics
/// Where it is on one already.
pub fn enter(stage: &Rc<Stage>) -> Entered {
    STAGE.with_borrow_mut(|place| {
        assert!(place.is_none(), "a thread is on one stage at a time");
        *place = Some(Rc::clone(stage));
    });
    Entered(())
}

/// Lets others go on because there is nothing to do but to look again: until something has happened on the stage. `false`
/// off stage.
pub fn pause() -> bool {
    let Some(stage) = current() else { return false };
    stage.pause();
    true
}

/// Gives the CPU to whoever wants it, on stage or off.
pub fn give_way() {
    if !pause() {
        std::thread::yield_now();
    }
}

/// An operation ends or begins here: others who are behind in virtual time go on first. The time now, ns; none off stage.
pub fn turn() -> Option<u64> {
    acting().map(|stage| stage.turn())
}

/// Waits for so long.
pub fn sleep(length: Duration) {
    match acting() {
        Some(stage) => stage.sleep(length),
        None => std::thread::sleep(length),
    }
}

/// A moment, by the machine's clock or by the stage's.
#[derive(Clone, Copy, Debug)]
pub enum Moment {
    /// Of the machine.
    Real(Instant),
    /// Of the stage.
    Virtual(Picoseconds),
}

impl Moment {
    /// Now.
    pub fn now() -> Self {
        current().map_or_else(|| Self::Real(Instant::now()), |stage| Self::Virtual(stage.now()))
    }

    /// Time since an earlier moment of the same clock; none between moments of two.
    pub fn since(self, earlier: Self) -> Duration {
        match (earlier, self) {
            (Self::Real(earlier), Self::Real(now)) => now.duration_since(earlier),
            (Self::Virtual(earlier), Self::Virtual(now)) => Duration::from_nanos(now.saturating_sub(earlier) / 1000),
            _ => Duration::ZERO,
        }
    }

    /// Time since then.
    pub fn elapsed(self) -> Duration {
        match (self, current()) {
            (Self::Virtual(then), Some(stage)) => Duration::from_nanos(stage.now().saturating_sub(then) / 1000),
            (Self::Virtual(_), None) => Duration::ZERO,
            (Self::Real(then), _) => then.elapsed(),
        }
    }
}
