//! What block devices did: `/sys/block/*/stat`.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use assay_record::{DeviceCounters, Figure, Method, Unit};

use super::{
    roots::Roots,
    volume::{VolumeSample, Volumes},
};
use crate::environment::own_provenance;

const SECTOR: u32 = 512;
/// Fields that every kernel since 2.6 has; the discard and flush fields came later.
const FIELDS_AT_LEAST: usize = 11;

/// The counters of one device, since it appeared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceStat {
    /// Read requests completed.
    pub reads: u64,
    /// Sectors of 512 bytes read.
    pub read_sectors: u64,
    /// Write requests completed.
    pub writes: u64,
    /// Sectors of 512 bytes written.
    pub written_sectors: u64,
    /// Milliseconds in which at least one request was in flight.
    pub busy_ms: u64,
    /// Milliseconds times requests in flight.
    pub weighted_ms: u64,
    /// Flush requests completed; none before kernel 5.5.
    pub flushes: Option<u64>,
}

/// Parses a `stat` file; none where it has too few numbers.
pub fn parse_device_stat(text: &str) -> Option<DeviceStat> {
    let fields = text.split_ascii_whitespace().map(str::parse).collect::<Result<Vec<u64>, _>>().ok()?;
    if fields.len() < FIELDS_AT_LEAST {
        return None;
    }
    Some(DeviceStat {
        reads: fields[0],
        read_sectors: fields[2],
        writes: fields[4],
        written_sectors: fields[6],
        busy_ms: fields[9],
        weighted_ms: fields[10],
        flushes: fields.get(15).copied(),
    })
}

/// Samples the counters of some devices.
#[derive(Clone, Debug)]
pub struct DeviceSampler {
    devices: Vec<(String, PathBuf)>,
    volumes: Volumes,
}

/// Counters of the devices at one moment.
#[derive(Clone, Debug)]
pub struct DeviceSample {
    at: Instant,
    stats: Vec<(String, Option<DeviceStat>)>,
    volumes: VolumeSample,
}

impl DeviceSampler {
    /// For devices by kernel name (`nvme0n1`, `sda1`); doubles are dropped.
    pub fn new(names: impl IntoIterator<Item = String>) -> Self {
        Self::with_roots(names, &Roots::default())
    }

    /// The same, with the kernel's file systems elsewhere.
    pub fn with_roots(names: impl IntoIterator<Item = String>, roots: &Roots) -> Self {
        let mut names: Vec<String> = names.into_iter().filter(|name| is_name(name)).collect();
        names.sort();
        names.dedup();
        // `/sys/class/block` has disks and partitions, `/sys/block` only disks.
        let stat = |name: &str| {
            let class = roots.sys.join("class/block").join(name).join("stat");
            if class.exists() { class } else { roots.sys.join("block").join(name).join("stat") }
        };
        let volumes = Volumes::among(&names, roots);
        Self { devices: names.into_iter().map(|name| (name.clone(), stat(&name))).collect(), volumes }
    }

    /// Reads all of them. A device that has vanished is left out of the differences.
    pub fn sample(&self) -> DeviceSample {
        let read = |path: &Path| parse_device_stat(&fs::read_to_string(path).ok()?);
        DeviceSample {
            at: Instant::now(),
            stats: self.devices.iter().map(|(name, path)| (name.clone(), read(path))).collect(),
            volumes: self.volumes.sample(),
        }
    }
}

impl DeviceSample {
    /// What the devices did from this sample to `later`.
    pub fn until(&self, later: &Self) -> Vec<DeviceCounters> {
        let seconds = later.at.duration_since(self.at).as_secs_f64();
        let pairs = self.stats.iter().filter_map(|(name, before)| {
            let after = later.stats.iter().find(|(other, _)| other == name)?.1?;
            Some((name, (*before)?, after))
        });
        let counted = pairs.map(|(name, before, after)| DeviceCounters {
            held_up: self.volumes.held_up(&later.volumes, name),
            ..difference(name, before, after, seconds)
        });
        counted.collect()
    }
}

fn difference(name: &str, before: DeviceStat, after: DeviceStat, seconds: f64) -> DeviceCounters {
    let figure = |value: f64, unit| Figure::new(value, unit, own_provenance(), Method::KernelAccounting);
    let count = |before: u64, after: u64| figure(grown(before, after) as f64, Unit::Count);
    let bytes = |before: u64, after: u64| figure(grown(before, after) as f64 * f64::from(SECTOR), Unit::Bytes);
    let per_window = |ms: u64| if seconds > 0.0 { ms as f64 * 1e-3 / seconds } else { 0.0 };
    DeviceCounters {
        device: name.to_owned(),
        read_bytes: bytes(before.read_sectors, after.read_sectors),
        written_bytes: bytes(before.written_sectors, after.written_sectors),
        reads: count(before.reads, after.reads),
        writes: count(before.writes, after.writes),
        flushes: count(before.flushes.unwrap_or(0), after.flushes.unwrap_or(0)),
        mean_in_flight: figure(per_window(grown(before.weighted_ms, after.weighted_ms)), Unit::Count),
        // The kernel counts in ticks, so a short window may show a little more than all of it.
        utilisation: figure(per_window(grown(before.busy_ms, after.busy_ms)).min(1.0), Unit::Ratio),
        held_up: BTreeMap::new(),
    }
}

/// Growth of a counter. Some of the kernel's counters are 32 bits wide even on 64-bit machines (`busy_ms` until 5.x);
/// one that went back, by a wrap or because the device came anew, counts as zero rather than as 2^64.
fn grown(before: u64, after: u64) -> u64 {
    const WRAP: u64 = 1 << 32;
    if after >= before {
        after - before
    } else if before < WRAP && before - after > WRAP / 2 {
        WRAP - before + after
    } else {
        0
    }
}

