//! What a file holds: as it is read now, and as a crash would leave it.

use std::collections::BTreeMap;

use rand_xoshiro::{Xoshiro256StarStar, rand_core::RngCore};

pub const PAGE: u64 = 4096;
const SECTOR: usize = 512;

type Bytes = Box<[u8; PAGE as usize]>;

/// A page that is there; without bytes it is zero.
type Page = Option<Bytes>;

/// Sparse bytes, and of every page that was written since it was last durable, what is durable.
#[derive(Default)]
pub struct Body {
    size: u64,
    pages: BTreeMap<u64, Page>,
    /// What the medium has where it is not what is read; none for a hole.
    durable: BTreeMap<u64, Option<Page>>,
    /// Those of them that a failed sync has dropped: later syncs do not write them.
    dropped: BTreeMap<u64, ()>,
    durable_size: u64,
}

impl Body {
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Pages that are there.
    pub fn pages(&self) -> u64 {
        self.pages.len() as u64
    }

    /// Pages that a range would add.
    pub fn added_by(&self, at: u64, bytes: u64) -> u64 {
        let (first, end) = (at / PAGE, (at + bytes).div_ceil(PAGE));
        (end - first) - self.pages.range(first..end).count() as u64
    }

    pub fn read(&self, at: u64, bytes: u64) -> Vec<u8> {
        let end = self.size.min(at.saturating_add(bytes));
        let mut out = vec![0; end.saturating_sub(at) as usize];
        if out.is_empty() {
            return out;
        }
        for (number, page) in self.pages.range(at / PAGE..end.div_ceil(PAGE)) {
            if let Some(page) = page {
                let start = number * PAGE;
                let (from, to) = (start.max(at), (start + PAGE).min(end));
                let source = &page[(from - start) as usize..(to - start) as usize];
                out[(from - at) as usize..(to - at) as usize].copy_from_slice(source);
            }
        }
        out
    }

    pub fn write(&mut self, at: u64, data: &[u8]) {
        let mut done = 0;
        while done < data.len() {
            let from = at + done as u64;
            let inside = (from % PAGE) as usize;
            let bytes = (PAGE as usize - inside).min(data.len() - done);
            self.changes(from / PAGE);
            let page = self.pages.entry(from / PAGE).or_default();
            let page = page.get_or_insert_with(|| Box::new([0; PAGE as usize]));
            page[inside..inside + bytes].copy_from_slice(&data[done..done + bytes]);
            done += bytes;
        }
        self.size = self.size.max(at + data.len() as u64);
    }

    /// Makes room without changing what is read.
    pub fn allocate(&mut self, at: u64, bytes: u64, keep_size: bool) {
        for number in at / PAGE..(at + bytes).div_ceil(PAGE) {
            if !self.pages.contains_key(&number) {
                self.changes(number);
                self.pages.insert(number, None);
            }
        }
        if !keep_size {
            self.size = self.size.max(at + bytes);
        }
    }

    /// Makes a hole.
    pub fn punch(&mut self, at: u64, bytes: u64) {
        let end = at.saturating_add(bytes);
        let (first, last) = (at.div_ceil(PAGE), end / PAGE);
        let inner: Vec<u64> = self.pages.range(first..last.max(first)).map(|(number, _)| *number).collect();
        for number in inner {
            self.changes(number);
            self.pages.remove(&number);
        }
        for (from, to) in [(at, end.min(first * PAGE)), (at.max(last * PAGE), end)] {
            if from < to && self.pages.contains_key(&(from / PAGE)) {
                let (size, zero) = (self.size, vec![0; (to - from) as usize]);
                self.write(from, &zero);
                self.size = size;
            }
        }
    }

    pub fn resize(&mut self, size: u64) {
        if size < self.size {
            self.punch(size, self.size.next_multiple_of(PAGE) - size);
        }
        self.size = size;
    }

    fn changes(&mut self, number: u64) {
        self.dropped.remove(&number);
        if !self.durable.contains_key(&number) {
            let now = self.pages.get(&number).cloned();
            self.durable.insert(number, now);
        }
    }

    /// All is durable, but what a failed sync has dropped.
    pub fn sync(&mut self) {
        let dropped = &self.dropped;
        self.durable.retain(|number, _| dropped.contains_key(number));
        self.durable_size = self.size;
    }

