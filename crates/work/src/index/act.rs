//! One operation.

use assay_index::{IndexError, Session, Sizes};

use crate::index::workload::{Entries, Operation, Step};

/// Buffers of one thread, made before it works.
pub(super) struct Buffers {
    entries: Entries,
    key: Vec<u8>,
    value: Vec<u8>,
    found: Vec<u8>,
    writer: u32,
    scan_length: usize,
}

impl Buffers {
    pub(super) fn new(entries: Entries, sizes: &Sizes, thread: u64, scan_length: u32) -> Self {
        Self {
            entries,
            key: vec![0; sizes.key.most.max(8)],
            value: vec![0; sizes.value.most.max(8)],
            found: Vec::with_capacity(sizes.value.most.max(8)),
            writer: (thread as u32) << 24,
            scan_length: scan_length as usize,
        }
    }

    /// Does it; `false` where it found or changed nothing.
    #[inline(always)]
    pub(super) fn act(&mut self, session: &mut impl Session, step: &Step) -> Result<bool, IndexError> {
        let key = self.entries.key(step.id, &mut self.key);
        match step.operation {
            Operation::Lookup | Operation::Missing => session.lookup(key, &mut self.found),
            Operation::Insert => {
                session.insert(key, next_value(&self.entries, step.id, &mut self.writer, &mut self.value))
            }
            Operation::Update => {
                session.update(key, next_value(&self.entries, step.id, &mut self.writer, &mut self.value))
            }
            Operation::Remove => session.remove(key),
            Operation::Scan => scan(session, key, self.scan_length),
            Operation::ReadModifyWrite => {
                let there = session.lookup(key, &mut self.found)?;
                let value = next_value(&self.entries, step.id, &mut self.writer, &mut self.value);
                Ok(session.update(key, value)? && there)
            }
        }
    }

    /// Whether the last lookup found what can be the value of this id.
    pub(super) fn found_is_good(&self, id: u64) -> bool {
        self.entries.is_value(id, &self.found)
    }
}

#[inline(always)]
fn next_value<'a>(entries: &Entries, id: u64, writer: &mut u32, value: &'a mut [u8]) -> &'a [u8] {
    *writer = writer.wrapping_add(1);
    entries.value(id, *writer, value)
}

/// Visits entries and touches each; `false` where there was none.
#[inline(always)]
fn scan(session: &mut impl Session, from: &[u8], limit: usize) -> Result<bool, IndexError> {
    let mut touched = 0_u64;
    let visited = session.scan(from, limit, &mut |key, value| {
        let first = |bytes: &[u8]| bytes.first().copied().map_or(0, u64::from);
        touched = touched.wrapping_add(first(key) ^ first(value));
        true
    })?;
    std::hint::black_box(touched);
    Ok(visited > 0)
}
