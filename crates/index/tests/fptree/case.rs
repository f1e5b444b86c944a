//! Histories of an FPTree for crash tests.

use std::{collections::BTreeMap, sync::OnceLock};

use assay_index::{Index, Session, fptree::FpTree};
use assay_pmem::{
    Medium, Pool, Shape,
    crash::{CrashCase, Mark, Recorder, possible},
};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

pub type State = BTreeMap<Vec<u8>, Vec<u8>>;

/// The key that is alone in its leaf.
pub const LONE: u64 = 60;
/// Numbers of operations after recovery begin here.
const AFTERWARDS: u64 = 1000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    Insert,
    Update,
    Upsert,
    Remove,
}

#[derive(Clone, Debug)]
pub struct Operation {
    pub action: Action,
    pub key: u64,
    pub stamp: u64,
}

/// What is there when a history begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// Nothing: the tree itself is made in the history.
    Nothing,
    /// A leaf that the next inserts split.
    Full,
    /// A leaf of 13 records and one of 29: the next removal from the first joins them.
    Sparse,
    /// A leaf of 48 records and one of a single record, whose removal leaves nothing.
    Lone,
}

pub struct Case {
    pub words: bool,
    pub start: Start,
    pub operations: Vec<Operation>,
    pub afterwards: Vec<Operation>,
    pub state: OnceLock<State>,
}

/// Keys in the order of their numbers. Those of any length share their first 8 bytes with many others, so that heads
/// alone do not tell them apart.
pub fn key(words: bool, number: u64) -> Vec<u8> {
    if words {
        return (number * 0x0101_0000_0001).to_be_bytes().to_vec();
    }
    let mut key = format!("prefix{:02}", number / 30 % 100).into_bytes();
    key.extend(number.to_be_bytes());
    key.extend(std::iter::repeat_n(b'x', (number % 5) as usize));
    key
}

pub fn value(words: bool, stamp: u64) -> Vec<u8> {
    if words { stamp.to_ne_bytes().to_vec() } else { vec![stamp as u8; (stamp * 7 % 90) as usize] }
}

impl Case {
    pub fn by_chance(seed: u64, length: usize) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        let start = [Start::Full, Start::Sparse, Start::Lone, Start::Nothing][seed as usize / 2 % 4];
        let mut one = |stamp: u64| {
            let dice = random.next_u64();
            let removes = if start == Start::Full { 1 } else { 5 };
            let action = match dice % 10 {
                die if die < removes => Action::Remove,
                5 | 6 => Action::Update,
                7 => Action::Upsert,
                _ => Action::Insert,
            };
            let key = if start == Start::Lone && dice % 7 == 0 { LONE } else { (dice >> 8) % 70 };
            Operation { action, key, stamp }
        };
        let operations = (0..length as u64).map(|index| one(index + 1)).collect();
        let afterwards = (0..4).map(|index| one(index + 200)).collect();
        Self { words: seed % 2 == 0, start, operations, afterwards, state: OnceLock::new() }
    }

    fn operation(&self, number: u64) -> &Operation {
        match number.checked_sub(AFTERWARDS) {
            Some(number) => &self.afterwards[number as usize],
            None => &self.operations[number as usize],
        }
    }

    /// Inserts and removals that lead to the start.
    fn prepare(&self, session: &mut impl Session) -> State {
        let mut state = State::new();
        let insert: Vec<u64> = match self.start {
            Start::Nothing => vec![],
            Start::Full => (0..54).collect(),
            Start::Sparse => (0..57).collect(),
            Start::Lone => (28..85).chain(0..20).collect(),
        };
        let stays = |number: u64| match self.start {
            Start::Sparse => number >= 28 || (number % 2 == 0 && number < 26),
            Start::Lone => number < 56 || number == LONE,
            _ => true,
        };
        for &number in &insert {
            let (key, value) = (key(self.words, number), value(self.words, number + 500));
            assert!(session.insert(&key, &value).unwrap());
            state.insert(key, value);
        }
        for number in insert.into_iter().filter(|&number| !stays(number)) {
            let key = key(self.words, number);
            assert!(session.remove(&key).unwrap());
            state.remove(&key);
        }
        state
    }

    fn start_state(&self) -> &State {
        self.state.get_or_init(|| {
            let tree = tree(Recorder::new(self.bytes()), self.words, true).unwrap();
            self.prepare(&mut tree.session())
        })
    }

    fn work(
        &self,
        tree: &FpTree<Recorder>,
        medium: &Recorder,
        numbers: impl Iterator<Item = u64>,
    ) -> Result<(), String> {
        let mut session = tree.session();
        for number in numbers {
            medium.begin(number);
            act(&mut session, self.words, self.operation(number))?;
            medium.end(number);
        }
        Ok(())
    }
}

