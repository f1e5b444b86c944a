//! A job of any kind, and its doing.

use assay_instruments::Watch;
use assay_record::{Event, Record, WorkRecord, kind_of};
use assay_soak::SoakJob;
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    engine::{self, job::EngineJob},
    error::{Result, WorkError},
    index::{self, IndexJob},
    tpcc::{self, TpccJob},
};

/// A job of any kind; the field `kind` says of which.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Job {
    /// Classes of I/O on targets, or on twins.
    Io(Box<assay_record::Job>),
    /// A workload on an index.
    Index(Box<IndexJob>),
    /// A workload on the storage engine.
    Engine(Box<EngineJob>),
    /// TPC-C on a database.
    Tpcc(Box<TpccJob>),
    /// A store that is worked on until it is killed.
    Soak(SoakJob),
}

/// What a job leaves.
#[derive(Debug)]
pub enum Left {
    /// The record of classes of I/O.
    Io(Box<Record>),
    /// The record of anything else that is measured.
    Work(Box<WorkRecord>),
    /// What was worked on and not killed: the store and its journal alone.
    Store,
}

impl Left {
    /// Nothing of it failed a check.
    pub fn passed(&self) -> bool {
        match self {
            Self::Work(record) => record.checks.iter().all(|check| check.passed),
            Self::Io(_) | Self::Store => true,
        }
    }

    /// The event that ends the job; none where there is no record.
    pub fn event(self) -> Option<Event> {
        match self {
            Self::Io(record) => Some(Event::Finished { record }),
            Self::Work(record) => Some(Event::Worked { record }),
            Self::Store => None,
        }
    }
}

