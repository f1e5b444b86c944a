//! A disk on a power supply.

use std::sync::Arc;

use super::{platter::Platter, queue::SimQueue, world::World};
use crate::{
    BufferError,
    disk::{Calls, Disk, Memory, Queue},
};

/// A disk of a [`World`].
#[derive(Debug)]
pub struct SimDisk {
    pub(super) world: Arc<World>,
    pub(super) index: usize,
    name: String,
    bytes: u64,
}

impl SimDisk {
    /// Its power supply.
    pub fn world(&self) -> &Arc<World> {
        &self.world
    }
}

impl Disk for SimDisk {
    fn name(&self) -> &str {
        &self.name
    }

    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn queue(&self, _depth: u32, memory: &Arc<Memory>) -> Result<Box<dyn Queue>, BufferError> {
        Ok(Box::new(SimQueue::new(Arc::clone(&self.world), self.index, self.bytes, Arc::clone(memory))))
    }

    fn calls(&self, memory: &Arc<Memory>) -> Result<Option<Box<dyn Calls>>, BufferError> {
        Ok(Some(Box::new(SimQueue::new(Arc::clone(&self.world), self.index, self.bytes, Arc::clone(memory)))))
    }
}

impl World {
    /// Adds a disk that reads as zeros, `bytes` long.
    pub fn add(self: &Arc<Self>, name: &str, bytes: u64) -> Arc<SimDisk> {
        let mut state = self.state();
        state.platters.push(Platter::new(name, bytes));
        let index = state.platters.len() - 1;
        drop(state);
        self.disk(index)
    }

    /// The disk that was added as number `index`, from 0.
    pub fn disk(self: &Arc<Self>, index: usize) -> Arc<SimDisk> {
        let state = self.state();
        let Platter { name, bytes, .. } = &state.platters[index];
        Arc::new(SimDisk { world: Arc::clone(self), index, name: name.clone(), bytes: *bytes })
    }
}
