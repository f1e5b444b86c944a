//! Slots that point to blocks: a small structure that uses all that a pool offers.

#![allow(dead_code, reason = "each test uses a part")]

use assay_pmem::{
    Medium, Offset, Pool, Shape, block_bytes,
    crash::{CrashCase, Mark, Recorder, possible},
};

pub const SLOTS: usize = 4;
const BYTES: usize = 1 << 20;
const LAYOUT: &str = "slots-1";
/// Says that a pool was opened and its incarnation seen.
const OPENED: u64 = u64::MAX;
/// Roots 40 to 42, one line: slot plus one, block, bytes. A log for allocations without a transaction.
const LOG: usize = 40;
const STAMP: usize = 50;

/// What happens to a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// A new block, linked by a transaction.
    Fill,
    /// The same, with the lazy commit and a fence of its own.
    FillLazily,
    /// The same, by a log of its own.
    FillByLog,
    /// The block is freed; readers may linger.
    Clear,
    /// The block is freed for good.
    ClearNow,
    /// A new block instead of the old one, in one step.
    Replace,
    /// The pointer goes to the next slot.
    Move,
    /// Another root is published.
    Stamp,
    /// The pointer goes to the next slot by two words published after each other, the new one first. It is wrong.
    MoveCarelessly,
}

/// An operation, and its number in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    pub action: Action,
    pub slot: usize,
    pub bytes: u64,
    pub lane: usize,
    pub stamp: u64,
}

const ACTIONS: [Action; 9] = [
    Action::Fill,
    Action::FillLazily,
    Action::FillByLog,
    Action::Clear,
    Action::ClearNow,
    Action::Replace,
    Action::Move,
    Action::Stamp,
    Action::MoveCarelessly,
];

/// What a slot holds: bytes asked for, and the stamp of the operation that filled it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    pub slots: [Option<(u64, u64)>; SLOTS],
    pub stamp: u64,
}

impl Operation {
    pub fn encode(self) -> u64 {
        let action = ACTIONS.iter().position(|action| *action == self.action).unwrap() as u64;
        action | (self.slot as u64) << 8 | (self.lane as u64) << 12 | self.bytes << 16 | self.stamp << 40
    }

    pub fn decode(code: u64) -> Self {
        Self {
            action: ACTIONS[(code & 0xff) as usize],
            slot: (code >> 8 & 15) as usize,
            lane: (code >> 12 & 15) as usize,
            bytes: code >> 16 & 0xff_ffff,
            stamp: code >> 40,
        }
    }

    pub fn apply(self, state: &mut State) {
        let (slot, next) = (self.slot, (self.slot + 1) % SLOTS);
        let new = Some((self.bytes, self.stamp));
        match self.action {
            Action::Fill | Action::FillLazily | Action::FillByLog => {
                state.slots[slot] = state.slots[slot].or(new);
            }
            Action::Clear | Action::ClearNow => state.slots[slot] = None,
            Action::Replace => state.slots[slot] = new,
            Action::Move | Action::MoveCarelessly if state.slots[next].is_none() => {
                state.slots[next] = state.slots[slot].take();
            }
            Action::Move | Action::MoveCarelessly => {}
            Action::Stamp => state.stamp = self.stamp,
        }
    }
}

/// The structure.
pub struct Slots {
    pub pool: Pool<Recorder>,
}

impl Slots {
    pub fn open(medium: Recorder) -> Result<Self, String> {
        let pool = Pool::open(medium, LAYOUT).map_err(|error| error.to_string())?;
        let slots = Self { pool };
        slots.recover_log()?;
        Ok(slots)
    }

    fn word(&self, root: usize) -> u64 {
        self.pool.medium().load(self.pool.root::<u64>(root).raw())
    }

    fn recover_log(&self) -> Result<(), String> {
        let (slot, block, bytes) =
            (self.word(LOG), Offset::<u64>::new(self.word(LOG + 1)), self.word(LOG + 2) as usize);
        if slot == 0 {
            return Ok(());
        }
        let medium = self.pool.medium();
        if self.word(slot as usize - 1) == block.raw() {
            self.pool.mark(block, bytes).map_err(|error| error.to_string())?;
        } else {
            self.pool.unmark(block, bytes).map_err(|error| error.to_string())?;
            self.pool.cancel(block, bytes);
        }
        medium.fence(); // own log recovered
        medium.publish(self.pool.root::<u64>(LOG).raw(), 0); // own log reset by recovery
        Ok(())
    }

    fn write(&self, block: Offset<u64>, operation: Operation) {
        let medium = self.pool.medium();
        medium.store(block.raw(), operation.stamp);
        medium.store(block.raw() + 8, operation.bytes);
        let rest = pattern(operation.bytes, operation.stamp);
        if operation.stamp % 2 == 0 {
            medium.write(block.raw() + 16, &rest);
            medium.flush(block.raw(), 16 + rest.len()); // block filled
        } else {
            medium.flush(block.raw(), 16); // block's head filled
            medium.stream(block.raw() + 16, &rest);
        }
    }

