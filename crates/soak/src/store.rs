//! What is worked on.

use crate::error::SoakError;

/// A store that threads share.
pub trait Store: Sync {
    /// A thread's way into it.
    type StoreHandle<'a>: StoreHandle
    where
        Self: 'a;

    /// A way into it for the calling thread.
    ///
    /// # Errors
    /// Where there are too many.
    fn handle(&self) -> Result<Self::StoreHandle<'_>, SoakError>;

    /// Turns that a thread does before it makes them durable together; 1 where each is when it returns.
    fn batch(&self) -> u64;

    /// Makes durable what was done, where a turn alone does not.
    ///
    /// # Errors
    /// Where the drive does not take it.
    fn make_durable(&self) -> Result<(), SoakError>;

    /// Checks its own structure while nobody works on it; none where it has no such check.
    fn examine(&self) -> Option<Result<String, String>>;
}

/// A thread's way into a store.
pub trait StoreHandle {
    /// Gives a key a value, or removes it.
    ///
    /// # Errors
    /// Where the store fails.
    fn set(&mut self, key: &[u8], value: Option<&[u8]>) -> Result<(), SoakError>;

    /// Whether a key is there; its value.
    ///
    /// # Errors
    /// Where the store fails, or holds half of a change.
    fn get(&mut self, key: &[u8], into: &mut Vec<u8>) -> Result<bool, SoakError>;
}

/// What is done with a store, whichever it is.
pub(crate) trait Visit {
    /// What comes of it.
    type Out;

    /// Does it.
    fn visit<S: Store>(self, store: &S) -> Result<Self::Out, SoakError>;
}
