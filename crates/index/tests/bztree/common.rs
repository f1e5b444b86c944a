//! Histories of a tree: what each operation means, and threads that take turns step by step.

use std::collections::{BTreeMap, BTreeSet};

use crate::turns::{Stepped, Turns};
use assay_index::{
    Index, Session,
    bztree::{BzTree, Nodes},
};
use assay_pmem::{
    Medium, Pool, Shape,
    crash::{CrashCase, Mark, Recorder},
};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

/// Nodes so small that a few operations split and merge them.
pub const TINY: Nodes = Nodes { tail: 3, records: 4, record_words: 60, children: 4 };
const BYTES: usize = 2 << 20;
/// Leaves of 32 KiB, of which nobody reserves more than one at a time: a freed one is the next one to be used.
pub const WIDE: Nodes = Nodes { tail: 1000, records: 4, record_words: 60, children: 4 };

pub type Tree<M> = BzTree<Box<Pool<M>>>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Insert,
    Update,
    Upsert,
    Remove,
    Lookup,
}

const ACTIONS: [Action; 5] = [Action::Insert, Action::Update, Action::Upsert, Action::Remove, Action::Lookup];

/// An operation; its stamp is its own in a history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operation {
    pub action: Action,
    pub key: u64,
    /// 0: a value in a word, 1: eight bytes that are none, 2: 40 bytes.
    pub form: u64,
    pub stamp: u64,
}

/// What a key has: the stamp and form of the operation that wrote it.
pub type Value = Option<(u64, u64)>;

impl Operation {
    pub fn encode(self) -> u64 {
        let action = ACTIONS.iter().position(|action| *action == self.action).unwrap() as u64;
        action | self.form << 4 | self.key << 8 | self.stamp << 24
    }

    pub fn decode(code: u64) -> Self {
        Self { action: ACTIONS[(code & 15) as usize], form: code >> 4 & 15, key: code >> 8 & 0xffff, stamp: code >> 24 }
    }

    fn apply(self, value: Value) -> Value {
        let new = Some((self.stamp, self.form));
        match (self.action, value) {
            (Action::Insert, None) | (Action::Update, Some(_)) | (Action::Upsert, _) => new,
            (Action::Remove, _) => None,
            _ => value,
        }
    }

    pub fn act(self, session: &mut impl Session) -> Result<(), String> {
        let (key, value) = (key(self.key), value(self.stamp, self.form));
        let mut found = Vec::new();
        let done = match self.action {
            Action::Insert => session.insert(&key, &value),
            Action::Update => session.update(&key, &value),
            Action::Upsert => session.upsert(&key, &value),
            Action::Remove => session.remove(&key),
            Action::Lookup => session.lookup(&key, &mut found),
        };
        done.map(drop).map_err(|error| format!("{self:?}: {error}"))
    }
}

/// Every third key is a long one, and shares its head with the others of its kind.
pub fn key(number: u64) -> Vec<u8> {
    if number % 3 == 2 { format!("keys are long {number:04}").into_bytes() } else { number.to_be_bytes().to_vec() }
}

fn value(stamp: u64, form: u64) -> Vec<u8> {
    match form {
        0 => stamp.to_le_bytes().to_vec(),
        1 => (stamp | 1 << 63).to_le_bytes().to_vec(),
        _ => (0..5).flat_map(|word| (stamp + word).to_le_bytes()).collect(),
    }
}

fn read(bytes: &[u8]) -> Result<(u64, u64), String> {
    let first = u64::from_le_bytes(*bytes.first_chunk().ok_or("a value is too short")?);
    let found = match bytes.len() {
        8 => (first & !(1 << 63), first >> 63),
        _ => (first, 2),
    };
    if value(found.0, found.1) == bytes { Ok(found) } else { Err(format!("a value was never written: {bytes:x?}")) }
}

