//! A pool whose tables hold anything is refused or used without harm.

use assay_pmem::{Medium, Offset, Pool, Shape, crash::Recorder};
use proptest::prelude::*;

const BYTES: usize = 1 << 19;
const LANES: u64 = 12288;
const HEADS: u64 = LANES + 2 * 1024;

/// Words that mean something as a head, a header of a log or an offset, and any other.
fn word() -> impl Strategy<Value = u64> {
    prop_oneof![
        any::<u64>(),
        Just(0),
        (0u64..20).prop_map(|class| 0xA55A << 48 | class << 8 | 1),
        (0u64..9).prop_map(|chunks| 0xA55A << 48 | chunks << 8 | 2),
        (0u64..BYTES as u64),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn any_tables_are_refused_or_used_without_harm(
        words in proptest::collection::vec((prop_oneof![LANES..HEADS + 64, HEADS..HEADS + 2304], word()), 1..40),
    ) {
        let medium = Recorder::new(BYTES);
        Pool::create(medium.clone(), &Shape { lanes: 2, ..Shape::new("any-1") }).unwrap();
        words.iter().for_each(|&(at, word)| medium.store(at / 8 * 8, word));
        let Ok(pool) = Pool::open(medium, "any-1") else { return Ok(()) };
        let Ok(blocks) = pool.allocated() else { return Ok(()) };
        let mut held: Vec<u64> = blocks.iter().map(|block| block.at).collect();
        for bytes in [32, 100, 5000, 70_000] {
            let mut transaction = pool.begin();
            if let Ok(block) = transaction.alloc::<u64>(bytes) {
                transaction.commit();
                prop_assert!(!held.contains(&block.raw()), "{block:?} was given out twice");
                held.push(block.raw());
            }
        }
        for at in held {
            let mut transaction = pool.begin();
            transaction.free_now(Offset::<u64>::new(at)).unwrap();
            transaction.commit();
        }
        prop_assert!(pool.allocated().unwrap().is_empty());
    }
}
