//! CPUs that have nothing to do and yet wake up at once.

use std::{
    fs::{File, OpenOptions},
    io::Write,
};

/// Where the kernel is asked for it (Documentation/power/pm_qos_interface.rst); it holds as long as the file is open.
const ASKED_AT: &str = "/dev/cpu_dma_latency";

/// Asks the kernel to let no CPU sleep so deeply that it takes time to wake up. On a virtual machine an idle CPU is given
/// back to the host, and takes some 50 us to come back: with every request, where few are in flight.
pub struct Awake(Option<File>);

impl Awake {
    /// As long as this lives, where this user may ask for it.
    pub fn begin() -> Self {
        let asked = || {
            let mut file = OpenOptions::new().write(true).open(ASKED_AT)?;
            file.write_all(&0_i32.to_ne_bytes())?;
            std::io::Result::Ok(file)
        };
        Self(asked().ok())
    }

    /// The kernel was asked.
    pub fn is_allowed(&self) -> bool {
        self.0.is_some()
    }
}
