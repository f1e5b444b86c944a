//! The BzTree: one program, so that what its tests share is compiled once.

mod bad_input;
#[path = "../common/child.rs"]
mod child;
mod common;
mod crash;
mod dirty;
mod kill;
mod model;
mod mutants;
mod pmwcas;
mod threads;
mod turns;
