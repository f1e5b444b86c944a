//! Rules on what lies beneath a target, on limits that somebody has set, and on heat.

use assay_instruments::{
    counters::{HeatUse, LimitUse},
    verdict::Beneath,
};
use assay_record::{Layer, LayerDoes, LayerEffect, SetLimit};

use super::*;

fn serves(by: &str) -> Vec<LayerEffect> {
    vec![LayerEffect { does: LayerDoes::Serves, reads: true, writes: true, by: by.to_owned() }]
}

fn layer(name: &str, kind: &str, detail: &str, effects: Vec<LayerEffect>) -> Layer {
    Layer { name: name.to_owned(), kind: kind.to_owned(), detail: detail.to_owned(), effects }
}

/// A loop device without direct I/O.
pub fn cached_loop() -> Layer {
    layer("loop0", "loop", "/data/image", serves("the page cache of its file"))
}

/// 90.9 MB are read from a loop device and 2.6 MB move beneath it: the account of the class's threads is that of the loop
/// device, which the kernel asked for all of them.
#[test]
fn what_a_loop_device_served_is_told_by_the_disk_beneath() {
    let read = |moved: f64| {
        judged(move |_, class| {
            class.layers = vec![cached_loop()];
            class.beneath = Some(Beneath { read_bytes: moved * class.read_bytes as f64, written_bytes: 0.0 });
        })
    };
    expect(&read(0.03), ReasonCode::PageCacheServed, INVALID);
    expect(&read(0.9), ReasonCode::PageCacheServed, SUSPECT);
    expect(&read(1.0), ReasonCode::PageCacheServed, SUSPECT);
    let direct = judged(|_, class| {
        class.layers = vec![layer("loop0", "loop", "/data/image", Vec::new())];
        class.beneath = Some(Beneath::default());
    });
    expect(&direct, ReasonCode::PageCacheServed, None);
}

#[test]
fn nobody_knows_where_a_file_system_that_a_program_plays_has_its_bytes_from() {
    let read = |kind: &str, devices: &[&str]| {
        let (kind, devices) = (kind.to_owned(), devices.iter().map(|one| (*one).to_owned()).collect());
        judged(move |_, class| {
            (class.file_system, class.devices, class.device_read_bytes) = (Some(kind), devices, None);
        })
    };
    expect(&read("fuse.sshfs", &[]), ReasonCode::PageCacheServed, SUSPECT);
    expect(&read("fuseblk", &["vda"]), ReasonCode::PageCacheServed, None);
    expect(&read("ext4", &[]), ReasonCode::PageCacheServed, None);
}

fn written(durable: bool, moved: Option<f64>, layers: Vec<Layer>) -> Verdict {
    judged(move |_, class| {
        (class.writes, class.written_bytes) = (class.reads, class.read_bytes);
        (class.reads, class.read_bytes, class.device_read_bytes) = (0, 0, Some(0));
        class.device_written_bytes = Some(class.written_bytes);
        (class.durable, class.layers) = (durable, layers);
        class.beneath =
            moved.map(|moved| Beneath { read_bytes: 0.0, written_bytes: moved * class.written_bytes as f64 });
    })
}

#[test]
fn writes_that_a_loop_device_took_into_memory_are_named() {
    let looped = || vec![cached_loop()];
    expect(&written(false, Some(0.1), looped()), ReasonCode::MemoryBeneath, INVALID);
    expect(&written(false, Some(1.0), looped()), ReasonCode::MemoryBeneath, SUSPECT);
    expect(&written(false, None, looped()), ReasonCode::MemoryBeneath, SUSPECT);
    // Flushes go through to the disk.
    expect(&written(true, Some(1.0), looped()), ReasonCode::MemoryBeneath, None);
    expect(&written(true, Some(0.5), looped()), ReasonCode::MemoryBeneath, INVALID);
    // The cache of a drive is a part of the drive.
    let drive = layer("vda", "disk", "", serves("its write cache, until a flush"));
    expect(&written(false, Some(1.0), vec![drive]), ReasonCode::MemoryBeneath, None);
}

