//! Answers that wait for their moment: a heap, and one thread that sleeps until shortly before the first is due and then
//! watches the clock.

use std::{
    cmp::Ordering as Order,
    collections::BinaryHeap,
    hint,
    sync::{
        Arc, Condvar, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use fuser::{Errno, ReplyAttr, ReplyData, ReplyEmpty, ReplyWrite};

use crate::{
    awake::Spinners,
    clock::{self, Clock},
    lateness::{Class, Lateness, LatenessSummary},
};

/// The clock is watched for so long before a moment at least, and at most, ns.
const WATCHED: std::ops::RangeInclusive<u64> = 15_000..=80_000;
const NEVER: u64 = u64::MAX;

/// What is said.
pub enum HeldAnswer {
    /// To a read.
    Data(ReplyData, Vec<u8>),
    /// To a write, with the bytes that were taken.
    Written(ReplyWrite, u32),
    /// To a flush, or a change of a file's room.
    Done(ReplyEmpty),
    /// To a question for a file's facts; only the probe's are held.
    Facts(ReplyAttr, Box<fuser::FileAttr>),
}

impl HeldAnswer {
    /// At once.
    pub fn say(self) {
        match self {
            Self::Data(reply, data) => reply.data(&data),
            Self::Written(reply, bytes) => reply.written(bytes),
            Self::Done(reply) => reply.ok(),
            Self::Facts(reply, facts) => reply.attr(&Duration::ZERO, &facts),
        }
    }
}

/// An answer with its moment.
pub struct Held {
    /// When its request was seen, ns.
    pub seen_ns: u64,
    /// When it is to be said, ns.
    pub due_ns: u64,
    /// None: it is not counted.
    pub class: Option<Class>,
    /// What is said.
    pub answer: HeldAnswer,
}

impl HeldAnswer {
    /// EIO.
    fn refuse(self) {
        match self {
            Self::Data(reply, _) => reply.error(Errno::EIO),
            Self::Written(reply, _) => reply.error(Errno::EIO),
            Self::Done(reply) => reply.error(Errno::EIO),
            Self::Facts(reply, _) => reply.error(Errno::EIO),
        }
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.due_ns == other.due_ns
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<Order> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    /// The first that is due is the greatest.
    fn cmp(&self, other: &Self) -> Order {
        other.due_ns.cmp(&self.due_ns)
    }
}

#[derive(Default)]
struct Queue {
    held: BinaryHeap<Held>,
    /// The thread sleeps until then.
    wakes_ns: u64,
    ended: bool,
}

struct Shared {
    clock: Clock,
    queue: Mutex<Queue>,
    changed: Condvar,
    /// The moment of the first that is due.
    first_ns: AtomicU64,
    lateness: Mutex<Lateness>,
    cpu_ns: AtomicU64,
    watched_ns: u64,
    injected_ns: u64,
    /// How late the last answer was that is not counted.
    uncounted_late_ns: AtomicU64,
    /// The power was cut: every answer is EIO.
    dead: Arc<AtomicBool>,
    /// Who keeps CPUs awake while somebody waits.
    spinners: Option<Arc<Spinners>>,
}

/// Takes answers and says them at their moments.
pub struct Holder {
    shared: Arc<Shared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

impl Holder {
    /// Begins to hold. Every answer that is counted comes `injected_ns` too late, for tests of what judges that.
    ///
    /// # Errors
    /// Where no thread can be started.
    pub fn start(
        clock: Clock,
        injected_ns: u64,
        dead: Arc<AtomicBool>,
        spinners: Option<Arc<Spinners>>,
    ) -> std::io::Result<Self> {
        let watched_ns = clock::oversleep_ns().clamp(*WATCHED.start(), *WATCHED.end());
        let shared = Arc::new(Shared {
            clock,
            queue: Mutex::new(Queue { wakes_ns: NEVER, ..Queue::default() }),
            changed: Condvar::new(),
            first_ns: AtomicU64::new(NEVER),
            lateness: Mutex::new(Lateness::default()),
            cpu_ns: AtomicU64::new(0),
            watched_ns,
            injected_ns,
            uncounted_late_ns: AtomicU64::new(0),
            dead,
            spinners,
        });
        let own = Arc::clone(&shared);
        let thread = thread::Builder::new().name("holder".to_owned()).spawn(move || own.work())?;
        Ok(Self { shared, thread: Mutex::new(Some(thread)) })
    }

    /// Says it at its moment.
    pub fn hold(&self, mut held: Held) {
        // What is injected is a drive's lateness: a probe that came late by it would have it taken off again.
        if held.class.is_none() {
            held.due_ns = held.due_ns.saturating_sub(self.shared.injected_ns);
        }
        let due_ns = held.due_ns;
        if let Some(spinners) = &self.shared.spinners {
            spinners.expect(due_ns);
        }
        let mut queue = self.shared.queue();
        queue.held.push(held);
        let first = queue.held.peek().map_or(NEVER, |held| held.due_ns);
        self.shared.first_ns.store(first, Ordering::Release);
        let wake = due_ns < queue.wakes_ns;
        drop(queue);
        if wake {
            self.shared.changed.notify_one();
        }
    }

    /// What was late so far.
    pub fn summaries(&self) -> Vec<LatenessSummary> {
        self.shared.lateness.lock().expect("no thread panics").summaries()
    }

    /// How late the last answer was that is not counted, the probe's, ns.
    pub fn uncounted_late_ns(&self) -> u64 {
        self.shared.uncounted_late_ns.load(Ordering::Relaxed)
    }

    /// CPU time of the thread that waits, ns.
    pub fn cpu_ns(&self) -> u64 {
        self.shared.cpu_ns.load(Ordering::Relaxed)
    }

    /// For how long before a moment the clock is watched, ns.
    pub fn watched_ns(&self) -> u64 {
        self.shared.watched_ns
    }

    /// Says what is still held, each at its moment, and ends.
    pub fn end(&self) {
        self.shared.queue().ended = true;
        self.shared.changed.notify_one();
        if let Some(thread) = self.thread.lock().expect("no thread panics").take() {
            let _ = thread.join();
        }
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().expect("no thread panics")
    }

    fn work(&self) {
        clock::exact_timers();
        while let Some(held) = self.next() {
            self.say(held);
            self.cpu_ns.store(clock::thread_cpu_ns(), Ordering::Relaxed);
        }
    }

    /// The next answer, at its moment; none at the end.
    fn next(&self) -> Option<Held> {
        let mut queue = self.queue();
        loop {
            let first = queue.held.peek().map_or(NEVER, |held| held.due_ns.saturating_add(self.injected_ns));
            let left = first.saturating_sub(self.clock.now_ns());
            if first == NEVER && queue.ended {
                return None;
            }
            if left == 0 {
                let held = queue.held.pop();
                let first = queue.held.peek().map_or(NEVER, |held| held.due_ns);
                self.first_ns.store(first, Ordering::Release);
                return held;
            }
            if left > self.watched_ns {
                queue = self.sleep(queue, first, left - self.watched_ns);
            } else {
                drop(queue);
                self.watch();
                queue = self.queue();
            }
        }
    }

    fn sleep<'a>(&'a self, mut queue: MutexGuard<'a, Queue>, first: u64, left: u64) -> MutexGuard<'a, Queue> {
        queue.wakes_ns = first;
        let mut queue = if first == NEVER {
            self.changed.wait(queue).expect("no thread panics")
        } else {
            self.changed.wait_timeout(queue, Duration::from_nanos(left)).expect("no thread panics").0
        };
        queue.wakes_ns = 0; // awake: nobody need wake it
        queue
    }

    /// Until the first is due; one that comes meanwhile may be that.
    fn watch(&self) {
        while self.clock.now_ns() < self.first_ns.load(Ordering::Acquire).saturating_add(self.injected_ns) {
            hint::spin_loop();
        }
    }

    fn say(&self, held: Held) {
        let answered_ns = self.clock.now_ns();
        if self.dead.load(Ordering::SeqCst) && held.class.is_some() {
            return held.answer.refuse();
        }
        if held.class.is_none() {
            let late_ns = answered_ns.saturating_sub(held.due_ns + self.injected_ns);
            self.uncounted_late_ns.store(late_ns, Ordering::Relaxed);
        }
        held.answer.say();
        if let Some(class) = held.class {
            let mut lateness = self.lateness.lock().expect("no thread panics");
            lateness.record(class, held.seen_ns, held.due_ns, answered_ns);
        }
    }
}
