//! What stands ready before the window: data sets, caches, facts.

use std::{
    collections::BTreeMap,
    fs::File,
    io,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
};

use assay_instruments::{
    Watch,
    clock::Clock,
    counters::{FileChanges, FileStates},
    environment,
    tally::Tally,
};
use assay_path::{
    PathError, Segment, SegmentKind,
    prepare::{self, Prepared, PreparedDataset},
    residency, space,
};
use assay_record::{Cache, Class, Environment, Event, Job, Layout, Sizes};

use super::workers::Station;
use crate::{check::Checker, error::LoadError, generator::FileShare, journal::Journal, seat};

/// Room of an acknowledgement journal, two entries for each block that is written: 256 MiB, sparse until used.
const JOURNAL_ENTRIES: usize = 8 << 20;

/// The stage of a run.
#[derive(Debug)]
pub struct Stage {
    prepared: Prepared,
    /// The machine, before the run.
    pub environment: Environment,
    /// What is resident of each data set before the window, bytes; none for what has no page cache.
    pub resident_before: Vec<Option<u64>>,
}

impl Stage {
    /// Prepares everything that a job needs.
    ///
    /// # Errors
    /// [`LoadError`] where a target refuses, is full, or a cache cannot be brought into the state asked for.
    pub fn set(job: &Job, clock: &Clock, watch: &mut Watch<'_>) -> Result<Self, LoadError> {
        let places: Vec<(String, PathBuf)> = job
            .targets
            .iter()
            .flat_map(|target| target.members.iter().map(|member| (target.id.clone(), PathBuf::from(member))))
            .collect();
        let environment = environment::capture(clock, &places);
        enough_memory(job, &environment)?;
        let emit = &mut *watch.emit;
        let mut progress = |stage: &str, done: f64, detail: String| {
            emit(Event::Progress { stage: stage.to_owned(), done, detail });
        };
        let prepared = prepare::prepare(job, &mut progress, watch.interrupted)?;
        set_caches(job, &prepared, watch.interrupted, &mut progress)?;
        let resident_before = prepared.datasets.iter().map(resident).collect();
        Ok(Self { prepared, environment, resident_before })
    }

    /// The prepared data sets, in the job's order.
    pub fn datasets(&self) -> &[PreparedDataset] {
        &self.prepared.datasets
    }

    /// The files of each data set as they are now. Those that a class makes as it goes are nobody's yet.
    pub fn files(&self) -> BTreeMap<String, FileStates> {
        let settled = self.prepared.datasets.iter().filter(|dataset| dataset.layout != Layout::Grow);
        settled.map(|dataset| (dataset.name.clone(), FileStates::of(places(dataset)))).collect()
    }

    /// What became of them since.
    pub fn changes(&self, before: &BTreeMap<String, FileStates>) -> BTreeMap<String, FileChanges> {
        let now = self.files();
        let ours = |name: &str| self.prepared.datasets.iter().any(|dataset| dataset.name == name && dataset.writable);
        let changes =
            before.iter().filter_map(|(name, before)| Some((name.clone(), before.until(now.get(name)?, ours(name)))));
        changes.collect()
    }

    /// The prepared data set of a class.
    pub fn dataset_of(&self, class: &Class) -> Option<&PreparedDataset> {
        self.prepared.datasets.iter().find(|dataset| dataset.name == class.dataset)
    }

    /// Segments of the file that a thread of a class uses.
    pub fn segments_of(&self, class: &Class, thread: u32) -> &[Segment] {
        let Some(dataset) = self.dataset_of(class) else { return &[] };
        if dataset.files.is_empty() {
            return &[];
        }
        &dataset.files[thread as usize % dataset.files.len()]
    }

    /// Names of the block devices beneath all data sets, each once.
    pub fn device_names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            self.prepared.datasets.iter().flat_map(|dataset| dataset.device_names.iter().cloned()).collect();
        names.sort();
        names.dedup();
        names
    }

    /// One station per thread of every class, in the job's order.
    ///
    /// # Errors
    /// [`LoadError::Journal`] where the acknowledgement journal cannot be made.
    pub fn stations<'a>(&'a self, job: &'a Job, tallies: &'a [Vec<Tally>]) -> Result<Vec<Station<'a>>, LoadError> {
        let generations = Arc::new(AtomicU64::new(0));
        let path = job.checks.acknowledgements.as_deref();
        let journal =
            path.map(|path| Journal::create(Path::new(path), JOURNAL_ENTRIES, job.checks.journalling)).transpose()?;
        let mut stations = Vec::new();
        for (class_index, (class, tallies)) in job.classes.iter().zip(tallies).enumerate() {
            for (thread, tally) in tallies.iter().enumerate() {
                let checker = self.checker(job, class, thread as u32, &generations, journal.as_ref());
                stations.push(self.station(job, class, class_index, thread as u32, tally, checker)?);
            }
        }
        Ok(stations)
    }

    fn station<'a>(
        &'a self,
        job: &'a Job,
        class: &'a Class,
        class_index: usize,
        thread: u32,
        tally: &'a Tally,
        checker: Option<Checker>,
    ) -> Result<Station<'a>, LoadError> {
        let declared = job.dataset_of(class);
        let (Some(dataset), Some(declared)) = (self.dataset_of(class), declared) else {
            return Err(PathError::Refused {
                path: class.dataset.clone().into(),
                reason: "no data set of this name was prepared".to_owned(),
                fix: "name one of the job's data sets".to_owned(),
            }
            .into());
        };
        let files = dataset.files.len().max(1) as u32;
        let segments = self.segments_of(class, thread);
        // Operations of one size cannot cross a stripe, which is a multiple of it.
        let mixes = segments.len() > 1 && matches!(class.size, Sizes::Mix(_));
        let sharing = class.threads / files + u32::from(thread % files < class.threads % files);
        Ok(Station {
            class,
            class_index,
            thread,
            segments,
            layout: dataset.layout,
            stripe: dataset.stripe_bytes,
            share: FileShare {
                bytes: file_bytes(dataset, declared.bytes, thread),
                index: thread / files,
                of: sharing.max(1),
                stripe: if mixes { dataset.stripe_bytes } else { 0 },
                order: seat::seed_of(job.seed, class_index, u32::MAX),
            },
            tally,
            seed: job.seed,
            checker,
            contended: job.checks.data && dataset.writable,
        })
    }

    fn checker(
        &self,
        job: &Job,
        class: &Class,
        thread: u32,
        generations: &Arc<AtomicU64>,
        journal: Option<&Journal>,
    ) -> Option<Checker> {
        if !job.checks.data && journal.is_none() {
            return None;
        }
        let dataset = self.dataset_of(class)?;
        let file = thread as usize % dataset.file_ids.len().max(1);
        let id = dataset.file_ids.get(file).copied()?;
        // Space that was only allocated carries no stamps yet.
        let verify = job.checks.data && matches!(dataset.layout, Layout::Written | Layout::AsFound);
        Some(Checker::new(dataset.stamp_bytes, id, verify, Arc::clone(generations), journal.cloned()))
    }
}

