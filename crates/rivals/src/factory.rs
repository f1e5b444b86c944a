//! What makes and opens a rival for a run of an index.

use std::{collections::BTreeMap, marker::PhantomData, time::Instant};

use assay_index::{About, Factory, Index, IndexError, Opened, Setup};
use assay_own::Room;
use serde_json::Value;

use crate::{
    engine::{Engine, Reach, Settings},
    error::{Result, RivalError},
    place::{Place, drop_cached},
};

/// Bytes for the program beside the engine: histograms, stacks, what the checks remember.
const BESIDE_BYTES: u64 = 32 << 20;

/// Makes and opens one rival in one folder.
pub struct Rival<E> {
    place: Place,
    settings: Settings,
    page_cache: String,
    room: Option<Room>,
    engine: PhantomData<fn() -> E>,
}

impl<E: Engine> Rival<E> {
    /// Where it is to lie. A pool of a given size bounds the kernel's cache of the files as well.
    ///
    /// # Errors
    /// Where nothing can be made at its target, an option is not known, or the page cache cannot be bounded.
    pub fn new(setup: &Setup) -> std::result::Result<Self, IndexError> {
        let mut settings = Settings { threads: setup.threads, ..Settings::default() };
        for (name, value) in &setup.options {
            settings.set(name, value)?;
        }
        settings.cache_bytes = setup.pool_bytes.unwrap_or(settings.cache_bytes);
        let place = Place::of(setup)?;
        let (room, page_cache) = bounded::<E>(&settings, setup.pool_bytes)?;
        Ok(Self { place, settings, page_cache, room, engine: PhantomData })
    }

    fn start(&self, settle: bool) -> Result<E> {
        E::start(self.place.path(), &Settings { settle, ..self.settings.clone() }, 1)
    }
}

/// Enters a control group where the pool has a size and the kernel's cache would add to it. Says what became of it.
///
/// # Errors
/// Where the size cannot be held.
pub fn bounded<E: Engine>(settings: &Settings, pool_bytes: Option<u64>) -> Result<(Option<Room>, String)> {
    let Some(pool) = pool_bytes else {
        return Ok((None, "not bounded".to_owned()));
    };
    let bytes = match E::reach(settings) {
        Reach::Direct => return Ok((None, "bypassed".to_owned())),
        Reach::Mapped => pool + BESIDE_BYTES / 2,
        // Its allocator's waste must fit in as well: the kernel ends a process that goes beyond.
        Reach::Buffered => pool + E::beside_bytes(pool) + BESIDE_BYTES,
    };
    let room =
        Room::enter(bytes).map_err(|error| RivalError::NotPossible { reason: error.to_string(), fix: error.fix() })?;
    Ok((Some(room), format!("at most {} MiB together with the process, by a control group", bytes >> 20)))
}

/// What a record says of an engine's settings.
pub fn told<E: Engine>(settings: &Settings, page_cache: &str) -> BTreeMap<String, Value> {
    let mut all = BTreeMap::from([
        ("durability".to_owned(), settings.durability.name().into()),
        ("kernel_page_cache".to_owned(), page_cache.into()),
    ]);
    if E::reach(settings) != Reach::Mapped {
        all.insert("cache_bytes".to_owned(), settings.cache_bytes.into());
    }
    all.extend(E::about(settings).into_iter().map(|(name, value)| (name.to_owned(), value)));
    all
}

impl<E: Engine + Index> Factory for Rival<E> {
    type Index = E;
    type Counted = E;

    fn is_there(&self) -> bool {
        self.place.is_loaded()
    }

    fn create(&self) -> std::result::Result<E, IndexError> {
        Ok(self.start(true)?)
    }

    fn open(&self) -> std::result::Result<Opened<E>, IndexError> {
        // The runner opens what it has loaded, and nothing else.
        self.place.loaded()?;
        if self.room.is_some() {
            drop_cached(self.place.path())?;
        }
        let start = Instant::now();
        let index = self.start(false)?;
        Ok(Opened { index, recovery: start.elapsed() })
    }

    fn open_counted(&self) -> Option<std::result::Result<E, IndexError>> {
        None
    }

    fn about(&self) -> About {
        About {
            emulated: false,
            durability: self.settings.durability.describe(),
            version: Some(E::version()),
            settings: told::<E>(&self.settings, &self.page_cache),
        }
    }
}
