//! The tree does what an ordered map does.

use assay_index::{Index, IndexError, Session, fptree::FpTree};
use assay_pmem::{Mapped, Pool, Shape};
use proptest::prelude::*;

use super::case::{State, dump};

pub fn tree(words: bool, bytes: u64) -> FpTree<Mapped> {
    let pool = Pool::create(Mapped::memory(bytes).unwrap(), &Shape::new("fptree-test")).unwrap();
    FpTree::open(pool, words).unwrap()
}

#[derive(Clone, Debug)]
enum Step {
    Insert(u16, u8),
    Update(u16, u8),
    Upsert(u16, u8),
    Remove(u16),
    Lookup(u16),
    Scan(u16, u8),
    /// Removes all keys from here on that a divisor does not divide: leaves run empty.
    Thin(u16, u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let one = prop_oneof![
        8 => (0u16..900, any::<u8>()).prop_map(|(key, value)| Step::Insert(key, value)),
        2 => (0u16..900, any::<u8>()).prop_map(|(key, value)| Step::Update(key, value)),
        2 => (0u16..900, any::<u8>()).prop_map(|(key, value)| Step::Upsert(key, value)),
        2 => (0u16..900).prop_map(Step::Remove),
        1 => (0u16..900).prop_map(Step::Lookup),
        1 => (0u16..900, any::<u8>()).prop_map(|(from, limit)| Step::Scan(from, limit)),
        1 => (0u16..900, 2u8..40).prop_map(|(from, divisor)| Step::Thin(from, divisor)),
    ];
    prop::collection::vec(one, 1..700)
}

fn key(words: bool, number: u16) -> Vec<u8> {
    if words {
        return u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes().to_vec();
    }
    super::case::key(false, u64::from(number))
}

fn value(words: bool, byte: u8) -> Vec<u8> {
    if words { vec![byte; 8] } else { vec![byte; usize::from(byte) * 3] }
}

fn act(session: &mut impl Session, map: &mut State, words: bool, step: &Step) {
    let mut found = Vec::new();
    match *step {
        Step::Insert(number, byte) => {
            let (key, value) = (key(words, number), value(words, byte));
            assert_eq!(session.insert(&key, &value).unwrap(), !map.contains_key(&key));
            map.entry(key).or_insert(value);
        }
        Step::Update(number, byte) => {
            let (key, value) = (key(words, number), value(words, byte));
            assert_eq!(session.update(&key, &value).unwrap(), map.get_mut(&key).map(|old| *old = value).is_some());
        }
        Step::Upsert(number, byte) => {
            let (key, value) = (key(words, number), value(words, byte));
            assert_eq!(session.upsert(&key, &value).unwrap(), map.insert(key, value).is_none());
        }
        Step::Remove(number) => {
            let key = key(words, number);
            assert_eq!(session.remove(&key).unwrap(), map.remove(&key).is_some());
        }
        Step::Lookup(number) => {
            let key = key(words, number);
            assert_eq!(session.lookup(&key, &mut found).unwrap(), map.contains_key(&key));
            assert_eq!(&found, map.get(&key).unwrap_or(&Vec::new()));
        }
        Step::Scan(number, limit) => {
            let (key, mut seen) = (key(words, number), Vec::new());
            let visit = &mut |key: &[u8], value: &[u8]| {
                seen.push((key.to_vec(), value.to_vec()));
                true
            };
            assert_eq!(session.scan(&key, usize::from(limit), visit).unwrap(), seen.len());
            let wanted = map.range(key..).take(usize::from(limit)).map(|(key, value)| (key.clone(), value.clone()));
            assert_eq!(seen, wanted.collect::<Vec<_>>());
        }
        Step::Thin(from, divisor) => {
            let doomed: Vec<_> = map.keys().skip(usize::from(from)).enumerate().collect();
            let doomed: Vec<_> =
                doomed.into_iter().filter(|(n, _)| n % usize::from(divisor) != 0).map(|(_, key)| key.clone()).collect();
            for key in doomed {
                assert!(session.remove(&key).unwrap());
                map.remove(&key);
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn it_does_what_a_map_does(words in any::<bool>(), steps in steps()) {
        let (tree, mut map) = (tree(words, 4 << 20), State::new());
        let mut session = tree.session();
        for step in &steps {
            act(&mut session, &mut map, words, step);
        }
        prop_assert_eq!(dump(&tree).unwrap(), map);
        tree.examine().unwrap().map_err(TestCaseError::fail)?;
    }
}

#[test]
fn a_large_tree_grows_three_levels_and_shrinks_again() {
    const KEYS: u64 = 200_000;
    let tree = tree(true, 128 << 20);
    let mut session = tree.session();
    let key = |number: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    (0..KEYS).for_each(|number| assert!(session.insert(&key(number), &number.to_ne_bytes()).unwrap()));
    let figure = |name: &str| tree.anatomy().into_iter().find(|(known, _)| *known == name).unwrap().1;
    assert!(figure("inner_levels") >= 2.0 && figure("leaf_fill_ratio") > 0.6, "{:?}", tree.anatomy());
    let leaves = figure("leaves");
    println!("{}", tree.examine().unwrap().unwrap());
    for number in (0..KEYS).filter(|number| number % 100 != 0) {
        assert!(session.remove(&key(number)).unwrap());
    }
    assert_eq!(figure("entries"), KEYS as f64 / 100.0);
    assert!(figure("leaves") < leaves / 20.0, "{:?}", tree.anatomy());
    tree.examine().unwrap().unwrap();
    let mut found = Vec::new();
    (0..KEYS).for_each(|number| assert_eq!(session.lookup(&key(number), &mut found).unwrap(), number % 100 == 0));
}

#[test]
fn lengths_that_do_not_fit_are_refused_and_change_nothing() {
    let words = tree(true, 1 << 20);
    assert!(matches!(words.session().insert(b"abc", &[0; 8]), Err(IndexError::NotAWord { what: "key", bytes: 3 })));
    assert!(matches!(words.session().insert(&[0; 8], b"v"), Err(IndexError::NotAWord { what: "value", bytes: 1 })));
    let any = tree(false, 1 << 20);
    assert!(matches!(any.session().insert(&[1; 1025], b"v"), Err(IndexError::KeyLength { bytes: 1025, most: 1024 })));
    assert!(matches!(any.session().insert(b"k", &[0; 20_000]), Err(IndexError::ValueLength { .. })));
    assert!(any.session().insert(&[1; 1024], &[2; 16_384]).unwrap());
    for tree in [words, any] {
        tree.examine().unwrap().unwrap();
    }
}

#[test]
fn a_full_pool_says_so_and_keeps_what_it_has() {
    for words in [true, false] {
        let tree = tree(words, 1 << 20);
        let mut session = tree.session();
        let (mut done, error) = (0_u16, loop_until_full(&mut session, words));
        assert!(error.is_full(), "{error}");
        let map = dump(&tree).unwrap();
        assert!(map.len() > 500);
        tree.examine().unwrap().unwrap();
        for key in map.keys().take(300) {
            assert!(session.remove(key).unwrap());
            done += 1;
        }
        assert_eq!(dump(&tree).unwrap().len(), map.len() - usize::from(done));
        tree.examine().unwrap().unwrap();
    }
}

fn loop_until_full(session: &mut impl Session, words: bool) -> IndexError {
    for number in 0..u64::MAX {
        let key = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
        let long = vec![7; if words { 8 } else { 500 }];
        if let Err(error) = session.insert(&key, &long) {
            return error;
        }
    }
    unreachable!("a pool of 1 MiB is full some time")
}
