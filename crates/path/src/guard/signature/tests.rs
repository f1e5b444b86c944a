use std::{
    os::unix::{fs::FileExt, process::ExitStatusExt},
    process::ExitStatus,
};

use super::*;

const BYTES: u64 = 8 << 20;
const UBERBLOCK: [u8; 8] = [0x0C, 0xB1, 0xBA, 0, 0, 0, 0, 0];

fn image_of(bytes: u64, at: u64, magic: &[u8]) -> File {
    let file = tempfile::tempfile().unwrap();
    file.set_len(bytes).unwrap();
    file.write_all_at(magic, at).unwrap();
    file
}

fn image(at: u64, magic: &[u8]) -> File {
    image_of(BYTES, at, magic)
}

fn names(file: &File) -> Vec<&'static str> {
    signatures(file).unwrap().into_iter().map(|signature| signature.name).collect()
}

fn seen(file: &File) -> Vec<(&'static str, u64)> {
    signatures(file).unwrap().into_iter().map(|signature| (signature.name, signature.offset)).collect()
}

#[test]
fn an_empty_device_has_none() {
    assert!(names(&image(0, &[0])).is_empty());
}

#[test]
fn every_magic_of_the_tables_is_found() {
    for Magic(name, at, magic) in FROM_START {
        assert_eq!(seen(&image(*at, magic)), [(*name, *at)]);
    }
    for Magic(name, at, magic) in FROM_END {
        assert_eq!(seen(&image(BYTES - at, magic)), [(*name, BYTES - at)]);
    }
}

/// The places in the tables that are sums there: from the formats' own descriptions, in bytes.
#[test]
fn superblocks_are_looked_for_where_their_formats_put_them() {
    let cases: [(&str, u64, &[u8]); 14] = [
        ("btrfs", 65_600, b"_BHRfS_M"),
        ("swap", 4086, b"SWAPSPACE2"),
        ("swap", 8182, b"SWAPSPACE2"),
        ("swap", 16_374, b"SWAPSPACE2"),
        ("swap", 65_526, b"SWAPSPACE2"),
        ("swap", 4086, b"SWAP-SPACE"),
        ("a suspended system", 4086, b"S1SUSPEND"),
        ("a suspended system", 4086, b"S2SUSPEND"),
        ("a suspended system", 4086, b"ULSUSPEND"),
        ("a suspended system", 4086, b"LINHIB0001"),
        ("bcache", 4120, &BCACHE),
        ("bcachefs", 4120, &BCACHEFS),
        ("reiserfs", 65_588, b"ReIsEr"),
        ("Stratis", 516, b"!Stra0tis\x86\xFF\x02^\x41rh"),
    ];
    for (name, at, magic) in cases {
        assert_eq!(seen(&image(at, magic)), [(name, at)]);
        assert_eq!(seen(&image(at + 1, magic)), [], "{name}, a byte later");
    }
}

#[test]
fn random_bytes_are_not_taken_for_a_signature() {
    use rand_xoshiro::rand_core::{RngCore, SeedableRng};
    for seed in 0..16 {
        let mut bytes = vec![0; BYTES as usize];
        rand_xoshiro::Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut bytes);
        assert_eq!(names(&image(0, &bytes)), Vec::<&str>::new(), "seed {seed}");
    }
}

#[test]
fn a_mebibyte_and_a_page_of_the_beginning_and_a_mebibyte_of_the_end_are_read() {
    let ends = Ends::read(&image(0, &[])).unwrap();
    assert_eq!((ends.head.len(), ends.tail.len(), ends.bytes), (1_052_672, 1_048_576, 8_388_608));
    let ends = Ends::read(&image_of(700, 0, &[])).unwrap();
    assert_eq!((ends.head.len(), ends.tail.len(), ends.bytes), (700, 700, 700), "of a small one all");
}

/// Of 8 MiB the beginning is kept up to 1 052 672 and the end from 7 340 032 on.
#[test]
fn bytes_come_from_the_place_that_was_asked_for_and_from_none_that_was_not_read() {
    let file = image(0, &[]);
    for (at, byte) in [(0, 1), (1_052_668, 2), (1_052_672, 3), (7_340_028, 4), (7_340_032, 5), (8_388_604, 6)] {
        file.write_all_at(&[byte, 0, 0, 0x10 + byte], at).unwrap();
    }
    let ends = Ends::read(&file).unwrap();
    let number = |byte: u32| Some(byte | (0x10 + byte) << 24);
    assert_eq!([0, 1_052_668].map(|at| ends.number(at)), [number(1), number(2)], "of the beginning");
    assert_eq!([7_340_032, 8_388_604].map(|at| ends.number(at)), [number(5), number(6)], "of the end");
    assert_eq!([1_052_669, 1_052_672, 7_340_028, 7_340_031, 8_388_605].map(|at| ends.number(at)), [None; 5]);
    assert_eq!(ends.at(7_340_032, 4), Some(&[5, 0, 0, 0x15][..]));
    assert!(ends.has(7_340_032, &[5, 0]) && !ends.has(7_340_032, &[5, 1]) && !ends.has(1_052_672, &[3]));
}

