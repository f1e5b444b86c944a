//! What every path is opened with, and how a path says that it lacks an option.

use std::{io, path::PathBuf};

use assay_record::{Advice, Durability, DurabilityKind, Layout, PathKind, PathSpec, Persist, PollMode, Reach};

use crate::{Arena, PathError, Segment};

/// What every path is opened with, the same for all of them. A path is opened by the thread that uses it.
#[derive(Clone, Copy, Debug)]
pub struct OpenParameters<'a> {
    /// The path and its options.
    pub spec: &'a PathSpec,
    /// What makes writes durable.
    pub durability: Durability,
    /// What operations name by index.
    pub segments: &'a [Segment],
    /// The class writes; otherwise everything is opened read-only.
    pub writes: bool,
    /// State of the data set. With [`Layout::Grow`] and `writes`, files are made and emptied.
    pub layout: Layout,
    /// Memory of the operations. It must outlive the path.
    pub arena: &'a Arena,
    /// Operations in flight at most.
    pub depth: u32,
    /// Operations per submission at most.
    pub batch: u32,
}

/// Options of a [`PathSpec`] and the durability of a class, as a path knows or does not know them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Knows {
    /// `O_DIRECT`.
    pub direct: bool,
    /// Registered files and buffers.
    pub fixed: bool,
    /// Any [`PollMode`] but `None`.
    pub poll: bool,
    /// Hints of `posix_fadvise` or `madvise`.
    pub advice: bool,
    /// [`Advice::HugePage`].
    pub huge_pages: bool,
    /// Cache control of stores, and fenced reads.
    pub persist: bool,
    /// More than one operation in flight.
    pub depth: bool,
    /// Means of durability besides [`DurabilityKind::None`].
    pub durability: &'static [DurabilityKind],
}

impl OpenParameters<'_> {
    /// Refuses every option that is set and that the path does not know.
    ///
    /// # Errors
    /// [`PathError::Unavailable`] with a sentence that names the option.
    pub fn refuse_unknown(&self, knows: &Knows) -> Result<(), PathError> {
        let spec = self.spec;
        let hint = spec.advice != Advice::Normal && spec.advice != Advice::HugePage;
        let options = [
            (spec.direct && !knows.direct, "direct I/O", "leave direct = false"),
            (spec.fixed && !knows.fixed, "registered files and buffers", "leave fixed = false"),
            (spec.poll != PollMode::None && !knows.poll, "polling", "leave poll = \"none\""),
            (hint && !knows.advice, "hints for the page cache", "leave advice = \"normal\""),
            (spec.advice == Advice::HugePage && !knows.huge_pages, "huge pages", "leave advice = \"normal\""),
            (spec.persist != Persist::Auto && !knows.persist, "cache control of stores", "leave persist = \"auto\""),
            (spec.fenced && !knows.persist, "fenced reads", "leave fenced = false"),
            (
                spec.poll_sleep_us > 0 && spec.kind != PathKind::NvmePolled,
                "sleep between polls",
                "leave poll_sleep_us = 0",
            ),
            (
                spec.reach != Reach::Auto && spec.kind != PathKind::NvmePolled,
                "way to a drive",
                "leave reach = \"auto\"",
            ),
            (self.depth > 1 && !knows.depth, "more than one operation in flight", "use depth = 1 and more threads"),
        ];
        if let Some((_, option, fix)) = options.iter().find(|(refused, ..)| *refused) {
            return Err(self.unavailable(format!("this path has no {option}"), (*fix).to_owned()));
        }
        self.refuse_durability(knows.durability)
    }

    fn refuse_durability(&self, known: &[DurabilityKind]) -> Result<(), PathError> {
        let kind = self.durability.kind;
        if kind == DurabilityKind::None || known.contains(&kind) {
            return Ok(());
        }
        let reason = format!("this path has no durability by {}", durability_name(kind));
        let names: Vec<_> = known.iter().map(|kind| durability_name(*kind)).collect();
        Err(self.unavailable(reason, format!("use one of: none {}", names.join(" "))))
    }

    /// An error that names this path.
    pub fn unavailable(&self, reason: String, fix: String) -> PathError {
        PathError::Unavailable { what: format!("the path {}", self.spec.kind.name()), reason, fix }
    }
}

/// The error of an operation on a segment, so that it names the file.
pub fn operation_error(segments: &[Segment], segment: u32, write: bool, source: io::Error) -> PathError {
    let path = segments.get(segment as usize).map_or_else(PathBuf::new, |segment| segment.path.clone());
    PathError::Io { action: if write { "writing" } else { "reading" }, path, source }
}

/// Name of a means of durability, as it stands in a job.
pub fn durability_name(kind: DurabilityKind) -> &'static str {
    match kind {
        DurabilityKind::None => "none",
        DurabilityKind::Fdatasync => "fdatasync",
        DurabilityKind::Fsync => "fsync",
        DurabilityKind::ODsync => "o_dsync",
        DurabilityKind::RwfDsync => "rwf_dsync",
        DurabilityKind::Msync => "msync",
        DurabilityKind::Persist => "persist",
    }
}
