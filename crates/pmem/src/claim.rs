//! Things of which a thread takes one for a moment, without waiting while any is left.

use super::sync::{AtomicBool, Ordering, UnsafeCell};

/// Values that are lent out one at a time each.
#[derive(Debug)]
pub(crate) struct Claims<T> {
    slots: Box<[Slot<T>]>,
}

/// Apart by two lines, so that neighbours do not disturb each other.
#[derive(Debug)]
#[repr(align(128))]
struct Slot<T> {
    taken: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: a value is reached by the one thread that set `taken`, and handed on by the release of it.
unsafe impl<T: Send> Sync for Claims<T> {}

/// A value that was lent; it goes back on drop.
#[derive(Debug)]
pub(crate) struct Claim<'a, T> {
    slot: &'a Slot<T>,
    index: usize,
}

impl<T> Claims<T> {
    pub(crate) fn new(values: impl IntoIterator<Item = T>) -> Self {
        let slot = |value| Slot { taken: AtomicBool::new(false), value: UnsafeCell::new(value) };
        Self { slots: values.into_iter().map(slot).collect() }
    }

    pub(crate) fn len(&self) -> usize {
        self.slots.len()
    }

    /// The first that is free, looked for from `hint` on; none where each was lent when it was looked at.
    pub(crate) fn take(&self, hint: usize) -> Option<Claim<'_, T>> {
        let count = self.slots.len();
        (0..count).map(|step| (hint + step) % count).find_map(|index| self.take_this(index))
    }

    fn take_this(&self, index: usize) -> Option<Claim<'_, T>> {
        let slot = &self.slots[index];
        let free = slot.taken.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok();
        free.then_some(Claim { slot, index })
    }
}

impl<T> Claim<'_, T> {
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    #[inline(always)]
    pub(crate) fn with<R>(&mut self, action: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: this claim is the only one on the slot, and it is borrowed alone.
        self.slot.value.with_mut(|value| action(unsafe { &mut *value }))
    }
}

impl<T> Drop for Claim<'_, T> {
    fn drop(&mut self) {
        self.slot.taken.store(false, Ordering::Release);
    }
}
