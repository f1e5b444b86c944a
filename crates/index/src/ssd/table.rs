//! Linear hashing over the pool: a bucket is a page, and its overflow pages where it has any; the table grows by a bucket
//! whenever an entry finds no room in its bucket, so that chains stay short. The pages that say where buckets are fit into
//! any pool, so that a look-up reads one page of the drive, or two.
//!
//! ```text
//! meta page:       32  buckets u64; 40  from here on: numbers of directory pages, 8 bytes each
//! directory page:  32  from here on: numbers of the first pages of buckets, 8 bytes each
//! ```
//!
//! With `n` buckets and `p` the largest power of two not above `n`, a key lies in bucket `h mod 2p`, or, where that is none
//! yet, `h mod p`. Growing splits one bucket in two under the latches of the meta page and the bucket's first page. A
//! look-up that has reached its bucket asks whether the number of buckets is still what it was; if so, it is in the right
//! one, and the bucket's version tells the rest. Whoever changes a chain holds its first page.

use assay_btree::TreeError;
use assay_buffer::{Attempt, Exclusive, HEADER_BYTES, Optimistic, PageId, Pool, Worker, Writing};

use super::{
    Structure, Survey,
    bucket::{Bucket, BucketMut, ENTRIES, FLOOR},
    first_page,
    hash::{fingerprint, hash},
    owner_bytes,
};

const BUCKETS: usize = HEADER_BYTES;
const DIRECTORIES: usize = BUCKETS + 8;
/// Of a page, what an entry has at most.
const ENTRY_SHARE: usize = 4;

/// A hash table in a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HashTable {
    meta: PageId,
    page_bytes: usize,
}

/// What a put came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Put {
    /// The key was there.
    pub was_there: bool,
    /// The value was written.
    pub wrote: bool,
}

/// A key on its way to its bucket.
#[derive(Clone, Copy)]
struct Wanted<'k> {
    key: &'k [u8],
    hash: u64,
}

impl Structure for HashTable {
    fn create(worker: &Worker<'_>) -> Result<Self, TreeError> {
        let (page_bytes, writing) = (worker.pool().page_bytes(), worker.write());
        let bucket = worker.retry(|| Ok(worker.allocate(&writing)?.page()))?;
        let directory = worker.retry(|| {
            let mut page = worker.allocate(&writing)?;
            set(page.bytes_mut(), HEADER_BYTES, bucket);
            Ok(page.page())
        })?;
        let meta = worker.retry(|| {
            let mut page = worker.allocate(&writing)?;
            set(page.bytes_mut(), BUCKETS, 1);
            set(page.bytes_mut(), DIRECTORIES, directory);
            Ok(page.page())
        })?;
        Ok(Self { meta, page_bytes })
    }

    fn open(pool: &Pool) -> Result<Self, TreeError> {
        Ok(Self { meta: first_page(pool, b"ssd-hash")?, page_bytes: pool.page_bytes() })
    }

    fn owner_bytes(&self) -> Vec<u8> {
        owner_bytes(b"ssd-hash", self.meta)
    }

    fn survey(&self, worker: &Worker<'_>) -> Result<Survey, TreeError> {
        let (entries, buckets, pages) = self.check(worker)?;
        Ok(Survey { seen: format!("{entries} entries in {buckets} buckets"), pages })
    }
}

