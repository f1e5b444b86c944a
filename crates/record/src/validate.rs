//! What a job must satisfy before anything is touched.

mod class;

use std::collections::HashSet;

use crate::{
    Class, Content, Dataset, DurabilityKind, FORMAT_VERSION, Job, JobError, Layout, Operation, PathKind, Sizes, Target,
    TargetKind,
};

/// Most members that a pseudo-RAID can have.
pub const MEMBERS_AT_MOST: usize = 64;
/// Most threads of a class.
pub const THREADS_AT_MOST: u32 = 4096;
/// Deepest queue of a thread.
pub const DEPTH_AT_MOST: u32 = 16_384;
/// Longest sleep between two polls, microseconds.
pub const POLL_SLEEP_US_AT_MOST: u32 = 1_000_000;
/// Largest operation, bytes.
pub const SIZE_AT_MOST: u64 = 64 << 20;

impl Job {
    /// Reads a job and validates it.
    ///
    /// # Errors
    /// [`JobError`] that names the first field found wrong.
    pub fn parse(document: &str) -> Result<Self, JobError> {
        let version: VersionOnly =
            serde_json::from_str(document).map_err(|error| JobError::Document(error.to_string()))?;
        if version.version != FORMAT_VERSION {
            return Err(JobError::Version { seen: version.version, wanted: FORMAT_VERSION });
        }
        let job: Self = serde_json::from_str(document).map_err(|error| JobError::Document(error.to_string()))?;
        job.validate()?;
        Ok(job)
    }

    /// Checks every field and every reference.
    ///
    /// # Errors
    /// [`JobError::Field`] that names the first field found wrong.
    pub fn validate(&self) -> Result<(), JobError> {
        self.validate_window()?;
        self.validate_state()?;
        unique("targets", self.targets.iter().map(|target| target.id.as_str()))?;
        unique("datasets", self.datasets.iter().map(|dataset| dataset.name.as_str()))?;
        unique("classes", self.classes.iter().map(|class| class.name.as_str()))?;
        check(!self.classes.is_empty(), "classes", "none", "declare at least one class")?;
        file_name("scratch", &self.scratch)?;
        for (index, target) in self.targets.iter().enumerate() {
            validate_target(&format!("targets[{index}]"), target)?;
        }
        for (index, class) in self.classes.iter().enumerate() {
            self.validate_class(&format!("classes[{index}]"), class)?;
        }
        for (index, dataset) in self.datasets.iter().enumerate() {
            self.validate_dataset(&format!("datasets[{index}]"), dataset)?;
        }
        Ok(())
    }

    /// The data set that a class works on.
    pub fn dataset_of(&self, class: &Class) -> Option<&Dataset> {
        self.datasets.iter().find(|dataset| dataset.name == class.dataset)
    }

    /// The target of a data set.
    pub fn target_of(&self, dataset: &Dataset) -> Option<&Target> {
        self.targets.iter().find(|target| target.id == dataset.target)
    }

    /// Smallest size of the classes that use a data set, bytes; 4096 where none does. Stamps are laid at this distance.
    pub fn block_bytes(&self, dataset: &Dataset) -> u64 {
        let users = self.classes.iter().filter(|class| class.dataset == dataset.name);
        users.map(|class| extremes(&class.size).0).min().unwrap_or(4096)
    }

    /// Page size at which a data set is spread over members: as declared, or the largest size of its classes.
    pub fn stripe_bytes(&self, dataset: &Dataset) -> u64 {
        if dataset.stripe_bytes != 0 {
            return dataset.stripe_bytes;
        }
        let users = self.classes.iter().filter(|class| class.dataset == dataset.name);
        users.map(|class| extremes(&class.size).1).max().unwrap_or(4096)
    }

    /// It is played in virtual time. One twin makes it such a job: what is real beside it is refused there.
    pub fn on_twins(&self) -> bool {
        self.targets.iter().any(|target| target.kind == TargetKind::Twin)
    }

