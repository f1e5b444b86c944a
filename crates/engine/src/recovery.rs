//! Opening after a crash: what the log has beyond the last checkpoint is carried out again.
//!
//! The checkpoint holds all commits up to a position of the log and none after it, so each change is carried out exactly
//! once more, in the order of the log; of several logs in that of commit numbers, up to the first that is missing. One thread
//! reads; changes are dealt out by the hash of their key, so that each row is always in the same hands and keeps its order.
//! The logs' areas bound what there is to do. Nothing is written to a log meanwhile: a crash in the middle leaves everything
//! as it was.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use assay_btree::LANES;

use crate::{
    error::{EngineError, Failure, Result},
    hash,
    log::{
        merge::{Merged, Stream, merge},
        record::{self, Change, Head},
    },
    row::Stamp,
    trees::{Decision, Trees},
};

/// Bytes of changes that go to a thread at once.
const PARCEL: usize = 256 << 10;
/// Parcels that wait for a thread at most.
const WAITING: usize = 4;

/// Changes for one thread.
#[derive(Debug, Default)]
struct Parcel {
    bytes: Vec<u8>,
    changes: Vec<ChangeSpan>,
}

/// Commit, table, end of the key, end of the value and whether there is one.
type ChangeSpan = (u64, u16, usize, usize, bool);

impl Parcel {
    fn push(&mut self, commit: u64, change: &Change<'_>) {
        self.bytes.extend_from_slice(change.key);
        let key = self.bytes.len();
        self.bytes.extend_from_slice(change.value.unwrap_or_default());
        self.changes.push((commit, change.table, key, self.bytes.len(), change.value.is_some()));
    }

    fn carry_out(&self, trees: &impl Trees) -> Result<()> {
        let (mut start, mut fingers) = (0, Vec::with_capacity(LANES));
        for some in self.changes.chunks(LANES) {
            // Pages that are not there are read side by side.
            fingers.clear();
            trees.approach(&mut self.keys(start, some), &mut fingers);
            for &(commit, table, key, end, there) in some {
                let value = there.then(|| &self.bytes[key..end]);
                carry_out(trees, commit, &Change { table, key: &self.bytes[start..key], value })?;
                start = end;
            }
        }
        // Another thread may wait for a page that this one has asked for, while this one waits for its next parcel.
        trees.settle()
    }

    /// Tables and keys of changes whose bytes begin at `start`.
    fn keys<'p>(&'p self, start: usize, some: &'p [ChangeSpan]) -> impl Iterator<Item = (u16, &'p [u8])> {
        let starts = std::iter::once(start).chain(some.iter().map(|&(_, _, _, end, _)| end));
        some.iter().zip(starts).map(|(&(_, table, key, ..), start)| (table, &self.bytes[start..key]))
    }
}

/// Carries a change out again.
fn carry_out(trees: &impl Trees, commit: u64, change: &Change<'_>) -> Result<()> {
    let mut newer = None;
    let permit = trees.permit();
    trees.change(&permit, change.table, change.key, &mut |old, row| {
        newer = old.and_then(Stamp::split).map(|(stamp, _)| stamp.commit).filter(|&there| there >= commit);
        match change.value {
            _ if newer.is_some() => Decision::Keep,
            Some(value) => {
                row.extend_from_slice(&Stamp { commit, deleted: false }.to_bytes());
                row.extend_from_slice(value);
                Decision::Put
            }
            None => Decision::Remove,
        }
    })?;
    match newer {
        None => Ok(()),
        Some(newer) => Err(EngineError::Damaged {
            place: format!("a row of table {}", change.table),
            what: format!("it is of commit {newer}, and the log changes it in commit {commit}, which came before"),
        }),
    }
}

/// Where logs end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ends {
    /// Of each log the first position that holds no record.
    pub positions: Vec<u64>,
    /// Newest commit that was carried out; 0 for none of one log.
    pub commit: u64,
    /// Commits that were carried out.
    pub commits: u64,
}

/// Hands on what the logs have beyond commit `after`: all of one log, of several what is there without a gap.
fn read(logs: &mut [Stream<'_>], after: u64, visit: impl FnMut(&Head, &[u8]) -> Result<()>) -> Result<Ends> {
    if let [only] = logs {
        let (reader, begin) = only.alone();
        let end = reader.read(begin, visit)?;
        return Ok(Ends { positions: vec![end.position], commit: end.commit, commits: end.commits });
    }
    let Merged { commit, commits } = merge(logs, after, visit)?;
    let positions = logs.iter_mut().map(Stream::end).collect::<Result<_>>()?;
    Ok(Ends { positions, commit, commits })
}

/// Carries out what the logs have beyond commit `after`, with so many threads; one works on this thread.
///
/// # Errors
/// Where a log or a page cannot be read, or something is missing that had been durable.
pub fn recover<T: Trees>(
    logs: &mut [Stream<'_>],
    after: u64,
    threads: usize,
    hand: impl Fn() -> Result<T> + Sync,
) -> Result<Ends> {
    if threads <= 1 {
        let trees = hand()?;
        return read(logs, after, |head, bytes| {
            record::changes(bytes, head, |change| carry_out(&trees, head.commit, &change))
        });
    }
    std::thread::scope(|scope| {
        let (mut senders, mut workers) = (Vec::new(), Vec::new());
        for _ in 0..threads {
            let (sender, receiver) = sync_channel(WAITING);
            senders.push(sender);
            let hand = &hand;
            workers.push(scope.spawn(move || work(&receiver, hand)));
        }
        let read = deal_out(logs, after, &senders);
        drop(senders);
        // What stopped a worker is why its parcels could not be handed over.
        for worker in workers {
            worker.join().map_err(|_| Failure::new("a recovery's thread panicked").error())??;
        }
        read
    })
}

fn work<T: Trees>(parcels: &Receiver<Parcel>, hand: &impl Fn() -> Result<T>) -> Result<()> {
    let trees = hand()?;
    parcels.iter().try_for_each(|parcel| parcel.carry_out(&trees))
}

fn deal_out(logs: &mut [Stream<'_>], after: u64, workers: &[SyncSender<Parcel>]) -> Result<Ends> {
    let gone = |_| Failure::new("a recovery's thread ended early").error();
    let mut parcels: Vec<Parcel> = workers.iter().map(|_| Parcel::default()).collect();
    let ends = read(logs, after, |head, bytes| {
        record::changes(bytes, head, |change| {
            let worker = (hash::of(change.table, change.key) >> 32) as usize % workers.len();
            parcels[worker].push(head.commit, &change);
            if parcels[worker].bytes.len() < PARCEL {
                return Ok(());
            }
            workers[worker].send(std::mem::take(&mut parcels[worker])).map_err(gone)
        })
    })?;
    parcels.into_iter().zip(workers).try_for_each(|(parcel, worker)| worker.send(parcel).map_err(gone))?;
    Ok(ends)
}

#[cfg(test)]
mod tests;
