//! Rules on the data: written or not, right or wrong, alike, changed meanwhile. A data set of 512 MiB unless said.

use assay_instruments::counters::FileChanges;

use super::*;

const EMPTY: ReasonCode = ReasonCode::UnwrittenExtents;
const ALIKE: ReasonCode = ReasonCode::CompressibleData;

fn mebibytes(count: u64) -> f64 {
    (count * MIB) as f64
}

#[test]
fn a_changed_target_is_told_in_full() {
    let changes = FileChanges { files: 7, replaced: 2, shortened: 3, written: 4, lost_bytes: MIB };
    let seen = |changes, dataset_bytes| {
        judged(move |_, class| (class.changes, class.dataset_bytes) = (changes, dataset_bytes))
    };
    let evidence = "when the run ended, its data was not what it had been: 2 of 7 files were removed, or another file has \
        their name; 3 of 7 files are shorter; 1 MiB of the data set, 1.0 %, are not on the disk any more (cut off, or made \
        holes); somebody else wrote to 4 of 7 files";
    let numbers = [
        ("files", 7.0),
        ("replaced_files", 2.0),
        ("shortened_files", 3.0),
        ("written_files", 4.0),
        ("lost_bytes", mebibytes(1)),
    ];
    told(&seen(changes, 100 * MIB), ReasonCode::TargetChanged, evidence, &numbers);
    let lost = |lost_bytes| seen(FileChanges { files: 1, lost_bytes, ..FileChanges::default() }, 100 * MIB);
    for (lost_bytes, wanted) in [(65_535, None), (65_536, SUSPECT), (MIB - 1, SUSPECT), (MIB, INVALID)] {
        expect(&lost(lost_bytes), ReasonCode::TargetChanged, wanted);
    }
    let shorter = seen(FileChanges { files: 1, shortened: 1, ..FileChanges::default() }, MIB);
    expect(&shorter, ReasonCode::TargetChanged, SUSPECT);
}

fn half_empty(change: fn(&mut ClassObservation)) -> Verdict {
    judged(move |_, class| {
        class.extents = Some(ExtentSurvey { written: 256 * MIB, unwritten: 200 * MIB, hole: 56 * MIB });
        change(class);
    })
}

#[test]
fn extents_that_were_never_written_are_counted() {
    let evidence = "256 MiB of the data set's 512 MiB were never written (200 MiB allocated only, 56 MiB holes): the file \
        system answers reads of them with zeros, without the device";
    let numbers = [
        ("unwritten_bytes", mebibytes(200)),
        ("hole_bytes", mebibytes(56)),
        ("written_bytes", mebibytes(256)),
        ("empty_share", 0.5),
    ];
    told(&half_empty(|_| ()), EMPTY, evidence, &numbers);
    expect(&half_empty(|class| class.path = PathSpec::plain(PathKind::Null)), EMPTY, None);
    expect(&half_empty(|class| class.target = TargetKind::Memory), EMPTY, None);
    expect(&half_empty(|class| (class.reads, class.writes) = (0, 1)), EMPTY, None);
}

#[test]
fn zeros_in_a_range_that_nobody_prepared_were_probably_never_written() {
    let zeros = |zero_share, layout, content| {
        judged(move |_, class| {
            (class.extents, class.layout, class.content) = (None, layout, content);
            class.compressibility = Some(Compressibility { ratio: 1.0, repeated_share: 0.0, zero_share, blocks: 128 });
        })
    };
    let evidence = "95 % of 128 sampled blocks are all zeros: probably never written, or trimmed, and then answered without \
        touching the medium";
    let numbers = [("zero_share", 0.95), ("sampled_blocks", 128.0)];
    told(&zeros(0.95, Layout::AsFound, Content::Random), EMPTY, evidence, &numbers);
    expect(&zeros(0.1, Layout::AsFound, Content::Random), EMPTY, SUSPECT);
    expect(&zeros(0.099, Layout::AsFound, Content::Random), EMPTY, None);
    expect(&zeros(0.95, Layout::Written, Content::Random), EMPTY, None);
    expect(&zeros(0.95, Layout::AsFound, Content::Zero), EMPTY, None);
}

fn sampled(ratio: f64, repeated_share: f64, layout: Layout) -> Verdict {
    judged(move |_, class| {
        class.layout = layout;
        class.compressibility = Some(Compressibility { ratio, repeated_share, zero_share: 0.0, blocks: 128 });
    })
}