impl Job {
    /// Reads and validates a document. `kind` is that of who knows it, and whose document need not say it.
    ///
    /// # Errors
    /// With what is wrong in it.
    pub fn parse(text: &str, kind: Option<&str>) -> Result<Self> {
        let said = kind_of(text);
        let kind = match (kind, said.as_ref().map(|(kind, _)| kind.as_str())) {
            (Some(wanted), Some(other)) if wanted != other => {
                let reason = format!("the job is of kind {other}, and one of kind {wanted} was to be run");
                return Err(WorkError::job(reason, format!("run it as one of kind {other}")));
            }
            (Some(kind), _) | (None, Some(kind)) => kind.to_owned(),
            (None, None) => {
                let fix = "say which it is: io, index, engine, tpcc or soak";
                return Err(WorkError::job("the job does not say of what kind it is", fix));
            }
        };
        let text = said.map_or_else(|| text.to_owned(), |(_, rest)| rest);
        Ok(match kind.as_str() {
            "io" => Self::Io(Box::new(assay_record::Job::parse(&text)?)),
            "index" => Self::Index(Box::new(IndexJob::parse(&text)?)),
            "engine" => Self::Engine(Box::new(EngineJob::parse(&text)?)),
            "tpcc" => Self::Tpcc(Box::new(TpccJob::parse(&text)?)),
            "soak" => Self::Soak(SoakJob::parse(&text)?),
            other => {
                let reason = format!("there is no kind of job {other}");
                return Err(WorkError::job(reason, "name one of io, index, engine, tpcc and soak"));
            }
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        match self {
            Self::Io(job) => &job.name,
            Self::Index(job) => &job.name,
            Self::Engine(job) => &job.name,
            Self::Tpcc(job) => &job.order.name,
            Self::Soak(job) => &job.name,
        }
    }

    /// Seconds that warm-up and window take at most; 0 where nobody knows.
    pub fn seconds(&self) -> f64 {
        match self {
            Self::Io(job) => job.window.warmup_s + job.window.measure_s,
            Self::Index(job) => job.warmup_s + job.window.seconds(),
            Self::Engine(job) => job.warmup_s + job.duration_s,
            Self::Tpcc(job) => job.order.drive.as_ref().map_or(0.0, |drive| drive.ramp_s + drive.measure_s),
            Self::Soak(_) => 0.0,
        }
    }

    /// Does it.
    ///
    /// # Errors
    /// Where it cannot be, or what it is done on fails.
    pub fn run(&self, watch: &mut Watch<'_>) -> Result<Left> {
        let work = |record| Left::Work(Box::new(record));
        match self {
            Self::Io(job) => io(job, watch).map(|record| Left::Io(Box::new(record))),
            Self::Index(job) => Ok(work(index::run(job, watch)?)),
            Self::Engine(job) => engine::run(job, watch).map(work),
            Self::Tpcc(job) => tpcc::run(job, watch).map(work),
            Self::Soak(job) => {
                assay_soak::work(job, watch)?;
                Ok(Left::Store)
            }
        }
    }
}

fn io(job: &assay_record::Job, watch: &mut Watch<'_>) -> Result<Record> {
    Ok(if job.on_twins() { assay_twin::play(job, watch)? } else { assay_load::run(job, watch)? })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn documents() -> [(&'static str, Value); 5] {
        [
            (
                "io",
                json!({"version": 1, "name": "one", "targets": [{"id": "here", "kind": "folder", "members": ["/tmp"]}],
                    "datasets": [{"name": "d", "target": "here", "bytes": 1 << 20}],
                    "classes": [{"name": "c", "dataset": "d", "path": {"kind": "pread"}, "operation": {"kind": "read"},
                    "pattern": {"kind": "uniform"}, "size": 4096}], "window": {"measure_s": 2.0}}),
            ),
            (
                "index",
                json!({"version": 1, "name": "one", "index": "fptree", "target": "/dev/shm", "workload": "lookup",
                    "keys": 1000, "threads": 1, "warmup_s": 0.0, "window": {"seconds": 1.0}}),
            ),
            (
                "engine",
                json!({"version": 1, "name": "one", "target": "/tmp", "pool_bytes": 4 << 20, "threads": 1,
                    "duration_s": 1.0, "workload": {"kind": "scan", "rows": 100, "value_bytes": 100}}),
            ),
            ("tpcc", json!({"store": "null", "order": {"name": "one", "scale": {"warehouses": 1}}})),
            (
                "soak",
                json!({"version": 1, "name": "one", "store": "fptree", "place": "/dev/shm", "journal": "/tmp/journal",
                    "threads": 1, "keys": 16}),
            ),
        ]
    }

    #[test]
    fn every_kind_is_read_by_its_tag_or_as_what_its_reader_knows_it_to_be() {
        for (kind, mut document) in documents() {
            let untagged = document.to_string();
            let known = Job::parse(&untagged, Some(kind)).expect(kind);
            assert_eq!(known.name(), "one");
            document["kind"] = kind.into();
            let tagged = Job::parse(&document.to_string(), None).expect(kind);
            let written = |job: &Job| serde_json::to_value(job).expect(kind);
            assert_eq!(written(&tagged), written(&known));
            assert_eq!(written(&tagged)["kind"], kind);
            let again = Job::parse(&written(&tagged).to_string(), Some(kind)).expect(kind);
            assert_eq!(written(&again), written(&known));
            assert_eq!(Job::parse(&untagged, None).unwrap_err().exit_code(), 2);
        }
    }

    #[test]
    fn another_kind_than_was_asked_for_is_refused_by_name() {
        let said = |text: &str, kind| {
            let error = Job::parse(text, kind).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            format!("{error}; {}", error.fix())
        };
        assert!(said(r#"{"kind": "soak"}"#, Some("index")).contains("of kind soak, and one of kind index"));
        assert!(said(r#"{"kind": "vacuum"}"#, None).contains("no kind of job vacuum; name one of io, index"));
        assert!(said("{", Some("engine")).contains("cannot be read"));
        assert!(said("{", None).contains("does not say of what kind it is"));
    }
}
