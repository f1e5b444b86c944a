//! Commits of a file system's journal, shared by all whose flushes wait for it.

use super::{engine::Engine, journal::OpenCommit, seat::Phase};
use crate::simulated::{Action, Picoseconds, Request, Simulated};

impl<M: Simulated> Engine<M> {
    /// How many journals each machine has.
    pub fn set_journals(&mut self, counts: impl Iterator<Item = usize>) {
        self.journals = counts.map(|count| vec![OpenCommit::default(); count.max(1)]).collect();
    }

    /// Where the thread of an operation keeps its file.
    fn journal_of(&self, id: u32) -> (usize, usize) {
        let machine = self.class_of(id).machine;
        (machine, self.flights[id as usize].thread as usize % self.journals[machine].len())
    }

    /// A flush joins the next commit, which begins at once where none is under way.
    pub(super) fn join_commit(&mut self, id: u32, at: Picoseconds) {
        let (machine, place) = self.journal_of(id);
        let journal = &mut self.journals[machine][place];
        journal.waiting.push(id);
        if journal.members.is_empty() {
            self.commit(machine, place, at);
        }
    }

    /// Commits for all who wait.
    fn commit(&mut self, machine: usize, place: usize, at: Picoseconds) {
        let journal = &mut self.journals[machine][place];
        std::mem::swap(&mut journal.members, &mut journal.waiting);
        let Some(first) = journal.members.first().copied() else { return };
        let others = journal.members.len() as u64 - 1;
        let Some(cost) = self.class_of(first).costs.commit else { return };
        let flight = &mut self.flights[first as usize];
        let end = self.cores.run(flight.thread, at, cost.work, 0) + cost.sleep;
        flight.flushes_left = cost.device_flushes;
        let request = Request {
            action: Action::Write,
            bytes: cost.bytes,
            sequential: true,
            stage: 0,
            note: 0,
            route: 0,
            ..flight.request
        };
        let class = self.threads[flight.thread as usize].class as usize;
        if self.recording {
            self.classes[class].cpu += cost.work + cost.waiter * others;
        }
        self.send(first, request, Phase::Flush, end);
    }

    /// A commit is done: the journal's thread wakes all who took part, one after the other. It begins the next commit when
    /// it has woken the last of them, which stays a member until then.
    pub(super) fn committed(&mut self, id: u32, now: Picoseconds) {
        let (machine, place) = self.journal_of(id);
        let waiter = self.class_of(id).costs.commit.unwrap_or_default().waiter;
        let mut done = std::mem::take(&mut self.journals[machine][place].members);
        let Some(last) = done.pop() else { return };
        let thread = self.flights[last as usize].thread;
        let mut at = now;
        for id in &done {
            self.end_flush(*id, at);
            at = self.cores.run(thread, at, waiter, 0);
        }
        // The room is used again.
        done.clear();
        done.push(last);
        self.journals[machine][place].members = done;
        self.flights[last as usize].phase = Phase::Woken;
        self.queue.push(at, last);
    }

    /// All who took part in a commit have been woken.
    pub(super) fn woken(&mut self, id: u32, now: Picoseconds) {
        let (machine, place) = self.journal_of(id);
        self.journals[machine][place].members.clear();
        self.commit(machine, place, now);
        self.end_flush(id, now);
    }
}
