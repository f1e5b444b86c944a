//! Any damage to a stamped block is found.

use assay_path::stamp::{SMALLEST, StampFault, file_id, verify, verify_in, write, write_in};
use proptest::prelude::*;

fn filled(length: usize, seed: u64) -> Vec<u8> {
    (0..length as u64).map(|index| (index.wrapping_add(seed).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 56) as u8).collect()
}

fn stamped(length: usize, seed: u64, offset: u64, generation: u64) -> Vec<u8> {
    let mut block = filled(length, seed);
    write(&mut block, offset, generation);
    block
}

fn sizes() -> impl Strategy<Value = usize> {
    prop_oneof![Just(64), Just(128), Just(4096), Just(8192), 64usize..5000]
}

proptest! {
    #[test]
    fn a_good_block_gives_its_generation(length in sizes(), seed: u64, offset: u64, generation: u64) {
        prop_assert_eq!(verify(&stamped(length, seed, offset, generation), offset), Ok(generation));
    }

    #[test]
    fn any_flipped_bit_is_found(length in sizes(), seed: u64, offset: u64, generation: u64, bit: prop::sample::Index) {
        let mut block = stamped(length, seed, offset, generation);
        let bit = bit.index(length * 8);
        block[bit / 8] ^= 1 << (bit % 8);
        prop_assert!(verify(&block, offset).is_err(), "bit {}", bit);
    }

    #[test]
    fn a_tear_at_any_sector_is_found(
        sectors in 2usize..33, seed: u64, offset: u64, old in 0u64..1000, newer in 1u64..1000, cut: prop::sample::Index,
    ) {
        // The same bytes lie between the stamps of both writes: the hardest case.
        let (first, second) = (stamped(sectors * 512, seed, offset, old), stamped(sectors * 512, seed, offset, old + newer));
        let cut = (1 + cut.index(sectors - 1)) * 512;
        for (head, tail) in [(&first, &second), (&second, &first)] {
            let torn = [&head[..cut], &tail[cut..]].concat();
            match verify(&torn, offset) {
                Err(StampFault::Torn { from, .. }) => prop_assert_eq!(from, cut),
                other => prop_assert!(false, "{:?}", other),
            }
        }
    }

    #[test]
    fn a_block_in_another_place_is_found(length in sizes(), offset: u64, other: u64, generation: u64) {
        prop_assume!(offset != other);
        let fault = verify(&stamped(length, 1, offset, generation), other);
        let misplaced = matches!(fault, Err(StampFault::Misplaced { seen_offset, .. }) if seen_offset == offset);
        prop_assert!(misplaced, "{:?}", fault);
    }
}

#[test]
fn every_single_bit_of_a_small_block_matters() {
    for bit in 0..SMALLEST * 8 {
        let mut block = stamped(SMALLEST, 5, 4096, 3);
        block[bit / 8] ^= 1 << (bit % 8);
        assert!(verify(&block, 4096).is_err(), "bit {bit}");
    }
}

#[test]
fn a_block_of_another_file_is_found() {
    let (a, b) = (file_id("wal", 0), file_id("wal", 1));
    assert_ne!(a, b);
    assert_ne!(a, file_id("data", 0));
    let mut block = filled(4096, 1);
    write_in(&mut block, a, 0, 9);
    assert_eq!(verify_in(&block, a, 0), Ok(9));
    assert!(matches!(verify_in(&block, b, 0), Err(StampFault::Misplaced { seen_file, .. }) if seen_file == a));
}

#[test]
fn what_was_never_written_is_told_from_what_carries_no_stamp() {
    assert_eq!(verify(&[0; 4096], 0), Err(StampFault::Zeros));
    assert_eq!(verify(&[1; 4096], 0), Err(StampFault::NoStamp { seen: 0x0101_0101_0101_0101 }));
    assert!(verify(&[], 0).is_err());
    assert!(verify(&[7; 10], 0).is_err());
}

#[test]
fn two_blocks_as_one_are_no_good_block() {
    let mut both = stamped(4096, 1, 0, 1);
    both.extend(stamped(4096, 2, 4096, 1));
    assert!(verify(&both, 0).is_err());
    assert!(verify(&both[..2048], 0).is_err());
}

#[test]
#[should_panic(expected = "has no room for a stamp")]
fn a_block_without_room_is_a_defect_of_the_caller() {
    write(&mut [0; 32], 0, 0);
}