#[test]
fn a_device_that_is_memory_is_no_device() {
    let compressed = layer("zram0", "memory", "", serves("its blocks are memory"));
    let on_zram = judged(move |_, class| class.layers = vec![compressed]);
    expect(&on_zram, ReasonCode::MemoryBeneath, SUSPECT);
    // One thing has one reason.
    expect(&on_zram, ReasonCode::EmulatedTarget, None);
    let top = layer("/data", "file-system", "ext4", Vec::new());
    let image = layer("loop0", "loop", "/dev/shm/image", Vec::new());
    let shared = layer("/dev/shm", "file-system", "tmpfs", serves("its files are memory"));
    let all = vec![top, image, shared];
    expect(&judged(move |_, class| class.layers = all), ReasonCode::MemoryBeneath, SUSPECT);
}

fn limited(setting: &str, device: &str, value: f64, counted: u64) -> Verdict {
    let set = SetLimit {
        setting: setting.to_owned(),
        group: "/sys/fs/cgroup/x".to_owned(),
        device: device.to_owned(),
        value,
    };
    judged(move |run, _| run.limits = vec![LimitUse { set, counted }])
}

/// A cap of 1,000 operations/s gave 1,031/s and nothing named it. The window has four seconds.
#[test]
fn a_limit_that_was_met_is_named_and_one_that_was_not_is_silent() {
    expect(&limited("blkio.throttle.read_iops_device", "vda", 1000.0, 4124), ReasonCode::LimitMet, SUSPECT);
    expect(&limited("io.max rbps", "vda", 1e6, 4_000_000), ReasonCode::LimitMet, SUSPECT);
    expect(&limited("io.max riops", "vda", 1000.0, 3000), ReasonCode::LimitMet, None);
    expect(&limited("io.max riops", "vda", 0.0, 0), ReasonCode::LimitMet, None);
    expect(&limited("memory.high", "", 1e9, 12), ReasonCode::LimitMet, SUSPECT);
    expect(&limited("memory.max", "", 1e9, 12), ReasonCode::LimitMet, Some(Severity::Note));
    expect(&limited("memory.max", "", 1e9, 0), ReasonCode::LimitMet, None);
}

/// A cloud's volume that used up its burst credits: it tells how long more was asked for than it may serve.
#[test]
fn a_volume_that_was_asked_for_more_than_it_may_serve_is_named() {
    let held = |seconds: f64| {
        judged(move |run, _| {
            let of = |what: &str, seconds| (what.to_owned(), figure(seconds));
            run.devices[0].counters.held_up =
                [of("volume_operations_s", seconds), of("instance_bytes_s", 0.0)].into_iter().collect();
        })
    };
    expect(&held(3.5), ReasonCode::LimitMet, SUSPECT);
    expect(&held(0.01), ReasonCode::LimitMet, None);
}

#[test]
fn a_drive_that_is_too_hot_is_suspect_and_one_that_warms_up_is_worth_a_note() {
    let heat = |before_c, after_c| {
        let heat = HeatUse { device: "nvme0n1".to_owned(), before_c, after_c, limit_c: Some(81.85) };
        judged(move |run, _| run.heat = vec![heat])
    };
    expect(&heat(70.0, 82.0), ReasonCode::DeviceHot, SUSPECT);
    expect(&heat(40.0, 55.0), ReasonCode::DeviceHot, Some(Severity::Note));
    expect(&heat(40.0, 42.0), ReasonCode::DeviceHot, None);
}

/// Gigabytes a second of a disk that wrote nothing, and the record was valid.
#[test]
fn writes_that_stay_in_memory_are_no_figures_of_a_disk() {
    let lazy = |cache, beneath: Option<f64>| {
        judge(&changed(cold(), move |run, class| {
            run.cache = cache;
            (class.writes, class.written_bytes) = (class.reads, class.read_bytes);
            (class.reads, class.read_bytes, class.device_read_bytes) = (0, 0, Some(0));
            class.beneath = beneath.map(|written_bytes| Beneath { read_bytes: 0.0, written_bytes });
            if beneath.is_some() {
                run.devices[0].counters.written_bytes = figure(class.written_bytes as f64);
            }
        }))
    };
    expect(&lazy(Cache::AsFound, None), ReasonCode::DeviceBytesDiffer, SUSPECT);
    // Memory is what was asked for.
    expect(&lazy(Cache::Warm, None), ReasonCode::DeviceBytesDiffer, NOTE);
    // A loop device was given all of it, and the disk beneath nothing.
    expect(&lazy(Cache::AsFound, Some(0.0)), ReasonCode::DeviceBytesDiffer, SUSPECT);
    expect(&lazy(Cache::AsFound, Some(1e12)), ReasonCode::DeviceBytesDiffer, None);
}
