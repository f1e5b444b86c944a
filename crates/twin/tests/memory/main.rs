//! Models of memory against published figures, and what must hold of them whatever the figures.

mod cached;
mod catalog;
mod chains;
mod elsewhere;
mod grid;
mod invariants;
mod virtual_time;