    fn validate_window(&self) -> Result<(), JobError> {
        let window = &self.window;
        let finite = |value: f64| value.is_finite() && (0.0..=86_400.0 * 7.0).contains(&value);
        check(finite(window.warmup_s), "window.warmup_s", window.warmup_s, "use 0 to 604800 seconds")?;
        let measured = finite(window.measure_s) && window.measure_s > 0.0;
        check(measured, "window.measure_s", window.measure_s, "use more than 0 and at most 604800 seconds")?;
        check(finite(window.steady_after_s), "window.steady_after_s", window.steady_after_s, "use 0 or more seconds")?;
        let interval = (10..=60_000).contains(&window.interval_ms);
        check(interval, "window.interval_ms", window.interval_ms, "use 10 to 60000 milliseconds")?;
        let start = self.start_monotonic_ns;
        let own = start.is_none() || !self.on_twins();
        check(own, "start_monotonic_ns", start.unwrap_or(0), "leave it out: twins are played in virtual time")?;
        let percent = (0.0..=100.0).contains(&self.free_percent_at_least);
        check(percent, "free_percent_at_least", self.free_percent_at_least, "use 0 to 100 percent")
    }

    fn validate_dataset(&self, at: &str, dataset: &Dataset) -> Result<(), JobError> {
        file_name(&format!("{at}.name"), &dataset.name)?;
        let Some(target) = self.target_of(dataset) else {
            return wrong(format!("{at}.target"), &dataset.target, "name one of the targets");
        };
        check((1..=65_536).contains(&dataset.files), format!("{at}.files"), dataset.files, "use 1 to 65536 files")?;
        check(dataset.bytes > 0, format!("{at}.bytes"), dataset.bytes, "use at least the size of one operation")?;
        let stripe = self.stripe_bytes(dataset);
        let pages = target.members.len() <= 1 || (stripe > 0 && dataset.bytes % stripe == 0);
        check(pages, format!("{at}.bytes"), dataset.bytes, "use a multiple of stripe_bytes")?;
        let found = target.kind == TargetKind::File;
        let fits = !found || dataset.layout == Layout::AsFound;
        check(fits, format!("{at}.layout"), "a file target", "use layout as-found: an existing file is only read")
    }

    /// A file system passes on what is trimmed in its files when it likes, or never.
    fn validate_trims(&self, at: &str, class: &Class, dataset: &Dataset) -> Result<(), JobError> {
        if class.operation != Operation::Trim {
            return Ok(());
        }
        let target = self.targets.iter().find(|target| target.id == dataset.target);
        let device = target.is_none_or(|target| matches!(target.kind, TargetKind::BlockDevice | TargetKind::Twin));
        check(device, format!("{at}.operation"), "a trim of what is no block device", "name a block device as target")?;
        // What reads there would be answered without the medium, and look fast.
        let reads = |other: &Class| matches!(other.operation, Operation::Read | Operation::Mix { .. });
        let read = self.classes.iter().any(|other| other.dataset == class.dataset && reads(other));
        check(!read, format!("{at}.dataset"), "trims of data that others read", "give the trims data of their own")?;
        let path = class.path.kind == PathKind::Pread;
        check(path, format!("{at}.path"), "a trim by another path", "use pread: a trim is a call that blocks")?;
        let durable = class.durability.kind != DurabilityKind::None;
        check(!durable, format!("{at}.durability"), "a durable trim", "leave durability out: nothing is written")?;
        let plain = dataset.content == Content::Random && !self.checks.data;
        check(
            plain,
            format!("{at}.operation"),
            "a trim of data that are checked",
            "leave checks out, and content random",
        )
    }

