//! A simulated disk: made of memory, deterministic, with a power switch and faults that a seed or a count brings on.
//!
//! A [`World`] is one power supply for any number of disks, which share one count of I/Os. Every I/O can be made to fail,
//! alone or with all that follow; power can be cut before any I/O; and pictures of what a power cut there would leave can
//! be kept as a workload runs ([`World::keep_images`]), so that one run serves the crash points of all its I/Os.
//!
//! It is as strict as the contract of [`super::Disk`] allows: a flush covers only writes whose completion was reaped
//! before the flush was pushed; the others, and those in flight, are lost, kept, reordered or torn in sectors of 512
//! bytes, as a [`Fate`] says. Completions come late and in an order of their own. Used by one thread, the same seed gives
//! the same history.

mod disk;
mod platter;
mod queue;
mod world;

pub use disk::SimDisk;
pub use platter::Fate;
pub use world::{Image, World};

#[cfg(test)]
mod tests;
