use proptest::prelude::*;

use super::*;

type Owned = (u16, Vec<u8>, Option<Vec<u8>>);

fn made(changes: &[Owned]) -> Vec<u8> {
    let mut record = Vec::new();
    begin(&mut record);
    for (table, key, value) in changes {
        add(&mut record, &Change { table: *table, key, value: value.as_deref() });
    }
    pad(&mut record);
    seal(&mut record, 77, 4096, 5, RecordKind::Commit, changes.len() as u32);
    record
}

proptest! {
    #[test]
    fn changes_come_back_and_every_flipped_bit_is_seen(
        given in prop::collection::vec((any::<u16>(), prop::collection::vec(any::<u8>(), 0..40),
            prop::option::of(prop::collection::vec(any::<u8>(), 0..40))), 0..6),
        bit in any::<prop::sample::Index>(),
    ) {
        let mut record = made(&given);
        let head = head(&record, 4096).unwrap();
        prop_assert!(is_whole(&record, 77));
        prop_assert!(!is_whole(&record, 78), "another log");
        prop_assert_eq!(super::head(&record, 8192), None, "another place");
        let mut found: Vec<Owned> = Vec::new();
        changes(&record, &head, |change| {
            found.push((change.table, change.key.to_vec(), change.value.map(<[u8]>::to_vec)));
            Ok(())
        }).unwrap();
        prop_assert_eq!(found, given);
        let bit = bit.index(record.len() * 8);
        record[bit / 8] ^= 1 << (bit % 8);
        let seen = super::head(&record, 4096).is_some_and(|head| {
            record.get(..head.length).is_some_and(|record| is_whole(record, 77))
        });
        prop_assert!(!seen, "bit {}", bit);
    }
}

/// A put of table 0x0102, key "ab" and value "xyz", and a delete of table 3, key "c".
fn two_changes() -> Vec<u8> {
    made(&[(0x0102, b"ab".to_vec(), Some(b"xyz".to_vec())), (3, b"c".to_vec(), None)])
}

#[test]
fn a_record_lies_as_its_description_says() {
    let record = two_changes();
    let mut expected = vec![0; 64];
    // 32 of the header, 9 + 2 + 3 and 9 + 1 of the changes are 56, padded to 64.
    expected[0] = 64;
    expected[8..10].copy_from_slice(&[0x00, 0x10]);
    (expected[16], expected[24], expected[28]) = (5, 1, 2);
    expected[32..46].copy_from_slice(b"\x02\x01\x01\x02\0\x03\0\0\0abxyz");
    expected[46..56].copy_from_slice(b"\x03\0\x02\x01\0\0\0\0\0c");
    let covered = [&77_u64.to_le_bytes()[..], &64_u32.to_le_bytes(), &expected[8..]].concat();
    expected[4..8].copy_from_slice(&crc32c::crc32c(&covered).to_le_bytes());
    assert_eq!(record, expected);
    let head = Head { length: 64, position: 4096, commit: 5, kind: RecordKind::Commit, changes: 2 };
    assert_eq!(super::head(&record, 4096), Some(head));
}

#[test]
fn a_record_that_fills_its_last_32_bytes_is_not_padded_and_a_new_one_begins_empty() {
    let mut record = vec![9; 100];
    begin(&mut record);
    assert_eq!(record, [0; 32]);
    pad(&mut record);
    assert_eq!(record.len(), 32);
    // 9 bytes of a change's header and 23 of its key.
    add(&mut record, &Change { table: 1, key: &[7; 23], value: None });
    pad(&mut record);
    assert_eq!(record.len(), 64);
    add(&mut record, &Change { table: 1, key: &[7; 24], value: None });
    pad(&mut record);
    assert_eq!((record.len(), record[96], record[97]), (128, 7, 0));
}