fn act(session: &mut impl Session, words: bool, operation: &Operation) -> Result<bool, String> {
    let (key, value) = (key(words, operation.key), value(words, operation.stamp));
    let done = match operation.action {
        Action::Insert => session.insert(&key, &value),
        Action::Update => session.update(&key, &value),
        Action::Upsert => session.upsert(&key, &value),
        Action::Remove => session.remove(&key),
    };
    done.map_err(|error| error.to_string())
}

fn apply(words: bool, state: &mut State, operation: &Operation) {
    let (key, value) = (key(words, operation.key), value(words, operation.stamp));
    match operation.action {
        Action::Insert => drop(state.entry(key).or_insert(value)),
        Action::Update => drop(state.get_mut(&key).map(|old| *old = value)),
        Action::Upsert => drop(state.insert(key, value)),
        Action::Remove => drop(state.remove(&key)),
    }
}

fn tree(medium: Recorder, words: bool, new: bool) -> Result<FpTree<Recorder>, String> {
    let shape = Shape { lanes: 2, ..Shape::new("fptree-test") };
    let pool = if new { Pool::create(medium, &shape) } else { Pool::open(medium, "fptree-test") };
    let pool = pool.map_err(|error| error.to_string())?;
    FpTree::open(pool, words).map_err(|error| error.to_string())
}

/// All entries, by a scan.
pub fn dump(tree: &impl Index) -> Result<State, String> {
    let mut state = State::new();
    let mut twice = false;
    let visit = &mut |key: &[u8], value: &[u8]| {
        twice |= state.insert(key.to_vec(), value.to_vec()).is_some();
        true
    };
    tree.session().scan(&[0; 8], usize::MAX, visit).map_err(|error| error.to_string())?;
    if twice { Err("a scan saw a key twice".to_owned()) } else { Ok(state) }
}

impl CrashCase for Case {
    type Recovered = FpTree<Recorder>;

    fn bytes(&self) -> usize {
        1 << 20
    }

    fn set_up(&self, medium: Recorder) -> Result<(), String> {
        medium.play_thread(0);
        if self.start == Start::Nothing {
            // What lay there before.
            (0..self.bytes() as u64 / 4096).for_each(|page| medium.write(page * 4096, &[0xEE; 4096]));
            let shape = Shape { lanes: 2, zeroed: false, ..Shape::new("fptree-test") };
            return Pool::create(medium, &shape).map(drop).map_err(|error| error.to_string());
        }
        self.prepare(&mut tree(medium, self.words, true)?.session());
        Ok(())
    }

    fn run(&self, medium: Recorder) -> Result<(), String> {
        medium.play_thread(0);
        let tree = tree(medium.clone(), self.words, false)?;
        self.work(&tree, &medium, 0..self.operations.len() as u64)
    }

    fn recover(&self, medium: Recorder) -> Result<FpTree<Recorder>, String> {
        medium.play_thread(0);
        tree(medium, self.words, false)
    }

    fn go_on(&self, tree: &FpTree<Recorder>, medium: &Recorder) -> Result<(), String> {
        self.work(tree, medium, (0..self.afterwards.len() as u64).map(|number| number + AFTERWARDS))
    }

    fn check(&self, tree: &FpTree<Recorder>, past: &[Mark]) -> Result<(), String> {
        tree.examine().expect("it has a check")?;
        let found = dump(tree)?;
        let states = possible(self.start_state().clone(), past, |state, number| {
            apply(self.words, state, self.operation(number))
        });
        if states.contains(&found) {
            return Ok(());
        }
        let wanted = &states[0];
        let lost: Vec<_> = wanted.iter().filter(|(key, value)| found.get(*key) != Some(value)).take(3).collect();
        let extra: Vec<_> = found.iter().filter(|(key, _)| !wanted.contains_key(*key)).take(3).collect();
        Err(format!("not one of {} possible states: missing or changed {lost:x?}, too many {extra:x?}", states.len()))
    }
}