/// Block sizes are 1 KiB to 64 KiB (0 to 6), revisions 0 and 1.
#[test]
fn an_extended_file_system_needs_its_magic_and_fields_that_make_sense() {
    let with = |magic: &[u8], inodes: u8, block: u8, revision: u8| {
        let file = image(1080, magic);
        for (at, byte) in [(1024, inodes), (1048, block), (1100, revision)] {
            file.write_all_at(&[byte], at).unwrap();
        }
        seen(&file)
    };
    let magic = [0x53, 0xEF];
    for (block, revision) in [(0, 0), (6, 0), (0, 1), (6, 1)] {
        assert_eq!(with(&magic, 1, block, revision), [("ext2, ext3 or ext4", 1080)]);
    }
    for (inodes, block, revision) in [(0, 0, 1), (1, 7, 1), (1, 0, 2), (0, 7, 2)] {
        assert_eq!(with(&magic, inodes, block, revision), [], "{inodes} {block} {revision}");
    }
    assert_eq!(with(&[0x53, 0xEE], 1, 0, 0), []);
}

#[test]
fn a_journal_on_a_device_of_its_own_needs_its_magic_block_size_and_feature() {
    let with = |magic: &[u8], block: u8, feature: u8| {
        let file = image(1080, magic);
        file.write_all_at(&[block], 1048).unwrap();
        file.write_all_at(&[feature], 1120).unwrap();
        seen(&file)
    };
    let magic = [0x53, 0xEF];
    for (block, feature) in [(0, 8), (6, 12)] {
        assert_eq!(with(&magic, block, feature), [("a journal of ext3 or ext4", 1080)]);
    }
    for (block, feature) in [(0, 0), (0, 4), (7, 8)] {
        assert_eq!(with(&magic, block, feature), [], "{block} {feature}");
    }
    assert_eq!(with(&[0x52, 0xEF], 0, 8), []);
}

#[test]
fn a_log_of_xfs_is_a_record_with_a_version_in_one_of_the_first_512_sectors() {
    let with = |at: u64, magic: [u8; 4], version: u8| {
        let file = image(at, &magic);
        file.write_all_at(&[0, 0, 0, version], at + 8).unwrap();
        seen(&file)
    };
    let magic = [0xFE, 0xED, 0xBA, 0xBE];
    for (at, version) in [(0, 1), (0, 2), (3584, 1), (261_632, 2)] {
        assert_eq!(with(at, magic, version), [("a log of xfs", at)]);
    }
    for (at, version) in [(0, 0), (0, 3), (262_144, 1), (256, 1)] {
        assert_eq!(with(at, magic, version), [], "version {version} at {at}");
    }
    assert_eq!(with(0, [0xFE, 0xED, 0xBA, 0xBF], 1), []);
}

#[test]
fn lvm_needs_label_and_type_in_one_of_the_first_four_sectors() {
    let with = |label: u64, kind: u64| {
        let file = image(label, b"LABELONE");
        file.write_all_at(b"LVM2 001", kind).unwrap();
        seen(&file)
    };
    for label in [0, 512, 1024, 1536] {
        assert_eq!(with(label, label + 24), [("an LVM physical volume", label)]);
    }
    for (label, kind) in [(2048, 2072), (512, 1048), (513, 537)] {
        assert_eq!(with(label, kind), [], "{label} {kind}");
    }
    assert_eq!(seen(&image(512, b"LABELONE")), []);
    assert_eq!(seen(&image(536, b"LVM2 001")), []);
}

/// Version 1.0 lies at least 8 KiB from the end at a multiple of 4 KiB, version 0.90 in the last whole 64 KiB but those
/// that the end cuts. A device of 8 MiB, five sectors and 100 bytes puts them apart from the places of one of 8 MiB.
#[test]
fn md_superblocks_near_the_end_are_found() {
    let odd = BYTES + 5 * 512 + 100;
    for (bytes, one, old) in [(BYTES, 8_380_416, 8_323_072), (odd, 8_380_416, 8_323_072)] {
        assert_eq!(seen(&image_of(bytes, one, MD)), [("md RAID 1.0", one)]);
        assert_eq!(seen(&image_of(bytes, old, MD)), [("md RAID 0.90", old)]);
        assert_eq!(seen(&image_of(bytes, old, MD_BIG_ENDIAN)), [("md RAID 0.90", old)]);
        assert_eq!(seen(&image_of(bytes, one, MD_BIG_ENDIAN)), []);
    }
    // 65 537 * 512 bytes: (65 537 - 16) / 8 * 8 sectors, and 64 KiB before the last multiple of 64 KiB.
    let (long, one, old) = (33_554_944, 33_546_240, 33_488_896);
    assert_eq!(seen(&image_of(long, one, MD)), [("md RAID 1.0", one)]);
    assert_eq!(seen(&image_of(long, old, MD)), [("md RAID 0.90", old)]);
}

