//! The parsers: each takes any bytes, says whether it accepts them, and refuses with a sentence.

use std::{fmt::Display, fs};

use assay_engine::log::record;
use assay_libtwin::Op;
use assay_pmem::{Header, Medium, Offset, Pool, crash::Recorder};
use assay_record::{Event, Job, Record, WorkRecord};
use assay_soak::{SoakJob, journal};
use assay_twin::Target as Twin;
use assay_work::{engine::job::EngineJob, index::IndexJob};
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

/// A parser under test.
pub struct Target {
    pub name: &'static str,
    pub parse: fn(&[u8]) -> bool,
    /// Inputs that `./assay test` tries: a second or less.
    #[cfg_attr(not(test), allow(dead_code))]
    pub few: u64,
}

pub const TARGETS: &[Target] = &[
    Target { name: "job", parse: job, few: 20_000 },
    Target { name: "event", parse: event, few: 20_000 },
    Target { name: "record", parse: of_json::<Record>, few: 5_000 },
    Target { name: "work", parse: of_json::<WorkRecord>, few: 5_000 },
    Target { name: "index", parse: |bytes| of_text(bytes, IndexJob::parse), few: 20_000 },
    Target { name: "engine", parse: |bytes| of_text(bytes, EngineJob::parse), few: 20_000 },
    Target { name: "soak", parse: |bytes| of_text(bytes, SoakJob::parse), few: 20_000 },
    Target { name: "twin", parse: twin, few: 5_000 },
    Target { name: "drive", parse: drive, few: 2_000 },
    Target { name: "pool", parse: pool, few: 300 },
    Target { name: "log", parse: log, few: 50_000 },
    Target { name: "journal", parse: a_journal, few: 500 },
];

fn refused(error: &impl Display) -> bool {
    let words = error.to_string().split_whitespace().count();
    assert!(words >= 3, "a refusal says what was seen of what: {error}");
    false
}

fn of_text<T, E: Display>(bytes: &[u8], parse: fn(&str) -> Result<T, E>) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    parse(text).map_or_else(|error| refused(&error), |_| true)
}

/// What was read is written and read again as it was, but for the last digit of a fraction: its reader rounds that.
fn comes_back<T: Serialize + DeserializeOwned>(given: &T) -> String {
    let written = serde_json::to_string(given).expect("it is plain data");
    let again: T = serde_json::from_str(&written).expect("what was written can be read");
    let value = |what: &T| serde_json::to_value(what).expect("it is plain data");
    assert!(same(&value(given), &value(&again)), "{written}");
    written
}

fn same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap_or(0.0), b.as_f64().unwrap_or(0.0));
            (a - b).abs() <= 4.0 * f64::EPSILON * a.abs().max(f64::MIN_POSITIVE)
        }
        (Value::Array(a), Value::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b)),
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len() && a.iter().all(|(name, value)| b.get(name).is_some_and(|there| same(value, there)))
        }
        _ => one == other,
    }
}

/// What is valid stays valid.
fn job(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    match Job::parse(text) {
        Err(error) => refused(&error),
        Ok(job) => Job::parse(&comes_back(&job)).is_ok() || panic!("what was valid is not any more"),
    }
}

/// An event is one line.
fn event(bytes: &[u8]) -> bool {
    let Ok(event) = serde_json::from_slice::<Event>(bytes) else { return false };
    assert!(!comes_back(&event).contains('\n'), "an event is one line");
    true
}

fn of_json<T: Serialize + DeserializeOwned>(bytes: &[u8]) -> bool {
    serde_json::from_slice::<T>(bytes).is_ok_and(|read| !comes_back(&read).is_empty())
}

/// A twin as a job carries it.
fn twin(bytes: &[u8]) -> bool {
    let Ok(twin) = serde_json::from_slice::<Twin>(bytes) else { return false };
    twin.validate().map_or_else(|error| refused(&error), |()| true)
}

/// A drive's file as other programs open it: what is accepted answers each request at a moment that is not before it.
fn drive(bytes: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(bytes) else { return false };
    let mut drive = match assay_libtwin::Twin::open(text, 1) {
        Ok(drive) => drive,
        Err(error) => return refused(&error),
    };
    assert!(!drive.describe().to_string().is_empty());
    for (place, op) in [Op::Read, Op::Write, Op::Trim].into_iter().cycle().take(60).enumerate() {
        let (now_ns, offset) = (place as u64 * 1_000, place as u64 * 40_503 * 4096);
        assert!(drive.submit(now_ns, op, offset, 4096 << (place % 5)) >= now_ns, "an answer before its question");
    }
    assert!(drive.flush(60_000) >= 60_000);
    true
}

/// A pool whose tables are any bytes is used without harm.
fn pool(bytes: &[u8]) -> bool {
    const BYTES: usize = 1 << 18;
    if let Err(error) = Header::parse(bytes) {
        refused(&error);
    }
    let medium = Recorder::new(BYTES);
    let header = Header { bytes: BYTES as u64, lanes: 2, layout: "fuzz-1".to_owned() };
    medium.write(0, &header.encode().expect("the name is printable"));
    // What follows the header is whatever came in: incarnation, roots, logs, heads, bitmaps.
    medium.write(8192, &bytes[..bytes.len().min(BYTES - 8192)]);
    let Ok(pool) = Pool::open(medium, "fuzz-1") else { return false };
    let Ok(blocks) = pool.allocated() else { return false };
    for block in blocks {
        let mut transaction = pool.begin();
        if transaction.free_now(Offset::<u64>::new(block.at)).is_ok() {
            transaction.commit();
        }
    }
    let mut transaction = pool.begin();
    if transaction.alloc::<u64>(100).is_ok() {
        transaction.commit();
    }
    true
}

/// A record of the engine's log: looked at as recovery does, and beyond what its checksum vouches for.
fn log(bytes: &[u8]) -> bool {
    let position = bytes.get(8..16).map_or(0, |word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
    let Some(head) = record::head(bytes, position) else { return false };
    let Some(whole) = bytes.get(..head.length) else { return false };
    let sealed = record::is_whole(whole, 77);
    match record::changes(whole, &head, |change| {
        assert!(change.key.len() + change.value.map_or(0, <[u8]>::len) <= whole.len());
        Ok(())
    }) {
        Ok(()) => true,
        Err(error) => refused(&error) || sealed,
    }
}

/// What was acknowledged, as the file system may have left it.
fn a_journal(bytes: &[u8]) -> bool {
    let folder = tempfile::tempdir().expect("a folder for temporary files");
    let at = folder.path().join("acknowledged");
    fs::write(&at, bytes).expect("room for a small file");
    journal::read(&at, 2).map_or_else(|error| refused(&error), |_| true)
}