/// A device name is one path component.
fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains('/') && name != "." && name != ".."
}

/// Whether a loop device hands its requests to the page cache of a file: then even direct I/O on it can be served from
/// memory. Gives the backing file; none for other devices, and for loop devices with direct I/O.
pub fn loop_through_page_cache(device: &str, roots: &Roots) -> Option<String> {
    if !is_name(device) {
        return None;
    }
    let folder = roots.sys.join("block").join(device).join("loop");
    let direct = fs::read_to_string(folder.join("dio")).ok()?;
    let backing = fs::read_to_string(folder.join("backing_file")).ok()?;
    (direct.trim() == "0").then(|| backing.trim().to_owned())
}

/// Sum of the mean requests in flight of the named devices.
pub fn in_flight_device(counters: &[DeviceCounters], names: &[String]) -> Option<f64> {
    let ours: Vec<f64> =
        counters.iter().filter(|one| names.contains(&one.device)).map(|one| one.mean_in_flight.value).collect();
    if ours.is_empty() { None } else { Some(ours.iter().sum()) }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;

    use super::*;

    const VDA: &str = "  926229    12211 15007906   236748    31153    21499  8187704     9668        0    39728   \
                       247691     9698       55  5104504     1119     3876      154\n";

    #[test]
    fn all_seventeen_fields_are_in_their_places() {
        let stat = parse_device_stat(VDA).expect("a stat line of Linux 6.18");
        assert_eq!((stat.reads, stat.read_sectors), (926_229, 15_007_906));
        assert_eq!((stat.writes, stat.written_sectors), (31_153, 8_187_704));
        assert_eq!((stat.busy_ms, stat.weighted_ms, stat.flushes), (39_728, 247_691, Some(3876)));
        assert_eq!(parse_device_stat("1 2 3 4 5 6 7 8 9 10 11").and_then(|stat| stat.flushes), None);
    }

    #[test]
    fn a_difference_gives_bytes_depth_and_utilisation() {
        let before = DeviceStat::default();
        let after = DeviceStat {
            reads: 1000,
            read_sectors: 8000,
            busy_ms: 1000,
            weighted_ms: 16_000,
            flushes: Some(5),
            ..before
        };
        let seen = difference("x", before, after, 2.0);
        assert_eq!((seen.read_bytes.value, seen.reads.value, seen.flushes.value), (4_096_000.0, 1000.0, 5.0));
        assert_eq!((seen.mean_in_flight.value, seen.utilisation.value), (8.0, 0.5));
    }

    #[test]
    fn a_counter_of_32_bits_wraps_and_a_device_that_came_anew_counts_as_zero() {
        assert_eq!(grown((1 << 32) - 10, 5), 15);
        assert_eq!(grown(1_000_000, 5), 0);
        assert_eq!(grown(1 << 40, 5), 0);
    }

    #[test]
    fn samples_come_from_the_root_given_and_a_vanished_device_is_left_out() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let roots = Roots { sys: folder.path().to_owned(), ..Roots::default() };
        for device in ["vda", "vdb"] {
            fs::create_dir_all(folder.path().join("block").join(device)).expect("made");
            fs::write(folder.path().join("block").join(device).join("stat"), VDA).expect("written");
        }
        let names = ["vdb", "vda", "vda", "../etc", ""].map(str::to_owned);
        let sampler = DeviceSampler::with_roots(names, &roots);
        let before = sampler.sample();
        fs::remove_dir_all(folder.path().join("block/vdb")).expect("removed");
        std::thread::sleep(Duration::from_millis(1));
        let seen = before.until(&sampler.sample());
        assert_eq!(seen.iter().map(|one| one.device.as_str()).collect::<Vec<_>>(), ["vda"]);
        assert_eq!(seen[0].read_bytes.value, 0.0);
    }

    #[test]
    fn a_loop_device_without_direct_io_is_known() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let roots = Roots { sys: folder.path().to_owned(), ..Roots::default() };
        let device = folder.path().join("block/loop0/loop");
        fs::create_dir_all(&device).expect("made");
        fs::write(device.join("backing_file"), "/data/image\n").expect("written");
        fs::write(device.join("dio"), "0\n").expect("written");
        assert_eq!(loop_through_page_cache("loop0", &roots).as_deref(), Some("/data/image"));
        fs::write(device.join("dio"), "1\n").expect("written");
        assert_eq!(loop_through_page_cache("loop0", &roots), None);
        assert_eq!(loop_through_page_cache("vda", &roots), None);
    }

    proptest! {
        #[test]
        fn garbage_does_not_panic(text in "\\PC{0,200}", numbers in "[0-9 -]{0,300}") {
            let _ = (parse_device_stat(&text), parse_device_stat(&numbers));
        }

        #[test]
        fn differences_are_finite(a in any::<[u64; 6]>(), b in any::<[u64; 6]>(), seconds in 0.0..10.0_f64) {
            let stat = |x: [u64; 6]| DeviceStat {
                reads: x[0], read_sectors: x[1] >> 10, writes: x[2], written_sectors: x[3] >> 10, busy_ms: x[4],
                weighted_ms: x[5], flushes: Some(x[0]),
            };
            let seen = difference("x", stat(a), stat(b), seconds);
            prop_assert!(seen.read_bytes.value.is_finite() && seen.mean_in_flight.value.is_finite());
            prop_assert!((0.0..=1.0).contains(&seen.utilisation.value));
        }
    }
}