    pub fn act(&self, operation: Operation) -> Result<(), String> {
        let (slot, next) = (operation.slot, (operation.slot + 1) % SLOTS);
        let full = |slot: usize| self.word(slot) != 0;
        match operation.action {
            Action::Fill | Action::FillLazily | Action::FillByLog if full(slot) => Ok(()),
            Action::FillByLog => self.fill_by_log(operation),
            Action::Fill | Action::FillLazily | Action::Replace => self.fill(operation),
            Action::Clear | Action::ClearNow if full(slot) => self.clear(operation),
            Action::Clear | Action::ClearNow => Ok(()),
            Action::Move | Action::MoveCarelessly if full(next) || !full(slot) => Ok(()),
            Action::Move => self.shift(operation, next),
            Action::MoveCarelessly => {
                self.pool.medium().publish(self.pool.root::<u64>(next).raw(), self.word(slot));
                self.pool.medium().publish(self.pool.root::<u64>(slot).raw(), 0);
                Ok(())
            }
            Action::Stamp => {
                self.pool.medium().publish(self.pool.root::<u64>(STAMP).raw(), operation.stamp); // stamp
                Ok(())
            }
        }
    }

    fn fill(&self, operation: Operation) -> Result<(), String> {
        let said = |error: assay_pmem::PmemError| error.to_string();
        let mut transaction = self.pool.begin_in(operation.lane);
        let block = transaction.alloc::<u64>(operation.bytes as usize).map_err(said)?;
        self.write(block, operation);
        let old = self.word(operation.slot);
        if old != 0 {
            transaction.free(Offset::<u64>::new(old)).map_err(said)?;
        }
        transaction.link(self.pool.root(operation.slot), block).map_err(said)?;
        if operation.action == Action::FillLazily {
            transaction.commit_lazily();
            self.pool.medium().fence(); // after a lazy commit
        } else {
            transaction.commit();
        }
        Ok(())
    }

    fn fill_by_log(&self, operation: Operation) -> Result<(), String> {
        let said = |error: assay_pmem::PmemError| error.to_string();
        let (pool, medium) = (&self.pool, self.pool.medium());
        let block = pool.reserve::<u64>(operation.bytes as usize).map_err(said)?;
        let log = pool.root::<u64>(LOG).raw();
        self.write(block, operation);
        medium.store(log + 8, block.raw());
        medium.store(log + 16, operation.bytes);
        medium.store(log, operation.slot as u64 + 1);
        medium.flush(log, 24); // own log
        medium.fence(); // own log valid
        pool.mark(block, operation.bytes as usize).map_err(said)?;
        let slot = pool.root::<u64>(operation.slot).raw();
        medium.store(slot, block.raw());
        medium.flush(slot, 8); // linked by own log
        medium.fence(); // done by own log
        medium.publish(log, 0); // own log reset
        Ok(())
    }

    fn clear(&self, operation: Operation) -> Result<(), String> {
        let said = |error: assay_pmem::PmemError| error.to_string();
        let mut transaction = self.pool.begin_in(operation.lane);
        let old = Offset::<u64>::new(self.word(operation.slot));
        if operation.action == Action::Clear {
            transaction.free(old).map_err(said)?;
        } else {
            transaction.free_now(old).map_err(said)?;
        }
        transaction.set(self.pool.root(operation.slot), 0).map_err(said)?;
        transaction.commit();
        Ok(())
    }

    fn shift(&self, operation: Operation, next: usize) -> Result<(), String> {
        let said = |error: assay_pmem::PmemError| error.to_string();
        let mut transaction = self.pool.begin_in(operation.lane);
        transaction.set(self.pool.root(next), self.word(operation.slot)).map_err(said)?;
        transaction.set(self.pool.root(operation.slot), 0).map_err(said)?;
        transaction.commit();
        Ok(())
    }

    /// What is there now, or what is wrong with it.
    pub fn state(&self) -> Result<State, String> {
        let mut state = State { stamp: self.word(STAMP), ..State::default() };
        for slot in 0..SLOTS {
            let block = self.word(slot);
            if block == 0 {
                continue;
            }
            let medium = self.pool.medium();
            let (stamp, bytes) = (medium.load(block), medium.load(block + 8));
            let wanted = pattern(bytes.min(1 << 20), stamp);
            let mut found = vec![0; wanted.len()];
            medium.read(block + 16, &mut found);
            if found != wanted {
                return Err(format!("the content of slot {slot} at {block:#x} is not what was written"));
            }
            state.slots[slot] = Some((bytes, stamp));
        }
        Ok(state)
    }

    fn check_space(&self, state: &State) -> Result<(), String> {
        let allocated = self.pool.allocated().map_err(|error| error.to_string())?;
        let mut found: Vec<(u64, u64)> = allocated.iter().map(|block| (block.at, block.bytes)).collect();
        let of = |slot: usize| state.slots[slot].map(|(bytes, _)| (self.word(slot), block_bytes(bytes)));
        let mut wanted: Vec<(u64, u64)> = (0..SLOTS).filter_map(of).collect();
        found.sort_unstable();
        wanted.sort_unstable();
        if found == wanted { Ok(()) } else { Err(format!("allocated are {found:x?}, linked are {wanted:x?}")) }
    }
}