/// What a key may have: operations between two crashes happened in some order that agrees with when they were, the
/// acknowledged ones all, the others or not.
fn possible(start: Value, past: &[Mark], key: u64) -> BTreeSet<Value> {
    let mut values = BTreeSet::from([start]);
    for life in past.split(|mark| *mark == Mark::Crash) {
        let of = |code: u64| Operation::decode(code).key == key;
        let begins = life.iter().enumerate().filter_map(|(at, mark)| match mark {
            Mark::Begin(code) if of(*code) => Some((at, *code)),
            _ => None,
        });
        let end = |code: u64| life.iter().position(|mark| *mark == Mark::End(code));
        let all: Vec<(usize, Option<usize>, Operation)> =
            begins.map(|(at, code)| (at, end(code), Operation::decode(code))).collect();
        values = values.into_iter().flat_map(|value| orders(value, &all, 0)).collect();
    }
    values
}

/// Values after every possible order of the operations that are not in `done`.
fn orders(value: Value, all: &[(usize, Option<usize>, Operation)], done: u64) -> BTreeSet<Value> {
    let left = || (0..all.len()).filter(|index| done >> index & 1 == 0);
    let mut values = BTreeSet::new();
    if left().all(|index| all[index].1.is_none()) {
        values.insert(value);
    }
    let first_end = left().filter_map(|index| all[index].1).min().unwrap_or(usize::MAX);
    for index in left().filter(|&index| all[index].0 < first_end) {
        values.extend(orders(all[index].2.apply(value), all, done | 1 << index));
    }
    values
}

/// A history: what is there at first, what threads do, and what is done after recovery.
pub struct Case {
    pub loaded: Vec<u64>,
    pub threads: Vec<Vec<Operation>>,
    pub afterwards: Vec<Operation>,
    pub seed: u64,
    pub nodes: Nodes,
    /// The first thread stands still before its step of that number until the other one has ended.
    pub stop: Option<u64>,
}

impl Case {
    fn start(&self, key: u64) -> Value {
        self.loaded.contains(&key).then_some((key + 1, 0))
    }
}

pub fn open<M: Medium>(medium: M, nodes: Nodes) -> Result<Tree<M>, String> {
    let said = |error: assay_pmem::PmemError| error.to_string();
    let pool = Pool::open(medium, "bztree-1").map_err(said)?;
    BzTree::open_with(Box::new(pool), nodes).map_err(said)
}

impl CrashCase for Case {
    type Recovered = Tree<Recorder>;

    fn bytes(&self) -> usize {
        BYTES
    }

    fn set_up(&self, medium: Recorder) -> Result<(), String> {
        let shape = Shape { lanes: 3, ..Tree::<Recorder>::pool_shape() };
        drop(Pool::create(medium.clone(), &shape).map_err(|error| error.to_string())?);
        let tree = open(medium, self.nodes)?;
        let mut session = tree.session();
        let load = |&key: &u64| Operation { action: Action::Insert, key, form: 0, stamp: key + 1 };
        self.loaded.iter().map(load).try_for_each(|operation| operation.act(&mut session))
    }

    fn run(&self, medium: Recorder) -> Result<(), String> {
        if let [alone] = &self.threads[..] {
            let tree = open(medium.clone(), self.nodes)?;
            return work_in_turn(&tree, &medium, alone);
        }
        let turns = match self.stop {
            Some(step) => Turns::stopping(medium.clone(), step),
            None => Turns::new(medium.clone(), self.threads.len(), self.seed),
        };
        let tree = open(Stepped::new(medium.clone(), turns.clone()), self.nodes)?;
        std::thread::scope(|scope| {
            let work = |(number, operations): (usize, &Vec<Operation>)| {
                let (tree, turns, medium, operations) = (&tree, turns.clone(), medium.clone(), operations.clone());
                scope.spawn(move || {
                    let _turn = turns.begin(number);
                    let mut session = tree.session();
                    work(&mut session, &medium, &operations)
                })
            };
            let running: Vec<_> = self.threads.iter().enumerate().map(work).collect();
            running.into_iter().try_for_each(|thread| thread.join().map_err(|_| "a thread panicked".to_owned())?)
        })
    }

    fn recover(&self, medium: Recorder) -> Result<Tree<Recorder>, String> {
        medium.play_thread(0);
        open(medium, self.nodes)
    }

    fn go_on(&self, tree: &Tree<Recorder>, medium: &Recorder) -> Result<(), String> {
        work_in_turn(tree, medium, &self.afterwards)
    }