    fn validate_class(&self, at: &str, class: &Class) -> Result<(), JobError> {
        let Some(dataset) = self.dataset_of(class) else {
            return wrong(format!("{at}.dataset"), &class.dataset, "name one of the data sets");
        };
        let threads = (1..=THREADS_AT_MOST).contains(&class.threads);
        check(threads, format!("{at}.threads"), class.threads, "use 1 to 4096 threads")?;
        let depth = (1..=DEPTH_AT_MOST).contains(&class.depth);
        check(depth, format!("{at}.depth"), class.depth, "use 1 to 16384 operations in flight")?;
        let batch = (1..=class.depth).contains(&class.batch);
        check(batch, format!("{at}.batch"), class.batch, "use 1 up to depth")?;
        let sleep = class.path.poll_sleep_us <= POLL_SLEEP_US_AT_MOST;
        let fix = "use 0 to 1000000 microseconds";
        check(sleep, format!("{at}.path.poll_sleep_us"), class.path.poll_sleep_us, fix)?;
        self.validate_sizes(at, class, dataset)?;
        class::pattern(at, class)?;
        class::arrivals(at, class)?;
        class::think(at, class)?;
        self.validate_trims(at, class, dataset)?;
        class::writes(at, class, dataset)?;
        self.validate_growth(at, class, dataset)?;
        self.validate_checks(at, class, dataset)?;
        self.validate_pin(at, class, dataset)?;
        let begins = class.start_s.is_finite() && class.start_s >= 0.0 && class.start_s < self.window.measure_s;
        check(begins, format!("{at}.start_s"), class.start_s, "use a second inside the window")
    }

    fn validate_pin(&self, at: &str, class: &Class, dataset: &Dataset) -> Result<(), JobError> {
        let Some(pin) = &class.pin else { return Ok(()) };
        if let Some((seen, fix)) = pin.problem() {
            return wrong(format!("{at}.pin"), seen, fix);
        }
        let twin = self.target_of(dataset).is_some_and(|target| target.kind == TargetKind::Twin);
        check(!twin, format!("{at}.pin"), "a twin", "leave pin out: a twin's host has no CPUs to keep to")
    }

    fn validate_sizes(&self, at: &str, class: &Class, dataset: &Dataset) -> Result<(), JobError> {
        let (smallest, largest) = extremes(&class.size);
        let sizes = smallest >= 1 && largest <= SIZE_AT_MOST;
        check(sizes, format!("{at}.size"), format!("{smallest} to {largest} bytes"), "use 1 byte to 64 MiB")?;
        let weights = match &class.size {
            Sizes::One(_) => true,
            Sizes::Mix(shares) => !shares.is_empty() && shares.iter().all(|share| share.weight >= 1),
        };
        check(weights, format!("{at}.size"), "a weight of 0 or no size", "give every size a weight of at least 1")?;
        let fits = dataset.bytes >= largest;
        check(fits, format!("{at}.size"), largest, "use a size that fits into the data set")?;
        let Some(target) = self.target_of(dataset) else { return Ok(()) };
        let stripe = self.stripe_bytes(dataset);
        let whole = match &class.size {
            Sizes::One(bytes) => stripe % bytes == 0,
            Sizes::Mix(shares) => shares.iter().all(|share| share.bytes % smallest == 0 && stripe % share.bytes == 0),
        };
        let fits = target.members.len() <= 1 || whole;
        check(fits, format!("{at}.size"), largest, "use sizes that divide the data set's stripe_bytes")
    }

    /// A file that grows has one writer: another would find it emptied beneath it.
    fn validate_growth(&self, at: &str, class: &Class, dataset: &Dataset) -> Result<(), JobError> {
        if dataset.layout != Layout::Grow {
            return Ok(());
        }
        let alone = class.threads <= dataset.files;
        check(alone, format!("{at}.threads"), class.threads, "give every thread a growing file of its own (files)")?;
        let users = self.classes.iter().filter(|other| other.dataset == class.dataset).count();
        check(users == 1, format!("{at}.dataset"), users, "give every class a growing data set of its own")
    }

    fn validate_checks(&self, at: &str, class: &Class, dataset: &Dataset) -> Result<(), JobError> {
        let wanted = self.checks.data || self.checks.acknowledgements.is_some();
        let stamped = !wanted || dataset.content == Content::Stamped;
        check(stamped, format!("{at}.dataset"), "not stamped", "use content stamped for checks")?;
        let (smallest, largest) = extremes(&class.size);
        let block = self.block_bytes(dataset);
        let room = !wanted || (smallest >= 64 && largest % block == 0 && smallest % block == 0);
        check(room, format!("{at}.size"), smallest, "use sizes of at least 64 bytes that are multiples of each other")?;
        let each = self.checks.acknowledgements.is_none() || class.durability.every == 1;
        check(each, format!("{at}.durability.every"), class.durability.every, "acknowledge every write: use 1")
    }
}

