//! An index as a store.

use std::collections::BTreeMap;

use assay_index::{Factory, Index, Inserts, Kind, Session, Setup, Sizes, Span, with_factory};

use crate::{
    error::SoakError,
    job::SoakJob,
    store::{Store, StoreHandle, Visit},
    turn::{LONGEST, SHORTEST},
};

/// Turns between two moments at which an index on a drive is made durable.
const BATCH: u64 = 32;
/// Bytes of a pool for each key: room for the longest entry many times over, and for what is being freed.
const BYTES_PER_KEY: u64 = 4096;
const POOL_BYTES_AT_LEAST: u64 = 64 << 20;
/// Bytes of the buffer pool in front of a drive: small, so that pages are written back and read again.
const BUFFER_BYTES: u64 = 4 << 20;
const FILE: &str = "soak-index";

/// An index and how it becomes durable.
struct Indexed<I> {
    index: I,
    batch: u64,
}

impl<I: Index> Store for Indexed<I> {
    type StoreHandle<'a>
        = Through<I::Session<'a>>
    where
        Self: 'a;

    fn handle(&self) -> Result<Self::StoreHandle<'_>, SoakError> {
        Ok(Through(self.index.session()))
    }

    fn batch(&self) -> u64 {
        self.batch
    }

    fn make_durable(&self) -> Result<(), SoakError> {
        Ok(self.index.make_durable()?)
    }

    fn examine(&self) -> Option<Result<String, String>> {
        self.index.examine()
    }
}

/// A session as a handle.
struct Through<S>(S);

impl<S: Session> StoreHandle for Through<S> {
    fn set(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), SoakError> {
        match value {
            Some(value) => self.0.upsert(key, value)?,
            None => self.0.remove(key)?,
        };
        Ok(())
    }

    fn get(&mut self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, SoakError> {
        Ok(self.0.lookup(key, into)?)
    }
}

struct OnFactory<V> {
    make: bool,
    batch: u64,
    visit: V,
}

impl<V: Visit> assay_index::OnFactory for OnFactory<V> {
    type Out = Result<V::Out, SoakError>;

    fn on<F: Factory>(self, factory: &F) -> Self::Out {
        on_factory(factory, self.make, self.batch, self.visit)
    }
}

/// Makes or opens the index of a factory; `batch` turns are made durable together.
pub(crate) fn on_factory<F: Factory, V: Visit>(
    factory: &F,
    make: bool,
    batch: u64,
    visit: V,
) -> Result<V::Out, SoakError> {
    let made = make && !factory.is_there();
    let index = if made { factory.create()? } else { factory.open()?.index };
    visit.visit(&Indexed { index, batch })
}

/// Makes or opens the index of a job.
pub(crate) fn on_index<V: Visit>(job: &SoakJob, kind: Kind, make: bool, visit: V) -> Result<V::Out, SoakError> {
    let batch = if kind.in_pmem() { 1 } else { BATCH };
    with_factory(&index_setup(job, kind), OnFactory { make, batch, visit })?
}

/// An index in a file of the place, or a rival in a folder there.
pub fn index_setup(job: &SoakJob, kind: Kind) -> Setup {
    let keys = u64::from(job.keys) * u64::from(job.threads);
    let pool_bytes = match kind {
        kind if kind.in_pmem() => Some((keys * BYTES_PER_KEY).max(POOL_BYTES_AT_LEAST)),
        // Of a rival, that would bound the kernel's cache by a control group.
        kind if kind.is_rival() => None,
        _ => Some(BUFFER_BYTES),
    };
    Setup {
        index: kind,
        target: job.place.clone(),
        file: Some(job.place.join(FILE)),
        sizes: Sizes {
            key: Span { least: SHORTEST.0, most: LONGEST.0 },
            value: Span { least: SHORTEST.1, most: LONGEST.1 },
        },
        keys,
        inserts: Inserts::Number(1.0),
        counted: 0,
        threads: job.threads,
        split: false,
        pool_bytes,
        huge_pages: false,
        as_if: None,
        measured: false,
        options: BTreeMap::new(),
    }
}