#[test]
fn a_device_that_is_too_small_for_a_superblock_near_its_end_has_none() {
    for bytes in [0, 1, 511, 512, 4096, 8191, 65_536] {
        assert_eq!(seen(&image_of(bytes, 0, &[])), [], "{bytes}");
    }
    let mirrored = image_of(8192, 0, MD);
    assert_eq!(seen(&mirrored), [("md RAID 1.1", 0), ("md RAID 1.0", 0)]);
}

#[test]
fn each_of_the_four_zfs_labels_is_enough() {
    // Labels at the end lie in whole 256 KiB.
    for (bytes, labels) in
        [(BYTES, [0, 262_144, 7_864_320, 8_126_464]), (BYTES + 5000, [0, 262_144, 7_864_320, 8_126_464])]
    {
        for label in labels {
            let found = [("a member of a ZFS pool", label)];
            assert_eq!(seen(&image_of(bytes, label + (128 << 10) + 5 * 1024, &UBERBLOCK)), found);
            assert_eq!(seen(&image_of(bytes, label + (16 << 10) + 300, b"pool_guid")), found);
        }
    }
}

/// The ring is the second half of a label, 128 places of 1 KiB: from 131 072 to 262 144.
#[test]
fn an_uberblock_lies_in_one_of_128_places_in_either_order_of_bytes() {
    let big = [0, 0, 0, 0, 0, 0xBA, 0xB1, 0x0C];
    for at in [131_072, 132_096, 261_120] {
        assert_eq!(names(&image(at, &UBERBLOCK)), ["a member of a ZFS pool"], "{at}");
        assert_eq!(names(&image(at, &big)), ["a member of a ZFS pool"], "{at}");
    }
    for at in [130_048, 131_584, 262_144, 524_288] {
        assert_eq!(seen(&image(at, &UBERBLOCK)), [], "{at}");
    }
}

/// From 16 KiB to 128 KiB of a label.
#[test]
fn the_list_of_a_pool_lies_between_its_label_and_its_ring() {
    for at in [16_384, 70_001, 131_063] {
        assert_eq!(names(&image(at, b"pool_guid")), ["a member of a ZFS pool"], "{at}");
    }
    for at in [16_383, 131_064] {
        assert_eq!(seen(&image(at, b"pool_guid")), [], "{at}");
    }
}

#[test]
fn a_partition_table_needs_its_end_mark_and_an_entry_that_can_be_one() {
    let with = |index: u64, mark: [u8; 2], state: u8, kind: u8, sectors: [u8; 4]| {
        let file = image(510, &mark);
        let mut entry = [0; 16];
        (entry[0], entry[4]) = (state, kind);
        entry[12..].copy_from_slice(&sectors);
        file.write_all_at(&entry, 446 + 16 * index).unwrap();
        seen(&file)
    };
    let mark = [0x55, 0xAA];
    for index in 0..4 {
        assert_eq!(with(index, mark, 0, 0x83, [1, 0, 0, 0]), [("a DOS partition table", 510)], "{index}");
        assert_eq!(with(index, mark, 0x80, 7, [0, 0, 0, 1]), [("a DOS partition table", 510)], "{index}");
    }
    assert_eq!(with(0, mark, 1, 0x83, [1, 0, 0, 0]), [], "neither inactive nor active");
    assert_eq!(with(0, mark, 0, 0, [1, 0, 0, 0]), [], "no kind");
    assert_eq!(with(0, mark, 0, 0x83, [0; 4]), [], "no sectors");
    assert_eq!(with(0, [0x55, 0xAB], 0, 0x83, [1, 0, 0, 0]), [], "no mark");
    assert_eq!(seen(&image(510, &mark)), [], "a boot sector without partitions");
}

#[test]
fn kinds_that_blkid_names_are_told_and_so_is_that_it_cannot_decide() {
    let said = |code: i32, words: &str| {
        let status = ExitStatus::from_raw(code << 8);
        said(&Output { status, stdout: words.as_bytes().to_vec(), stderr: Vec::new() })
    };
    assert_eq!(said(0, "vfat\ndos\n"), ["vfat (blkid)", "dos (blkid)"]);
    assert_eq!(said(8, ""), ["several kinds (blkid)"]);
    assert_eq!(said(2, ""), [] as [&str; 0], "nothing was recognised");
}

#[test]
fn blkid_is_asked_where_it_is_there() {
    if Command::new("blkid").arg("-V").output().is_err() {
        return eprintln!("skipped: blkid is not there");
    }
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(BYTES).unwrap();
    assert_eq!(seen_by_blkid(file.path()), [] as [&str; 0]);
    file.as_file().write_all_at(b"LUKS\xBA\xBE\0\x01", 0).unwrap();
    assert_eq!(seen_by_blkid(file.path()), ["crypto_LUKS (blkid)"]);
}
