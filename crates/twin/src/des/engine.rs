//! The loop: takes the next event, moves one operation on, until the window closes.
//!
//! An operation costs its thread CPU time, goes through the device's stations, wakes its thread, costs CPU time again,
//! and is recorded. Nothing is allocated per operation, and nothing is called through a table.

use assay_load::seat::seed_of;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

use super::{
    journal::OpenCommit,
    pages::Pages,
    queue::Queue,
    runnable::Runnable,
    seat::{ClassSeat, Flight, Phase, ThreadSeat},
};
use crate::simulated::{Picoseconds, Request, Simulated, Step};

/// Event ids from here on are threads whose next operation is due.
pub(super) const TIMER: u32 = 1 << 31;
/// Threads of a closed loop do not all begin at one instant.
const STAGGER_PS: u64 = 1_000_000;

/// All that moves.
#[derive(Debug)]
pub struct Engine<M> {
    /// Stations of the targets.
    pub machines: Vec<M>,
    /// Classes.
    pub classes: Vec<ClassSeat>,
    /// Threads of all classes.
    pub threads: Vec<ThreadSeat>,
    /// Page caches of the data sets that are reached through one.
    pub pages: Vec<Pages>,
    /// The window is open: what ends is recorded.
    pub recording: bool,
    /// When the window closed: what was due in it is still served.
    pub(super) closed_at: Option<Picoseconds>,
    /// Operations done so far, in the window or not.
    pub done: u64,
    /// Virtual time.
    pub now: Picoseconds,
    pub(super) flights: Vec<Flight>,
    /// Flights of read-ahead and write-back that are free.
    pub(super) spare: Vec<u32>,
    /// Operations of the submission that is under way.
    pub(super) begun: Vec<u32>,
    pub(super) queue: Queue,
    pub(super) cores: Runnable,
    pub(super) random: Xoshiro256PlusPlus,
    /// Journals of the file systems, by machine.
    pub(super) journals: Vec<Vec<OpenCommit>>,
}

impl<M: Simulated> Engine<M> {
    /// An engine at time 0.
    pub fn new(
        machines: Vec<M>,
        classes: Vec<ClassSeat>,
        threads: Vec<ThreadSeat>,
        pages: Vec<Pages>,
        cores: Runnable,
        seed: u64,
    ) -> Self {
        let mut engine = Self {
            journals: machines.iter().map(|_| vec![OpenCommit::default()]).collect(),
            machines,
            classes,
            threads,
            pages,
            recording: false,
            closed_at: None,
            done: 0,
            now: 0,
            flights: Vec::new(),
            spare: Vec::new(),
            begun: Vec::new(),
            queue: Queue::default(),
            cores,
            random: Xoshiro256PlusPlus::seed_from_u64(seed_of(seed, usize::MAX - 1, 0)),
        };
        engine.seat_threads();
        engine
    }

    fn seat_threads(&mut self) {
        for index in 0..self.threads.len() {
            let class = &self.classes[self.threads[index].class as usize];
            let (begin, depth) = (class.begin, class.depth);
            let stagger = if class.open { 0 } else { self.random.next_u64() % STAGGER_PS };
            let first = self.flights.len() as u32;
            self.flights.extend((0..depth).map(|_| Flight {
                thread: index as u32,
                runs_on: index as u32,
                ..Flight::default()
            }));
            let thread = &mut self.threads[index];
            thread.idle = (first..first + depth).rev().collect();
            thread.timer = true;
            if let Some(schedule) = &mut thread.schedule {
                schedule.begin(begin);
            }
            self.queue.push(begin + stagger, TIMER | index as u32);
        }
    }

    /// Runs until virtual time `until`, or until `operations` more are done.
    pub fn run(&mut self, until: Picoseconds, operations: u64) {
        let enough = self.done.saturating_add(operations);
        while self.done < enough && self.queue.next_at() < until {
            let Some(event) = self.queue.pop() else { break };
            (self.now, self.cores.now) = (event.at, event.at);
            if event.id & TIMER == 0 {
                self.advance(event.id, event.at);
            } else {
                let thread = event.id & !TIMER;
                self.threads[thread as usize].timer = false;
                self.pump(thread, event.at);
            }
        }
        if self.done < enough {
            self.now = until;
        }
    }

    #[inline(always)]
    fn advance(&mut self, id: u32, now: Picoseconds) {
        match self.flights[id as usize].phase {
            Phase::Device => self.step(id, now, Phase::Done),
            Phase::Done => self.served(id, now),
            Phase::Flush => self.step(id, now, Phase::Flushed),
            Phase::Flushed => self.flushed(id, now),
            Phase::Joining => self.join_commit(id, now),
            Phase::Woken => self.woken(id, now),
            Phase::Behind => self.step(id, now, Phase::BehindDone),
            Phase::BehindDone => self.behind(id, now),
            Phase::Ready => self.ended(id, now),
        }
    }

    /// The request arrives at its next station.
    #[inline(always)]
    fn step(&mut self, id: u32, now: Picoseconds, after: Phase) {
        let flight = &mut self.flights[id as usize];
        let machine = self.classes[self.threads[flight.thread as usize].class as usize].machine;
        if flight.request.stage == 0 {
            flight.sent = now;
        }
        match self.machines[machine].step(now, &mut flight.request, &mut self.random) {
            Step::Done(at) => {
                flight.phase = after;
                self.queue.push(at, id);
            }
            Step::At(at) => self.queue.push(at, id),
        }
    }

    /// Hands a request to the device at `at`, now or later.
    #[inline(always)]
    pub(super) fn send(&mut self, id: u32, request: Request, phase: Phase, at: Picoseconds) {
        let flight = &mut self.flights[id as usize];
        (flight.request, flight.phase) = (request, phase);
        self.queue.push(at, id);
    }
}
