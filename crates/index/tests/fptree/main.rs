//! FPTree: against a model, against crashes, against threads, and against a kill.

mod case;
#[path = "../common/child.rs"]
mod child;
mod crash;
mod kill;
mod model;
mod mutation;
mod opening;
mod threads;
