//! Rules on memory beneath a target, and on others beside a load in memory.

use assay_instruments::verdict::Beneath;
use assay_record::{Layer, LayerDoes, LayerEffect};

use super::*;

const BENEATH: ReasonCode = ReasonCode::MemoryBeneath;

fn effect(does: LayerDoes, reads: bool, writes: bool, by: &str) -> LayerEffect {
    LayerEffect { does, reads, writes, by: by.to_owned() }
}

fn layer(name: &str, kind: &str, detail: &str, effects: &[LayerEffect]) -> Layer {
    Layer { name: name.to_owned(), kind: kind.to_owned(), detail: detail.to_owned(), effects: effects.to_vec() }
}

fn on(layers: Vec<Layer>, change: impl FnOnce(&mut ClassObservation)) -> Verdict {
    judged(move |_, class| {
        class.layers = layers;
        change(class);
    })
}

/// A compressed device of memory, which serves reads and writes and changes what it is given.
fn compressed() -> Layer {
    let serves = effect(LayerDoes::Serves, true, true, "its blocks are memory");
    layer("zram0", "memory", "", &[serves, effect(LayerDoes::Changes, true, true, "it compresses")])
}

#[test]
fn a_device_of_memory_is_told_by_its_name() {
    let evidence = "beneath the target lies zram0, no device: its blocks are memory, it compresses. It looks like a disk, \
        and the figures are memory's";
    told(&on(vec![compressed()], |_| ()), BENEATH, evidence, &[]);
    expect(&on(vec![compressed()], |class| class.target = TargetKind::Null), BENEATH, None);
    expect(&on(vec![compressed()], |class| class.target = TargetKind::Memory), BENEATH, None);
    expect(&on(vec![compressed()], |class| class.reads = 0), BENEATH, None);
}

#[test]
fn a_folder_in_memory_counts_beneath_something_and_not_at_the_top() {
    let top = || layer("loop0", "loop", "/dev/shm/image", &[]);
    let folder = |kind, detail, reads, writes| {
        layer("/x", kind, detail, &[effect(LayerDoes::Serves, reads, writes, "its files are memory")])
    };
    for (kind, detail, reads, writes, wanted) in [
        ("file-system", "tmpfs", true, true, SUSPECT),
        ("file-system", "ramfs", true, true, SUSPECT),
        ("file-system", "ext4", true, true, None),
        ("file-system", "tmpfs", true, false, None),
        ("file-system", "tmpfs", false, true, None),
        ("disk", "tmpfs", true, true, None),
    ] {
        expect(&on(vec![top(), folder(kind, detail, reads, writes)], |_| ()), BENEATH, wanted);
    }
    expect(&on(vec![folder("file-system", "tmpfs", true, true), top()], |_| ()), BENEATH, None);
}

/// Direct writes of a page through a loop device with the page cache of its file, of which such a share moved beneath.
fn written(writes: u64, moved: Option<f64>, change: impl FnOnce(&mut ClassObservation)) -> Verdict {
    on(vec![cached_loop()], move |class| {
        (class.reads, class.read_bytes, class.device_read_bytes) = (0, 0, None);
        (class.writes, class.written_bytes) = (writes, writes * 4096);
        let asked = class.written_bytes as f64;
        class.beneath = moved.map(|moved| Beneath { read_bytes: 0.0, written_bytes: moved * asked });
        change(class);
    })
}

#[test]
fn writes_that_memory_took_are_told_by_the_difference() {
    let evidence =
        "100 MiB were written and the devices beneath loop0 received 75 MiB: the page cache of its file took 25 %";
    let numbers = [("asked_bytes", 104_857_600.0), ("beneath_bytes", 78_643_200.0)];
    told(&written(25_600, Some(0.75), |_| ()), BENEATH, evidence, &numbers);
    told(&written(25_600, Some(0.75), |class| class.durable = true), BENEATH, evidence, &numbers);
    let buffered = |class: &mut ClassObservation| class.path.direct = false;
    expect(&written(25_600, Some(0.75), buffered), BENEATH, None);
    let unknown = "loop0 writes into the page cache of its file, so no write had to wait for a device";
    told(&written(25_600, None, |_| ()), BENEATH, unknown, &numbers[..1]);
    expect(&written(25_600, None, |class| class.durable = true), BENEATH, None);
    // A mebibyte says something, less does not.
    expect(&written(256, Some(0.0), |_| ()), BENEATH, INVALID);
    expect(&written(255, Some(0.0), |_| ()), BENEATH, SUSPECT);
}

#[test]
fn only_layers_that_answer_writes_by_themselves_take_them() {
    let with = |kind, does, reads, writes| {
        written(25_600, Some(0.0), move |class| {
            class.layers = vec![layer("x", kind, "", &[effect(does, reads, writes, "a cache")])];
        })
    };
    expect(&with("raid", LayerDoes::Serves, false, true), BENEATH, INVALID);
    expect(&with("raid", LayerDoes::Delays, false, true), BENEATH, None);
    expect(&with("raid", LayerDoes::Serves, true, false), BENEATH, None);
    for kind in ["disk", "file-system", "cache"] {
        expect(&with(kind, LayerDoes::Serves, false, true), BENEATH, None);
    }
    let reads = on(vec![cached_loop()], |class| class.beneath = Some(Beneath::default()));
    expect(&reads, BENEATH, None);
}

/// Four seconds on two CPUs, of which this process used one.
fn beside(busy_share: f64, change: impl FnOnce(&mut RunObservation, &mut ClassObservation)) -> Verdict {
    judged(move |run, class| {
        (run.cpus, run.system.busy_share) = (2, Some(busy_share));
        run.own_cpu = Some(OwnCpu { user_s: 3.0, kernel_s: 1.0, waited_s: Some(0.0) });
        class.target = TargetKind::Memory;
        change(run, class);
    })
}

#[test]
fn half_a_cpu_of_others_disturbs_a_load_in_memory() {
    let evidence = "other processes kept 0.5 CPUs busy: they share caches and memory bandwidth with a load that is served \
        from memory";
    let numbers = [("others_cpus", 0.5), ("own_cpus", 1.0)];
    let code = ReasonCode::ForeignLoad;
    told(&beside(0.75, |_, _| ()), code, evidence, &numbers);
    expect(&beside(0.74, |_, _| ()), code, None);
    expect(&beside(0.75, |_, class| class.reads = 0), code, None);
    expect(&beside(0.75, |_, class| class.path = PathSpec::plain(PathKind::Null)), code, None);
    let folder = |cache, direct, emulated| {
        beside(0.75, move |run, class| {
            (run.cache, class.target, class.emulated, class.path.direct) =
                (cache, TargetKind::Folder, emulated, direct);
        })
    };
    expect(&folder(Cache::Warm, false, false), code, SUSPECT);
    expect(&folder(Cache::Cold, false, false), code, None);
    expect(&folder(Cache::Warm, true, false), code, None);
    expect(&folder(Cache::Cold, true, true), code, SUSPECT);
}
