//! A condition variable that knows the stage.

use std::{
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use super::current;

/// As [`Condvar`]; whoever waits looks again afterwards, since it may go on for nothing.
#[derive(Debug, Default)]
pub struct Signal(Condvar);

impl Signal {
    /// Nobody waits.
    pub fn new() -> Self {
        Self::default()
    }

    /// What tells it from others.
    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Lets go of the lock, waits, and takes it again.
    pub fn wait<'a, T>(&self, lock: &'a Mutex<T>, guard: MutexGuard<'a, T>) -> MutexGuard<'a, T> {
        match current() {
            None => self.0.wait(guard).unwrap_or_else(PoisonError::into_inner),
            Some(stage) => {
                drop(guard);
                stage.await_signal(self.key(), None);
                lock.lock().unwrap_or_else(PoisonError::into_inner)
            }
        }
    }

    /// As [`Signal::wait`], for so long at most.
    pub fn wait_timeout<'a, T>(
        &self,
        lock: &'a Mutex<T>,
        guard: MutexGuard<'a, T>,
        most: Duration,
    ) -> MutexGuard<'a, T> {
        match current() {
            None => self.0.wait_timeout(guard, most).unwrap_or_else(PoisonError::into_inner).0,
            Some(stage) => {
                drop(guard);
                stage.await_signal(self.key(), Some(most));
                lock.lock().unwrap_or_else(PoisonError::into_inner)
            }
        }
    }

    /// Lets one go on who waits.
    pub fn notify_one(&self) {
        self.notify_all();
    }

    /// Lets all go on who wait.
    pub fn notify_all(&self) {
        match current() {
            None => self.0.notify_all(),
            Some(stage) => stage.signal(self.key()),
        }
    }
}
