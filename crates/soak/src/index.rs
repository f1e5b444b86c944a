//! An index as a store.

use assay_index::{Index, IndexError, IndexJob, Kind, Session, Sizes, Span, run::Factory, with_factory};
use serde_json::json;

use crate::{
    error::SoakError,
    job::SoakJob,
    store::{Hand, Store, Visit},
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
    in_pmem: bool,
}

impl<I: Index> Store for Indexed<I> {
    type Hand<'a>
        = Through<I::Session<'a>>
    where
        Self: 'a;

    fn hand(&self) -> Result<Self::Hand<'_>, SoakError> {
        Ok(Through(self.index.session()))
    }

    fn batch(&self) -> u64 {
        if self.in_pmem { 1 } else { BATCH }
    }

    fn make_durable(&self) -> Result<(), SoakError> {
        Ok(self.index.make_durable()?)
    }

    fn examine(&self) -> Option<Result<String, String>> {
        self.index.examine()
    }
}

/// A session as a hand.
struct Through<S>(S);

impl<S: Session> Hand for Through<S> {
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
    in_pmem: bool,
    visit: V,
}

impl<V: Visit> assay_index::OnFactory for OnFactory<V> {
    type Out = Result<V::Out, SoakError>;

    fn on<F: Factory>(self, factory: &F) -> Self::Out {
        let made = self.make && !factory.is_there();
        let index = if made { factory.create()? } else { factory.open()?.index };
        self.visit.visit(&Indexed { index, in_pmem: self.in_pmem })
    }
}

/// Makes or opens the index of a job.
pub(crate) fn on_index<V: Visit>(job: &SoakJob, kind: Kind, make: bool, visit: V) -> Result<V::Out, SoakError> {
    let (index_job, in_pmem) = (index_job(job, kind)?, kind.in_pmem());
    with_factory(&index_job, OnFactory { make, in_pmem, visit })?
}

/// The job of an index in a file of the place.
fn index_job(job: &SoakJob, kind: Kind) -> Result<IndexJob, IndexError> {
    let bytes = (u64::from(job.keys) * u64::from(job.threads) * BYTES_PER_KEY).max(POOL_BYTES_AT_LEAST);
    let sizes =
        Sizes { key: Span { least: SHORTEST.0, most: LONGEST.0 }, value: Span { least: SHORTEST.1, most: LONGEST.1 } };
    IndexJob::parse(
        &json!({
            "version": assay_index::JOB_VERSION,
            "name": job.name,
            "index": kind,
            "target": job.place,
            "workload": "ycsb-a",
            "keys": u64::from(job.keys) * u64::from(job.threads),
            "threads": job.threads,
            "sizes": sizes,
            "warmup_s": 0.0,
            "window": {"operations": 1},
            "pool_bytes": if kind.in_pmem() { bytes } else { BUFFER_BYTES },
            "pool_file": job.place.join(FILE),
            "huge_pages": false,
        })
        .to_string(),
    )
}
