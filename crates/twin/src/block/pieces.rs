//! What one operation of a load asks of the members of a group.

use super::window::Window;
use crate::device_load::DeviceLoad;

/// Requests to members that start together.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Piece {
    /// How many members at the same time.
    pub fork: f64,
    /// Bytes of each request.
    pub bytes: f64,
}

impl Piece {
    /// One request.
    pub fn one(bytes: f64) -> Self {
        Self { fork: 1.0, bytes }
    }

    /// All bytes.
    pub fn total(&self) -> f64 {
        self.fork * self.bytes
    }
}

/// A load as the members see it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pieces {
    /// What a read reads.
    pub read: Piece,
    /// What a write must read before it writes (parity).
    pub fetch: Piece,
    /// Share of the writes that do so.
    pub fetching: f64,
    /// What a write writes, parity and copies included.
    pub write: Piece,
    /// How its requests lie on the members.
    pub window: Window,
}

impl Pieces {
    /// A load on one device.
    pub fn alone(load: &DeviceLoad) -> Self {
        let one = Piece::one(load.size_bytes);
        Self { read: one, fetch: Piece::default(), fetching: 0.0, write: one, window: Window::random(load) }
    }
}
