//! How far the deliveries of each district have come.

use std::sync::{Arc, atomic::AtomicU32};

use crate::scale::DISTRICTS;

/// By district: every order below is delivered. A scan for the oldest one begins there and does not wade through what was
/// deleted.
#[derive(Clone, Debug)]
pub(super) struct Undelivered(Arc<[AtomicU32]>);

impl Undelivered {
    pub(super) fn new(warehouses: u32) -> Self {
        let districts = warehouses as usize * usize::from(DISTRICTS);
        Self((0..districts).map(|_| AtomicU32::new(0)).collect())
    }

    pub(super) fn of(&self, warehouse: u32, district: u8) -> &AtomicU32 {
        &self.0[(warehouse as usize - 1) * usize::from(DISTRICTS) + usize::from(district) - 1]
    }
}
