//! Where workers wait until all are ready.

use std::sync::{Condvar, Mutex, PoisonError};

/// A gate: workers arrive and wait, one hand counts them and opens it.
#[derive(Debug, Default)]
pub struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    arrived: usize,
    open: bool,
}

impl Gate {
    /// A worker is ready and waits until the gate opens.
    pub fn arrive(&self) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.arrived += 1;
        self.changed.notify_all();
        while !state.open {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// A worker will never be ready; it does not wait.
    pub fn count(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).arrived += 1;
        self.changed.notify_all();
    }

    /// Waits until this many have arrived.
    pub fn await_all(&self, workers: usize) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        while state.arrived < workers {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Opens the gate for good.
    pub fn open(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).open = true;
        self.changed.notify_all();
    }
}
