//! A database that is kept is used again for the work that it was made for, and for no other.

use std::{path::Path, sync::atomic::AtomicBool};

use assay_engine::{Durability, EngineError};
use assay_record::{PathKind, WorkRecord};
use assay_work::{
    WorkError,
    engine::{
        Watch,
        job::{EngineJob, JOB_VERSION, Workload},
        run,
    },
};

fn job(folder: &Path, workload: Workload) -> EngineJob {
    EngineJob {
        version: JOB_VERSION,
        name: "kept".to_owned(),
        target: folder.to_owned(),
        stripes: Vec::new(),
        devices: None,
        log_target: None,
        log_devices: None,
        path: PathKind::Pread,
        write_rate_bytes_per_s: None,
        collection_unit_bytes: None,
        tail_target: None,
        durability: Durability::None,
        pool_bytes: 2 << 20,
        page_bytes: 4096,
        log_bytes: 4 << 20,
        logs: None,
        threads: 1,
        tasks: 2,
        warmup_s: 0.0,
        duration_s: 0.1,
        seed: 3,
        workload,
        keep: Some(folder.join("kept")),
        tier: None,
        twins: None,
    }
}

fn ran(folder: &Path, workload: Workload) -> Result<WorkRecord, WorkError> {
    let interrupted = AtomicBool::new(false);
    run(&job(folder, workload), &mut Watch { emit: &mut |_| {}, interrupted: &interrupted })
}

/// Once a run with more rows found rows that were not there, and its record said no more than that.
#[test]
fn rows_that_a_kept_database_was_not_made_with_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let rows = |rows, value_bytes| Workload::Ycsb { rows, value_bytes, read_share: 0.5, zipf: 0.0 };
    let passed = |record: WorkRecord| record.checks.iter().all(|check| check.passed);
    assert!(passed(ran(folder.path(), rows(2000, 120)).unwrap()));
    for (wanted, said) in
        [(rows(3000, 120), "fewer rows"), (rows(1000, 120), "more rows"), (rows(2000, 64), "rows of 120 bytes")]
    {
        let error = ran(folder.path(), wanted).unwrap_err();
        assert!(
            matches!(error, WorkError::Engine(EngineError::Foreign { .. })) && error.to_string().contains(said),
            "{error}"
        );
    }
    assert!(passed(ran(folder.path(), rows(2000, 120)).unwrap()), "and nothing is lost");
}
