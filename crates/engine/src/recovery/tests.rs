use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex},
};

use assay_btree::Finger;
use assay_buffer::disk::{
    self, Action, Disk, DiskRequest, Memory,
    sim::{SimDisk, World},
};

use super::*;
use crate::{
    log::{Area, Reader, area::FRONT, record::RecordKind},
    trees::Decide,
};

type Key = (u16, Vec<u8>);

/// Trees in memory, which many hands have at once.
#[derive(Debug, Default)]
struct Held {
    rows: Mutex<BTreeMap<Key, Vec<u8>>>,
    /// Keys that were looked for ahead, group by group.
    approached: Mutex<Vec<Vec<Key>>>,
    settled: Mutex<u32>,
}

impl Held {
    /// Rows as commit and value.
    fn rows(&self) -> BTreeMap<Key, (u64, Vec<u8>)> {
        let rows = self.rows.lock().unwrap();
        let parts = |row: &[u8]| Stamp::split(row).map(|(stamp, value)| (stamp.commit, value.to_vec())).unwrap();
        rows.iter().map(|(key, row)| (key.clone(), parts(row))).collect()
    }
}

impl Trees for Arc<Held> {
    type Permit<'a> = ();

    fn read(&self, table: u16, key: &[u8], _finger: &mut Finger, mut copy: impl FnMut(&[u8])) -> Result<bool> {
        Ok(self.rows.lock().unwrap().get(&(table, key.to_vec())).map(|row| copy(row)).is_some())
    }

    fn permit(&self) -> Self::Permit<'_> {}

    fn change(&self, _permit: &Self::Permit<'_>, table: u16, key: &[u8], decide: &mut Decide<'_>) -> Result<()> {
        let (mut rows, mut row) = (self.rows.lock().unwrap(), Vec::new());
        let key = (table, key.to_vec());
        match decide(rows.get(&key).map(Vec::as_slice), &mut row) {
            Decision::Keep => {}
            Decision::Put => drop(rows.insert(key, row)),
            Decision::Remove => drop(rows.remove(&key)),
        }
        Ok(())
    }

    fn replace(
        &self,
        _permit: &Self::Permit<'_>,
        table: u16,
        row: (&[u8], &[u8]),
        _finger: &mut Finger,
        replaced: &mut dyn FnMut(Option<&[u8]>),
    ) -> Result<()> {
        let old = self.rows.lock().unwrap().insert((table, row.0.to_vec()), row.1.to_vec());
        replaced(old.as_deref());
        Ok(())
    }

    fn scan(
        &self,
        _table: u16,
        _range: (&[u8], &[u8]),
        _down: bool,
        _limit: usize,
        _visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        Ok(())
    }

    fn approach(&self, keys: &mut dyn Iterator<Item = (u16, &[u8])>, _fingers: &mut Vec<Finger>) {
        self.approached.lock().unwrap().push(keys.map(|(table, key)| (table, key.to_vec())).collect());
    }

    fn settle(&self) -> Result<()> {
        *self.settled.lock().unwrap() += 1;
        Ok(())
    }

    fn pause(&self) {}

    fn cooperates(&self) -> bool {
        false
    }

    fn need_checkpoint(&self) -> Result<()> {
        Ok(())
    }
}

fn of<'a>(table: u16, key: &'a [u8], value: Option<&'a [u8]>) -> Change<'a> {
    Change { table, key, value }
}

