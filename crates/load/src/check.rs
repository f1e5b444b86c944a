//! Data check and acknowledgements: every block carries its offset, generation and checksum.

mod second_look;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering::Relaxed},
};

use assay_instruments::tally::Tally;
use assay_path::{Arena, stamp};

pub use self::second_look::SecondLook;
use crate::{generator::NextOp, journal::Journal};

const EXAMPLES_AT_MOST: usize = 5;

/// Stamps what a worker writes and verifies what it reads.
#[derive(Debug)]
pub struct Checker {
    /// Distance of stamps, bytes.
    block: usize,
    /// Generations of the whole run: a later write of a block has a higher one.
    generations: Arc<AtomicU64>,
    /// Stamp's id of the file that the worker uses.
    file: u32,
    /// Reads are verified.
    verify: bool,
    journal: Option<Journal>,
    /// The first wrong blocks, in words.
    pub examples: Vec<String>,
}

impl Checker {
    /// A checker for one worker; `journal` takes its acknowledgements.
    pub fn new(block: u64, file: u32, verify: bool, generations: Arc<AtomicU64>, journal: Option<Journal>) -> Self {
        Self { block: block as usize, generations, file, verify, journal, examples: Vec::new() }
    }

    /// Stamps every block of a page that is about to be written, and notes that it begins.
    pub fn before_write(&mut self, step: NextOp, arena: &Arena, memory: usize) {
        let generation = self.generations.fetch_add(1, Relaxed) + 1;
        // SAFETY: the page is about to be written by this worker; nothing else uses it until then.
        let page = unsafe { page(arena, memory, step.length) };
        for (index, block) in page.chunks_exact_mut(self.block).enumerate() {
            let offset = step.offset + (index * self.block) as u64;
            stamp::write_in(block, self.file, offset, generation);
            if let Some(journal) = &mut self.journal {
                journal.begin(self.file, offset, generation);
            }
        }
    }

    /// Verifies a page that was read; acknowledges one that was written and made durable. A block that seems wrong while
    /// somebody may be writing it gets a second look.
    pub fn after(
        &mut self,
        step: NextOp,
        arena: &Arena,
        memory: usize,
        tally: &Tally,
        second_look: &mut Option<SecondLook>,
    ) {
        // SAFETY: the operation on the page is over, and the worker begins no other on it before this returns.
        let page = unsafe { page(arena, memory, step.length) };
        if step.write {
            self.acknowledge(step, page);
        } else if self.verify {
            self.verify(step, page, tally, second_look);
        }
    }

    fn acknowledge(&mut self, step: NextOp, page: &[u8]) {
        let Some(journal) = &mut self.journal else { return };
        let begun = self.generations.load(Relaxed);
        for (index, block) in page.chunks_exact(self.block).enumerate() {
            let offset = step.offset + (index * self.block) as u64;
            if let Ok(generation) = stamp::verify_in(block, self.file, offset) {
                journal.acknowledge(self.file, offset, generation, begun);
            }
        }
    }

    fn verify(&mut self, step: NextOp, page: &[u8], tally: &Tally, second_look: &mut Option<SecondLook>) {
        for (index, block) in page.chunks_exact(self.block).enumerate() {
            let offset = step.offset + (index * self.block) as u64;
            Tally::add(&tally.verified, 1);
            let Err(fault) = stamp::verify_in(block, self.file, offset) else { continue };
            let excused = second_look.as_mut().is_some_and(|look| look.excuses(block, self.file, offset));
            if !excused {
                Tally::add(&tally.wrong, 1);
                if self.examples.len() < EXAMPLES_AT_MOST {
                    self.examples.push(format!("offset {offset}: {fault}"));
                }
            }
        }
    }
}

/// A page of the arena.
///
/// # Safety
/// `memory + length` lies inside the arena (the memory plan sees to that), and nothing else uses the page while the borrow
/// lasts.
#[allow(clippy::mut_from_ref)]
unsafe fn page(arena: &Arena, memory: usize, length: u32) -> &mut [u8] {
    debug_assert!(memory + length as usize <= arena.len());
    // SAFETY: as the caller promises.
    unsafe { std::slice::from_raw_parts_mut(arena.start().add(memory), length as usize) }
}
