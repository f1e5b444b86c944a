//! Threads on one index, of every kind: what each sees could have happened in one order, and in the end nothing is lost.
//!
//! Keys are independent of each other, so a history is linearizable if that of each key is; each is small enough to be
//! searched. Threads are held up in the middle of what they do, since two cores alone hardly ever interleave where it
//! matters: an update that lost its record was seen once in two thousand histories without that.

mod hesitant;
mod linear;
mod workers;

use assay_btree::Tree;
use assay_buffer::{Config, disk::sim::World};
use assay_index::{
    Session,
    bztree::{BzTree, Nodes},
    dash::{Dash, DashShape, Directory, Extendible, Linear},
    fptree::FpTree,
    ssd::{HashTable, OnPool, SsdSession, Structure},
};
use assay_pmem::{Mapped, Pool, Shape};
use hesitant::Hesitant;
use workers::{Plan, judge};

const POOL_BYTES: u64 = 64 << 20;
/// Nodes so small that a few operations split and merge them.
const NODES: Nodes = Nodes { tail: 3, records: 4, record_words: 60, children: 4 };

fn pool(shape: &Shape) -> Pool<Hesitant> {
    Pool::create(Hesitant::new(Mapped::memory(POOL_BYTES).unwrap()), shape).unwrap()
}

fn fptree(plan: Plan) {
    judge(&FpTree::open(pool(&Shape::new("fptree-test")), plan.long == 8).unwrap(), "fptree", plan);
}

fn bztree(plan: Plan) {
    let pool = pool(&BzTree::<Box<Pool<Hesitant>>>::pool_shape());
    judge(&BzTree::open_with(Box::new(pool), NODES).unwrap(), "bztree", plan);
}

fn dash<D: Directory>(plan: Plan) {
    let table: Dash<_, D> = Dash::create(pool(&Shape::new(D::LAYOUT)), &DashShape::tiny()).unwrap();
    judge(&table, D::NAME, plan);
}

/// The pool holds a part of the data, and the drive is slow.
fn on_a_drive<S: Structure>(plan: Plan)
where
    for<'a> SsdSession<'a, S>: Session,
{
    let world = World::new(plan.seed);
    world.slow_down(3);
    let config = Config { pool_bytes: 64 * 4096, workers: 6, depth: 16, ..Config::default() };
    let index = OnPool::<S>::create(world.add("drive", 1 << 26), config).unwrap();
    judge(&index, std::any::type_name::<S>(), Plan { long: 900, ..plan });
}

const KINDS: [fn(Plan); 6] =
    [fptree, bztree, dash::<Extendible>, dash::<Linear>, on_a_drive::<Tree>, on_a_drive::<HashTable>];

/// Few keys, so that threads meet on them; and many, so that they meet in what splits and merges.
fn plans() -> impl Iterator<Item = Plan> {
    [6, 60, 700, 1500].into_iter().zip(1..).map(|(keys, seed)| Plan { keys, operations: 3000, long: 40, seed })
}

/// Short ones, in which the first splits happen.
fn young(seeds: std::ops::Range<u64>) -> impl Iterator<Item = Plan> {
    seeds.map(|seed| Plan { keys: 600, operations: 600, long: 40, seed })
}

#[test]
fn fptree_has_an_order_for_each_key() {
    plans().for_each(fptree);
    plans().for_each(|plan| fptree(Plan { long: 8, ..plan }));
}

#[test]
fn bztree_has_an_order_for_each_key() {
    plans().for_each(bztree);
}

#[test]
fn extendible_hashing_has_an_order_for_each_key() {
    plans().for_each(dash::<Extendible>);
}

#[test]
fn linear_hashing_has_an_order_for_each_key() {
    plans().chain(young(5..25)).for_each(dash::<Linear>);
}

#[test]
fn a_tree_on_a_drive_has_an_order_for_each_key() {
    plans().for_each(on_a_drive::<Tree>);
}

#[test]
fn a_hash_table_on_a_drive_has_an_order_for_each_key() {
    plans().for_each(on_a_drive::<HashTable>);
}

#[test]
#[ignore = "takes minutes: thousands of histories of each kind"]
fn thousands_of_histories_have_an_order() {
    for kind in KINDS {
        for round in 0..100 {
            plans().for_each(|plan| kind(Plan { seed: plan.seed + 1000 + 10 * round, ..plan }));
        }
        young(10_000..11_000).for_each(kind);
    }
}
