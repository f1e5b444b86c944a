//! A database on simulated disks, and a workload whose every state is known.
#![allow(dead_code)]

use std::{collections::BTreeMap, sync::Arc};

use assay_buffer::{
    Config, Grouping, Placement, Tier,
    disk::sim::{Image, World},
};
use assay_engine::{
    Database, Disks, Durability, EngineError, Modules, Options, Result, Session, Ticket,
    handle::Handle,
    log::{Pace, area},
};
use assay_pmem::Mapped;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

pub const DATA: usize = 0;
pub const LOG: usize = 1;
const DATA_BYTES: u64 = 2 << 20;
pub const TAIL: u64 = 32 << 10;
const LOG_BYTES: u64 = area::FRONT + 6 * TAIL;
pub const TABLES: usize = 2;
const KEYS: u64 = 40;
/// Rows that never change, more than the pool holds: reading and rewriting them drives pages out.
const FILLERS: u64 = 1100;

/// What the database holds: by table and key.
pub type State = BTreeMap<(u16, Vec<u8>), Vec<u8>>;

pub fn world(seed: u64) -> Arc<World> {
    let world = World::new(seed);
    world.add("data", DATA_BYTES);
    for log in 0..LOGS.get() {
        world.add(&format!("log {log}"), LOG_BYTES);
    }
    world
}

pub fn disks(world: &Arc<World>, durability: Durability) -> Disks {
    let count = if durability.logs() { LOGS.get() } else { 0 };
    let logs = (0..count).map(|log| world.disk(LOG + log) as _).collect();
    Disks { data: world.disk(DATA), logs, tails: Vec::new() }
}

thread_local! {
    /// Logs of databases of this thread.
    pub static LOGS: std::cell::Cell<usize> = const { std::cell::Cell::new(1) };
    /// What happens to pages in the memory below the pool of databases of this thread, if there is any.
    pub static TIER: std::cell::Cell<Option<Placement>> = const { std::cell::Cell::new(None) };
    /// Which slots pages of databases of this thread get.
    pub static GROUPING: std::cell::Cell<Grouping> = const { std::cell::Cell::new(Grouping::None) };
}

/// Half as much memory as the pool has, below it.
fn tier(placement: Placement) -> Tier {
    let memory = Mapped::memory(32 * 4096).unwrap();
    Tier { memory: Arc::new(Modules::new(Box::new(memory), true)), placement, touched_bytes: 1024 }
}

pub fn options(durability: Durability) -> Options {
    Options {
        pool: Config { page_bytes: 4096, pool_bytes: 64 * 4096, workers: 8, depth: 16, grouping: GROUPING.get() },
        durability,
        pace: Pace::Asked,
        tail_bytes: TAIL,
        versions_bytes: 1 << 20,
        recovery_threads: 1,
        tier: TIER.with(std::cell::Cell::get).map(tier),
        write_rate_bytes_per_s: None,
    }
}

pub fn create(world: &Arc<World>, durability: Durability) -> Result<Database> {
    let database = Database::create(disks(world, durability), &options(durability), TABLES, 5)?;
    let mut session = database.session()?;
    for first in (0..FILLERS).step_by(20) {
        session.begin()?;
        (first..first + 20).try_for_each(|filler| session.put(1, &filler_key(filler), &[filler as u8; 300]))?;
        session.commit()?;
    }
    drop(session);
    database.checkpoint()?;
    Ok(database)
}

fn filler_key(filler: u64) -> Vec<u8> {
    [&[200][..], &filler.to_be_bytes()].concat()
}

pub fn open(world: &Arc<World>, durability: Durability) -> Result<Database> {
    Database::open(disks(world, durability), &options(durability))
}

/// Everything that the database holds.
pub fn contents(database: &Database) -> Result<State> {
    let mut session = database.session()?;
    session.begin()?;
    let mut state = State::new();
    for table in 0..TABLES as u16 {
        session.scan(table, &[7], &[8], false, |key, value| {
            state.insert((table, key.to_vec()), value.to_vec());
            true
        })?;
    }
    Ok(state)
}

