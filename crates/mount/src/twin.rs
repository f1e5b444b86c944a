//! A twin of the catalog as a drive.

use assay_libtwin::{
    Error, Op as Asked, Twin,
    document::{self, Device, FlushModel},
};

use crate::drive::{DriveModel, Op};

/// A twin's file, read.
pub struct Played {
    twin: Twin,
    idle_ns: (u64, u64),
    volatile_bytes: u64,
}

impl Played {
    /// Of a file's text.
    ///
    /// # Errors
    /// Where it is no drive's.
    pub fn open(text: &str, seed: u64) -> Result<Self, Error> {
        let document = document::read(text)?;
        let twin = Twin::of(&document, seed, 0.0)?;
        let idle_ns = (twin.describe().floor_read_ns, twin.describe().floor_write_ns);
        Ok(Self { idle_ns, volatile_bytes: volatile_bytes(&document.device), twin })
    }
}

/// What of its buffer is gone when the power fails.
fn volatile_bytes(device: &Device) -> u64 {
    let unsafe_bytes =
        |flush: &FlushModel, bytes: f64| if flush.power_loss_protection.value > 0.0 { 0 } else { bytes as u64 };
    match device {
        Device::Nand(drive) => unsafe_bytes(&drive.flush, drive.buffer_bytes.value),
        Device::CloudInstance(instance) => unsafe_bytes(&instance.drive.flush, instance.drive.buffer_bytes.value),
        Device::Disk(disk) => disk.buffer_bytes.value as u64,
        // Optane writes through, a volume answers when copies of the write are safe, and memory is not played.
        _ => 0,
    }
}

impl DriveModel for Played {
    fn submit(&mut self, now_ns: u64, op: Op, offset: u64, bytes: u64) -> u64 {
        let asked = match op {
            Op::Read => Asked::Read,
            Op::Write => Asked::Write,
            Op::Trim => Asked::Trim,
        };
        self.twin.submit(now_ns, asked, offset, u32::try_from(bytes).unwrap_or(u32::MAX))
    }

    fn flush(&mut self, now_ns: u64) -> u64 {
        self.twin.flush(now_ns)
    }

    fn capacity_bytes(&self) -> u64 {
        self.twin.describe().capacity_bytes
    }

    fn idle_ns(&self) -> (u64, u64) {
        self.idle_ns
    }

    fn volatile_bytes(&self) -> u64 {
        self.volatile_bytes
    }
}