fn set(bytes: &mut [u8], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

/// The bucket of a hash among so many.
fn bucket_of(hash: u64, buckets: u64) -> u64 {
    let whole = 1 << buckets.max(1).ilog2();
    let wide = hash % (2 * whole);
    if wide < buckets { wide } else { hash % whole }
}

impl HashTable {
    fn per_directory(&self) -> u64 {
        (self.page_bytes - HEADER_BYTES) as u64 / 8
    }

    /// Buckets at most.
    fn most(&self) -> u64 {
        self.per_directory() * (self.page_bytes - DIRECTORIES) as u64 / 8
    }

    fn wanted<'k>(&self, key: &'k [u8], value: usize) -> Result<Wanted<'k>, TreeError> {
        let most = self.page_bytes / ENTRY_SHARE;
        if key.is_empty() || key.len() > most / 2 {
            return Err(TreeError::KeyLength { bytes: key.len(), most: most / 2 });
        }
        if key.len() + value > most {
            return Err(TreeError::ValueLength { bytes: value, most: most - key.len() });
        }
        Ok(Wanted { key, hash: hash(key) })
    }

    /// The first page of a bucket, out of the directory.
    fn bucket<'w>(&self, meta: &Optimistic<'w>, bucket: u64) -> Attempt<Optimistic<'w>> {
        let at = DIRECTORIES + (bucket / self.per_directory()) as usize * 8;
        let slot = HEADER_BYTES + (bucket % self.per_directory()) as usize * 8;
        let directory = meta.follow(meta.read(|page| page.u64(at))?)?;
        let first = directory.follow(directory.read(|page| page.u64(slot))?)?;
        // Nobody has split a bucket since the number of buckets was read: it is the right one.
        meta.validate()?;
        Ok(first)
    }

    /// The first page of the bucket of a key.
    fn reach<'w>(&self, worker: &'w Worker<'w>, hash: u64) -> Attempt<Optimistic<'w>> {
        let meta = worker.look(self.meta)?;
        let buckets = meta.read(|page| page.u64(BUCKETS))?;
        self.bucket(&meta, bucket_of(hash, buckets))
    }

    /// Puts the value of a key into `value`, which is cleared first; `false` where the key is not there.
    ///
    /// # Errors
    /// Where the key cannot be one, or a page cannot be read.
    pub fn lookup(&self, worker: &Worker<'_>, key: &[u8], value: &mut Vec<u8>) -> Result<bool, TreeError> {
        let wanted = self.wanted(key, 0)?;
        Ok(worker.retry(|| self.try_lookup(worker, wanted, value))?)
    }

    fn try_lookup(&self, worker: &Worker<'_>, wanted: Wanted<'_>, value: &mut Vec<u8>) -> Attempt<bool> {
        let first = self.reach(worker, wanted.hash)?;
        let mut page = first;
        loop {
            let next = page.read(|bytes| {
                let bucket = Bucket(bytes);
                let Some(slot) = bucket.find(fingerprint(wanted.hash), wanted.key) else { return Some(bucket.next()) };
                value.clear();
                value.extend_from_slice(bucket.entry(slot).1);
                None
            })?;
            match next {
                None | Some(0) => {
                    first.validate()?;
                    return Ok(next.is_none());
                }
                Some(next) => {
                    let followed = page.follow(next);
                    first.validate()?;
                    page = followed?;
                }
            }
        }
    }

    /// Looks several keys up with their reads in flight together.
    ///
    /// # Errors
    /// As [`HashTable::lookup`].
    pub fn lookup_many(
        &self,
        worker: &Worker<'_>,
        keys: &[&[u8]],
        found: &mut dyn FnMut(usize, &[u8]),
    ) -> Result<(), TreeError> {
        let wanted = keys.iter().map(|key| self.wanted(key, 0)).collect::<Result<Vec<_>, _>>()?;
        let mut value = Vec::new();
        worker.retry_many(keys.len(), &mut |position| {
            if self.try_lookup(worker, wanted[position], &mut value)? {
                found(position, &value);
            }
            Ok(())
        })?;
        Ok(())
    }

    /// Writes the value of a key where `when`, told whether the key is there, says so.
    ///
    /// # Errors
    /// Where key or value do not fit, a page cannot be read, or there is no space: nothing changed.
    pub fn put(
        &self,
        worker: &Worker<'_>,
        key: &[u8],
        value: &[u8],
        when: impl Fn(bool) -> bool,
    ) -> Result<Put, TreeError> {
        let wanted = self.wanted(key, value.len())?;
        let writing = worker.write();
        let (put, crowded) = worker.retry(|| self.try_put(worker, &writing, wanted, value, &when))?;
        if crowded {
            self.grow(worker, &writing)?;
        }
        Ok(put)
    }

    fn try_put(
        &self,
        worker: &Worker<'_>,
        writing: &Writing<'_>,
        wanted: Wanted<'_>,
        value: &[u8],
        when: &impl Fn(bool) -> bool,
    ) -> Attempt<(Put, bool)> {
        let mut chain = self.hold(worker, writing, wanted.hash)?;
        let found = find(&chain, wanted);
        let put = Put { was_there: found.is_some(), wrote: when(found.is_some()) };
        if !put.wrote {
            return Ok((put, false));
        }
        if let Some((page, slot)) = found {
            if BucketMut(chain[page].bytes_mut()).overwrite(slot, value) {
                return Ok((put, false));
            }
        }
        // Room for the new entry is found first, so that nothing was changed where there is none.
        let fits = |page: &Exclusive<'_>| Bucket(page.view()).fits(wanted.key.len(), value.len());
        let room = chain.iter().position(fits);
        let at = if let Some(at) = room {
            at
        } else {
            let added = worker.allocate(writing)?;
            let last = chain.len() - 1;
            BucketMut(chain[last].bytes_mut()).set_next(added.page());
            chain.push(added);
            last + 1
        };
        if let Some((page, slot)) = found {
            BucketMut(chain[page].bytes_mut()).remove(slot);
        }
        BucketMut(chain[at].bytes_mut()).push(fingerprint(wanted.hash), wanted.key, value);
        Ok((put, room.is_none()))
    }

    /// Removes a key; `false` where it is not there.
    ///
    /// # Errors
    /// As [`HashTable::lookup`].
    pub fn remove(&self, worker: &Worker<'_>, key: &[u8]) -> Result<bool, TreeError> {
        let wanted = self.wanted(key, 0)?;
        let writing = worker.write();
        Ok(worker.retry(|| {
            let mut chain = self.hold(worker, &writing, wanted.hash)?;
            let Some((page, slot)) = find(&chain, wanted) else { return Ok(false) };
            BucketMut(chain[page].bytes_mut()).remove(slot);
            if page > 0 && Bucket(chain[page].view()).count() == 0 {
                let next = Bucket(chain[page].view()).next();
                BucketMut(chain[page - 1].bytes_mut()).set_next(next);
                chain.swap_remove(page).free();
            }
            Ok(true)
        })?)
    }

    /// All pages of the bucket of a key, to change.
    fn hold<'w>(&self, worker: &'w Worker<'w>, writing: &Writing<'_>, hash: u64) -> Attempt<Vec<Exclusive<'w>>> {
        chain(worker, writing, self.reach(worker, hash)?)
    }

    /// Adds a bucket, which takes its share of another one's entries.
    fn grow(&self, worker: &Worker<'_>, writing: &Writing<'_>) -> Result<(), TreeError> {
        Ok(worker.retry(|| self.try_grow(worker, writing))?)
    }

    fn try_grow(&self, worker: &Worker<'_>, writing: &Writing<'_>) -> Attempt<()> {
        let look = worker.look(self.meta)?;
        let buckets = look.read(|page| page.u64(BUCKETS))?;
        if buckets == self.most() {
            return Ok(());
        }
        let first = self.bucket(&look, buckets - (1 << buckets.ilog2()))?;
        let slot = (buckets % self.per_directory()) as usize;
        let at = DIRECTORIES + (buckets / self.per_directory()) as usize * 8;
        let mut meta = look.lock(writing)?;
        let old = chain(worker, writing, first)?;
        let there = if slot == 0 { None } else { Some(worker.look(meta.view().u64(at))?.lock(writing)?) };
        let (go, stay): (Vec<_>, Vec<_>) =
            old.iter().flat_map(entries_of).partition(|(hash, ..)| bucket_of(*hash, buckets + 1) == buckets);
        // Pages come last: from here on nothing stops, and those that an earlier stop had brought are given back.
        let wanted = pages_for(&go, self.page_bytes) + usize::from(there.is_none());
        let mut fresh = Vec::with_capacity(wanted);
        while fresh.len() < wanted {
            match worker.allocate(writing) {
                Ok(page) => fresh.push(page),
                Err(stop) => {
                    fresh.into_iter().for_each(Exclusive::free);
                    return Err(stop);
                }
            }
        }
        let mut directory = there.or_else(|| fresh.pop()).expect("one was allocated where none is there");
        set(directory.bytes_mut(), HEADER_BYTES + slot * 8, fresh[0].page());
        set(meta.bytes_mut(), at, directory.page());
        set(meta.bytes_mut(), BUCKETS, buckets + 1);
        refill(fresh, &go);
        refill(old, &stay);
        Ok(())
    }

    /// Counts entries, buckets and pages; nobody changes the table meanwhile.
    ///
    /// # Errors
    /// Where a page cannot be read, or an entry lies in a bucket that is not its own.
    pub fn check(&self, worker: &Worker<'_>) -> Result<(u64, u64, u64), TreeError> {
        let buckets = worker.retry(|| worker.look(self.meta)?.read(|page| page.u64(BUCKETS)))?;
        let (mut entries, mut pages) = (0, 1 + buckets.div_ceil(self.per_directory()));
        for bucket in 0..buckets {
            let (count, chain) = worker.retry(|| {
                let mut page = self.bucket(&worker.look(self.meta)?, bucket)?;
                let (mut count, mut chain) = (0, 1);
                loop {
                    let (wrong, here, next) = page.read(|bytes| {
                        let view = Bucket(bytes);
                        let mut keys = (0..view.count()).map(|slot| view.entry(slot).0);
                        (keys.any(|key| bucket_of(hash(key), buckets) != bucket), view.count() as u64, view.next())
                    })?;
                    if wrong {
                        return Ok((u64::MAX, chain));
                    }
                    count += here;
                    if next == 0 {
                        return Ok((count, chain));
                    }
                    chain += 1;
                    page = page.follow(next)?;
                }
            })?;
            if count == u64::MAX {
                let what = format!("bucket {bucket} has an entry of another one");
                return Err(TreeError::Damaged { page: self.meta, what });
            }
            entries += count;
            pages += chain;
        }
        Ok((entries, buckets, pages))
    }
}

