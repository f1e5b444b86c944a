use assay_buffer::disk::sim::{SimDisk, World};
use assay_pmem::Mapped;

use super::{
    super::{
        area::FRONT,
        merge::{Source, Stream},
        tail::PMEM_HEADER,
    },
    *,
};

const RING: u64 = 64 << 10;
const IDENTITY: u64 = 0x0a55_a7ed;
/// Not at a block's beginning.
const BEGIN: u64 = 3 * 4096 + 160;

struct Made {
    disk: Arc<SimDisk>,
    area: Area,
}

/// A record whose bytes are its number.
fn sealed(position: u64, commit: u64, kind: RecordKind, bytes: u64) -> (u64, Vec<u8>) {
    let mut record = vec![commit as u8; bytes as usize];
    record::seal(&mut record, IDENTITY, position, commit, kind, 0);
    (position, record)
}

/// A log of so many bytes with these records and nothing else in it.
fn made(bytes: u64, records: &[(u64, Vec<u8>)]) -> Made {
    let disk = World::new(1).add("the log", FRONT + bytes);
    let area = Area::plan(&*disk, IDENTITY, RING).unwrap();
    let memory = Arc::new(Memory::new(bytes as usize).unwrap());
    // SAFETY: nobody else has the memory, and nothing is in flight.
    let all = unsafe { std::slice::from_raw_parts_mut(memory.start(), bytes as usize) };
    for (position, record) in records {
        let at = (position % bytes) as usize;
        let here = record.len().min(all.len() - at);
        all[at..at + here].copy_from_slice(&record[..here]);
        all[..record.len() - here].copy_from_slice(&record[here..]);
    }
    let mut queue = disk.queue(1, &memory).unwrap();
    let request = DiskRequest { action: Action::Write, offset: FRONT, memory: 0, bytes: bytes as u32, token: 0 };
    // SAFETY: as above.
    unsafe { carry_out(&mut *queue, &*disk, request) }.unwrap();
    drop(queue);
    Made { disk, area }
}

/// Persistent memory with these records.
fn tail(records: &[(u64, Vec<u8>)]) -> Tail {
    let tail = Tail::Persistent(Box::new(Mapped::memory(RING + PMEM_HEADER).unwrap()));
    for (position, record) in records {
        // SAFETY: nobody else has it.
        unsafe { tail.append(*position, record) };
    }
    tail
}

impl Made {
    fn reader<'a>(&'a self, tail: Option<&'a Tail>) -> Reader<'a> {
        Reader::new(self.area, &*self.disk, tail).unwrap()
    }

    /// The records from a position on, and the end.
    fn read(&self, begin: u64, tail: Option<&Tail>) -> Result<(Vec<Vec<u8>>, End)> {
        let mut found = Vec::new();
        let end = self.reader(tail).read(begin, |head, bytes| {
            assert_eq!(head.length, bytes.len());
            found.push(bytes.to_vec());
            Ok(())
        })?;
        Ok((found, end))
    }
}

/// 6 MiB are 153 records of 40 992 bytes and one of 19 680. Each second one has a lower number than the one before it, so
/// that the highest is that of the last but one.
fn full_round(begin: u64) -> Vec<(u64, Vec<u8>)> {
    let record = |index: u64| {
        let bytes = if index < 153 { 40_992 } else { 19_680 };
        sealed(begin + index * 40_992, 500 + (index ^ 1), RecordKind::Commit, bytes)
    };
    (0..154).map(record).collect()
}

#[test]
fn a_whole_round_is_read_across_windows_and_across_the_areas_end_and_not_more() {
    let bytes = 6 << 20;
    for begin in [BEGIN, 2 * bytes + (5 << 20) + 32] {
        let records = full_round(begin);
        let log = made(bytes, &records);
        let more = tail(&[sealed(begin + bytes, 999, RecordKind::Commit, 32)]);
        let (found, end) = log.read(begin, Some(&more)).unwrap();
        assert!(found.iter().eq(records.iter().map(|(_, record)| record)));
        assert_eq!(end, End { position: begin + bytes, commit: 653, commits: 154 });
        let mut stream = Stream::new(log.reader(Some(&more)), begin);
        let (mut heads, mut record) = (0, Vec::new());
        while let Some(head) = stream.next(&mut record).unwrap() {
            assert_eq!((head.position, &record), (records[heads].0, &records[heads].1));
            heads += 1;
        }
        assert_eq!((heads, stream.end().unwrap()), (154, begin + bytes));
    }
}

#[test]
fn an_empty_log_ends_where_it_begins() {
    let log = made(4 * RING, &[]);
    for begin in [0, BEGIN] {
        let (found, end) = log.read(begin, None).unwrap();
        assert_eq!((found.len(), end), (0, End { position: begin, commit: 0, commits: 0 }));
    }
}

#[test]
fn marks_and_padding_are_passed_over() {
    let records = [
        sealed(BEGIN, 3, RecordKind::Mark, 32),
        sealed(BEGIN + 32, 7, RecordKind::Commit, 96),
        sealed(BEGIN + 128, 9, RecordKind::Padding, 64),
        sealed(BEGIN + 192, 5, RecordKind::Commit, 64),
    ];
    let (found, end) = made(4 * RING, &records).read(BEGIN, None).unwrap();
    assert_eq!(found, [records[1].1.clone(), records[3].1.clone()]);
    assert_eq!(end, End { position: BEGIN + 256, commit: 7, commits: 2 });
}

