//! Histories of a small table, and what must hold after a crash in any of them.

use std::{collections::BTreeMap, marker::PhantomData};

use assay_index::{
    Index, IndexError, Session,
    dash::{Dash, DashShape, Directory},
};
use assay_pmem::{
    Medium, Pool, Shape,
    crash::{CrashCase, Mark, Recorder, possible},
};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

const BYTES: usize = 2 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Insert,
    Update,
    Upsert,
    Remove,
}

const ACTIONS: [Action; 4] = [Action::Insert, Action::Update, Action::Upsert, Action::Remove];

/// An operation on a key by its number; the stamp makes the value, `long` its kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    pub action: Action,
    pub key: u64,
    pub long: bool,
    pub stamp: u64,
}

/// What a table should hold: by key number, stamp and kind of the value.
pub type State = BTreeMap<u64, (u64, bool)>;

impl Operation {
    fn encode(self) -> u64 {
        let action = ACTIONS.iter().position(|&action| action == self.action).unwrap() as u64;
        self.stamp << 32 | self.key << 8 | u64::from(self.long) << 4 | action
    }

    fn decode(code: u64) -> Self {
        let action = ACTIONS[(code & 15) as usize];
        Self { action, key: code >> 8 & 0xff_ffff, long: code >> 4 & 1 == 1, stamp: code >> 32 }
    }

    /// Changes the state; whether it should say that it did.
    pub fn apply(self, state: &mut State) -> bool {
        let (there, value) = (state.contains_key(&self.key), (self.stamp, self.long));
        match self.action {
            Action::Insert if !there => state.insert(self.key, value).is_none(),
            Action::Update if there => state.insert(self.key, value).is_some(),
            Action::Upsert => state.insert(self.key, value).is_none(),
            Action::Remove => state.remove(&self.key).is_some(),
            Action::Insert | Action::Update => false,
        }
    }

    pub fn act(self, session: &mut impl Session) -> Result<bool, IndexError> {
        let (key, value) = (key_bytes(self.key), value_bytes(self.stamp, self.long));
        match self.action {
            Action::Insert => session.insert(&key, &value),
            Action::Update => session.update(&key, &value),
            Action::Upsert => session.upsert(&key, &value),
            Action::Remove => session.remove(&key),
        }
    }
}

/// One key in four is no word.
pub fn key_bytes(key: u64) -> Vec<u8> {
    if key % 4 == 3 { format!("a key with number {key}").into_bytes() } else { (key << 8).to_be_bytes().to_vec() }
}

pub fn value_bytes(stamp: u64, long: bool) -> Vec<u8> {
    let word = stamp.to_le_bytes();
    if long { word.iter().cycle().take(8 + 7 * (stamp as usize % 9 + 1)).copied().collect() } else { word.to_vec() }
}

/// What a table holds of the keys below a number.
pub fn state_of<M: Medium, D: Directory>(table: &Dash<M, D>, keys: u64) -> Result<State, String> {
    let (mut session, mut value, mut state) = (table.session(), Vec::new(), State::new());
    for key in 0..keys {
        if session.lookup(&key_bytes(key), &mut value).map_err(|error| error.to_string())? {
            let stamp = u64::from_le_bytes(value[..8].try_into().map_err(|_| format!("key {key}: {value:?}"))?);
            let long = value.len() > 8;
            if value != value_bytes(stamp, long) {
                return Err(format!("key {key} has a value that nobody wrote: {value:?}"));
            }
            state.insert(key, (stamp, long));
        }
    }
    Ok(state)
}

/// What is there before, a history, and what is done after recovery.
#[derive(Debug)]
pub struct Case<D> {
    pub before: Vec<Operation>,
    pub operations: Vec<Operation>,
    pub afterwards: Vec<Operation>,
    pub keys: u64,
    /// The table was closed before the history.
    pub closed: bool,
    pub directory: PhantomData<D>,
}

