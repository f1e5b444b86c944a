//! A key space that is split over threads: a file, a pool and a structure for each, and nothing shared, as in the study that
//! compares these indexes with those in persistent memory.

use super::{OnPool, SsdSession, Structure};
use crate::{
    error::IndexError,
    index::{Index, Session},
};

/// One structure, or one for each thread.
pub struct Parts<S>(pub(super) Vec<OnPool<S>>);

impl<S: Structure> Index for Parts<S>
where
    for<'a> SsdSession<'a, S>: Session,
{
    type Session<'a>
        = SsdSession<'a, S>
    where
        Self: 'a;

    fn session(&self) -> SsdSession<'_, S> {
        self.0[0].session()
    }

    fn parts(&self) -> usize {
        self.0.len()
    }

    fn session_of(&self, part: usize) -> SsdSession<'_, S> {
        self.0[part].session()
    }

    fn make_durable(&self) -> Result<(), IndexError> {
        self.0.iter().try_for_each(OnPool::make_durable)
    }

    fn used_bytes(&self) -> u64 {
        self.0.iter().map(OnPool::used_bytes).sum()
    }

    fn examine(&self) -> Option<Result<String, String>> {
        self.0.iter().map(OnPool::examine).collect::<Option<Result<Vec<_>, _>>>().map(|all| Ok(all?.join("; ")))
    }
}
