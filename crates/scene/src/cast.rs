//! The window in virtual time: workers begin as actors of a stage, time passes in pieces, and somebody looks at the edges.
//! What [`assay_workload::WindowPlan`] is on the machine's clock, with the same observers.

use std::{io, rc::Rc};

use assay_buffer::stage::{Picoseconds, Stage};
use assay_workload::Observe;

/// Pieces of a window of a known length: its series, and how its rate spreads.
pub const PIECES: u32 = 20;
/// The first piece of a window that ends when all is done; later ones are longer, by one of so many parts.
const FIRST_PIECE: Picoseconds = 50_000_000;
const GROWTH: u64 = 8;

/// When the window of a play is over.
#[derive(Clone, Copy, Debug)]
pub enum PlayLength {
    /// After so many seconds.
    Seconds(f64),
    /// When the workers have nothing left to do.
    UntilDone,
}

/// Actors that may not outlive what they borrow: where a play breaks off they are ended.
#[derive(Debug)]
pub struct Cast<'a> {
    stage: &'a Rc<Stage>,
    actors: Vec<usize>,
}

impl<'a> Cast<'a> {
    /// Lets bodies begin, an actor each.
    ///
    /// # Errors
    /// Where there is no memory for a stack; those that had begun are ended.
    pub fn begin(stage: &'a Rc<Stage>, bodies: Vec<Box<dyn FnOnce() + 'a>>) -> io::Result<Self> {
        let mut cast = Self { stage, actors: Vec::with_capacity(bodies.len()) };
        for body in bodies {
            // SAFETY: the cast ends all actors before what they borrow ends, which was there before it.
            let actor = unsafe { stage.spawn_borrowing("worker", body) }?;
            cast.actors.push(actor);
        }
        Ok(cast)
    }

    /// The actors, in the order of their bodies.
    pub fn actors(&self) -> &[usize] {
        &self.actors
    }

    /// Plays warm-up and window as long as `goes_on` says; actors still act when it returns.
    pub fn play(&self, warmup_s: f64, length: PlayLength, goes_on: &dyn Fn() -> bool, observer: &mut impl Observe) {
        let mut until = self.stage.now() + picoseconds(warmup_s);
        self.stage.play_until(until);
        observer.open();
        observer.begin();
        let opened = until;
        let mut piece = match length {
            PlayLength::Seconds(seconds) => picoseconds(seconds / f64::from(PIECES)).max(1),
            PlayLength::UntilDone => FIRST_PIECE,
        };
        let mut played = 0;
        while (played < PIECES || matches!(length, PlayLength::UntilDone)) && goes_on() {
            until += piece;
            self.stage.play_until(until);
            observer.interval(seconds(until - opened));
            played += 1;
            if matches!(length, PlayLength::UntilDone) {
                piece += piece / GROWTH;
            }
        }
        observer.close(seconds(until - opened));
    }

    /// Plays until all have ended.
    pub fn join(self) {
        self.actors.iter().for_each(|&actor| self.stage.join(actor));
    }
}

impl Drop for Cast<'_> {
    fn drop(&mut self) {
        self.stage.abandon(&self.actors);
    }
}

fn picoseconds(seconds: f64) -> Picoseconds {
    (seconds * 1e12) as Picoseconds
}

fn seconds(time: Picoseconds) -> f64 {
    time as f64 / 1e12
}
