//! The five transactions over a key-value store: rows are read and changed in place, and nothing is allocated once a
//! session has warmed up.

mod check;
mod load;
mod session;
mod spoil;
mod undelivered;

use std::{
    ops::{ControlFlow, Range},
    sync::atomic::{AtomicU16, Ordering::Relaxed},
};

use assay_record::WorkCheck;

use self::undelivered::Undelivered;
use crate::{
    error::{Result, TpccError},
    kv::{Kv, KvTerminalWork},
    scale::Scale,
    store::{Store, TerminalWork},
};

pub use self::session::KvStoreSession;

/// A [`Store`] over a [`Kv`].
#[derive(Debug)]
pub struct KvStore<K> {
    kv: K,
    undelivered: Undelivered,
    sessions: AtomicU16,
}

impl<K: Kv> KvStore<K> {
    /// The store of a data set with so many warehouses.
    pub fn new(kv: K, warehouses: u32) -> Self {
        Self { kv, undelivered: Undelivered::new(warehouses), sessions: AtomicU16::new(0) }
    }

    /// The key-value store beneath.
    pub fn kv(&self) -> &K {
        &self.kv
    }

    fn on<'s>(&self, kv: K::Session<'s>) -> KvStoreSession<'s, K>
    where
        K: 's,
    {
        KvStoreSession::new(kv, self.undelivered.clone(), self.sessions.fetch_add(1, Relaxed))
    }
}

/// The terminals of a thread, each on a store's session over one of the key-value store's.
struct Through<'a, K, C> {
    store: &'a KvStore<K>,
    work: &'a C,
}

impl<K: Kv, C: TerminalWork<KvStore<K>>> KvTerminalWork<K> for Through<'_, K, C> {
    fn work<'s>(&self, terminal: u32, session: K::Session<'s>) -> Result<()>
    where
        K: 's,
    {
        self.work.work(terminal, self.store.on(session))
    }
}

impl<K: Kv> Store for KvStore<K> {
    type Session<'a>
        = KvStoreSession<'a, K>
    where
        Self: 'a;

    fn session(&self) -> Result<Self::Session<'_>> {
        Ok(self.on(self.kv.session()?))
    }

    const TAKES_TURNS: bool = K::TAKES_TURNS;

    fn run_terminals<C: TerminalWork<Self>>(&self, terminals: Range<u32>, work: &C) -> Result<()> {
        self.kv.run_terminals(terminals, &Through { store: self, work })
    }

    fn load(&self, scale: &Scale, seed: u64, progress: &mut dyn FnMut(f64) -> ControlFlow<()>) -> Result<()> {
        load::load(&self.kv, scale, seed, progress)
    }

    fn check(&self, scale: &Scale, delivered: u64) -> Result<Vec<WorkCheck>> {
        check::check(&self.kv, scale, delivered)
    }

    fn spoil(&self, condition: u8) -> Result<()> {
        spoil::spoil(&self.kv, condition)
    }

    fn orders_delivered(&self, scale: &Scale) -> Result<u64> {
        check::orders_delivered(&self.kv, scale)
    }

    fn orders_taken(&self, scale: &Scale) -> Result<u64> {
        check::orders_taken(&self.kv, scale)
    }
}

fn there<T>(found: Option<T>, what: &'static str) -> Result<T> {
    found.ok_or_else(|| missing(what))
}

#[cold]
fn missing(what: &'static str) -> TpccError {
    TpccError::damaged(what)
}
