//! What cannot be is refused in a sentence, and nothing is lost.

use std::time::Duration;

use crate::common::Tree;
use assay_index::{
    Index, IndexError, Session,
    bztree::{BzTree, LAYOUT},
};
use assay_pmem::{Mapped, Medium, PmemError, Pool, PoolFile, Shape, pin};

fn pool(bytes: u64) -> Box<Pool<Mapped>> {
    Box::new(Pool::create(Mapped::memory(bytes).unwrap(), &Tree::<Mapped>::pool_shape()).unwrap())
}

#[test]
fn keys_and_values_that_are_too_long_are_refused() {
    let tree = BzTree::open(pool(4 << 20)).unwrap();
    let mut session = tree.session();
    let refused = session.insert(&[1; 1025], &[]).unwrap_err();
    assert!(matches!(refused, IndexError::KeyLength { bytes: 1025, most: 1024 }), "{refused}");
    assert!(matches!(session.lookup(&[], &mut Vec::new()), Err(IndexError::KeyLength { bytes: 0, .. })));
    assert!(matches!(session.remove(&[2; 2000]), Err(IndexError::KeyLength { .. })));
    let refused = session.upsert(&[1], &[0; (16 << 10) + 1]).unwrap_err();
    assert!(matches!(refused, IndexError::ValueLength { .. }), "{refused}");
    assert!(session.insert(&[1; 1024], &[7; 16 << 10]).unwrap());
    assert_eq!(tree.census().unwrap().records, 1);
}

#[test]
fn a_full_pool_says_so_loses_nothing_and_goes_on_when_there_is_space() {
    let tree = BzTree::open(pool(1 << 20)).unwrap();
    let mut session = tree.session();
    let key = |number: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    let mut count = 0;
    let error = loop {
        match session.insert(&key(count), &count.to_le_bytes()) {
            Ok(added) => assert!(added),
            Err(error) => break error,
        }
        count += 1;
    };
    assert!(matches!(error, IndexError::Pmem(PmemError::Full { .. })), "{error}");
    assert!(count > 5000, "{count}");
    let mut value = Vec::new();
    for number in 0..count {
        assert!(session.lookup(&key(number), &mut value).unwrap());
        assert_eq!(value, number.to_le_bytes());
        assert!(session.update(&key(number), &(number + 1).to_le_bytes()).unwrap(), "what needs no space goes on");
    }
    assert_eq!(tree.census().unwrap().records, count);
    for number in 0..count / 2 {
        assert!(session.remove(&key(number)).unwrap());
    }
    assert!(session.insert(&key(count), &[1; 8]).unwrap());
    assert_eq!(tree.census().unwrap().records, count - count / 2 + 1);
}

/// A thread that is put to sleep while it is pinned keeps all that was given back since.
#[test]
fn a_pool_is_not_full_because_somebody_else_is_pinned() {
    let tree = BzTree::open(pool(1 << 20)).unwrap();
    let mut session = tree.session();
    let key = |number: u64| number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes();
    let count = (0..).find(|&number| session.insert(&key(number), &[1; 8]).is_err()).unwrap();
    let (to_here, from_pinned) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let guard = pin();
            to_here.send(()).unwrap();
            std::thread::sleep(Duration::from_millis(50));
            drop(guard);
        });
        from_pinned.recv().unwrap();
        (0..count / 2).for_each(|number| assert!(session.remove(&key(number)).unwrap()));
        for number in count..count + count / 4 {
            assert!(session.insert(&key(number), &[1; 8]).unwrap());
        }
    });
    assert_eq!(tree.census().unwrap().records, count - count / 2 + count / 4);
}

#[test]
fn another_pool_a_short_one_and_a_damaged_one_are_refused() {
    let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
    let path = folder.path().join("pool");
    let make = || {
        let _ = std::fs::remove_file(&path);
        let file = PoolFile::create(&path, 4 << 20, &Tree::<Mapped>::pool_shape()).unwrap();
        let tree = BzTree::open(Box::new(file.split().0)).unwrap();
        let mut session = tree.session();
        for number in 0..500u64 {
            assert!(session.insert(&number.to_be_bytes(), &number.to_le_bytes()).unwrap());
        }
    };
    make();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(2 << 20).unwrap();
    assert!(matches!(PoolFile::open(&path, LAYOUT), Err(PmemError::Truncated { .. })));

    let _ = std::fs::remove_file(&path);
    drop(PoolFile::create(&path, 4 << 20, &Shape::new("bztree-0")).unwrap());
    let refused = PoolFile::open(&path, LAYOUT).unwrap_err();
    assert!(matches!(refused, PmemError::Layout { .. }), "{refused}");

    // Roots, a descriptor, and nodes that are overwritten.
    for (root, within, value) in [(1, None, 12345), (2, None, 1 << 40), (1, Some(0), u64::MAX), (0, Some(8), 7)] {
        make();
        let (pool, _lock) = PoolFile::open(&path, LAYOUT).unwrap().split();
        let place = pool.root::<u64>(root).raw();
        let at = within.map_or(place, |within: u64| pool.medium().load(place) + within);
        pool.medium().store(at, value);
        let refused = BzTree::open(Box::new(pool))
            .map_err(IndexError::from)
            .and_then(|tree| tree.session().lookup(&7u64.to_be_bytes(), &mut Vec::new()));
        let said = refused.map(drop).unwrap_err().to_string();
        assert!(said.contains("damaged"), "{said}");
    }
}