#[test]
fn data_that_can_be_made_smaller_is_told_by_how_much() {
    let rest = ": a device or file system that compresses or deduplicates does less work for them";
    let smaller = format!("samples of the data set compress to 40 % of their size{rest}");
    told(&sampled(0.4, 0.5, Layout::Written), ALIKE, &smaller, &[("compressed_ratio", 0.4), ("repeated_share", 0.5)]);
    let copies = format!("50 % of 128 sampled blocks are copies of another{rest}");
    told(&sampled(1.0, 0.5, Layout::Written), ALIKE, &copies, &[("compressed_ratio", 1.0), ("repeated_share", 0.5)]);
    for (ratio, repeated, layout, wanted) in [
        (0.9, 0.0, Layout::Written, None),
        (0.899, 0.0, Layout::Written, SUSPECT),
        (1.0, 0.05, Layout::Written, SUSPECT),
        (1.0, 0.049, Layout::Written, None),
        (0.4, 0.049, Layout::AsFound, NOTE),
        (0.4, 0.05, Layout::AsFound, SUSPECT),
    ] {
        expect(&sampled(ratio, repeated, layout), ALIKE, wanted);
    }
}

#[test]
fn what_is_no_device_need_not_compress() {
    let alike = |change: fn(&mut ClassObservation)| {
        judged(move |_, class| {
            class.compressibility =
                Some(Compressibility { ratio: 0.1, repeated_share: 0.0, zero_share: 0.0, blocks: 8 });
            change(class);
        })
    };
    expect(&alike(|_| ()), ALIKE, SUSPECT);
    expect(&alike(|class| class.target = TargetKind::Memory), ALIKE, None);
    expect(&alike(|class| class.target = TargetKind::Null), ALIKE, None);
}

#[test]
fn extents_on_the_same_blocks_are_told_from_a_twentieth_on() {
    let shared = |bytes| judged(move |_, class| (class.repeated_extents, class.dataset_bytes) = (bytes, 100 * MIB));
    let evidence = "5 MiB of the data set's 100 MiB lie on blocks of the disk that other parts of it lie on, too: less is \
        read than it seems";
    told(&shared(5 * MIB), ALIKE, evidence, &[("shared_bytes", mebibytes(5)), ("shared_share", 0.05)]);
    expect(&shared(5 * MIB - 1), ALIKE, None);
}

#[test]
fn failures_are_told_by_kind_and_are_invalid_from_one_in_a_hundred_on() {
    let failed = |io, space, reads: u64| {
        judged(move |_, class| {
            (class.reads, class.writes) = (reads - 90, 90);
            class.errors = BTreeMap::from([("EIO".to_owned(), io), ("ENOSPC".to_owned(), space)]);
        })
    };
    let evidence = "10 of 1000 operations failed (1.0 %): EIO 6 times, ENOSPC 4 times";
    told(&failed(6, 4, 990), ReasonCode::Errors, evidence, &[("failed", 10.0), ("failed_share", 0.01)]);
    expect(&failed(6, 4, 990), ReasonCode::Errors, INVALID);
    expect(&failed(6, 4, 991), ReasonCode::Errors, SUSPECT);
}

#[test]
fn wrong_blocks_are_counted() {
    let check = |examples: &[&str]| {
        let examples = examples.iter().map(|one| (*one).to_owned()).collect();
        judged(move |_, class| class.check = Some(CheckOutcome { blocks: 100, wrong: 3, examples }))
    };
    let numbers = [("wrong_blocks", 3.0), ("checked_blocks", 100.0)];
    let code = ReasonCode::DataCorrupt;
    told(&check(&["block 7", "block 9"]), code, "3 of 100 blocks read back were wrong, for example block 7", &numbers);
    told(&check(&[]), code, "3 of 100 blocks read back were wrong", &numbers);
    let kept = CheckOutcome { blocks: 8, wrong: 2, examples: Vec::new() };
    let evidence = "2 of 8 blocks that were written and flushed after the window came back as something else: the target \
        completes writes without doing them";
    told(&judged(|_, class| class.readback = Some(kept)), code, evidence, &[("blocks", 8.0), ("wrong", 2.0)]);
}

#[test]
fn stand_ins_are_told_apart() {
    let code = ReasonCode::EmulatedTarget;
    let memory = "its target is memory that stands in for a device: the code is real, the hardware is not";
    told(&judged(|_, class| class.emulated = true), code, memory, &[]);
    let played = "a program plays this machine and its devices: the code is real, the hardware is not";
    told(&judged(|_, class| class.played = true), code, played, &[]);
    told(&judged(|_, class| (class.played, class.emulated) = (true, true)), code, played, &[]);
}