impl<D: Directory> Case<D> {
    /// By chance: a table that grows, or one that shrinks.
    pub fn by_chance(seed: u64, length: usize) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let mut dice = move |most: u64| random.next_u64() % most;
        let segments = if D::NAME == "dash-eh" { 1 } else { 4 };
        let keys = if segments > 1 { 400 } else { 90 };
        let shrinks = dice(3) == 0;
        let mut stamp = 0;
        let mut one = |actions: &[Action], key: u64, dice: &mut dyn FnMut(u64) -> u64| {
            stamp += 1;
            Operation { action: actions[dice(actions.len() as u64) as usize], key, long: dice(4) == 0, stamp }
        };
        let grow: &[Action] =
            &[Action::Insert, Action::Insert, Action::Insert, Action::Upsert, Action::Update, Action::Remove];
        let shrink: &[Action] = &[Action::Remove, Action::Remove, Action::Remove, Action::Insert, Action::Update];
        let filled = if shrinks { keys } else { (50 + dice(24) + if segments > 1 { 12 } else { 0 }) * segments };
        let mut before: Vec<_> = (0..filled).map(|key| one(&[Action::Insert], key, &mut dice)).collect();
        if shrinks {
            let left = 20 + dice(12);
            before.extend((left..filled).map(|key| one(&[Action::Remove], key, &mut dice)));
        }
        let actions = if shrinks { shrink } else { grow };
        let most = if shrinks { 40 } else { keys };
        let mut some = |count: usize| -> Vec<Operation> {
            (0..count)
                .map(|_| {
                    let key = if shrinks { dice(most) } else { filled - 5 * segments + dice(30 * segments) };
                    one(actions, key.min(keys - 1), &mut dice)
                })
                .collect()
        };
        let (operations, afterwards) = (some(length), some(5));
        let closed = seed % 2 == 0;
        Self { before, operations, afterwards, keys, closed, directory: PhantomData }
    }

    /// An empty table that is filled.
    pub fn of_insertions(seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let keys = if D::NAME == "dash-eh" { 90 } else { 400 };
        let one = |key| Operation { action: Action::Insert, key, long: random.next_u64() % 4 == 0, stamp: key + 1 };
        let operations = (0..keys).map(one).collect();
        Self { before: vec![], operations, afterwards: vec![], keys, closed: true, directory: PhantomData }
    }

    /// The same with a history of so many operations from one on; what comes before has happened, and some of what comes
    /// after happens after recovery.
    pub fn cut(mut self, from: usize, length: usize) -> Self {
        let mut later = self.operations.split_off(from);
        self.before.append(&mut self.operations);
        let rest = later.split_off(length.min(later.len()));
        Self { operations: later, afterwards: rest.into_iter().take(5).collect(), ..self }
    }

    fn start(&self) -> State {
        let mut state = State::new();
        self.before.iter().for_each(|operation| {
            operation.apply(&mut state);
        });
        state
    }
}

/// Does operations, each of which must answer as the model does.
fn work<D: Directory>(
    table: &Dash<Recorder, D>,
    operations: &[Operation],
    medium: Option<&Recorder>,
) -> Result<(), String> {
    let mut session = table.session();
    for operation in operations {
        medium.inspect(|medium| medium.begin(operation.encode()));
        operation.act(&mut session).map_err(|error| format!("{operation:?}: {error}"))?;
        medium.inspect(|medium| medium.end(operation.encode()));
    }
    Ok(())
}

impl<D: Directory> CrashCase for Case<D> {
    type Recovered = Dash<Recorder, D>;

    fn bytes(&self) -> usize {
        BYTES
    }

    fn set_up(&self, medium: Recorder) -> Result<(), String> {
        let shape = Shape { lanes: 2, ..Shape::new(D::LAYOUT) };
        let pool = Pool::create(medium, &shape).map_err(|error| error.to_string())?;
        let table = Dash::<_, D>::create(pool, &DashShape::tiny()).map_err(|error| error.to_string())?;
        work(&table, &self.before, None)?;
        table.verify()?;
        if !self.closed {
            table.abandon();
        }
        Ok(())
    }

    fn run(&self, medium: Recorder) -> Result<(), String> {
        let table = self.recover(medium.clone())?;
        work(&table, &self.operations, Some(&medium))
    }

    fn recover(&self, medium: Recorder) -> Result<Self::Recovered, String> {
        let pool = Pool::open(medium, D::LAYOUT).map_err(|error| error.to_string())?;
        Dash::open(pool).map_err(|error| error.to_string())
    }

    fn go_on(&self, table: &Self::Recovered, medium: &Recorder) -> Result<(), String> {
        work(table, &self.afterwards, Some(medium))?;
        // What nobody touched is repaired too, so that a crash during that is tried.
        table.repair_all();
        Ok(())
    }

    fn check(&self, table: &Self::Recovered, past: &[Mark]) -> Result<(), String> {
        let apply = |state: &mut State, code| {
            Operation::decode(code).apply(state);
        };
        let possible = possible(self.start(), past, apply);
        let state = state_of(table, self.keys)?;
        if !possible.contains(&state) {
            return Err(difference(&state, &possible));
        }
        let filling = table.verify()?;
        if filling.records as usize == state.len() {
            Ok(())
        } else {
            Err(format!("{filling:?} where {} keys are found", state.len()))
        }
    }
}

fn difference(state: &State, possible: &[State]) -> String {
    let closest = possible.iter().min_by_key(|other| keys_that_differ(state, other).len());
    let differ = closest.map(|other| {
        let line = |key: &u64| format!("key {key} is {:?}, not {:?}", state.get(key), other.get(key));
        keys_that_differ(state, other).iter().map(line).collect::<Vec<_>>().join("; ")
    });
    format!("of {} possible states none is there: {}", possible.len(), differ.unwrap_or_default())
}

fn keys_that_differ(one: &State, other: &State) -> Vec<u64> {
    let all: std::collections::BTreeSet<u64> = one.keys().chain(other.keys()).copied().collect();
    all.into_iter().filter(|key| one.get(key) != other.get(key)).collect()
}
