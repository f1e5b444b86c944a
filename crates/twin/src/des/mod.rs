//! The discrete-event engine: a load in virtual time.

mod after;
mod commit;
mod cost;
mod engine;
mod flow;
mod journal;
pub(crate) mod pages;
mod paging;
mod queue;
mod runnable;
mod seat;
#[cfg(test)]
mod tests;
mod translate;

pub use cost::{Cores, Costs};
pub use engine::Engine;
pub use pages::Pages;
pub use queue::{Event, Queue};
pub use runnable::Runnable;
pub use seat::{ClassSeat, Flight, Phase, ThreadSeat, ceiling_seat, class_seat, layout, thread_seat};
pub use translate::{flush_every, path_key, stream};
