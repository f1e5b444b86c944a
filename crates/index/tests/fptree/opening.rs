//! Opening a tree: threads share the leaves, and what they find does not depend on how many they are.

use assay_index::{Index, IndexError, Session, fptree::FpTree};
use assay_pmem::{Mapped, Medium, Pool, PoolFile, PoolLock, Shape};

use super::case::{dump, key};

const LAYOUT: &str = "fptree-opening";
/// Enough for six threads.
const BYTES: u64 = 48 << 20;

fn open(path: &std::path::Path) -> (Pool<Mapped>, PoolLock) {
    PoolFile::open(path, LAYOUT).unwrap().split()
}

/// Leaves all over the pool, in no order, some of them empty or given back. With keys of any length blocks of keys and
/// values are as large as leaves and lie in the same chunks.
fn fill(tree: &FpTree<Mapped>, words: bool) {
    let mut session = tree.session();
    let keys = if words { 300_000_u64 } else { 12_000 };
    let mixed = |index: u64| index.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let key =
        |index: u64| if words { mixed(index).to_be_bytes().to_vec() } else { key(false, mixed(index) % (1 << 40)) };
    let value =
        |index: u64| if words { index.to_ne_bytes().to_vec() } else { vec![index as u8; 900 + index as usize % 90] };
    for index in 0..keys {
        assert!(session.insert(&key(index), &value(index)).unwrap());
    }
    for index in (0..keys).filter(|index| index % 3 == 0 || mixed(*index) < 1 << 62) {
        assert!(session.remove(&key(index)).unwrap());
    }
}

#[test]
fn any_number_of_threads_opens_the_same_tree() {
    for words in [true, false] {
        let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
            eprintln!("skipped: no folder can be made under /dev/shm");
            return;
        };
        let path = folder.path().join("pool");
        let (pool, lock) = PoolFile::create(&path, BYTES, &Shape::new(LAYOUT)).unwrap().split();
        let tree = FpTree::open(pool, words).unwrap();
        fill(&tree, words);
        let (said, all) = (tree.examine().unwrap().unwrap(), dump(&tree).unwrap());
        drop((tree, lock));
        for threads in [0, 1, 2, 3, 6, 1000] {
            let (pool, _lock) = open(&path);
            let tree = FpTree::open_by(pool, words, threads).unwrap();
            assert_eq!(tree.examine().unwrap().as_ref(), Ok(&said), "{threads} threads");
            assert!(dump(&tree).unwrap() == all, "{threads} threads");
        }
    }
}

/// A link that leads back, and one to a block that is no leaf: by a sentence, and never by a search without end.
#[test]
fn a_list_that_is_wrong_is_refused_by_any_number_of_threads() {
    let Ok(folder) = tempfile::tempdir_in("/dev/shm") else {
        eprintln!("skipped: no folder can be made under /dev/shm");
        return;
    };
    let path = folder.path().join("pool");
    let (pool, lock) = PoolFile::create(&path, BYTES, &Shape::new(LAYOUT)).unwrap().split();
    let tree = FpTree::open(pool, true).unwrap();
    fill(&tree, true);
    drop((tree, lock));
    let link = |leaf: u64| leaf + 64;
    for (to_itself, said) in [(true, "not above"), (false, "no leaf can lie there")] {
        for threads in [1, 4] {
            let (pool, _lock) = open(&path);
            let medium = pool.medium();
            let first = medium.load(pool.root::<u64>(0).raw());
            let second = medium.load(link(first));
            let third = medium.load(link(second));
            medium.store(link(third), if to_itself { second } else { third + 8 });
            match FpTree::open_by(pool, true, threads) {
                Err(IndexError::Damaged { what })
                    if what.contains(said) || to_itself && what.contains("ends nowhere") => {}
                other => panic!("{threads} threads: {:?}", other.map(|tree| tree.examine())),
            }
        }
    }
}
