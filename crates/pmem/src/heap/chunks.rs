//! Runs of free chunks.

use std::collections::BTreeMap;

/// Free runs, by their first chunk. Neighbours are joined.
#[derive(Debug, Default)]
pub(super) struct Chunks {
    runs: BTreeMap<u64, u64>,
    count: u64,
}

impl Chunks {
    /// The first run that is long enough gives its beginning.
    pub(super) fn take(&mut self, count: u64) -> Option<u64> {
        let first = self.runs.iter().find(|&(_, &length)| length >= count).map(|(&first, _)| first)?;
        self.take_at(first, count);
        Some(first)
    }

    /// Takes what is free of a range.
    pub(super) fn take_at(&mut self, first: u64, count: u64) {
        let end = first + count;
        let touched: Vec<_> = self.runs.range(..end).rev().take_while(|&(&at, &length)| at + length > first).collect();
        let touched: Vec<(u64, u64)> = touched.into_iter().map(|(&at, &length)| (at, length)).collect();
        for (at, length) in touched {
            self.runs.remove(&at);
            self.count -= length;
            if at < first {
                self.put(at, first - at);
            }
            if at + length > end {
                self.put(end, at + length - end);
            }
        }
    }

    /// Puts a run back. What is free already stays so: recovery may cancel what this process never took.
    pub(super) fn give(&mut self, mut first: u64, mut count: u64) {
        self.take_at(first, count);
        if let Some((&before, &length)) = self.runs.range(..first).next_back() {
            if before + length == first {
                self.remove(before, length);
                (first, count) = (before, length + count);
            }
        }
        if let Some(&length) = self.runs.get(&(first + count)) {
            self.remove(first + count, length);
            count += length;
        }
        self.put(first, count);
    }

    /// Free chunks in all.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    fn put(&mut self, first: u64, count: u64) {
        self.runs.insert(first, count);
        self.count += count;
    }

    fn remove(&mut self, first: u64, count: u64) {
        self.runs.remove(&first);
        self.count -= count;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    fn members(chunks: &Chunks) -> BTreeSet<u64> {
        chunks.runs.iter().flat_map(|(&first, &count)| first..first + count).collect()
    }

    proptest! {
        #[test]
        fn runs_agree_with_a_set(steps in proptest::collection::vec((0u8..3, 0u64..60, 1u64..6), 1..80)) {
            let mut chunks = Chunks::default();
            let mut model = BTreeSet::new();
            for (step, first, count) in steps {
                match step {
                    0 => {
                        model.extend(first..first + count);
                        chunks.give(first, count);
                    }
                    1 => {
                        let got = chunks.take(count);
                        let fits = |at: &u64| (*at..at + count).all(|chunk| model.contains(&chunk));
                        prop_assert_eq!(got, model.iter().copied().find(fits));
                        got.into_iter().flat_map(|at| at..at + count).for_each(|chunk| { model.remove(&chunk); });
                    }
                    _ => {
                        chunks.take_at(first, count);
                        (first..first + count).for_each(|chunk| { model.remove(&chunk); });
                    }
                }
                prop_assert_eq!(members(&chunks), model.clone());
                prop_assert_eq!(chunks.count(), model.len() as u64);
                let joined = chunks.runs.iter().all(|(at, count)| !chunks.runs.contains_key(&(at + count)));
                prop_assert!(joined, "neighbours are apart: {:?}", chunks.runs);
            }
        }
    }
}
