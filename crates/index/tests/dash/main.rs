//! Dash: one program, so that what its tests share is compiled once.

#[path = "../common/child.rs"]
mod child;
mod common;
mod crash;
mod kill;
mod model;
mod mutants;
