//! Commits that are written down outside of the database, so that a killed process can be held to its word.
//!
//! Each task is a writer. Its n-th transaction puts n into two rows that lie far apart and adds row n of a history: all
//! three or none may be there afterwards. Only when the commit has returned, n is written to the writer's place in a file
//! beside the database: an acknowledgement, which outlives the process. The next run on the same folder looks first
//! whether everything that was acknowledged is there, and nothing in part.

use std::{
    fs::{File, OpenOptions},
    os::unix::fs::FileExt,
    path::{Path, PathBuf},
};

use assay_engine::{Database, EngineError, Session, handle::Handle};
use assay_record::WorkCheck;

use crate::error::{Result, failed};

/// Table of the two rows of each writer.
const HEADS: u16 = 0;
/// Table of the histories.
const HISTORY: u16 = 1;
/// Tables of a ledger.
pub(super) const TABLES: usize = 2;
/// The file of acknowledgements.
const ACKNOWLEDGED: &str = "engine-acknowledged";

/// The acknowledgements: eight bytes for each writer.
#[derive(Debug)]
pub(super) struct Acknowledged {
    file: File,
    path: PathBuf,
}

impl Acknowledged {
    /// Those in a folder; none where there is no file yet.
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(ACKNOWLEDGED);
        let file = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        Ok(Self { file: file.map_err(|error| failed("opening", &path, error))?, path })
    }

    /// The newest acknowledged transaction of a writer; 0 where there is none.
    fn of(&self, writer: u32) -> Result<u64> {
        let mut bytes = [0; 8];
        match self.file.read_exact_at(&mut bytes, u64::from(writer) * 8) {
            Ok(()) => Ok(u64::from_le_bytes(bytes)),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(0),
            Err(error) => Err(failed("reading", &self.path, error)),
        }
    }

    fn set(&self, writer: u32, transaction: u64) -> Result<()> {
        let written = self.file.write_all_at(&transaction.to_le_bytes(), u64::from(writer) * 8);
        written.map_err(|error| failed("writing", &self.path, error))
    }

    fn writers(&self) -> Result<u32> {
        let facts = self.file.metadata().map_err(|error| failed("looking at", &self.path, error))?;
        Ok((facts.len() / 8) as u32)
    }
}

/// One writer.
pub(super) struct Writer<'a> {
    session: Session<'a, Handle<'a>>,
    acknowledged: &'a Acknowledged,
    number: u32,
    next: u64,
}

fn head_keys(writer: u32) -> [[u8; 5]; 2] {
    [0, 0xff].map(|end| {
        let mut key = [end; 5];
        key[1..].copy_from_slice(&writer.to_be_bytes());
        key
    })
}

fn history_key(writer: u32, transaction: u64) -> [u8; 12] {
    let mut key = [0; 12];
    key[..4].copy_from_slice(&writer.to_be_bytes());
    key[4..].copy_from_slice(&transaction.to_be_bytes());
    key
}

fn number(value: &[u8]) -> u64 {
    value.first_chunk().map_or(u64::MAX, |bytes| u64::from_le_bytes(*bytes))
}

impl<'a> Writer<'a> {
    /// The writer goes on where its rows end.
    pub fn begin(mut session: Session<'a, Handle<'a>>, acknowledged: &'a Acknowledged, number_: u32) -> Result<Self> {
        let mut value = Vec::new();
        session.begin()?;
        let there = session.get(HEADS, &head_keys(number_)[0], &mut value)?;
        session.commit()?;
        let next = if there { number(&value) + 1 } else { 1 };
        Ok(Self { session, acknowledged, number: number_, next })
    }

    /// One transaction, and its acknowledgement; how many conflicts it met.
    pub fn write(&mut self, value_bytes: usize) -> Result<u64> {
        let mut conflicts = 0;
        let mut value = vec![self.next as u8; value_bytes.max(8)];
        value[..8].copy_from_slice(&self.next.to_le_bytes());
        loop {
            match self.try_write(&value) {
                Ok(()) => break,
                Err(error) if error.is_passing() => conflicts += 1,
                Err(error) => return Err(error.into()),
            }
            self.session.abort();
        }
        self.acknowledged.set(self.number, self.next)?;
        self.next += 1;
        Ok(conflicts)
    }

    fn try_write(&mut self, value: &[u8]) -> assay_engine::Result<()> {
        let [low, high] = head_keys(self.number);
        self.session.begin()?;
        self.session.put(HEADS, &low, value)?;
        self.session.put(HISTORY, &history_key(self.number, self.next), value)?;
        self.session.put(HEADS, &high, value)?;
        self.session.commit()
    }
}

/// Refuses to go on where something is lost or in part: whoever went on would write over the evidence.
pub(super) fn demand(database: &Database, acknowledged: &Acknowledged) -> Result<()> {
    let failed: Vec<_> = check(database, acknowledged)?.into_iter().filter(|check| !check.passed).collect();
    if failed.is_empty() {
        return Ok(());
    }
    let what = failed.iter().map(|check| check.evidence.as_str()).collect::<Vec<_>>().join("; ");
    Err(EngineError::Damaged { place: "the ledger".to_owned(), what }.into())
}

/// Looks whether all that was acknowledged is there, and nothing in part.
pub(super) fn check(database: &Database, acknowledged: &Acknowledged) -> Result<Vec<WorkCheck>> {
    let mut session = database.session()?;
    session.begin()?;
    let (mut lost, mut torn, mut all) = (Vec::new(), Vec::new(), 0);
    for writer in 0..acknowledged.writers()? {
        let said = acknowledged.of(writer)?;
        all += said;
        let mut heads = [0; 2];
        for (head, key) in heads.iter_mut().zip(head_keys(writer)) {
            let mut value = Vec::new();
            let there = session.get(HEADS, &key, &mut value)?;
            *head = if there { number(&value) } else { 0 };
        }
        let (mut rows, mut gap) = (0, false);
        let (from, below) = (history_key(writer, 0), history_key(writer, u64::MAX));
        session.scan(HISTORY, &from, &below, false, |_, value| {
            rows += 1;
            gap |= number(value) != rows;
            true
        })?;
        if heads[0] < said {
            lost.push(format!("writer {writer}: {said} acknowledged, {} there", heads[0]));
        }
        if gap || heads != [rows; 2] {
            torn.push(format!("writer {writer}: rows say {heads:?}, its history has {rows}"));
        }
    }
    session.commit()?;
    let told = |bad: &[String], good: String| if bad.is_empty() { good } else { bad.join("; ") };
    let check = |name: &str, bad: &[String], good: String| WorkCheck {
        name: name.to_owned(),
        passed: bad.is_empty(),
        evidence: told(bad, good),
    };
    Ok(vec![
        check("acknowledged", &lost, format!("{all} transactions were acknowledged, and all are there")),
        check("whole", &torn, format!("of {} writers no transaction is there in part", acknowledged.writers()?)),
    ])
}