#[test]
fn each_kind_has_its_number_and_other_numbers_are_none() {
    let kinds = [(1, RecordKind::Commit), (2, RecordKind::Padding), (3, RecordKind::Mark)];
    for (word, kind) in kinds {
        let mut record = vec![0; 32];
        seal(&mut record, 1, 0, 0, kind, 0);
        assert_eq!(record[24..28], [word, 0, 0, 0]);
        assert_eq!(head(&record, 0).unwrap().kind, kind);
    }
    for word in [0, 4, u32::MAX] {
        assert_eq!(RecordKind::from(word), None);
    }
}

/// A header of this length at position 64.
fn with_length(length: u32) -> Vec<u8> {
    let mut record = vec![0; 32];
    seal(&mut record, 1, 64, 0, RecordKind::Commit, 0);
    record[..4].copy_from_slice(&length.to_le_bytes());
    record
}

#[test]
fn a_header_is_one_where_its_length_and_its_position_can_be() {
    for length in [32, 64, 0x0001_0020] {
        assert_eq!(head(&with_length(length), 64).map(|head| head.length), Some(length as usize));
    }
    for length in [0, 31, 33, 48, 63] {
        assert_eq!(head(&with_length(length), 64), None, "{length}");
    }
    for position in [0, 32, 63, 96] {
        assert_eq!(head(&with_length(32), position), None, "{position}");
    }
    assert_eq!(head(&with_length(32)[..31], 64), None, "a part of one");
}

#[test]
fn what_is_shorter_than_a_header_is_no_whole_record() {
    let mut record = vec![0; 32];
    seal(&mut record, 1, 64, 0, RecordKind::Mark, 0);
    assert!(is_whole(&record, 1));
    for bytes in [0, 4, 31] {
        assert!(!is_whole(&record[..bytes], 1), "{bytes}");
    }
}

fn found(record: &[u8], changes: u32) -> (Vec<Owned>, Result<()>) {
    let head = Head { length: record.len(), position: 4096, commit: 5, kind: RecordKind::Commit, changes };
    let mut found = Vec::new();
    let ended = super::changes(record, &head, |change| {
        found.push((change.table, change.key.to_vec(), change.value.map(<[u8]>::to_vec)));
        Ok(())
    });
    (found, ended)
}

#[track_caller]
fn damaged(ended: Result<()>, index: u32, of: u32) {
    match ended {
        Err(EngineError::Damaged { place, what }) => {
            assert_eq!(place, "the log record at 4096");
            assert_eq!(what, format!("change {index} of {of} does not fit into it"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn as_many_changes_are_read_as_the_header_says_and_no_more() {
    let record = two_changes();
    let first = (0x0102, b"ab".to_vec(), Some(b"xyz".to_vec()));
    assert_eq!(found(&record, 0).0, []);
    assert_eq!(found(&record, 1).0, std::slice::from_ref(&first));
    let (both, ended) = found(&record, 2);
    assert_eq!(both, [first, (3, b"c".to_vec(), None)]);
    ended.unwrap();
    // Eight bytes of padding are no change.
    let (three, ended) = found(&record, 3);
    assert_eq!(three.len(), 2);
    damaged(ended, 2, 3);
}

#[test]
fn changes_that_do_not_add_up_are_damage() {
    let change =
        |kind: u8, key: u8, value: u8| [[0; 32].as_slice(), &[1, 0, kind, key, 0, value, 0, 0, 0, 7, 7]].concat();
    found(&change(1, 1, 1), 1).1.unwrap();
    found(&change(2, 2, 0), 1).1.unwrap();
    for (kind, key, value) in [(0, 1, 1), (3, 1, 1), (1, 3, 0), (1, 1, 2), (2, 1, 1)] {
        damaged(found(&change(kind, key, value), 1).1, 0, 1);
    }
}

#[test]
fn an_error_about_a_change_ends_the_reading_of_its_record() {
    let (record, mut calls) = (two_changes(), 0);
    let head = head(&record, 4096).unwrap();
    let ended = changes(&record, &head, |_| {
        calls += 1;
        Err(EngineError::Damaged { place: "here".into(), what: "it".into() })
    });
    assert!(ended.is_err_and(|error| error.to_string().contains("here")));
    assert_eq!(calls, 1);
}