/// Two lines and a bit at most, so that histories stay short.
fn pattern(bytes: u64, stamp: u64) -> Vec<u8> {
    (0..bytes.min(160).saturating_sub(16))
        .map(|index| (index.wrapping_mul(7) ^ stamp.wrapping_mul(31)) as u8 | 1)
        .collect()
}

/// A history of operations, and some more after recovery.
pub struct Case {
    pub operations: Vec<Operation>,
    pub afterwards: Vec<Operation>,
}

impl CrashCase for Case {
    type Recovered = Slots;

    fn bytes(&self) -> usize {
        BYTES
    }

    fn set_up(&self, medium: Recorder) -> Result<(), String> {
        let shape = Shape { lanes: 2, ..Shape::new(LAYOUT) };
        Pool::create(medium, &shape).map(drop).map_err(|error| error.to_string())
    }

    fn run(&self, medium: Recorder) -> Result<(), String> {
        medium.play_thread(0);
        let slots = Slots::open(medium.clone())?;
        medium.begin(OPENED);
        medium.end(OPENED);
        work(&slots, &medium, &self.operations)
    }

    fn recover(&self, medium: Recorder) -> Result<Slots, String> {
        medium.play_thread(0);
        Slots::open(medium)
    }

    fn go_on(&self, slots: &Slots, medium: &Recorder) -> Result<(), String> {
        medium.begin(OPENED);
        medium.end(OPENED);
        work(slots, medium, &self.afterwards)
    }

    fn check(&self, slots: &Slots, past: &[Mark]) -> Result<(), String> {
        let opened = 2 + past.iter().filter(|mark| **mark == Mark::End(OPENED)).count() as u64;
        let recovered_alone = usize::from(past.last() == Some(&Mark::Crash)) as u64;
        if slots.pool.incarnation() < opened - 1 + recovered_alone {
            return Err(format!("incarnation {} was seen before", slots.pool.incarnation()));
        }
        let past: Vec<Mark> =
            past.iter().copied().filter(|mark| !matches!(mark, Mark::Begin(OPENED) | Mark::End(OPENED))).collect();
        let possible = possible(State::default(), &past, |state, code| Operation::decode(code).apply(state));
        let state = slots.state()?;
        if !possible.contains(&state) {
            return Err(format!("found {state:?}, possible are {possible:?}"));
        }
        slots.check_space(&state)
    }
}

fn work(slots: &Slots, medium: &Recorder, operations: &[Operation]) -> Result<(), String> {
    for operation in operations {
        medium.play_thread(operation.lane as u16);
        medium.begin(operation.encode());
        slots.act(*operation)?;
        medium.end(operation.encode());
    }
    Ok(())
}

/// Operations by chance; the sizes are of four classes and a large one.
pub fn by_chance(count: usize, mut random: impl FnMut() -> u64) -> Vec<Operation> {
    let sizes = [32, 40, 200, 70_000];
    let one = |index: usize| {
        let dice = random();
        Operation {
            action: ACTIONS[dice as usize % 8],
            slot: (dice >> 8) as usize % SLOTS,
            bytes: sizes[(dice >> 16) as usize % sizes.len()],
            lane: (dice >> 24) as usize % 2,
            stamp: index as u64 + 1,
        }
    };
    (0..count).map(one).collect()
}

/// A history in which every action happens and has something to do, in both lanes.
pub fn every_action() -> Vec<Operation> {
    use Action::{Clear, ClearNow, Fill, FillByLog, FillLazily, Move, Replace, Stamp};
    let steps = [
        (Fill, 0, 40, 0),
        // A lazy commit whose fence is missing does harm when another thread uses its block again.
        (FillLazily, 1, 40, 1),
        (ClearNow, 1, 0, 0),
        (Fill, 3, 40, 0),
        (Fill, 1, 40, 1),
        (ClearNow, 3, 0, 0),
        (FillByLog, 2, 200, 0),
        (Stamp, 0, 0, 0),
        (Replace, 0, 200, 1),
        (Move, 2, 0, 0),
        (ClearNow, 3, 0, 1),
        (Fill, 2, 70_000, 0),
        (Fill, 3, 40, 1),
        (Clear, 1, 0, 0),
        (Replace, 2, 40, 1),
        (ClearNow, 0, 0, 0),
        (FillByLog, 0, 70_000, 0),
        (Clear, 0, 0, 1),
        (Fill, 0, 40, 0),
        (Move, 0, 0, 1),
        (ClearNow, 1, 0, 1),
        (FillLazily, 1, 200, 0),
        (ClearNow, 1, 0, 1),
    ];
    let numbered = steps.iter().enumerate();
    numbered
        .map(|(index, &(action, slot, bytes, lane))| Operation { action, slot, bytes, lane, stamp: index as u64 + 1 })
        .collect()
}
