//! After a crash.

use assay_pmem::{Medium, Offset, PmemError, Pool};

use super::{
    descriptor::{Descriptor, Fate, Header, MOST_BLOCKS, MOST_CHANGES, Status, WordChange},
    protocol::Protocol,
    word::{WordContent, content, owned},
};

/// Brings every operation to its end or takes it back. All descriptors are looked through before anything changes.
///
/// # Errors
/// Where one says what cannot be.
pub(super) fn recover<M: Medium>(pool: &Pool<M>, area: u64, descriptors: u16) -> Result<(), PmemError> {
    let medium = pool.medium();
    let protocol = Protocol::new(medium, area);
    (0..descriptors).try_for_each(|index| examine(medium, &protocol.descriptor(index)))?;
    let mut changed = false;
    for index in 0..descriptors {
        let descriptor = protocol.descriptor(index);
        let header = descriptor.header();
        for entry in 0..header.words() {
            changed |= repair(medium, header, index, descriptor.change(entry));
        }
        if header.status() != Status::Free {
            repair_blocks(pool, &descriptor, header)?;
            changed = true;
        }
    }
    if !changed {
        return Ok(());
    }
    medium.fence(); // operations ended by recovery
    let open = |index: &u16| protocol.descriptor(*index).header().status() != Status::Free;
    for descriptor in (0..descriptors).filter(open).map(|index| protocol.descriptor(index)) {
        medium.store(descriptor.at, descriptor.header().with(Status::Free).0);
        medium.flush(descriptor.at, 8); // descriptor free after recovery
    }
    medium.fence(); // descriptors durably free after recovery
    Ok(())
}

fn examine<M: Medium>(medium: &M, descriptor: &Descriptor<'_, M>) -> Result<(), PmemError> {
    let header = descriptor.header();
    let word = |at: u64| at % 8 == 0 && at + 8 <= medium.bytes() as u64;
    let good = header.words() <= MOST_CHANGES
        && header.blocks() <= MOST_BLOCKS
        && (0..header.words()).all(|entry| word(descriptor.change(entry).at));
    if good {
        return Ok(());
    }
    let what = format!("the descriptor at {:#x} begins with {:#018x}", descriptor.at, header.0);
    Err(PmemError::Damaged { what })
}

/// Gives a word that points to this operation a value: a pointer that was about to be made is always taken back. Whether
/// there was something to do.
fn repair<M: Medium>(medium: &M, header: Header, index: u16, change: WordChange) -> bool {
    let seen = medium.load(change.at);
    let value = match content(seen) {
        WordContent::Owned { .. } if seen == owned(index, header.sequence()) => {
            if header.status() == Status::Succeeded { change.new } else { change.old }
        }
        WordContent::Conditional { index: other, .. } if other == index => change.old,
        _ => return false,
    };
    medium.store(change.at, value);
    medium.flush(change.at, 8); // word repaired
    true
}

/// Frees what the operation replaced, or gives back what it would have linked. The others are not touched: by now they
/// are as they were meant to be, or another operation has freed them.
fn repair_blocks<M: Medium>(pool: &Pool<M>, descriptor: &Descriptor<'_, M>, header: Header) -> Result<(), PmemError> {
    let succeeded = header.status() == Status::Succeeded;
    for block in (0..header.blocks()).filter_map(|index| descriptor.block(header, index)) {
        if (block.fate == Fate::Freed) == succeeded {
            let place = Offset::<u64>::new(block.at);
            pool.unmark(place, block.bytes as usize)?;
            pool.cancel(place, block.bytes as usize);
        }
    }
    Ok(())
}