fn sealed(position: u64, commit: u64, changes: &[Change<'_>]) -> Vec<u8> {
    let mut bytes = Vec::new();
    record::begin(&mut bytes);
    changes.iter().for_each(|change| record::add(&mut bytes, change));
    record::pad(&mut bytes);
    record::seal(&mut bytes, 77, position, commit, RecordKind::Commit, changes.len() as u32);
    bytes
}

/// A log that has these commits from its beginning on.
struct Logged {
    disk: Arc<SimDisk>,
    area: Area,
    /// Where it ends.
    end: u64,
}

const RING: u64 = 1 << 20;

fn logged(commits: &[(u64, Vec<Change<'_>>)]) -> Logged {
    let mut all = Vec::new();
    for (commit, changes) in commits {
        let record = sealed(all.len() as u64, *commit, changes);
        all.extend(record);
    }
    let end = all.len() as u64;
    all.resize((4 * RING) as usize, 0);
    let drive = World::new(1).add("log", FRONT + 4 * RING);
    let memory = Arc::new(Memory::new(all.len()).unwrap());
    // SAFETY: nobody else has the memory, and nothing is in flight.
    unsafe { std::slice::from_raw_parts_mut(memory.start(), all.len()) }.copy_from_slice(&all);
    let mut queue = drive.queue(1, &memory).unwrap();
    let request = DiskRequest { action: Action::Write, offset: FRONT, memory: 0, bytes: all.len() as u32, token: 0 };
    // SAFETY: as above.
    unsafe { disk::carry_out(&mut *queue, &*drive, request) }.unwrap();
    drop(queue);
    let area = Area::plan(&*drive, 77, RING).unwrap();
    Logged { disk: drive, area, end }
}

impl Logged {
    fn stream(&self) -> Stream<'_> {
        Stream::new(Reader::new(self.area, &*self.disk, None).unwrap(), 0)
    }
}

fn row(table: u16, key: &[u8], commit: u64, value: &[u8]) -> (Key, (u64, Vec<u8>)) {
    ((table, key.to_vec()), (commit, value.to_vec()))
}

fn damage(commit: u64, there: u64) -> (String, String) {
    let held = Arc::new(Held::default());
    carry_out(&held, there, &of(3, b"k", Some(b"old"))).unwrap();
    match carry_out(&held, commit, &of(3, b"k", Some(b"new"))) {
        Err(EngineError::Damaged { place, what }) => {
            assert_eq!(held.rows(), BTreeMap::from([row(3, b"k", there, b"old")]), "it stays");
            (place, what)
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_change_is_carried_out_where_the_row_is_older_and_is_damage_where_it_is_not() {
    let held = Arc::new(Held::default());
    carry_out(&held, 7, &of(3, b"k", Some(b"one"))).unwrap();
    carry_out(&held, 8, &of(3, b"k", Some(b"two"))).unwrap();
    carry_out(&held, 8, &of(4, b"k", Some(b""))).unwrap();
    assert_eq!(held.rows(), BTreeMap::from([row(3, b"k", 8, b"two"), row(4, b"k", 8, b"")]));
    carry_out(&held, 9, &of(3, b"k", None)).unwrap();
    carry_out(&held, 9, &of(5, b"none", None)).unwrap();
    assert_eq!(held.rows(), BTreeMap::from([row(4, b"k", 8, b"")]));
    for (commit, there) in [(8, 8), (8, 9)] {
        let (place, what) = damage(commit, there);
        assert_eq!(place, "a row of table 3");
        assert_eq!(what, format!("it is of commit {there}, and the log changes it in commit 8, which came before"));
    }
}

#[test]
fn a_row_that_is_newer_than_its_deletion_is_kept_and_is_damage() {
    let held = Arc::new(Held::default());
    carry_out(&held, 9, &of(3, b"k", Some(b"new"))).unwrap();
    assert!(matches!(carry_out(&held, 9, &of(3, b"k", None)), Err(EngineError::Damaged { .. })));
    assert_eq!(held.rows(), BTreeMap::from([row(3, b"k", 9, b"new")]));
}

/// Keys and values of several lengths, one after the other: the second group begins after the first of `LANES`.
#[test]
fn a_parcel_is_carried_out_in_its_order_group_by_group_and_then_settled() {
    let held = Arc::new(Held::default());
    let mut parcel = Parcel::default();
    let key = |number: usize| vec![number as u8; 1 + number % 3];
    let value = |number: usize| vec![number as u8; number % 5];
    let count = LANES + 3;
    for number in 0..count {
        parcel.push(number as u64 + 1, &of(number as u16 % 2, &key(number), Some(&value(number))));
    }
    parcel.push(90, &of(0, &key(0), None));
    parcel.push(91, &of(1, &key(1), Some(b"again")));
    parcel.carry_out(&held).unwrap();
    let mut expected: BTreeMap<_, _> =
        (1..count).map(|number| row(number as u16 % 2, &key(number), number as u64 + 1, &value(number))).collect();
    expected.extend([row(1, &key(1), 91, b"again")]);
    assert_eq!(held.rows(), expected);
    let mut keys: Vec<Key> = (0..count).map(|number| (number as u16 % 2, key(number))).collect();
    keys.extend([(0, key(0)), (1, key(1))]);
    assert_eq!(*held.approached.lock().unwrap(), [keys[..LANES].to_vec(), keys[LANES..].to_vec()]);
    assert_eq!(*held.settled.lock().unwrap(), 1);
}

#[test]
fn what_logs_have_is_carried_out_by_one_thread_and_by_several_alike() {
    let keys: Vec<Vec<u8>> = (0..40_u8).map(|number| vec![number; 3]).collect();
    let commits: Vec<(u64, Vec<Change<'_>>)> = (6..26_u64)
        .map(|commit| (commit, keys.iter().skip(commit as usize % 7).map(|key| of(1, key, Some(&key[1..]))).collect()))
        .collect();
    // Commits 6 to 25: key `number` is in those whose remainder by 7 is at most its number.
    let last = |number: u64| (6..26).rev().find(|commit| commit % 7 <= number).unwrap();
    let expected: BTreeMap<_, _> =
        keys.iter().zip(0..).map(|(key, number)| row(1, key, last(number), &key[1..])).collect();
    let alone = logged(&commits);
    let (odd, even): (Vec<_>, Vec<_>) = commits.into_iter().partition(|(commit, _)| commit % 2 == 1);
    let (odd, even) = (logged(&odd), logged(&even));
    for threads in [0, 1, 2, 3] {
        let held = Arc::new(Held::default());
        let ends = recover(&mut [alone.stream()], 5, threads, || Ok(Arc::clone(&held))).unwrap();
        assert_eq!(ends, Ends { positions: vec![alone.end], commit: 25, commits: 20 });
        assert_eq!(held.rows(), expected, "{threads} threads");
        // Only threads of their own get parcels, each one at the end.
        assert_eq!(*held.settled.lock().unwrap(), if threads > 1 { threads as u32 } else { 0 });
        let held = Arc::new(Held::default());
        let ends = recover(&mut [odd.stream(), even.stream()], 5, threads, || Ok(Arc::clone(&held))).unwrap();
        assert_eq!(ends, Ends { positions: vec![odd.end, even.end], commit: 25, commits: 20 });
        assert_eq!(held.rows(), expected, "{threads} threads, two logs");
    }
}

#[test]
fn damage_that_a_thread_finds_ends_the_recovery() {
    let log = logged(&[(6, vec![of(1, b"k", Some(b"v"))])]);
    for threads in [1, 2] {
        let held = Arc::new(Held::default());
        carry_out(&held, 9, &of(1, b"k", Some(b"new"))).unwrap();
        let ended = recover(&mut [log.stream()], 5, threads, || Ok(Arc::clone(&held)));
        assert!(matches!(ended, Err(EngineError::Damaged { .. })), "{threads} threads: {ended:?}");
    }
}

/// The parcels that each of two threads would get.
fn dealt(log: &Logged) -> [Vec<Parcel>; 2] {
    std::thread::scope(|scope| {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..2).map(|_| sync_channel(WAITING)).unzip();
        let gathered: Vec<_> =
            receivers.into_iter().map(|receiver| scope.spawn(move || receiver.iter().collect::<Vec<_>>())).collect();
        deal_out(&mut [log.stream()], 0, &senders).unwrap();
        drop(senders);
        let mut all = gathered.into_iter().map(|thread| thread.join().unwrap());
        [all.next().unwrap(), all.next().unwrap()]
    })
}

/// The upper half of its hash says which thread has a key.
fn thread_of(key: &[u8]) -> usize {
    (hash::of(1, key) >> 32) as usize % 2
}

#[test]
fn each_key_has_one_thread_by_the_upper_half_of_its_hash() {
    let keys: Vec<[u8; 8]> = (0..64_u64).map(u64::to_be_bytes).collect();
    let log = logged(&[(1, keys.iter().map(|key| of(1, key, None)).collect())]);
    for (thread, parcels) in dealt(&log).into_iter().enumerate() {
        assert_eq!(parcels.len(), 1);
        let got: Vec<&[u8]> = parcels[0].bytes.chunks(8).collect();
        let expected: Vec<&[u8]> = keys.iter().map(|key| &key[..]).filter(|key| thread_of(key) == thread).collect();
        assert_eq!(got, expected);
        assert!(got.len() > 16, "{} of 64", got.len());
    }
}

/// 262 144 bytes are a parcel: 64 changes of a key of 8 bytes and a value of 4088.
#[test]
fn a_parcel_is_handed_over_as_soon_as_it_is_full() {
    let key = 5_u64.to_be_bytes();
    let value = [7; 4088];
    let short = &value[..4080];
    let sizes = |value: &[u8], count: u64| {
        let commits: Vec<_> = (1..=count).map(|commit| (commit, vec![of(1, &key, Some(value))])).collect();
        let dealt = dealt(&logged(&commits));
        assert_eq!(dealt[1 - thread_of(&key)].iter().map(|parcel| parcel.bytes.len()).collect::<Vec<_>>(), [0]);
        dealt[thread_of(&key)].iter().map(|parcel| parcel.bytes.len()).collect::<Vec<_>>()
    };
    assert_eq!(sizes(&value, 129), [262_144, 262_144, 4096]);
    // 64 of 4088 bytes are 512 bytes short, so a parcel has 65.
    assert_eq!(sizes(short, 66), [65 * 4088, 4088]);
}
