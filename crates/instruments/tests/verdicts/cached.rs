//! Rules on bytes that came from a cache and should not have, or did not and should have.

use assay_instruments::verdict::Beneath;

use super::*;

const SERVED: ReasonCode = ReasonCode::PageCacheServed;
const NOT_WARM: ReasonCode = ReasonCode::CacheNotWarm;
const SMALL: ReasonCode = ReasonCode::FileSmallerThanCaches;

/// 240,000 reads of a page.
const ASKED: f64 = 983_040_000.0;

fn cold_with(change: impl FnOnce(&mut RunObservation, &mut ClassObservation)) -> Verdict {
    judge(&changed(cold(), change))
}

/// So many reads of a page, of which the device delivered such a share.
fn some_reads(class: &mut ClassObservation, reads: u64, share: f64) {
    (class.reads, class.read_bytes) = (reads, reads * 4096);
    class.device_read_bytes = Some((class.read_bytes as f64 * share) as u64);
}

#[test]
fn bytes_that_no_device_delivered_are_counted() {
    let evidence = "703 MiB of the 938 MiB that its reads needed came from a device, so 25 % came from memory";
    let numbers = [
        ("served_share", 0.25),
        ("asked_bytes", ASKED),
        ("device_bytes", 737_280_000.0),
        ("resident_before_share", 0.0),
    ];
    told(&cold_with(|_, class| some_reads(class, 240_000, 0.75)), SERVED, evidence, &numbers);
    // Small reads at any place fetch a page each.
    let small = |class: &mut ClassObservation| {
        (class.read_bytes, class.device_read_bytes) = (class.reads * 128, Some(737_280_000));
    };
    let numbers = [("asked_bytes", 240_000.0 * 128.0), ("served_share", 0.25), numbers[2], numbers[3]];
    told(&cold_with(|_, class| small(class)), SERVED, evidence, &numbers);
    let direct = judged(|_, class| {
        class.read_bytes = class.reads * 512;
        class.device_read_bytes = Some(class.reads * 512);
    });
    expect(&direct, SERVED, None);
}

#[test]
fn a_share_of_what_was_read_counts_from_a_mebibyte_on() {
    for (reads, wanted) in [(256, INVALID), (255, None)] {
        expect(&cold_with(|_, class| some_reads(class, reads, 0.0)), SERVED, wanted);
        let resident = cold_with(|_, class| {
            some_reads(class, reads, 1.0);
            class.resident_before = Some(0.5);
        });
        expect(&resident, SERVED, wanted);
        let cool = cold_with(|run, class| {
            some_reads(class, reads, 1.0);
            (run.cache, class.resident_before) = (Cache::Warm, Some(1.0));
        });
        expect(&cool, NOT_WARM, wanted);
    }
}

#[test]
fn what_was_resident_counts_from_a_twentieth_on() {
    let resident = |share| cold_with(move |_, class| class.resident_before = Some(share));
    let evidence = "50 % of the data set was in the page cache when the window opened";
    let numbers = [
        ("served_share", 0.5),
        ("asked_bytes", ASKED),
        ("device_bytes", ASKED + 12_288.0),
        ("resident_before_share", 0.5),
    ];
    told(&resident(0.5), SERVED, evidence, &numbers);
    expect(&resident(0.05), SERVED, SUSPECT);
    expect(&resident(0.049), SERVED, None);
}

#[test]
fn of_two_signs_the_graver_is_told_and_the_account_where_they_agree() {
    let both = |account, resident| {
        let verdict = cold_with(move |_, class| {
            some_reads(class, 240_000, 1.0 - account);
            class.resident_before = Some(resident);
        });
        let found = verdict.reasons.into_iter().find(|reason| reason.code == SERVED).expect("served");
        (found.evidence.contains("came from a device"), found.numbers["served_share"])
    };
    assert_eq!(both(0.25, 0.5), (false, 0.5));
    assert_eq!(both(0.5, 0.25), (true, 0.5));
    assert_eq!(both(0.5, 0.5), (true, 0.5));
}

