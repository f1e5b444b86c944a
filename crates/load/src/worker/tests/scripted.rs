//! A path that follows a script, writes down what it was asked, and holds the loop to its contract.

use std::{
    cell::RefCell,
    collections::{BTreeMap, VecDeque},
    io,
    rc::Rc,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use assay_path::{Blocking, Completion, Queued, Request, Wait};

/// What the path was asked to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    Read { segment: u32, offset: u64 },
    Write { segment: u32, offset: u64 },
    Flush { segment: u32 },
    FlushAll,
    Submit { count: usize },
    Restart { segment: u32 },
}

/// What it does. Operations are numbered from 0 in the order of pushing, flushes apart.
#[derive(Debug, Default)]
pub struct Script {
    /// The newest operation ends first.
    pub reorder: bool,
    /// Completions per reaping at most; 0 means all.
    pub reap_at_most: usize,
    /// Every n-th submission says "not now"; 0 means none.
    pub not_now_every: usize,
    /// Results of operations that do not move what was asked.
    pub results: BTreeMap<usize, i32>,
    /// Results of flushes that fail.
    pub flush_results: BTreeMap<usize, i32>,
    /// The window closes when this many operations ended.
    pub close_after: usize,
    pub log: Vec<Asked>,
    pub ended: usize,
    pub deepest: usize,
    pub(super) pushed: VecDeque<(Completion, bool)>,
    pub(super) in_flight: VecDeque<(Completion, bool)>,
    pub(super) busy: BTreeMap<u32, usize>,
    pub(super) operations: usize,
    pub(super) flushes: usize,
    pub(super) submissions: usize,
}

/// A hand on the script: the loop has one, the test another.
#[derive(Clone, Debug)]
pub struct Scripted {
    pub script: Rc<RefCell<Script>>,
    pub until: Arc<AtomicU64>,
}

impl Scripted {
    pub fn new(script: Script, until: &Arc<AtomicU64>) -> Self {
        Self { script: Rc::new(RefCell::new(script)), until: Arc::clone(until) }
    }

    pub fn count(&self, what: impl Fn(&Asked) -> bool) -> usize {
        self.script.borrow().log.iter().filter(|asked| what(asked)).count()
    }
}

impl Script {
    fn number(&mut self, write: bool, segment: u32, offset: u64, length: u32) -> i32 {
        self.log.push(if write { Asked::Write { segment, offset } } else { Asked::Read { segment, offset } });
        self.operations += 1;
        self.results.get(&(self.operations - 1)).copied().unwrap_or(length as i32)
    }

    fn number_flush(&mut self) -> i32 {
        self.flushes += 1;
        self.flush_results.get(&(self.flushes - 1)).copied().unwrap_or(0)
    }

    fn end(&mut self, until: &AtomicU64) {
        self.ended += 1;
        if self.ended == self.close_after {
            until.store(0, Relaxed);
        }
    }
}

impl Queued for Scripted {
    fn push(&mut self, request: Request) {
        let mut script = self.script.borrow_mut();
        let before = script.busy.insert(request.slot, request.memory);
        assert_eq!(before, None, "slot {} is in flight", request.slot);
        let pages: std::collections::BTreeSet<_> = script.busy.values().collect();
        assert_eq!(pages.len(), script.busy.len(), "two operations in flight share a page");
        script.deepest = script.deepest.max(script.busy.len());
        let result = script.number(request.write, request.segment, request.offset, request.length);
        script.pushed.push_back((Completion { slot: request.slot, result }, true));
    }

    fn push_flush(&mut self, segment: u32, slot: u32) {
        let mut script = self.script.borrow_mut();
        script.log.push(Asked::Flush { segment });
        assert_eq!(script.busy.insert(slot, usize::MAX - slot as usize), None, "slot {slot} is in flight");
        let result = script.number_flush();
        script.pushed.push_back((Completion { slot, result }, false));
    }

    fn submit(&mut self) -> io::Result<u32> {
        let mut script = self.script.borrow_mut();
        script.submissions += 1;
        if script.not_now_every > 0 && script.submissions % script.not_now_every == 0 {
            return Err(io::Error::from_raw_os_error(libc::EAGAIN));
        }
        let pushed = std::mem::take(&mut script.pushed);
        script.log.push(Asked::Submit { count: pushed.len() });
        script.in_flight.extend(pushed.iter());
        Ok(pushed.len() as u32)
    }

    fn reap(&mut self, wait: Wait, into: &mut Vec<Completion>) -> io::Result<u32> {
        let mut script = self.script.borrow_mut();
        // A path submits what is left over before it waits, as the contract has it.
        let rest = std::mem::take(&mut script.pushed);
        script.in_flight.extend(rest.iter());
        assert!(wait.at_least as usize <= script.in_flight.len(), "the loop would wait for ever");
        let most = if script.reap_at_most == 0 { usize::MAX } else { script.reap_at_most.max(wait.at_least as usize) };
        let count = script.in_flight.len().min(most);
        for _ in 0..count {
            let next = if script.reorder { script.in_flight.pop_back() } else { script.in_flight.pop_front() };
            let (completion, operation) = next.expect("counted");
            script.busy.remove(&completion.slot);
            assert!(into.len() < into.capacity(), "the loop gave no room");
            into.push(completion);
            if operation {
                script.end(&self.until);
            }
        }
        Ok(count as u32)
    }

    fn restart(&mut self, segment: u32) -> io::Result<()> {
        let mut script = self.script.borrow_mut();
        assert!(script.busy.is_empty(), "a file began anew with operations in flight");
        script.log.push(Asked::Restart { segment });
        Ok(())
    }

    fn system_calls(&self) -> u64 {
        self.script.borrow().submissions as u64
    }
}

impl Blocking for Scripted {
    fn read(&mut self, segment: u32, offset: u64, length: u32, _memory: usize) -> io::Result<()> {
        self.operate(false, segment, offset, length)
    }

    fn write(&mut self, segment: u32, offset: u64, length: u32, _memory: usize) -> io::Result<()> {
        self.operate(true, segment, offset, length)
    }

    fn flush(&mut self) -> io::Result<()> {
        let mut script = self.script.borrow_mut();
        script.log.push(Asked::FlushAll);
        match script.number_flush() {
            0 => Ok(()),
            error => Err(io::Error::from_raw_os_error(-error)),
        }
    }

    fn restart(&mut self, segment: u32) -> io::Result<()> {
        self.script.borrow_mut().log.push(Asked::Restart { segment });
        Ok(())
    }

    fn system_calls(&self) -> u64 {
        0
    }
}

impl Scripted {
    fn operate(&mut self, write: bool, segment: u32, offset: u64, length: u32) -> io::Result<()> {
        let mut script = self.script.borrow_mut();
        let result = script.number(write, segment, offset, length);
        script.end(&self.until);
        if result < 0 { Err(io::Error::from_raw_os_error(-result)) } else { Ok(()) }
    }
}
