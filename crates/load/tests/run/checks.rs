//! The data check and the acknowledgement journal.

use std::os::unix::fs::FileExt;

use crate::support::{class, job, on_disk, parse, run_job, run_watched};
use assay_load::{LoadError, verify};
use assay_record::Event;
use serde_json::{Value, json};

fn stamped(folder: &std::path::Path) -> Value {
    let mut job = job(folder);
    job["datasets"][0]["content"] = json!("stamped");
    job["checks"] = json!({"data": true});
    job
}

#[test]
fn readers_that_overlap_writers_find_nothing_wrong() {
    let folder = on_disk();
    for path in ["pread", "mmap", "io_uring", "libaio"] {
        let mut job = stamped(folder.path());
        // Eight large blocks, written and read without pause: torn reads are certain.
        job["datasets"][0]["bytes"] = json!(8 * 65_536);
        let mut writer = class("writer");
        writer["operation"] = json!({"kind": "write"});
        job["classes"] = json!([class("reader"), writer]);
        for index in 0..2 {
            job["classes"][index]["size"] = json!(65_536);
            job["classes"][index]["path"]["kind"] = json!(path);
            job["classes"][index]["threads"] = json!(2);
        }
        job["window"]["measure_s"] = json!(0.5);
        let record = match run_job(&job) {
            Ok(record) => record,
            Err(error) if error.exit_code() == 4 => {
                eprintln!("skipped: {error}");
                continue;
            }
            Err(error) => panic!("{path}: {error}"),
        };
        let check = record.classes[0].check.as_ref().unwrap();
        assert!(check.blocks > 0, "{path}");
        assert_eq!((check.wrong, &check.examples), (0, &Vec::new()), "{path}");
    }
}

/// Flips a byte in the middle of the second block of the data set.
fn damage(folder: &std::path::Path) {
    let victim = std::fs::File::options().read(true).write(true).open(folder.join("s").join("d.0.0.data")).unwrap();
    let mut byte = [0];
    victim.read_exact_at(&mut byte, 4096 + 2000).unwrap();
    victim.write_all_at(&[byte[0] ^ 0xff], 4096 + 2000).unwrap();
}

#[test]
fn a_damaged_block_is_wrong_with_and_without_writers_elsewhere() {
    for with_writer in [false, true] {
        let folder = on_disk();
        let mut job = stamped(folder.path());
        job["classes"][0]["arrivals"] = json!({"kind": "fixed", "rate_per_s": 5000.0, "scope": "total"});
        job["window"] = json!({"measure_s": 1.0, "interval_ms": 50});
        if with_writer {
            // Sequential and slow: it does not come to the second block within the window.
            let mut writer = class("writer");
            writer["operation"] = json!({"kind": "write"});
            writer["pattern"] = json!({"kind": "sequential"});
            writer["arrivals"] = json!({"kind": "fixed", "rate_per_s": 0.5, "scope": "total"});
            job["classes"].as_array_mut().unwrap().push(writer);
        }
        let mut once = false;
        let record = run_watched(&job, |event, _| {
            if matches!(event, Event::Interval { .. }) && !std::mem::replace(&mut once, true) {
                damage(folder.path());
            }
        })
        .unwrap();
        let check = record.classes[0].check.as_ref().unwrap();
        assert!(check.wrong > 0 && check.wrong < check.blocks, "{with_writer}: {check:?}");
        assert!(check.examples[0].starts_with("offset 4096:"), "{:?}", check.examples);
    }
}

#[test]
fn what_was_acknowledged_is_there() {
    for (path, journalling) in
        [("pread", "mapping"), ("pread", "write"), ("io_uring", "mapping"), ("io_uring", "write")]
    {
        let folder = on_disk();
        let journal = folder.path().join("acknowledged");
        let mut job = stamped(folder.path());
        job["checks"]["acknowledgements"] = json!(journal);
        job["checks"]["journalling"] = json!(journalling);
        job["keep_scratch"] = json!(true);
        job["datasets"][0]["bytes"] = json!(64 * 4096);
        job["classes"][0]["operation"] = json!({"kind": "write"});
        job["classes"][0]["durability"] = json!({"kind": "fdatasync", "every": 1});
        job["classes"][0]["path"]["kind"] = json!(path);
        job["classes"][0]["threads"] = json!(2);
        job["classes"][0]["depth"] = json!(if path == "pread" { 1 } else { 4 });
        if let Err(error) = run_job(&job) {
            assert_eq!(error.exit_code(), 4, "{error}");
            eprintln!("skipped: {error}");
            continue;
        }
        let seen = verify(&parse(&job)).unwrap();
        assert!(seen.acknowledged > 0);
        assert_eq!((seen.found, seen.lost, seen.corrupt), (seen.acknowledged, 0, 0), "{path}: {:?}", seen.examples);
        assert_eq!(seen.datasets.len(), 1);
        assert_eq!((seen.datasets[0].name.as_str(), seen.datasets[0].found), ("d", seen.found), "{path}");
        let victim = folder.path().join("s").join("d.0.0.data");
        std::fs::File::options().write(true).open(&victim).unwrap().set_len(4096).unwrap();
        let seen = verify(&parse(&job)).unwrap();
        assert!(seen.lost >= seen.acknowledged - 1 && !seen.examples.is_empty(), "{path}: {seen:?}");
    }
}

#[test]
fn a_job_that_completes_nothing_fails_each_time_it_is_run_and_as_such() {
    for kept in [false, true] {
        let folder = on_disk();
        let mut job = stamped(folder.path());
        job["keep_scratch"] = json!(kept);
        job["checks"]["acknowledgements"] = json!(folder.path().join("acknowledged"));
        job["classes"][0]["operation"] = json!({"kind": "write"});
        job["classes"][0]["durability"] = json!({"kind": "fdatasync", "every": 1});
        job["classes"][0]["arrivals"] = json!({"kind": "fixed", "rate_per_s": 0.01, "scope": "total"});
        job["window"] = json!({"warmup_s": 0.05, "measure_s": 0.05, "interval_ms": 10});
        let error = run_job(&job).unwrap_err();
        assert!(matches!(error, LoadError::NothingDone { .. }), "{kept}: {error}");
    }
}