#[test]
fn only_reads_that_a_device_should_have_served_are_judged() {
    let served = |change: fn(&mut RunObservation, &mut ClassObservation)| {
        cold_with(move |run, class| {
            class.device_read_bytes = Some(0);
            change(run, class);
        })
    };
    expect(&served(|run, _| run.cache = Cache::Bypassed), SERVED, INVALID);
    expect(&served(|_, class| class.emulated = true), SERVED, None);
    expect(&served(|_, class| class.path = PathSpec::plain(PathKind::Pmem)), SERVED, None);
    let writes = judged(|_, class| {
        (class.reads, class.writes, class.read_bytes) = (0, class.reads, 0);
        class.layers = vec![cached_loop()];
    });
    expect(&writes, SERVED, None);
    let played = |path| {
        cold_with(move |_, class| {
            class.path = path;
            (class.device_read_bytes, class.file_system) = (None, Some("fuse.sshfs".to_owned()));
            class.devices = Vec::new();
        })
    };
    expect(&played(PathSpec::plain(PathKind::Pread)), SERVED, None);
    let evidence = "a program or another machine answers for a file system of type fuse.sshfs, so its memory may have \
        served any read: nothing here shows that one reached a device";
    let numbers = [("served_share", 0.05), ("asked_bytes", ASKED), ("resident_before_share", 0.0)];
    told(&played(PathSpec { direct: true, ..PathSpec::plain(PathKind::Pread) }), SERVED, evidence, &numbers);
}

/// Direct reads through a loop device that has the page cache of its file.
fn through_loop(reads: u64, moved: f64) -> Verdict {
    judged(move |_, class| {
        some_reads(class, reads, 1.0);
        class.layers = vec![cached_loop()];
        class.beneath = Some(Beneath { read_bytes: moved * class.read_bytes as f64, written_bytes: 0.0 });
    })
}

#[test]
fn what_a_layer_served_is_the_difference_to_what_moved_beneath() {
    let evidence =
        "938 MiB were read and the devices beneath loop0 moved 703 MiB: the page cache of its file served 25 %";
    let numbers = [
        ("served_share", 0.25),
        ("asked_bytes", ASKED),
        ("device_bytes", ASKED),
        ("beneath_bytes", 737_280_000.0),
        ("resident_before_share", 0.0),
    ];
    told(&through_loop(240_000, 0.75), SERVED, evidence, &numbers);
    let unknown = "loop0 reads through the page cache of its file, so memory may have served any read";
    let numbers = [("served_share", 0.05), numbers[1], numbers[2], ("beneath_bytes", ASKED), numbers[4]];
    told(&through_loop(240_000, 1.0), SERVED, unknown, &numbers);
    expect(&through_loop(256, 0.0), SERVED, INVALID);
    expect(&through_loop(255, 0.0), SERVED, SUSPECT);
    // A buffered read may be served by memory whatever lies beneath.
    let buffered = cold_with(|_, class| {
        class.layers = vec![cached_loop()];
        class.beneath = Some(Beneath { read_bytes: 1e9, written_bytes: 0.0 });
    });
    expect(&buffered, SERVED, None);
}

#[test]
fn warm_reads_that_reached_a_device_are_counted() {
    let warm = |device: f64, resident: f64| {
        cold_with(move |run, class| {
            some_reads(class, 240_000, device);
            (run.cache, class.resident_before) = (Cache::Warm, Some(resident));
        })
    };
    let by_device = "469 MiB came from a device while 938 MiB were read: 50 % of what should have been in memory";
    told(
        &warm(0.5, 0.75),
        NOT_WARM,
        by_device,
        &[("device_share", 0.5), ("absent_share", 0.25), ("asked_bytes", ASKED)],
    );
    told(&warm(0.5, 0.5), NOT_WARM, by_device, &[("device_share", 0.5), ("absent_share", 0.5), ("asked_bytes", ASKED)]);
    let absent = "60 % of the data set was not in the page cache when the window opened";
    told(&warm(0.5, 0.4), NOT_WARM, absent, &[("device_share", 0.5), ("absent_share", 0.6), ("asked_bytes", ASKED)]);
}

#[test]
fn only_buffered_reads_of_a_warm_cache_can_have_found_it_cool() {
    let cool = |change: fn(&mut RunObservation, &mut ClassObservation)| {
        cold_with(move |run, class| {
            (run.cache, class.resident_before) = (Cache::Warm, Some(0.0));
            change(run, class);
        })
    };
    expect(&cool(|_, _| ()), NOT_WARM, INVALID);
    expect(&cool(|run, _| run.cache = Cache::Cold), NOT_WARM, None);
    expect(&cool(|_, class| class.path.direct = true), NOT_WARM, None);
    expect(&cool(|_, class| (class.reads, class.writes) = (0, 1)), NOT_WARM, None);
    expect(&cool(|_, class| class.emulated = true), NOT_WARM, None);
}

