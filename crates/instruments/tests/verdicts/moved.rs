//! Rules on the bytes and requests of a device: others', and those that differ from what was asked for.

use assay_instruments::verdict::Beneath;

use super::*;

const FOREIGN: ReasonCode = ReasonCode::ForeignLoad;
const DIFFER: ReasonCode = ReasonCode::DeviceBytesDiffer;

fn mebibytes(count: u64) -> f64 {
    (count * MIB) as f64
}

/// A device that moved so much in four seconds, with requests of which none need be others'.
fn moved(read: f64, written: f64, own: OwnTraffic) -> Verdict {
    judged(move |run, _| {
        let device = &mut run.devices[0];
        (device.counters.read_bytes.value, device.counters.written_bytes.value) = (read, written);
        device.own = Some(own);
    })
}

#[test]
fn bytes_of_others_are_those_beyond_ours_and_our_journals() {
    let own = OwnTraffic { read_bytes: 100 * MIB, written_bytes: 60 * MIB, flushes: 32, read_requests_at_most: None };
    let evidence = "of the 206 MiB that vda moved, 30 MiB read and 10 MiB written were not ours; it was busy 97 % of the \
        window";
    let numbers = [
        ("foreign_read_bytes", mebibytes(30)),
        ("foreign_written_bytes", mebibytes(10)),
        ("foreign_read_requests", 0.0),
        ("device_bytes", mebibytes(206)),
        ("utilisation", 0.97),
    ];
    // 4 MiB of metadata in any case, and 32 times 64 KiB of journal.
    told(&moved(mebibytes(130), mebibytes(76), own), FOREIGN, evidence, &numbers);
}

#[test]
fn others_may_move_a_tenth_and_a_mebibyte_a_second() {
    let reads = |own: u64, all: f64| moved(all, 0.0, OwnTraffic { read_bytes: own * MIB, ..OwnTraffic::default() });
    expect(&reads(180, mebibytes(200)), FOREIGN, None);
    expect(&reads(180, mebibytes(200) + 4096.0), FOREIGN, SUSPECT);
    expect(&reads(26, mebibytes(30)), FOREIGN, None);
    expect(&reads(26, mebibytes(30) + 1.0), FOREIGN, SUSPECT);
}

#[test]
fn others_may_make_a_tenth_of_the_requests_and_a_hundred_a_second() {
    let requests = |own, reads: f64, writes: f64| {
        judged(move |run, _| {
            let device = &mut run.devices[0];
            (device.counters.reads.value, device.counters.writes.value) = (reads, writes);
            let (read_bytes, written_bytes) = (1 << 40, 1 << 40);
            let read_requests_at_most = Some(own);
            device.own = Some(OwnTraffic { read_bytes, written_bytes, flushes: 0, read_requests_at_most });
        })
    };
    let evidence = "501 of vda's 4000 read requests were not ours, 125/s; it was busy 97 % of the window";
    let numbers = [
        ("foreign_read_bytes", 0.0),
        ("foreign_written_bytes", 0.0),
        ("foreign_read_requests", 501.0),
        ("device_bytes", 240_000.0 * 4096.0 + 300_000.0 + mebibytes(2)),
        ("utilisation", 0.97),
    ];
    told(&requests(3499, 4000.0, 1000.0), FOREIGN, evidence, &numbers);
    expect(&requests(3500, 4000.0, 1000.0), FOREIGN, None);
    expect(&requests(1100, 1500.0, 500.0), FOREIGN, None);
    expect(&requests(1099, 1500.0, 500.0), FOREIGN, SUSPECT);
}

/// Direct reads of so many bytes, of which the kernel counts others for the process and the device.
fn read(asked: u64, counted: u64, on_device: u64) -> Verdict {
    judged(move |run, class| {
        (class.read_bytes, class.device_read_bytes) = (asked, Some(counted));
        run.devices[0].counters.read_bytes.value = on_device as f64;
    })
}

#[test]
fn more_direct_reads_than_were_asked_for_are_told() {
    let evidence = "the kernel counts 150 MiB read for it and 100 MiB were asked for, 150 % of that";
    let numbers = [("device_bytes", mebibytes(150)), ("asked_bytes", mebibytes(100))];
    told(&read(100 * MIB, 150 * MIB, 999 * MIB), DIFFER, evidence, &numbers);
    // What the process counted twice did not move.
    told(&read(100 * MIB, 999 * MIB, 150 * MIB), DIFFER, evidence, &numbers);
    expect(&read(100 * MIB, 110 * MIB, 999 * MIB), DIFFER, None);
    expect(&read(100 * MIB, 110 * MIB + 1, 999 * MIB), DIFFER, SUSPECT);
    expect(&read(4 * MIB, 5 * MIB - 1, 999 * MIB), DIFFER, None);
    expect(&read(4 * MIB, 5 * MIB, 999 * MIB), DIFFER, SUSPECT);
    let writes = judged(|_, class| {
        (class.reads, class.read_bytes, class.device_read_bytes) = (0, 0, Some(2 * MIB));
    });
    expect(&writes, DIFFER, None);
}

