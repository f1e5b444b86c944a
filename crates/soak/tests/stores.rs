//! Every store is worked on and looked at; a journal that says more than the store holds is seen.

use std::{path::Path, sync::atomic::AtomicBool};

use assay_instruments::Watch;
use assay_record::Event;
use assay_soak::{Counted, SoakError, SoakJob, check, journal::Journal, work};
use serde_json::json;

const STORES: [&str; 7] = ["fptree", "bztree", "dash-eh", "dash-lh", "ssd-btree", "ssd-hash", "engine"];
/// Twice round the keys and a bit: the last turns removed some, and a batch is cut short.
const TURNS: u64 = 150;

/// A folder for a store: one in memory stands in for persistent memory. None where it cannot be had.
fn place(store: &str) -> Option<tempfile::TempDir> {
    let in_pmem = !matches!(store, "ssd-btree" | "ssd-hash" | "engine");
    let made = if in_pmem { tempfile::tempdir_in("/dev/shm") } else { tempfile::tempdir() };
    made.inspect_err(|error| eprintln!("skipped: {store}: no folder can be made: {error}")).ok()
}

fn job(store: &str, folder: &Path) -> SoakJob {
    let job = json!({
        "version": 1, "name": "trial", "store": store, "place": folder, "journal": folder.join("journal"),
        "threads": 2, "keys": 64, "turns": TURNS,
    });
    SoakJob::parse(&job.to_string()).unwrap()
}

fn looked_at(job: &SoakJob) -> Counted {
    check(job).unwrap().datasets.remove(0)
}

fn worked(job: &SoakJob) -> Result<u32, SoakError> {
    let mut began = 0;
    let mut emit = |event| began += u32::from(matches!(event, Event::Interval { .. }));
    work(job, &mut Watch { emit: &mut emit, interrupted: &AtomicBool::new(false) })?;
    Ok(began)
}

#[test]
fn what_was_done_is_there_and_work_goes_on_from_it() {
    for store in STORES {
        let Some(folder) = place(store) else { continue };
        let job = job(store, folder.path());
        for round in 1..=2 {
            assert_eq!(worked(&job).unwrap(), 1, "{store}");
            let finding = check(&job).unwrap();
            assert_eq!(finding.turns, 2 * TURNS * round, "{store}");
            assert!(finding.whole(), "{store}: {finding:?}");
            assert_eq!(finding.datasets[0].found, 128, "{store}");
        }
    }
}

#[test]
fn what_is_acknowledged_and_not_there_is_lost() {
    for store in STORES {
        let Some(folder) = place(store) else { continue };
        let job = job(store, folder.path());
        worked(&job).unwrap();
        // Two batches of the drive's indexes: more than can be under way.
        Journal::begin(&job.journal, &[TURNS + 64, TURNS]).unwrap();
        let counted = looked_at(&job);
        assert!(counted.lost > 20 && counted.corrupt == 0, "{store}: {counted:?}");
        assert!(counted.examples[0].contains("thread 0"), "{store}: {counted:?}");
        assert!(matches!(worked(&job), Err(SoakError::Differs { .. })), "{store}");
    }
}

#[test]
fn what_is_there_and_was_not_begun_is_corrupt() {
    for store in STORES {
        let Some(folder) = place(store) else { continue };
        let job = job(store, folder.path());
        worked(&job).unwrap();
        Journal::begin(&job.journal, &[TURNS, TURNS - 60]).unwrap();
        assert!(looked_at(&job).corrupt > 10, "{store}");
    }
}

#[test]
fn a_job_that_cannot_be_is_told_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let mut wrong = serde_json::to_value(job("fptree", folder.path())).unwrap();
    for (key, value, said) in [
        ("keys", json!(3), "3 keys"),
        ("threads", json!(0), "0 threads"),
        ("version", json!(9), "version 9"),
        ("log", json!("/x"), "an index has none"),
        ("more", json!(1), "unknown field"),
    ] {
        let kept = wrong[key].take();
        wrong[key] = value;
        let error = SoakJob::parse(&wrong.to_string()).unwrap_err();
        assert!(error.to_string().contains(said), "{error}");
        assert_eq!(error.exit_code(), 2);
        wrong[key] = kept;
        wrong.as_object_mut().unwrap().remove("more");
    }
}