#[derive(serde::Deserialize)]
struct VersionOnly {
    version: u32,
}

fn validate_target(at: &str, target: &Target) -> Result<(), JobError> {
    let twin = target.kind == TargetKind::Twin;
    check(
        twin == target.twin.is_some(),
        format!("{at}.twin"),
        target.twin.is_some(),
        "give a twin to targets of kind twin, and only to them",
    )?;
    check(!twin || target.members.is_empty(), format!("{at}.members"), target.members.len(), "a twin has no members")?;
    let placeless = matches!(target.kind, TargetKind::Null | TargetKind::Memory | TargetKind::Twin);
    let members = target.members.len();
    let count = placeless || (1..=MEMBERS_AT_MOST).contains(&members);
    check(count, format!("{at}.members"), members, "name 1 to 64 members")?;
    let absolute = target.members.iter().all(|member| member.starts_with('/') && !member.contains('\0'));
    check(absolute, format!("{at}.members"), target.members.join(", "), "use absolute paths")?;
    let serials = target.serials.is_empty() || target.serials.len() == members;
    check(serials, format!("{at}.serials"), target.serials.len(), "name one serial number per member")
}

/// Smallest and largest size, bytes.
fn extremes(sizes: &Sizes) -> (u64, u64) {
    match sizes {
        Sizes::One(bytes) => (*bytes, *bytes),
        Sizes::Mix(shares) => {
            let all = || shares.iter().map(|share| share.bytes);
            (all().min().unwrap_or(0), all().max().unwrap_or(0))
        }
    }
}

fn unique<'a>(field: &str, names: impl Iterator<Item = &'a str>) -> Result<(), JobError> {
    let mut seen = HashSet::new();
    for name in names {
        check(!name.is_empty(), field, "an empty name", "name it")?;
        check(seen.insert(name), field, name, "use each name once")?;
    }
    Ok(())
}

/// A name that can stand in a file name and cannot leave its folder.
fn file_name(field: &str, name: &str) -> Result<(), JobError> {
    let plain = !name.is_empty()
        && name.len() <= 100
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_'));
    check(plain, field, name, "use up to 100 letters, digits, '-' and '_'")
}

pub(crate) fn check(good: bool, field: impl Into<String>, seen: impl ToString, fix: &str) -> Result<(), JobError> {
    if good { Ok(()) } else { wrong(field, seen, fix) }
}