    fn check(&self, tree: &Tree<Recorder>, past: &[Mark]) -> Result<(), String> {
        tree.census().map_err(|error| error.to_string())?;
        let mut found = BTreeMap::new();
        let mut wrong = None;
        let mut session = tree.session();
        let mut visit = |key: &[u8], value: &[u8]| {
            match read(value) {
                Ok(value) => drop(found.insert(key.to_vec(), value)),
                Err(what) => wrong = Some(what),
            }
            true
        };
        session.scan(&[], usize::MAX, &mut visit).map_err(|error| error.to_string())?;
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        let codes = past.iter().filter_map(|mark| if let Mark::Begin(code) = mark { Some(*code) } else { None });
        let mut keys: BTreeSet<u64> = codes.map(|code| Operation::decode(code).key).collect();
        keys.extend(&self.loaded);
        for number in keys {
            let seen = found.remove(&key(number));
            let wanted = possible(self.start(number), past, number);
            if !wanted.contains(&seen) {
                return Err(format!("key {number} has {seen:?}, possible are {wanted:?}"));
            }
        }
        if found.is_empty() { Ok(()) } else { Err(format!("nobody wrote {found:?}")) }
    }
}

fn work(session: &mut impl Session, medium: &Recorder, operations: &[Operation]) -> Result<(), String> {
    operations.iter().try_for_each(|operation| {
        medium.begin(operation.encode());
        operation.act(session)?;
        medium.end(operation.encode());
        Ok(())
    })
}

/// One thread plays two, a pair of operations each in turn, and what was freed can be had again at once: what one frees,
/// the other one uses, whose fences make nothing of the first one durable.
fn work_in_turn<M: Medium>(tree: &Tree<M>, medium: &Recorder, operations: &[Operation]) -> Result<(), String> {
    let mut sessions = [tree.session(), tree.session()];
    operations.chunks(2).enumerate().try_for_each(|(index, pair)| {
        medium.play_thread(1 + index as u16 % 2);
        (0..4).for_each(|_| assay_pmem::pin().flush());
        work(&mut sessions[index % 2], medium, pair)
    })
}

/// Operations by chance on few keys; stamps begin at `stamp`.
pub fn by_chance(count: u64, keys: u64, stamp: u64, mut random: impl FnMut() -> u64) -> Vec<Operation> {
    let one = |index| {
        let dice = random();
        let action = ACTIONS[[0, 0, 0, 1, 2, 2, 3, 3, 3, 4][(dice % 10) as usize]];
        let form = [0, 0, 1, 2][(dice >> 8) as usize % 4];
        Operation { action, key: (dice >> 16) % keys, form, stamp: stamp + index }
    };
    (0..count).map(one).collect()
}

/// Operations with stamps from a first one on.
pub fn steps(stamp: u64, steps: &[(Action, u64, u64)]) -> Vec<Operation> {
    let one = |(index, &(action, key, form)): (usize, &(Action, u64, u64))| {
        let stamp = stamp + index as u64;
        Operation { action, key, form, stamp }
    };
    steps.iter().enumerate().map(one).collect()
}

/// The line of code at a place of the form `file:line`.
pub fn code_at(site: &str) -> String {
    let (file, line) = site.rsplit_once(':').unwrap();
    let source = std::fs::read_to_string(format!("{}/../../{file}", env!("CARGO_MANIFEST_DIR"))).unwrap();
    source.lines().nth(line.parse::<usize>().unwrap() - 1).unwrap().trim().to_owned()
}

/// The line of code that did a step, of this crate alone.
pub fn line_of(site: &std::panic::Location<'_>) -> String {
    if site.file().contains("index/src") { code_at(&format!("{}:{}", site.file(), site.line())) } else { String::new() }
}

/// A history by chance: few keys, so that leaves fill, split, empty and merge, and threads meet.
pub fn some_case(seed: u64, threads: u64) -> Case {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let keys = [6, 16, 40][(random.next_u64() % 3) as usize];
    let loaded = (0..keys).filter(|_| random.next_u64() % 2 == 0).collect();
    let each = 24 / threads;
    let threads = (0..threads).map(|thread| by_chance(each, keys, 1000 * (thread + 1), || random.next_u64())).collect();
    let afterwards = by_chance(6, keys, 9000, || random.next_u64());
    Case { loaded, threads, afterwards, seed, nodes: TINY, stop: None }
}