/// Transactions of a few changes each, some of them long, with the state after each.
pub struct Workload {
    chance: Xoshiro256PlusPlus,
    /// The state after so many commits.
    pub states: Vec<State>,
    pub acknowledged: usize,
}

impl Workload {
    pub fn new(seed: u64) -> Self {
        Self { chance: Xoshiro256PlusPlus::seed_from_u64(seed), states: vec![State::new()], acknowledged: 0 }
    }

    /// Runs `rounds` groups of up to three transactions, which share a group commit; a checkpoint now and then.
    pub fn run(&mut self, database: &Database, world: &World, rounds: usize) -> Result<()> {
        let mut sessions: Vec<_> = (0..3).map(|_| database.session()).collect::<Result<_>>()?;
        for round in 0..rounds {
            let mut tickets = Vec::new();
            for session in &mut sessions {
                match self.transact(session) {
                    Ok(ticket) => tickets.extend(ticket),
                    Err(EngineError::Conflict { .. }) => session.abort(),
                    Err(error) => return Err(error),
                }
            }
            // Of several logs the one with later commits is flushed first now and then.
            if LOGS.get() > 1 && round % 2 == 1 {
                tickets.reverse();
            }
            for (session, ticket) in sessions.iter().zip(&tickets) {
                session.wait(*ticket)?;
            }
            self.acknowledged = self.states.len() - 1;
            world.mark(self.acknowledged as u64);
            if round % 16 == 11 {
                database.checkpoint()?;
            }
        }
        Ok(())
    }

    fn transact(&mut self, session: &mut Session<'_, Handle<'_>>) -> Result<Option<Ticket>> {
        session.begin()?;
        let mut state = self.states[self.states.len() - 1].clone();
        for _ in 0..1 + self.chance.next_u64() % 4 {
            let (table, key) = (self.chance.next_u64() as u16 % TABLES as u16, 1 + self.chance.next_u64() % KEYS);
            let key = [&[7][..], &key.to_be_bytes()].concat();
            if self.chance.next_u64() % 4 == 0 {
                session.delete(table, &key)?;
                state.remove(&(table, key));
            } else {
                let bytes = [4, 40, 300][self.chance.next_u64() as usize % 3];
                let value = vec![self.states.len() as u8; bytes];
                session.put(table, &key, &value)?;
                state.insert((table, key), value);
            }
        }
        let filler = self.chance.next_u64() % FILLERS;
        let mut value = Vec::new();
        assert!(session.get(1, &filler_key(filler), &mut value)?, "filler {filler} is gone");
        assert_eq!(value, [filler as u8; 300]);
        if filler % 3 == 0 {
            session.put(1, &filler_key(filler), &value)?;
        }
        if self.chance.next_u64() % 10 == 0 {
            session.abort();
            return Ok(None);
        }
        // From here on it may be there after a crash, acknowledged or not.
        let ticket = session.commit_soon();
        if !matches!(ticket, Ok(Ticket { end: 0, .. })) || ticket.as_ref().is_ok_and(|ticket| ticket.commit > 0) {
            self.states.push(state);
        }
        ticket.map(Some)
    }

    /// The number of commits that a state shows; it must be one that the workload went through.
    pub fn commits_in(&self, state: &State, acknowledged: u64) -> Option<usize> {
        (acknowledged as usize..self.states.len()).rev().find(|&commits| self.states[commits] == *state)
    }
}

/// What an image's database holds after a recovery, as the number of commits.
pub fn recovered(workload: &Workload, image: &Image, world: &Arc<World>, durability: Durability, what: &str) -> usize {
    let database = open(world, durability).unwrap_or_else(|error| panic!("{what}: {error}"));
    let state = contents(&database).unwrap_or_else(|error| panic!("{what}: {error}"));
    let commits = workload.commits_in(&state, image.mark);
    commits.unwrap_or_else(|| panic!("{what}: {} commits were acknowledged, and the state is none after", image.mark))
}