    /// A sync that failed: the kernel takes its pages for clean all the same.
    pub fn drop_dirty(&mut self) {
        self.dropped = self.durable.keys().map(|number| (*number, ())).collect();
    }

    /// What a crash leaves: with a source of chance, some of what was not synced, or parts of it.
    pub fn crash(&mut self, mut chance: Option<&mut Xoshiro256StarStar>) {
        let grown = chance.as_deref_mut().is_some_and(|chance| chance.next_u32() % 2 == 0);
        if !grown {
            self.size = self.durable_size;
        }
        for (number, before) in std::mem::take(&mut self.durable) {
            let kept = chance.as_deref_mut().map_or(0, |chance| chance.next_u32() as usize % 3);
            match kept {
                0 => self.put(number, before),
                1 => {}
                _ => self.tear(number, before, chance.as_deref_mut()),
            }
        }
        self.dropped.clear();
        let end = self.size.div_ceil(PAGE);
        self.pages.retain(|number, _| *number < end);
        self.durable_size = self.size;
    }

    fn put(&mut self, number: u64, page: Option<Page>) {
        match page {
            Some(page) => self.pages.insert(number, page),
            None => self.pages.remove(&number),
        };
    }

    /// Some of a page's sectors are new, the others old.
    fn tear(&mut self, number: u64, before: Option<Page>, chance: Option<&mut Xoshiro256StarStar>) {
        let zero = || Box::new([0; PAGE as usize]);
        let mut torn = before.flatten().unwrap_or_else(zero);
        let new = self.pages.get(&number).cloned().flatten().unwrap_or_else(zero);
        let bits = chance.map_or(0, RngCore::next_u32);
        for sector in 0..PAGE as usize / SECTOR {
            if bits >> sector & 1 == 1 {
                let at = sector * SECTOR..(sector + 1) * SECTOR;
                torn[at.clone()].copy_from_slice(&new[at]);
            }
        }
        self.pages.insert(number, Some(torn));
    }
}

#[cfg(test)]
mod tests {
    use rand_xoshiro::rand_core::SeedableRng;

    use super::*;

    #[test]
    fn bytes_are_read_as_written() {
        let mut body = Body::default();
        body.write(4090, &[7; 20]);
        assert_eq!(body.size(), 4110);
        assert_eq!(body.read(4080, 100), [[0; 10].as_slice(), &[7; 20]].concat());
        body.resize(4100);
        body.resize(5000);
        assert_eq!(body.read(4090, 20), [[7; 10], [0; 10]].concat(), "what was cut off does not come back");
        body.punch(4092, 4);
        assert_eq!(body.read(4090, 8), [7, 7, 0, 0, 0, 0, 7, 7]);
        assert_eq!((body.pages(), body.added_by(0, 20000)), (2, 3));
    }

    #[test]
    fn a_crash_leaves_what_was_synced() {
        let mut body = Body::default();
        body.write(0, &[1; 100]);
        body.sync();
        body.write(0, &[2; 10000]);
        body.crash(None);
        assert_eq!(body.read(0, 10000), [1; 100]);
    }

    #[test]
    fn a_failed_sync_drops_what_later_ones_do_not_write() {
        let mut body = Body::default();
        body.write(0, &[1; 100]);
        body.sync();
        body.write(0, &[2; 100]);
        body.drop_dirty();
        body.sync();
        assert_eq!(body.read(0, 100), [2; 100], "until the crash");
        body.crash(None);
        assert_eq!(body.read(0, 100), [1; 100]);
    }

    #[test]
    fn by_chance_some_sectors_are_new() {
        let mut chance = Xoshiro256StarStar::seed_from_u64(3);
        let mut torn = 0;
        for _ in 0..50 {
            let mut body = Body::default();
            body.write(0, &[1; PAGE as usize]);
            body.sync();
            body.write(0, &[2; PAGE as usize]);
            body.crash(Some(&mut chance));
            let left = body.read(0, PAGE);
            assert!(left.chunks(SECTOR).all(|sector| sector.iter().all(|byte| *byte == sector[0])));
            torn += usize::from(left.contains(&1) && left.contains(&2));
        }
        assert!((5..40).contains(&torn), "{torn} of 50 torn");
    }
}
