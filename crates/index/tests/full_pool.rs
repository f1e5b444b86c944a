//! A pool that seems to be full, of what was given back and waits for a thread that is pinned.

use std::{sync::mpsc::channel, thread, time::Duration};

use assay_index::{
    Index, IndexError, Session,
    dash::{Dash, DashShape, Directory, Extendible, Linear},
    fptree::FpTree,
};
use assay_pmem::{Mapped, PmemError, Pool, Shape, pin};

const BYTES: u64 = 1 << 20;
const LONG: [u8; 100] = [1; 100];
/// With its key it takes what a tiny table's segment takes: there is room for both or for neither.
const AS_A_SEGMENT: [u8; 1400] = [1; 1400];
const WORD: [u8; 8] = [1; 8];

fn pool(layout: &str) -> Pool<Mapped> {
    Pool::create(Mapped::memory(BYTES).unwrap(), &Shape::new(layout)).unwrap()
}

fn table<D: Directory>() -> Dash<Mapped, D> {
    Dash::create(pool(D::LAYOUT), &DashShape::tiny()).unwrap()
}

/// Fills an index, removes half while another thread is pinned, which lets go only some time later, and fills up again.
fn goes_on(index: &impl Index, value: &[u8]) {
    let mut session = index.session();
    let count = fill(&mut session, value);
    let (to_here, from_pinned) = channel();
    let (to_pinned, from_here) = channel();
    thread::scope(|scope| {
        scope.spawn(move || {
            let guard = pin();
            to_here.send(()).unwrap();
            from_here.recv().unwrap();
            thread::sleep(Duration::from_millis(30));
            drop(guard);
        });
        from_pinned.recv().unwrap();
        // Those that are gone lie beside each other, so that whole leaves and segments are given back.
        (0..count / 2).for_each(|number| assert!(session.remove(&key(number)).unwrap(), "{number} of {count}"));
        to_pinned.send(()).unwrap();
        (0..count / 4).for_each(|number| assert!(session.insert(&key(number), value).unwrap(), "{number} of {count}"));
    });
    for number in 0..count {
        let there = session.lookup(&key(number), &mut Vec::new()).unwrap();
        assert_eq!(there, number < count / 4 || number >= count / 2, "{number} of {count}");
    }
    drop(session);
    index.examine().unwrap().unwrap();
}

/// Keys that went in before the pool was full.
fn fill(session: &mut impl Session, value: &[u8]) -> u64 {
    for number in 0.. {
        match session.insert(&key(number), value) {
            Ok(added) => assert!(added),
            Err(IndexError::Pmem(PmemError::Full { .. })) => return number,
            Err(error) => panic!("{error}"),
        }
    }
    unreachable!("a pool without end")
}

fn key(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

#[test]
fn fptree_is_not_full_because_somebody_else_is_pinned() {
    goes_on(&FpTree::open(pool("fptree-words"), true).unwrap(), &WORD);
    goes_on(&FpTree::open(pool("fptree-any"), false).unwrap(), &LONG);
}

#[test]
fn dash_eh_is_not_full_because_somebody_else_is_pinned() {
    goes_on(&table::<Extendible>(), &AS_A_SEGMENT);
}

#[test]
fn dash_lh_is_not_full_because_somebody_else_is_pinned() {
    goes_on(&table::<Linear>(), &AS_A_SEGMENT);
}

/// The record was gone, and its segment could not be merged with another for want of space: that was said of the removal.
#[test]
fn a_removal_from_a_full_pool_is_done_though_no_segment_can_be_merged() {
    for value in [&WORD[..], &LONG] {
        let table = table::<Extendible>();
        let mut session = table.session();
        let count = fill(&mut session, value);
        (0..count).for_each(|number| assert!(session.remove(&key(number)).unwrap(), "{number} of {count}"));
        drop(session);
        assert_eq!(table.verify().unwrap().records, 0);
    }
}