pub(crate) fn wrong(field: impl Into<String>, seen: impl ToString, fix: &str) -> Result<(), JobError> {
    Err(JobError::Field { field: field.into(), seen: seen.to_string(), fix: fix.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Value, json};

    fn good() -> Value {
        json!({
            "version": 1, "name": "cell", "seed": 1, "scratch": "s",
            "targets": [{"id": "t", "kind": "folder", "members": ["/srv/a", "/srv/b"]}],
            "datasets": [{"name": "data", "target": "t", "bytes": 1_048_576}],
            "classes": [{
                "name": "scan", "dataset": "data", "path": {"kind": "pread"}, "operation": {"kind": "read"},
                "pattern": {"kind": "uniform"}, "size": 4096
            }],
            "window": {"measure_s": 1.0}
        })
    }

    #[test]
    fn a_good_job_is_taken() {
        let job = Job::parse(&good().to_string()).unwrap();
        assert_eq!(job.stripe_bytes(&job.datasets[0]), 4096);
        assert_eq!(job.scratch, "s");
    }

    #[test]
    fn each_defect_is_named() {
        let defects: [(&str, Value, &str); 13] = [
            ("/classes/0/dataset", json!("nope"), "classes[0].dataset"),
            ("/classes/0/size", json!(0), "classes[0].size"),
            ("/classes/0/size", json!(1_000_000_000), "classes[0].size"),
            ("/classes/0/size", json!(3000), "datasets[0].bytes"),
            ("/datasets/0/target", json!("nope"), "datasets[0].target"),
            ("/scratch", json!("../evil"), "scratch"),
            ("/targets/0/members", json!(["relative"]), "targets[0].members"),
            ("/targets/0/members", json!([]), "targets[0].members"),
            ("/window/measure_s", json!(0), "window.measure_s"),
            ("/window/measure_s", json!(1e300), "window.measure_s"),
            ("/classes/0/pattern", json!({"kind": "zipf", "theta": -1.0}), "classes[0].pattern.theta"),
            (
                "/classes/0/path",
                json!({"kind": "nvme_polled", "poll_sleep_us": 2_000_000}),
                "classes[0].path.poll_sleep_us",
            ),
            ("/datasets/0/layout", json!("grow"), "classes[0].dataset"),
        ];
        for (pointer, value, field) in defects {
            let mut job = good();
            if let Some(place) = job.pointer_mut(pointer) {
                *place = value.clone();
            } else {
                job["datasets"][0]["layout"] = value.clone();
            }
            match Job::parse(&job.to_string()) {
                Err(JobError::Field { field: seen, .. }) => assert_eq!(seen, field, "{pointer} = {value}"),
                other => panic!("{pointer} = {value}: {other:?}"),
            }
        }
    }

    #[test]
    fn a_growing_file_has_one_writer() {
        let mut job = good();
        job["datasets"][0]["layout"] = json!("grow");
        job["classes"][0]["operation"] = json!({"kind": "write"});
        job["classes"][0]["pattern"] = json!({"kind": "sequential"});
        assert!(Job::parse(&job.to_string()).is_ok());
        job["classes"][0]["threads"] = json!(2);
        let message = Job::parse(&job.to_string()).unwrap_err().to_string();
        assert!(message.contains("classes[0].threads"), "{message}");
        job["datasets"][0]["files"] = json!(2);
        assert!(Job::parse(&job.to_string()).is_ok());
        let mut second = job["classes"][0].clone();
        second["name"] = json!("second");
        job["classes"].as_array_mut().unwrap().push(second);
        let message = Job::parse(&job.to_string()).unwrap_err().to_string();
        assert!(message.contains("classes[0].dataset"), "{message}");
    }

    #[test]
    fn a_twin_knows_no_moment_of_this_machine() {
        let mut job = good();
        job["start_monotonic_ns"] = json!(5);
        assert!(Job::parse(&job.to_string()).is_ok());
        job["targets"] = json!([{"id": "t", "kind": "null", "members": []}]);
        assert!(Job::parse(&job.to_string()).is_ok());
        let mut read: Job = serde_json::from_value(job).unwrap();
        read.targets[0].kind = TargetKind::Twin;
        let message = read.validate().unwrap_err().to_string();
        assert!(message.contains("start_monotonic_ns"), "{message}");
    }

    #[test]
    fn another_version_is_named() {
        let mut job = good();
        job["version"] = json!(99);
        assert_eq!(Job::parse(&job.to_string()), Err(JobError::Version { seen: 99, wanted: 1 }));
    }

    #[test]
    fn an_unknown_field_is_refused() {
        let mut job = good();
        job["classes"][0]["dept"] = json!(3);
        let message = Job::parse(&job.to_string()).unwrap_err().to_string();
        assert!(message.contains("dept"), "{message}");
    }

    proptest! {
        #[test]
        fn garbage_never_panics(text in ".{0,200}") {
            let _ = Job::parse(&text);
        }

        #[test]
        fn any_json_in_any_field_never_panics(pick in 0usize..8, number: i64, text in "\\PC{0,20}") {
            let pointers = ["/seed", "/targets", "/datasets/0/bytes", "/classes/0/size", "/classes/0/threads",
                "/window/measure_s", "/classes/0/pattern", "/version"];
            for value in [json!(number), json!(text), json!([number]), json!(null)] {
                let mut job = good();
                if let Some(place) = job.pointer_mut(pointers[pick]) { *place = value; }
                let _ = Job::parse(&job.to_string());
            }
        }
    }
}