/// Buffers are touched before the load begins: a job that has no room for them is told so instead of being killed.
fn enough_memory(job: &Job, environment: &Environment) -> Result<(), PathError> {
    let of = |class: &Class| seat::memory_bytes(class).saturating_mul(u64::from(class.threads));
    let needed = job.classes.iter().map(of).fold(0u64, u64::saturating_add);
    let available = environment.memory.available_bytes;
    if available == 0 || needed <= available {
        return Ok(());
    }
    Err(PathError::Unavailable {
        what: "memory for the buffers of all threads".to_owned(),
        reason: format!("{} are needed and {} are available", space::in_words(needed), space::in_words(available)),
        fix: "use fewer threads, less depth, smaller operations or a smaller buffer_bytes".to_owned(),
    })
}

/// A file that is used as found may be shorter than declared; its length was seen when it was prepared.
fn file_bytes(dataset: &PreparedDataset, declared: u64, thread: u32) -> u64 {
    if dataset.layout != Layout::AsFound {
        return declared;
    }
    let file = dataset.files.get(thread as usize % dataset.files.len().max(1));
    let found = file.map_or(0, |segments| segments.iter().map(|segment| segment.bytes).sum());
    declared.min(found)
}

fn regular_files(dataset: &PreparedDataset) -> impl Iterator<Item = &Path> {
    let segments = dataset.files.iter().flatten();
    segments.filter(|segment| segment.kind == SegmentKind::File).map(|segment| segment.path.as_path())
}

/// Where a data set lies in the file tree: files, and nodes of devices.
fn places(dataset: &PreparedDataset) -> impl Iterator<Item = &Path> {
    let named = |kind| matches!(kind, SegmentKind::File | SegmentKind::BlockDevice | SegmentKind::DeviceDax);
    dataset.files.iter().flatten().filter(move |segment| named(segment.kind)).map(|segment| segment.path.as_path())
}

fn resident(dataset: &PreparedDataset) -> Option<u64> {
    if dataset.layout == Layout::Grow {
        return None;
    }
    let mut files = regular_files(dataset).peekable();
    files.peek()?;
    files.map(|path| residency::resident_bytes(&File::open(path).ok()?).ok()).sum()
}

fn set_caches(
    job: &Job,
    prepared: &Prepared,
    interrupted: &AtomicBool,
    progress: &mut dyn FnMut(&str, f64, String),
) -> Result<(), LoadError> {
    let all: Vec<&Path> =
        prepared.datasets.iter().filter(|dataset| dataset.layout != Layout::Grow).flat_map(regular_files).collect();
    for (index, path) in all.iter().enumerate() {
        if interrupted.load(Relaxed) {
            return Err(PathError::Interrupted { action: "preparing the page cache" }.into());
        }
        let done = index as f64 / all.len() as f64;
        // Pages that others brought in are in others' groups, and no limit of this run's holds them.
        let bounded = job.cache_bytes.is_some();
        if bounded && job.cache != Cache::Cold {
            residency::evict(&open(path)?).map_err(|source| io_error("emptying the cache of", path, source))?;
        }
        match job.cache {
            Cache::AsFound if bounded => {}
            Cache::AsFound => return Ok(()),
            Cache::Warm => {
                progress("warming the page cache", done, path.display().to_string());
                residency::warm(&open(path)?).map_err(|source| io_error("reading", path, source))?;
            }
            Cache::Cold | Cache::Bypassed => {
                progress("emptying the page cache", done, path.display().to_string());
                residency::evict(&open(path)?).map_err(|source| io_error("emptying the cache of", path, source))?;
            }
        }
    }
    Ok(())
}

fn open(path: &Path) -> Result<File, PathError> {
    File::open(path).map_err(|source| io_error("opening", path, source))
}

fn io_error(action: &'static str, path: &Path, source: io::Error) -> PathError {
    PathError::Io { action, path: path.to_owned(), source }
}
