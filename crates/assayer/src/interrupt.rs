//! One interrupt finishes the run and writes it; a second stops at once.

use std::sync::{Arc, atomic::AtomicBool};

use signal_hook::{
    consts::{SIGHUP, SIGINT, SIGTERM},
    flag,
};

use crate::Failure;

/// A flag that the first interrupt (or termination) sets. The second ends the process with exit code 3.
pub fn watch() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM, SIGHUP] {
        // The order matters: the shutdown acts when the flag is already set, so the first signal only sets it.
        let shutdown = flag::register_conditional_shutdown(signal, 3, Arc::clone(&interrupted));
        let set = flag::register(signal, Arc::clone(&interrupted));
        shutdown.and(set).map_err(|error| {
            Failure::new(format!("signals cannot be handled: {error}"), "run it outside of this sandbox")
        })?;
    }
    Ok(interrupted)
}
