//! The play: whose turn it is, and what passes time.

use std::{
    cell::{Cell, RefCell},
    fmt, io,
    time::Duration,
};

use corosensei::CoroutineResult;

use super::{
    Account, Cpu, Picoseconds,
    actor::{Actor, Wait},
    cpu::Meter,
};

/// Between two looks of one who waits for anything, at least.
const LOOK: Picoseconds = 1_000_000;
/// Where nothing happens at all, those who look again do so after this time.
const LONG_LOOK: Picoseconds = 50_000_000;

/// What is around the actors: cores and devices.
pub trait World {
    /// When something happens next; the end of time where nothing does.
    fn next_at(&mut self) -> Picoseconds;

    /// Lets the next thing happen. Where an actor's request has ended by it: which actor's.
    fn happen(&mut self) -> Option<usize>;

    /// Work of an actor that may begin at `begin` and takes `work` on a core: when it begins and ends.
    fn work(&mut self, begin: Picoseconds, work: Picoseconds) -> (Picoseconds, Picoseconds);

    /// CPU time of going to sleep until a signal, and of being woken.
    fn sleep(&self) -> Picoseconds {
        0
    }
}

/// What happens next.
enum Next {
    /// An actor's turn.
    Turn(Picoseconds, usize),
    /// Something in the world.
    Event(Picoseconds),
    /// Nothing: those who look have to look again.
    Look,
}

impl Next {
    fn at(&self) -> Picoseconds {
        match *self {
            Self::Turn(at, _) | Self::Event(at) => at,
            Self::Look => 0,
        }
    }
}

/// Actors, their world, and the time.
pub struct Stage {
    world: RefCell<Box<dyn World>>,
    actors: RefCell<Vec<Actor>>,
    meter: RefCell<Meter>,
    current: Cell<Option<usize>>,
    /// Time of the last turn or event.
    now: Cell<Picoseconds>,
    /// Nobody's turn goes on beyond it.
    horizon: Cell<Picoseconds>,
}

impl fmt::Debug for Stage {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Stage").field("now", &self.now.get()).finish_non_exhaustive()
    }
}

impl Stage {
    /// An empty stage at time 0.
    pub fn new(world: Box<dyn World>, cpu: Cpu) -> Self {
        Self {
            world: RefCell::new(world),
            actors: RefCell::default(),
            meter: RefCell::new(Meter::new(cpu)),
            current: Cell::new(None),
            now: Cell::new(0),
            horizon: Cell::new(Picoseconds::MAX),
        }
    }

    /// Whether the caller is an actor.
    pub fn is_acting(&self) -> bool {
        self.current.get().is_some()
    }

    /// The actor whose turn it is.
    pub fn actor(&self) -> Option<usize> {
        self.current.get()
    }

    /// The time: the actor's own, or that of the play.
    pub fn now(&self) -> Picoseconds {
        self.current.get().map_or(self.now.get(), |actor| self.actors.borrow()[actor].at)
    }