#[test]
fn a_record_is_as_long_as_the_tails_ring_at_most() {
    for (bytes, read) in [(RING, 1), (RING + 32, 0)] {
        let log = made(4 * RING, &[sealed(BEGIN, 1, RecordKind::Commit, bytes)]);
        let (found, end) = log.read(BEGIN, None).unwrap();
        assert_eq!((found.len(), end.position), (read, BEGIN + read as u64 * bytes));
    }
}

#[test]
fn a_record_that_the_disk_has_in_part_is_taken_from_the_tail() {
    let whole = sealed(BEGIN, 1, RecordKind::Commit, 640);
    let mut torn = whole.clone();
    torn.1[600] ^= 1;
    let next = sealed(BEGIN + 640, 2, RecordKind::Commit, 64);
    let log = made(4 * RING, &[torn]);
    assert_eq!(log.read(BEGIN, None).unwrap().0.len(), 0);
    let (found, end) = log.read(BEGIN, Some(&tail(&[whole.clone(), next.clone()]))).unwrap();
    assert_eq!(found, [whole.1, next.1]);
    assert_eq!(end, End { position: BEGIN + 704, commit: 2, commits: 2 });
}

/// A log of one commit at `BEGIN`, which ends at `BEGIN + 512` and has something later on.
fn with_later(on_disk: &[(u64, Vec<u8>)], in_tail: &[(u64, Vec<u8>)]) -> Result<u64> {
    let first = sealed(BEGIN, 1, RecordKind::Commit, 512);
    let log = made(4 * RING, &[&[first][..], on_disk].concat());
    let tail = tail(in_tail);
    let alone = log.read(BEGIN, Some(&tail)).map(|(_, end)| end.position);
    let mut stream = Stream::new(log.reader(Some(&tail)), BEGIN);
    let mut record = Vec::new();
    while stream.next(&mut record)?.is_some() {}
    let (said, again) = (format!("{alone:?}"), stream.end());
    assert_eq!(said, format!("{again:?}"), "alone and among others");
    again
}

#[track_caller]
fn lost(ended: Result<u64>, later: u64) {
    match ended {
        Err(EngineError::LostMiddle { log, lost, seen }) => {
            assert_eq!((log.as_str(), lost, seen), ("the log", BEGIN + 512, later));
        }
        other => panic!("{other:?}"),
    }
}

/// Marks lie at blocks' beginnings: the first after the end at 16 384, the last of a round at `LAST`.
const LAST: u64 = 4 * RING + 3 * 4096;

#[test]
fn a_later_mark_on_the_disk_or_in_the_tail_says_that_the_middle_is_lost() {
    for position in [16_384, 20_480, 40_960, LAST] {
        let mark = sealed(position, 1, RecordKind::Mark, 32);
        lost(with_later(std::slice::from_ref(&mark), &[]), position);
        lost(with_later(&[], &[mark]), position);
    }
}

#[test]
fn nothing_but_a_whole_mark_at_a_blocks_beginning_within_a_round_says_so() {
    let mut torn = sealed(20_480, 1, RecordKind::Mark, 32);
    torn.1[31] ^= 1;
    let on_disk = [
        sealed(20_480, 2, RecordKind::Commit, 32),
        sealed(20_480, 2, RecordKind::Commit, 64),
        sealed(20_480, 2, RecordKind::Padding, 32),
        sealed(20_512, 2, RecordKind::Mark, 32),
        torn,
    ];
    for record in on_disk {
        let what = format!("{record:?}");
        assert_eq!(with_later(&[record], &[]).unwrap(), BEGIN + 512, "{what}");
    }
    // BEGIN and a round are not at a block's beginning: the first mark beyond is at LAST + 4096.
    let beyond = sealed(LAST + 4096, 1, RecordKind::Mark, 32);
    assert_eq!(with_later(&[], &[beyond]).unwrap(), BEGIN + 512);
}

#[test]
fn a_mark_exactly_one_round_after_the_beginning_is_of_the_next() {
    let log = made(4 * RING, &[]);
    let next = tail(&[sealed(4 * RING, 1, RecordKind::Mark, 32)]);
    assert_eq!(log.read(0, Some(&next)).unwrap().1.position, 0);
    let mut stream = Stream::new(log.reader(Some(&next)), 0);
    assert!(stream.next(&mut Vec::new()).unwrap().is_none());
    assert_eq!(stream.end().unwrap(), 0);
}

#[test]
fn a_stream_is_called_as_its_disk_and_can_be_read_alone() {
    let log = made(4 * RING, &[sealed(BEGIN, 1, RecordKind::Commit, 64)]);
    let mut stream = Stream::new(log.reader(None), BEGIN);
    assert_eq!(stream.name(), "the log");
    let (reader, begin) = stream.alone();
    let end = reader.read(begin, |_, _| Ok(())).unwrap();
    assert_eq!(end, End { position: BEGIN + 64, commit: 1, commits: 1 });
}
