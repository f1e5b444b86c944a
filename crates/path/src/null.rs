//! The path that moves nothing: what a load costs on it is the cost of the generator.

use std::io;

use crate::shape::{Blocking, Completion, Queued, Request, Wait};

/// Completes everything at once, without touching the buffer.
#[derive(Debug, Default)]
pub struct Null {
    pushed: Vec<Completion>,
}

impl Null {
    /// A null path with room for `depth` operations.
    pub fn new(depth: u32) -> Self {
        Self { pushed: Vec::with_capacity(depth as usize) }
    }
}

impl Blocking for Null {
    #[inline(always)]
    fn read(&mut self, segment: u32, offset: u64, length: u32, memory: usize) -> io::Result<()> {
        std::hint::black_box((segment, offset, length, memory));
        Ok(())
    }

    #[inline(always)]
    fn write(&mut self, segment: u32, offset: u64, length: u32, memory: usize) -> io::Result<()> {
        std::hint::black_box((segment, offset, length, memory));
        Ok(())
    }

    fn trim(&mut self, segment: u32, offset: u64, length: u32) -> io::Result<()> {
        std::hint::black_box((segment, offset, length));
        Ok(())
    }

    #[inline(always)]
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn restart(&mut self, _segment: u32) -> io::Result<()> {
        Ok(())
    }

    fn system_calls(&self) -> u64 {
        0
    }
}

impl Queued for Null {
    #[inline(always)]
    fn push(&mut self, request: Request) {
        std::hint::black_box(request);
        self.pushed.push(Completion { slot: request.slot, result: request.length as i32 });
    }

    #[inline(always)]
    fn push_flush(&mut self, _segment: u32, slot: u32) {
        self.pushed.push(Completion { slot, result: 0 });
    }

    #[inline(always)]
    fn submit(&mut self) -> io::Result<u32> {
        Ok(self.pushed.len() as u32)
    }

    #[inline(always)]
    fn reap(&mut self, _wait: Wait, into: &mut Vec<Completion>) -> io::Result<u32> {
        let count = self.pushed.len() as u32;
        into.append(&mut self.pushed);
        Ok(count)
    }

    fn restart(&mut self, _segment: u32) -> io::Result<()> {
        Ok(())
    }

    fn system_calls(&self) -> u64 {
        0
    }
}
