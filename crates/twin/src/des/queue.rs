//! What happens next: a heap with four children per node, keyed by virtual time.

use crate::simulated::Picoseconds;

/// Children of a node. Four fit into a cache line, and the tree is half as high as with two.
const FAN: usize = 4;
/// What fills a group of siblings that is not whole.
const NEVER: Event = Event { at: Picoseconds::MAX, id: u32::MAX };

/// One thing that will happen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When.
    pub at: Picoseconds,
    /// To whom; the engine's own number.
    pub id: u32,
}

/// Events in order of time. Events of one instant come in no particular, but always the same, order.
#[derive(Clone, Debug, Default)]
pub struct Queue {
    /// The events, and after them as many that never happen as make the last group of siblings whole: the least of four
    /// is then found without a branch that the processor could guess wrong.
    heap: Vec<Event>,
    /// How many events there are.
    count: usize,
    /// The first event was taken and its place is not filled yet: what is pushed next takes it without a second walk.
    hollow: bool,
}

impl Queue {
    /// Adds an event.
    #[inline(always)]
    pub fn push(&mut self, at: Picoseconds, id: u32) {
        let event = Event { at, id };
        if self.hollow {
            self.hollow = false;
            self.sink(event);
            return;
        }
        let place = self.count;
        self.count += 1;
        while self.heap.len() < whole(self.count) {
            self.heap.push(NEVER);
        }
        self.rise(place, event);
    }

    /// When the next event happens; the end of time where there is none.
    #[inline(always)]
    pub fn next_at(&mut self) -> Picoseconds {
        self.settle();
        self.heap.first().map_or(Picoseconds::MAX, |event| event.at)
    }

    /// Takes the next event.
    #[inline(always)]
    pub fn pop(&mut self) -> Option<Event> {
        self.settle();
        let first = self.heap.first().copied().filter(|_| self.count > 0);
        self.hollow = first.is_some();
        first
    }

    #[inline(always)]
    fn settle(&mut self) {
        if !self.hollow {
            return;
        }
        self.hollow = false;
        self.count -= 1;
        let last = std::mem::replace(&mut self.heap[self.count], NEVER);
        if self.count > 0 {
            self.sink(last);
        }
    }

    #[inline(always)]
    fn rise(&mut self, mut place: usize, event: Event) {
        while place > 0 {
            let parent = (place - 1) / FAN;
            if self.heap[parent].at <= event.at {
                break;
            }
            self.heap[place] = self.heap[parent];
            place = parent;
        }
        self.heap[place] = event;
    }

    /// Puts an event at the top and lets it sink to its place.
    #[inline(always)]
    fn sink(&mut self, event: Event) {
        let heap = self.heap.as_mut_slice();
        let mut place = 0;
        loop {
            let first = place * FAN + 1;
            let Some(&[zero, one, two, three]) = heap.get(first..).and_then(|rest| rest.first_chunk::<FAN>()) else {
                break;
            };
            let (left, right) = (usize::from(one.at < zero.at), 2 + usize::from(three.at < two.at));
            let (left_at, right_at) = (zero.at.min(one.at), two.at.min(three.at));
            let least = if right_at < left_at { right } else { left };
            if left_at.min(right_at) >= event.at {
                break;
            }
            heap[place] = heap[first + least];
            place = first + least;
        }
        heap[place] = event;
    }
}

/// Length of a heap of `count` events whose groups of siblings are whole.
fn whole(count: usize) -> usize {
    count.saturating_sub(1).next_multiple_of(FAN) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_order(steps in proptest::collection::vec((0u64..1000, 0usize..3), 1..400)) {
            let (mut queue, mut reference) = (Queue::default(), Vec::new());
            for (id, (at, pushes)) in steps.into_iter().enumerate() {
                for more in 0..=pushes {
                    queue.push(at + more as u64, id as u32);
                    reference.push(at + more as u64);
                }
                reference.sort_unstable();
                prop_assert_eq!(queue.next_at(), reference[0]);
                prop_assert_eq!(queue.pop().unwrap().at, reference.remove(0));
            }
            while let Some(event) = queue.pop() { prop_assert_eq!(event.at, reference.remove(0)); }
            prop_assert!(reference.is_empty());
        }
    }
}