#[test]
fn the_devices_of_a_class_count_together_and_others_do_not() {
    let on = |devices: &[&str]| {
        let devices: Vec<String> = devices.iter().map(|one| (*one).to_owned()).collect();
        judged(move |run, class| {
            (class.read_bytes, class.device_read_bytes) = (100 * MIB, Some(999 * MIB));
            let mut second = run.devices[0].clone();
            second.counters.device = "vdb".to_owned();
            for (device, count) in run.devices.iter_mut().chain([&mut second]).zip([60, 90]) {
                device.counters.read_bytes.value = mebibytes(count);
            }
            run.devices.push(second);
            class.devices = devices;
        })
    };
    let counted = |verdict: &Verdict| {
        let found = verdict.reasons.iter().find(|reason| reason.code == DIFFER);
        found.map(|reason| reason.numbers["device_bytes"])
    };
    assert_eq!(counted(&on(&["vda", "vdb"])), Some(mebibytes(150)));
    assert_eq!(counted(&on(&["vdb"])), None, "no more than was asked for");
    assert_eq!(counted(&on(&[])), Some(mebibytes(999)), "no device is known");
}

/// Direct writes of so many bytes, of which the kernel counts others for the process and at least as many for the device.
fn wrote(asked: u64, counted: u64, layout: Layout) -> Verdict {
    judged(move |run, class| {
        (class.writes, class.written_bytes, class.layout) = (class.reads, asked, layout);
        (class.reads, class.read_bytes, class.device_read_bytes) = (0, 0, Some(0));
        class.device_written_bytes = Some(counted);
        run.devices[0].counters.written_bytes.value = counted.max(asked) as f64;
    })
}

#[test]
fn direct_writes_that_differ_are_told() {
    let evidence = "the kernel counts 5 MiB written for it and 4 MiB were asked for, 125 % of that";
    let numbers = [("device_bytes", mebibytes(5)), ("asked_bytes", mebibytes(4))];
    told(&wrote(4 * MIB, 5 * MIB, Layout::Written), DIFFER, evidence, &numbers);
    expect(&wrote(4 * MIB, 5 * MIB - 1, Layout::Written), DIFFER, None);
    expect(&wrote(4 * MIB, 3 * MIB, Layout::Written), DIFFER, SUSPECT);
    expect(&wrote(4 * MIB, 3 * MIB + 1, Layout::Written), DIFFER, None);
    expect(&wrote(100 * MIB, 109 * MIB, Layout::Written), DIFFER, None);
    expect(&wrote(100 * MIB, 111 * MIB, Layout::Written), DIFFER, SUSPECT);
    for layout in [Layout::Grow, Layout::Preallocated] {
        expect(&wrote(4 * MIB, 9 * MIB, layout), DIFFER, None);
        expect(&wrote(4 * MIB, 2 * MIB, layout), DIFFER, SUSPECT);
    }
    let reads = judged(|_, class| class.device_written_bytes = Some(999 * MIB));
    expect(&reads, DIFFER, None);
}

#[test]
fn read_ahead_is_noted_from_half_as_much_again_on() {
    let ahead = |asked, counted| {
        judge(&changed(cold(), |_, class| (class.read_bytes, class.device_read_bytes) = (asked, Some(counted))))
    };
    let evidence = "the kernel counts 7 MiB read for it and 4 MiB were asked for, 175 % of that";
    told(&ahead(4 * MIB, 7 * MIB), DIFFER, evidence, &[("device_bytes", mebibytes(7)), ("asked_bytes", mebibytes(4))]);
    expect(&ahead(4 * MIB, 6 * MIB), DIFFER, None);
    expect(&ahead(4 * MIB, 6 * MIB + 1), DIFFER, NOTE);
    expect(&ahead(MIB / 2, MIB * 3 / 2 - 1), DIFFER, None);
    expect(&ahead(MIB / 2, MIB * 3 / 2), DIFFER, NOTE);
    let writes = judge(&changed(cold(), |_, class| {
        (class.reads, class.read_bytes, class.device_read_bytes) = (0, 0, Some(9 * MIB));
    }));
    expect(&writes, DIFFER, None);
    let passed_by = judged(|_, class| {
        class.path = PathSpec::plain(PathKind::NvmePassthrough);
        class.device_read_bytes = Some(class.read_bytes * 9);
    });
    expect(&passed_by, DIFFER, None);
}

/// Buffered writes of so many bytes that nothing made durable, and what the device received.
fn buffered(asked: u64, on_device: u64, change: impl FnOnce(&mut RunObservation, &mut ClassObservation)) -> Verdict {
    judge(&changed(cold(), |run, class| {
        (class.reads, class.read_bytes, class.device_read_bytes) = (0, 0, None);
        (class.writes, class.written_bytes) = (10_000, asked);
        run.devices[0].counters.written_bytes.value = on_device as f64;
        change(run, class);
    }))
}

#[test]
fn writes_of_which_less_than_half_left_memory_are_told() {
    let evidence = "100 MiB were written and the device received 49 MiB in the window: the rest lies in the page cache, and \
        a crash would lose it";
    let numbers = [("asked_bytes", mebibytes(100)), ("device_bytes", mebibytes(49))];
    told(&buffered(100 * MIB, 49 * MIB, |_, _| ()), DIFFER, evidence, &numbers);
    let beneath = |_: &mut RunObservation, class: &mut ClassObservation| {
        class.beneath = Some(Beneath { read_bytes: 0.0, written_bytes: mebibytes(49) });
    };
    told(&buffered(100 * MIB, 100 * MIB, beneath), DIFFER, evidence, &numbers);
    expect(&buffered(100 * MIB, 50 * MIB, |_, _| ()), DIFFER, None);
    expect(&buffered(MIB, 0, |_, _| ()), DIFFER, SUSPECT);
    expect(&buffered(MIB - 1, 0, |_, _| ()), DIFFER, None);
    expect(&buffered(100 * MIB, 0, |_, class| class.flushes = 1), DIFFER, None);
    expect(&buffered(100 * MIB, 0, |_, class| class.devices = Vec::new()), DIFFER, None);
}