/// A file of 64 MiB where the page cache may fill 4 GiB; the kernel does not say what the device delivered.
fn fitting(change: impl FnOnce(&mut RunObservation, &mut ClassObservation)) -> Verdict {
    cold_with(|run, class| {
        (run.cache, class.dataset_bytes, class.device_read_bytes) = (Cache::AsFound, 64 * MIB, None);
        change(run, class);
    })
}

#[test]
fn a_file_that_memory_can_hold_is_told_with_both_sizes() {
    let evidence = "the data set of 64 MiB fits into the 4 GiB of memory that the page cache may fill";
    let numbers = [("dataset_bytes", 64.0 * MIB as f64), ("memory_bytes", 4096.0 * MIB as f64)];
    told(&fitting(|_, _| ()), SMALL, evidence, &numbers);
    expect(&fitting(|run, _| run.memory_bytes = 64 * MIB), SMALL, None);
    expect(&fitting(|run, _| run.memory_bytes = 64 * MIB + 1), SMALL, SUSPECT);
    expect(&fitting(|run, _| run.memory_bytes = 0), SMALL, None);
    expect(&fitting(|run, _| run.cache = Cache::Warm), SMALL, None);
    expect(&fitting(|_, class| class.path = PathSpec::plain(PathKind::NvmePassthrough)), SMALL, None);
    expect(&fitting(|_, class| class.path = PathSpec::plain(PathKind::Null)), SMALL, None);
    expect(&fitting(|_, class| class.emulated = true), SMALL, None);
    expect(&fitting(|_, class| class.dataset_bytes = 0), SMALL, None);
    expect(&fitting(|_, class| (class.reads, class.writes) = (0, 1)), SMALL, None);
    expect(&fitting(|_, class| class.read_bytes = MIB), SMALL, SUSPECT);
    expect(&fitting(|_, class| class.read_bytes = MIB - 1), SMALL, None);
}

#[test]
fn a_working_set_of_less_than_twice_the_cpus_cache_is_told() {
    let stored = |dataset_bytes, llc_bytes| {
        judged(move |run, class| {
            (run.llc_bytes, class.dataset_bytes, class.target) = (llc_bytes, dataset_bytes, TargetKind::DeviceDax);
            class.path = PathSpec::plain(PathKind::Pmem);
        })
    };
    let evidence = "the data set of 16 MiB is less than twice the CPU's last-level cache of 32 MiB";
    let numbers = [("dataset_bytes", 16.0 * MIB as f64), ("llc_bytes", 32.0 * MIB as f64)];
    told(&stored(16 * MIB, 32 * MIB), SMALL, evidence, &numbers);
    expect(&stored(64 * MIB - 1, 32 * MIB), SMALL, SUSPECT);
    expect(&stored(64 * MIB, 32 * MIB), SMALL, None);
    expect(&stored(16 * MIB, 0), SMALL, None);
}

#[test]
fn a_data_set_that_any_drive_can_hold_is_told_where_it_was_read_again() {
    let small = |change: fn(&mut ClassObservation)| {
        judged(move |_, class| {
            (class.dataset_bytes, class.read_bytes) = (4 * MIB, 12 * MIB);
            change(class);
        })
    };
    let evidence = "the data set of 4 MiB was read 3 times over, and the memory inside of the drive or of its host can hold \
        all of it";
    let numbers = [("dataset_bytes", 4.0 * MIB as f64), ("read_bytes", 12.0 * MIB as f64)];
    told(&small(|_| ()), SMALL, evidence, &numbers);
    expect(&small(|class| class.read_bytes = 4 * MIB), SMALL, None);
    expect(&small(|class| (class.dataset_bytes, class.read_bytes) = (16 * MIB - 1, 16 * MIB)), SMALL, SUSPECT);
    expect(&small(|class| (class.dataset_bytes, class.read_bytes) = (16 * MIB, 99 * MIB)), SMALL, None);
    expect(&small(|class| class.dataset_bytes = 0), SMALL, None);
    expect(&small(|class| class.emulated = true), SMALL, None);
    expect(&small(|class| class.target = TargetKind::Null), SMALL, None);
    expect(&small(|class| class.path = PathSpec::plain(PathKind::NvmePassthrough)), SMALL, None);
}
