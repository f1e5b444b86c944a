//! Lookups of a check, so many at a time: from a drive one after the other takes as long as the drive takes for each.

use assay_index::{Session, Sizes};

use crate::index::workload::Entries;

/// As many wait for the drive together.
const TOGETHER: usize = 32;

/// Ids that are to be looked up, and whether each must be there.
pub(super) struct Lookups {
    entries: Entries,
    key_bytes: usize,
    keys: Vec<u8>,
    asked: Vec<Asked>,
}

struct Asked {
    id: u64,
    there: bool,
    key_length: usize,
    /// Whether the value that was found is the id's own; none where nothing was found.
    good: Option<bool>,
}

impl Lookups {
    pub(super) fn new(entries: Entries, sizes: &Sizes) -> Self {
        let key_bytes = sizes.key.most.max(8);
        Self { entries, key_bytes, keys: vec![0; TOGETHER * key_bytes], asked: Vec::with_capacity(TOGETHER) }
    }

    /// One more; where it is the last that fits, all are looked up, and the first thing that is wrong is said.
    pub(super) fn add(&mut self, session: &mut impl Session, id: u64, there: bool) -> Option<String> {
        let place = self.asked.len() * self.key_bytes;
        let key_length = self.entries.key(id, &mut self.keys[place..place + self.key_bytes]).len();
        self.asked.push(Asked { id, there, key_length, good: None });
        if self.asked.len() < TOGETHER { None } else { self.look_up(session) }
    }

    /// Looks up what has gathered, and says the first thing that is wrong.
    pub(super) fn look_up(&mut self, session: &mut impl Session) -> Option<String> {
        let places = self.keys.chunks(self.key_bytes);
        let keys: Vec<&[u8]> = places.zip(&self.asked).map(|(bytes, one)| &bytes[..one.key_length]).collect();
        let (entries, asked) = (&self.entries, &mut self.asked);
        let done = session.lookup_many(&keys, &mut |position, value| {
            let one = &mut asked[position];
            one.good = Some(entries.is_value(one.id, value));
        });
        let wrong = match done {
            Ok(()) => asked.iter().find_map(Asked::wrong),
            Err(error) => Some(failure(session, &keys, asked).unwrap_or_else(|| format!("a lookup failed: {error}"))),
        };
        asked.clear();
        wrong
    }
}

impl Asked {
    fn wrong(&self) -> Option<String> {
        let id = self.id;
        match (self.there, self.good) {
            (true, None) => Some(format!("id {id:#x} is not there")),
            (false, Some(_)) => Some(format!("id {id:#x} is there")),
            (true, Some(false)) => Some(format!("the value of id {id:#x} is not its own")),
            (true, Some(true)) | (false, None) => None,
        }
    }
}

/// Which of them fails by itself.
fn failure(session: &mut impl Session, keys: &[&[u8]], asked: &[Asked]) -> Option<String> {
    let mut value = Vec::new();
    keys.iter().zip(asked).find_map(|(key, one)| {
        let error = session.lookup(key, &mut value).err()?;
        Some(format!("the lookup of id {:#x} failed: {error}", one.id))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::workload::MISSING;
    use assay_index::{IndexError, Visit};

    /// Holds the values of ids 0 to 99; notes how many lookups came together, and fails at one key.
    struct Fake {
        entries: Entries,
        together: Vec<usize>,
        broken: Option<Vec<u8>>,
    }

    impl Fake {
        fn new() -> Self {
            Self { entries: Entries::new(Sizes::WORDS, 1), together: Vec::new(), broken: None }
        }

        fn key(&self, id: u64) -> Vec<u8> {
            self.entries.key(id, &mut [0; 8]).to_vec()
        }
    }

    impl Session for Fake {
        fn insert(&mut self, _: &[u8], _: &[u8]) -> Result<bool, IndexError> {
            unreachable!("a check changes nothing")
        }

        fn update(&mut self, _: &[u8], _: &[u8]) -> Result<bool, IndexError> {
            unreachable!("a check changes nothing")
        }

        fn upsert(&mut self, _: &[u8], _: &[u8]) -> Result<bool, IndexError> {
            unreachable!("a check changes nothing")
        }

        fn remove(&mut self, _: &[u8]) -> Result<bool, IndexError> {
            unreachable!("a check changes nothing")
        }

        fn lookup(&mut self, key: &[u8], value: &mut Vec<u8>) -> Result<bool, IndexError> {
            if self.broken.as_deref() == Some(key) {
                return Err(IndexError::Damaged { what: "a page is not what it was".to_owned() });
            }
            let Some(id) = (0..100).find(|&id| self.key(id) == key) else { return Ok(false) };
            value.clear();
            value.extend_from_slice(self.entries.value(id, 7, &mut [0; 8]));
            Ok(true)
        }

        fn lookup_many(&mut self, keys: &[&[u8]], found: &mut dyn FnMut(usize, &[u8])) -> Result<(), IndexError> {
            self.together.push(keys.len());
            let mut value = Vec::new();
            for (position, key) in keys.iter().enumerate() {
                if self.lookup(key, &mut value)? {
                    found(position, &value);
                }
            }
            Ok(())
        }

        fn scan(&mut self, _: &[u8], _: usize, _: &mut Visit<'_>) -> Result<usize, IndexError> {
            unreachable!("lookups alone")
        }
    }

    fn said(fake: &mut Fake, asked: impl IntoIterator<Item = (u64, bool)>) -> Option<String> {
        let mut lookups = Lookups::new(fake.entries, &Sizes::WORDS);
        let early = asked.into_iter().find_map(|(id, there)| lookups.add(fake, id, there));
        early.or_else(|| lookups.look_up(fake))
    }

    /// A check of a million keys beside a small pool took minutes: it waited for the drive once for each.
    #[test]
    fn a_check_looks_many_ids_up_together() {
        let mut fake = Fake::new();
        assert_eq!(said(&mut fake, (0..100).flat_map(|id| [(id, true), (id | MISSING, false)])), None);
        assert_eq!(fake.together, [32, 32, 32, 32, 32, 32, 8]);
    }

    #[test]
    fn what_is_wrong_is_named_by_its_id() {
        let (mut fake, all) = (Fake::new(), || (0..40).map(|id| (id, true)));
        assert_eq!(said(&mut fake, all().chain([(200, true)])).unwrap(), "id 0xc8 is not there");
        assert_eq!(said(&mut fake, all().chain([(17, false)])).unwrap(), "id 0x11 is there");
        fake.broken = Some(fake.key(9));
        assert!(said(&mut fake, all()).unwrap().starts_with("the lookup of id 0x9 failed: "));
    }
}