    /// The first actor of a name.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.actors.borrow().iter().position(|actor| actor.name == name)
    }

    /// Where an actor's time went so far.
    pub fn account(&self, actor: usize) -> Account {
        self.actors.borrow()[actor].account
    }

    /// Begins an actor.
    ///
    /// # Errors
    /// Where there is no memory for its stack.
    pub fn spawn(&self, name: &str, body: impl FnOnce() + 'static) -> io::Result<usize> {
        let actor = Actor::new(name, self.now(), body)?;
        let mut actors = self.actors.borrow_mut();
        actors.push(actor);
        Ok(actors.len() - 1)
    }

    /// Plays until an actor has ended.
    ///
    /// # Panics
    /// With the panic of an actor; where nobody can go on any more.
    pub fn join(&self, actor: usize) {
        while self.actors.borrow()[actor].fiber.is_some() {
            if self.is_acting() {
                self.pause();
            } else {
                self.step();
            }
        }
    }

    /// Ends actors where they are: their stacks are unwound. For one who must go before they have ended.
    pub fn abandon(&self, actors: &[usize]) {
        let mut all = self.actors.borrow_mut();
        let fibers: Vec<_> = actors.iter().filter_map(|&actor| all[actor].fiber.take()).collect();
        drop(all);
        drop(fibers);
    }

    /// Plays all that happens before a moment, or until all have ended. Panics as [`Stage::step`] does.
    pub fn play_until(&self, moment: Picoseconds) {
        self.horizon.set(moment);
        while self.goes_on() && self.next().at() < moment {
            self.step();
        }
        self.horizon.set(Picoseconds::MAX);
        self.now.set(self.now.get().max(moment));
    }

    fn goes_on(&self) -> bool {
        let left = self.actors.borrow().iter().any(|actor| actor.fiber.is_some());
        left || self.world.borrow_mut().next_at() < Picoseconds::MAX
    }

    /// What happens next.
    fn next(&self) -> Next {
        let actors = self.actors.borrow();
        let there = actors.iter().enumerate().filter(|(_, actor)| actor.fiber.is_some());
        let first = there.map(|(index, actor)| (due_at(actor), index)).min();
        let event_at = self.world.borrow_mut().next_at();
        match first {
            Some((at, index)) if at < event_at => Next::Turn(at, index),
            _ if event_at < Picoseconds::MAX => Next::Event(event_at),
            _ => Next::Look,
        }
    }

    /// Charges what was computed since the turn began, or since this was called last.
    pub fn charge(&self) {
        self.charge_turn(false);
    }

    fn charge_turn(&self, ends_turn: bool) {
        let Some(actor) = self.current.get() else { return };
        let role = self.actors.borrow()[actor].role;
        let work = self.meter.borrow_mut().take(ends_turn, role);
        {
            let account = &mut self.actors.borrow_mut()[actor].account;
            account.computed += work;
            account.turns += u64::from(ends_turn);
        }
        self.work(actor, work);
    }

    fn work(&self, actor: usize, work: Picoseconds) {
        let mut actors = self.actors.borrow_mut();
        let actor = &mut actors[actor];
        let (begin, end) = self.world.borrow_mut().work(actor.at, work);
        actor.account.core += begin - actor.at;
        actor.account.cpu += end - begin;
        actor.at = end;
    }

    /// The actor computes for so long, besides what is measured.
    pub fn spend(&self, work: Picoseconds) {
        if let Some(actor) = self.current.get() {
            self.work(actor, work);
        }
    }

    /// The actor's own loads and stores take so long.
    pub fn stall(&self, length: Picoseconds) {
        let Some(actor) = self.current.get() else { return };
        let mut actors = self.actors.borrow_mut();
        let actor = &mut actors[actor];
        let (begin, end) = self.world.borrow_mut().work(actor.at, length);
        actor.account.core += begin - actor.at;
        actor.account.memory += end - begin;
        actor.at = end;
    }

    /// The actor is let on only so much later: it waits for a device as long.
    pub fn delay(&self, length: Picoseconds) {
        let Some(actor) = self.current.get() else { return };
        let mut actors = self.actors.borrow_mut();
        actors[actor].at += length;
        actors[actor].account.device += length;
    }

    /// Nothing that was computed since the last charge counts.
    pub fn forgive(&self) {
        self.meter.borrow_mut().begin();
    }

    /// Something was done that those who wait for anything may have waited for: so much is said at the end of every turn but
    /// those that only looked.
    pub fn stir(&self) {
        let now = self.now();
        for actor in self.actors.borrow_mut().iter_mut().filter(|actor| actor.wait == Wait::Anything) {
            actor.wait = Wait::Look(now.max(actor.at + LOOK));
        }
    }

    /// See [`super::turn`]: the time, ns.
    pub fn turn(&self) -> u64 {
        self.charge_turn(true);
        self.stir();
        self.give_way(Wait::Turn);
        self.now() / 1000
    }

    /// Lets all that is due before the actor's time happen first.
    pub fn catch_up(&self) {
        self.give_way(Wait::Turn);
    }

    /// Waits for a device of the actor's, until a moment at the latest. What it computed is charged before.
    pub fn await_device(&self, until: Picoseconds) {
        self.stir();
        self.give_way(Wait::Device(until));
    }

    /// See [`super::pause`].
    pub fn pause(&self) {
        if self.is_acting() {
            // Looking in vain is waiting, not work.
            self.forgive();
            self.give_way(Wait::Anything);
        } else {
            self.step();
        }
    }

    /// Waits for so long.
    pub fn sleep(&self, length: Duration) {
        self.charge_turn(true);
        self.stir();
        self.give_way(Wait::Until(self.now() + length.as_nanos() as Picoseconds * 1000));
    }

    pub(super) fn await_signal(&self, key: usize, most: Option<Duration>) {
        if !self.is_acting() {
            return self.step();
        }
        self.charge_turn(true);
        let until = most.map(|most| self.now() + most.as_nanos() as Picoseconds * 1000);
        self.stir();
        self.give_way(Wait::Signal(key, until));
        let sleep = self.world.borrow().sleep();
        self.spend(sleep);
    }

    pub(super) fn signal(&self, key: usize) {
        self.charge();
        let now = self.now();
        self.stir();
        for actor in self.actors.borrow_mut().iter_mut() {
            if matches!(actor.wait, Wait::Signal(waits, _) if waits == key) && actor.fiber.is_some() {
                wake(actor, now);
            }
        }
    }

    /// The actor waits. Comes back when it is its turn again.
    fn give_way(&self, wait: Wait) {
        let Some(index) = self.current.get() else { return };
        if wait == Wait::Turn && self.is_first(index) {
            return self.forgive();
        }
        let giving = {
            let mut actors = self.actors.borrow_mut();
            actors[index].wait = wait;
            actors[index].giving.get()
        };
        // SAFETY: the yielder of the actor whose turn it is lives on that actor's stack. A task of a worker may call this
        // on a stack of its own above it: the actor is left and entered again there.
        unsafe { &*giving }.suspend(wait);
        self.forgive();
    }

    /// Nothing and nobody comes before this actor.
    fn is_first(&self, index: usize) -> bool {
        let mut actors = self.actors.borrow_mut();
        let at = actors[index].at;
        let due = |(other, actor): (usize, &Actor)| other != index && actor.fiber.is_some() && due_at(actor) < at;
        at < self.horizon.get() && !actors.iter().enumerate().any(due) && {
            actors[index].wait = Wait::Turn;
            self.world.borrow_mut().next_at() > at
        }
    }

    /// Lets the next thing happen: an event of the world, or somebody's turn.
    ///
    /// # Panics
    /// With the panic of an actor; where nobody can ever go on.
    pub fn step(&self) {
        match self.next() {
            Next::Turn(at, index) => self.play(index, at),
            Next::Event(at) => self.event(at),
            Next::Look => self.look_again(),
        }
    }

    fn event(&self, at: Picoseconds) {
        self.now.set(at);
        let ended = self.world.borrow_mut().happen();
        if let Some(index) = ended {
            let mut actors = self.actors.borrow_mut();
            if matches!(actors[index].wait, Wait::Device(_) | Wait::Anything | Wait::Look(_)) {
                wake(&mut actors[index], at);
            }
        }
    }

    /// Nothing happens, and all wait for anything: they look again after a while.
    fn look_again(&self) {
        let mut actors = self.actors.borrow_mut();
        let mut looking = 0;
        for actor in actors.iter_mut().filter(|actor| actor.fiber.is_some() && actor.wait == Wait::Anything) {
            let at = actor.at + LONG_LOOK;
            wake(actor, at);
            looking += 1;
        }
        let waits: Vec<_> = actors.iter().map(|actor| (&actor.name, actor.wait)).collect();
        assert!(looking > 0, "nobody on the stage can go on: {waits:?}");
    }

    fn play(&self, index: usize, at: Picoseconds) {
        let mut fiber = {
            let mut actors = self.actors.borrow_mut();
            wake(&mut actors[index], at);
            actors[index].fiber.take().expect("who has ended has no turn")
        };
        self.now.set(self.now.get().max(at));
        self.current.set(Some(index));
        self.meter.borrow_mut().begin();
        let result = fiber.resume(());
        self.current.set(None);
        match result {
            CoroutineResult::Yield(_) => self.actors.borrow_mut()[index].fiber = Some(fiber),
            CoroutineResult::Return(()) => self.stir(),
        }
    }
}

/// When an actor can go on; the end of time where that depends on others.
fn due_at(actor: &Actor) -> Picoseconds {
    match actor.wait {
        Wait::Turn => actor.at,
        Wait::Until(at) | Wait::Look(at) | Wait::Device(at) => at,
        Wait::Signal(_, until) => until.unwrap_or(Picoseconds::MAX),
        Wait::Anything => Picoseconds::MAX,
    }
}

/// An actor's wait is over at a moment, or when it began where that was later.
fn wake(actor: &mut Actor, at: Picoseconds) {
    let waited = at.saturating_sub(actor.at);
    match actor.wait {
        Wait::Turn => actor.account.core += waited,
        Wait::Device(_) => actor.account.device += waited,
        Wait::Anything | Wait::Look(_) | Wait::Signal(..) => actor.account.others += waited,
        Wait::Until(_) => actor.account.asleep += waited,
    }
    actor.at = actor.at.max(at);
    actor.wait = Wait::Turn;
}