/// An entry, out of its page.
type Entry = (u64, Vec<u8>, Vec<u8>);

/// All pages of a bucket, to change, from its first one on.
fn chain<'w>(worker: &'w Worker<'w>, writing: &Writing<'_>, first: Optimistic<'w>) -> Attempt<Vec<Exclusive<'w>>> {
    let mut pages = vec![first.lock(writing)?];
    loop {
        let next = Bucket(pages[pages.len() - 1].view()).next();
        if next == 0 {
            return Ok(pages);
        }
        pages.push(worker.look(next)?.lock(writing)?);
    }
}

/// The page of a chain and the slot in it that have a key.
fn find(chain: &[Exclusive<'_>], wanted: Wanted<'_>) -> Option<(usize, usize)> {
    let print = fingerprint(wanted.hash);
    chain.iter().enumerate().find_map(|(at, page)| Some((at, Bucket(page.view()).find(print, wanted.key)?)))
}

fn entries_of(page: &Exclusive<'_>) -> Vec<Entry> {
    let bucket = Bucket(page.view());
    let entries = (0..bucket.count()).map(|slot| bucket.entry(slot));
    entries.map(|(key, value)| (hash(key), key.to_vec(), value.to_vec())).collect()
}

/// Pages that entries fill, put in one after the other; at least one.
fn pages_for(entries: &[Entry], page_bytes: usize) -> usize {
    let (mut pages, mut count, mut bytes) = (1, 0, 0);
    for (_, key, value) in entries {
        let entry = 4 + key.len() + value.len();
        if count == ENTRIES || FLOOR + bytes + entry > page_bytes {
            (pages, count, bytes) = (pages + 1, 0, 0);
        }
        (count, bytes) = (count + 1, bytes + entry);
    }
    pages
}

/// Puts entries into pages, one page after the other, and frees the pages that are left. There are enough: no fewer than
/// [`pages_for`] says.
fn refill(pages: Vec<Exclusive<'_>>, entries: &[Entry]) {
    let mut left = entries.iter().peekable();
    let mut numbers = pages.iter().map(Exclusive::page).collect::<Vec<_>>().into_iter().skip(1);
    for (at, mut page) in pages.into_iter().enumerate() {
        if at > 0 && left.peek().is_none() {
            page.free();
            continue;
        }
        let mut bucket = BucketMut(page.bytes_mut());
        bucket.clear();
        while let Some((hash, key, value)) = left.next_if(|(_, key, value)| bucket.view().fits(key.len(), value.len()))
        {
            bucket.push(fingerprint(*hash), key, value);
        }
        let next = numbers.next().filter(|_| left.peek().is_some());
        bucket.set_next(next.unwrap_or(0));
    }
}
