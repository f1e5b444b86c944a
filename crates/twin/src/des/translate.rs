//! From a job's words to the engines' words: classes become streams, paths become ways through the host.

use assay_load::seat;
use assay_record::{
    Cache, Class, DurabilityKind, Job, Layout, Operation, PathKind, PathSpec, Pattern, Persist, PollMode, Sizes,
};

use crate::{PathKey, Stream, StreamPath, Target, TwinError};

/// The way through the host that a path takes on a target.
///
/// # Errors
/// Where the path and the target do not fit.
pub fn path_key(spec: &PathSpec, target: &Target) -> Result<PathKey, TwinError> {
    let memory = target.is_memory();
    let never = |why: &str| {
        let what = format!("the path {:?}", spec.kind);
        Err(TwinError::NotPossible { what, name: target.twin().name.clone(), why: why.to_owned() })
    };
    Ok(match (spec.kind, memory, spec.direct) {
        (PathKind::Pmem, true, _) => PathKey::Pmem,
        (PathKind::Pmem, false, _) => return never("a drive is not reached by loads and stores"),
        (PathKind::NvmePassthrough | PathKind::NvmePolled, true, _) => return never("memory takes no NVMe commands"),
        (PathKind::Null, ..) => return never("nothing is moved there, so that a twin has nothing to say"),
        (PathKind::Mmap, true, _) => PathKey::DaxMmapMsync,
        (PathKind::Pread | PathKind::Libaio | PathKind::IoUring, true, _) => PathKey::DaxPread,
        (PathKind::Mmap, false, _) => PathKey::Mmap,
        (PathKind::Pread, false, true) => PathKey::PreadDirect,
        (PathKind::Pread | PathKind::Libaio, false, false) => PathKey::PreadBuffered,
        (PathKind::Libaio, false, true) => PathKey::Libaio,
        (PathKind::IoUring, false, true) if spec.poll == PollMode::Iopoll => PathKey::IoUringPolled,
        (PathKind::IoUring, false, true) => PathKey::IoUring,
        (PathKind::IoUring, false, false) => PathKey::IoUringBuffered,
        (PathKind::NvmePassthrough, false, _) => PathKey::Passthrough,
        (PathKind::NvmePolled, false, _) => PathKey::Polled,
    })
}

/// How stores of a path leave the CPU caches: as asked on the `pmem` path, as the kernel does it elsewhere.
pub fn persist(key: PathKey, asked: Persist, bytes: u32) -> Persist {
    match (key, asked) {
        (PathKey::DaxMmapMsync, _) => Persist::Clwb,
        // Whoever copies for a caller does it past the caches.
        (key, _) if key != PathKey::Pmem => Persist::Nt,
        // What the measured path does, too: non-temporal stores from 256 B up.
        (_, Persist::Auto) if bytes >= 256 => Persist::Nt,
        (_, Persist::Auto) => Persist::Clwb,
        (_, asked) => asked,
    }
}

/// A class as one stream: what the analytic engine sees of it, and what bounds are judged by.
///
/// # Errors
/// Where the path and the target do not fit.
pub fn stream(job: &Job, class: &Class, target: &Target, file_system: Option<&str>) -> Result<Stream, TwinError> {
    if class.operation == Operation::Trim {
        let (what, name) = ("a trim".to_owned(), target.twin().name.clone());
        let why = "no source says how long drives take for one; measure it on a device".to_owned();
        return Err(TwinError::NotPossible { what, name, why });
    }
    let key = path_key(&class.path, target)?;
    let dataset = job.dataset_of(class);
    let size_bytes = mean_size(&class.size);
    let stream = Stream {
        name: class.name.clone(),
        write_share: match class.operation {
            Operation::Read => 0.0,
            Operation::Write | Operation::Trim => 1.0,
            Operation::Mix { write_percent } => f64::from(write_percent) / 100.0,
        },
        size_bytes,
        sequential: class.pattern == Pattern::Sequential,
        threads: class.threads,
        depth: class.depth,
        batch: class.batch,
        path: StreamPath {
            persist: persist(key, class.path.persist, size_bytes as u32),
            fenced: seat::path_of(class).fenced,
            poll_sleep_ns: f64::from(class.path.poll_sleep_us) * 1e3,
            ..StreamPath::plain(key)
        },
        durability: class.durability,
        rate_per_s: assay_load::total_rate(&class.arrivals, class.threads),
        think_ns: class.think.map_or(0.0, |think| think.mean_s() * 1e9),
        working_set_bytes: dataset.map_or(0.0, |dataset| dataset.bytes as f64 * f64::from(dataset.files)),
        file_system: file_system.map(str::to_owned),
        duration_s: job.window.warmup_s + job.window.measure_s - class.start_s,
        warmup_s: if class.start_s > 0.0 { 0.0 } else { job.window.warmup_s },
        read_ahead_bytes: None,
        warm: key.is_buffered() && job.cache == Cache::Warm,
        grows: dataset.is_some_and(|dataset| matches!(dataset.layout, Layout::Grow | Layout::Preallocated)),
    };
    stream.on(target)
}

fn mean_size(sizes: &Sizes) -> f64 {
    match sizes {
        Sizes::One(bytes) => *bytes as f64,
        Sizes::Mix(shares) => {
            let weight: f64 = shares.iter().map(|share| f64::from(share.weight)).sum();
            shares.iter().map(|share| share.bytes as f64 * f64::from(share.weight)).sum::<f64>() / weight.max(1.0)
        }
    }
}

/// Every size that a class uses, bytes.
pub fn sizes(class: &Class) -> Vec<u32> {
    match &class.size {
        Sizes::One(bytes) => vec![*bytes as u32],
        Sizes::Mix(shares) => shares.iter().map(|share| share.bytes as u32).collect(),
    }
}

/// Writes of a thread between two flushes of the device; none where writes need none.
pub fn flush_every(class: &Class) -> Option<u32> {
    match class.durability.kind {
        DurabilityKind::ODsync | DurabilityKind::RwfDsync if assay_load::generator::writes(class.operation) => Some(1),
        DurabilityKind::Persist => None,
        _ => assay_load::seat::flush_every(class),
    }
}
