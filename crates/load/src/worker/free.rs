//! Slots that no operation uses.

/// A ring: slots come back in the order in which they were given up, so that all of them are used in turn, and with them
/// all of the memory. Last in, first out would write the same few pages again and again.
#[derive(Debug)]
pub struct Free {
    slots: Box<[u32]>,
    head: usize,
    len: usize,
}

impl Free {
    /// All slots below `depth`.
    pub fn all(depth: u32) -> Self {
        Self { slots: (0..depth).collect(), head: 0, len: depth as usize }
    }

    /// How many there are.
    #[inline(always)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// There is none.
    #[inline(always)]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The slot that has been free for longest.
    #[inline(always)]
    pub fn take(&mut self) -> Option<u32> {
        if self.len == 0 {
            return None;
        }
        let slot = self.slots[self.head];
        self.head = if self.head + 1 == self.slots.len() { 0 } else { self.head + 1 };
        self.len -= 1;
        Some(slot)
    }

    /// Gives a slot back.
    #[inline(always)]
    pub fn give(&mut self, slot: u32) {
        let end = self.head + self.len;
        let end = if end >= self.slots.len() { end - self.slots.len() } else { end };
        self.slots[end] = slot;
        self.len += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slots_come_in_turn_and_none_twice() {
        let mut free = Free::all(3);
        let taken: Vec<u32> = (0..7)
            .filter_map(|_| {
                let slot = free.take()?;
                free.give(slot);
                Some(slot)
            })
            .collect();
        assert_eq!(taken, [0, 1, 2, 0, 1, 2, 0]);
        assert_eq!((free.take(), free.take(), free.take(), free.take()), (Some(1), Some(2), Some(0), None));
        free.give(2);
        assert_eq!((free.len(), free.is_empty(), free.take()), (1, false, Some(2)));
    }
}
