//! What goes through a port takes what the twin's modules take for it, access by access.

use std::{cell::Cell, rc::Rc};

use assay_buffer::stage::{self, Cpu, Stage};
use assay_pmem::Touch;
use assay_record::Persist;
use assay_scene::{Passed, Port, Shared};
use assay_twin::{
    Device, Driven, Host, PathKey, TWIN_VERSION, Target, Twin,
    analytic::{DeviceAnswer, DeviceLoad, answer},
};

const USED_BYTES: f64 = 1e9;

fn catalog<T: serde::de::DeserializeOwned>(kind: &str, name: &str) -> T {
    let path = format!("{}/../../catalog/{kind}/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    assay_twin::document::parse_file(path.as_ref()).unwrap()
}

/// Modules whose accesses take their mean each time, and never stall.
fn steady(modules: u32) -> Driven {
    let mut twin: Twin = catalog("twins", "pmem100-128g");
    let Device::Pmem(pmem) = &mut twin.device else { panic!("it is persistent memory") };
    (pmem.read_tail.p99.value, pmem.write_tail.p99.value, pmem.stall) = (1.0, 1.0, None);
    let target = Target::Device { twin: Box::new(twin), modules };
    let host: Host = catalog("hosts", "xeon-6242r");
    Driven { version: TWIN_VERSION, label: "twin:steady".to_owned(), target, host, file_system: None }
}

/// Mean time of an access with so many of its kind in flight, ns, asked of the model itself.
fn alone_ns(driven: &Driven, writes: bool, bytes: f64, sequential: bool, in_flight: f64) -> f64 {
    let load = DeviceLoad {
        write_share: f64::from(u8::from(writes)),
        size_bytes: bytes,
        sequential,
        in_flight,
        threads: in_flight,
        bunch: 1.0,
        think_ns: 0.0,
        rate_per_s: f64::INFINITY,
        flushes_per_op: 0.0,
        working_set_bytes: USED_BYTES,
        duration_s: 0.0,
        path: PathKey::Pmem,
        persist: if writes { Persist::Clwb } else { Persist::Auto },
        fenced: true,
    };
    let mut answers = [DeviceAnswer::default()];
    answer(&driven.target, &[load], &mut answers).unwrap();
    answers[0].mean_ns
}

/// Plays the same touches by so many actors; how long each took, ns, and what passed.
fn play(driven: &Driven, threads: usize, touched: &[Touch]) -> (Vec<f64>, Vec<Passed>) {
    let scene = Shared::new(&driven.host, threads as u32, 1);
    let station = scene.lock().add(driven, USED_BYTES as u64, 1).unwrap();
    let stage = Rc::new(Stage::new(Box::new(scene.clone()), Cpu::Fixed { turn_ns: 0.0 }));
    let _entered = stage::enter(&stage);
    let ends: Vec<Cell<(f64, Passed)>> = (0..threads).map(|_| Cell::default()).collect();
    let actors: Vec<usize> = ends
        .iter()
        .map(|end| {
            let (scene, stage_of) = (&scene, &stage);
            let body = move || {
                let mut port = Port::new(scene, station);
                port.play(stage_of, touched.iter().copied());
                end.set((stage_of.now() as f64 / 1e3, port.passed()));
            };
            // SAFETY: joined below, before what it borrows ends.
            unsafe { stage.spawn_borrowing("worker", body) }.unwrap()
        })
        .collect();
    actors.into_iter().for_each(|actor| stage.join(actor));
    ends.iter().map(Cell::get).unzip()
}

fn close(seen: f64, wanted: f64) -> bool {
    (seen / wanted - 1.0).abs() < 1e-4
}

#[test]
fn an_operation_takes_the_sum_of_its_accesses() {
    let driven = steady(1);
    let touched = [
        Touch::Read { at: 4096, bytes: 64, near: false },
        Touch::Read { at: 4160, bytes: 128, near: true },
        Touch::WrittenBack { at: 4096, bytes: 64 },
        Touch::Fence,
        Touch::Fence,
    ];
    let parts = [
        alone_ns(&driven, false, 64.0, false, 1.0),
        alone_ns(&driven, false, 128.0, true, 1.0),
        alone_ns(&driven, true, 64.0, false, 1.0),
    ];
    // Published of such a module: 374 ns for a load from far more than 16 MiB, 169 ns beside the last one.
    assert!((374.0..374.0 * 1.03).contains(&parts[0]) && parts[1] > 169.0 && parts[1] < parts[0], "{parts:?}");
    let (took, passed) = play(&driven, 1, &touched);
    println!("{parts:?}: {took:?}");
    assert!(close(took[0], parts.iter().sum()), "{took:?} and not {parts:?}");
    assert_eq!((passed[0].read_bytes, passed[0].written_bytes, passed[0].fences), (192, 64, 1));
    assert_eq!(passed[0].waited, passed[0].alone, "nobody else was there");
}

#[test]
fn lines_that_a_fence_waits_for_are_under_way_together() {
    let driven = steady(6);
    let far = |at| Touch::WrittenBack { at, bytes: 64 };
    let (took, _) = play(&driven, 1, &[far(0), far(65536), Touch::Fence]);
    let (one, two) = (alone_ns(&driven, true, 64.0, false, 1.0), alone_ns(&driven, true, 64.0, false, 2.0));
    println!("one {one} ns, two together {two} ns: {took:?}");
    assert!(took[0] < 1.5 * one && took[0] >= one * 0.999, "{took:?}");
    let (took, _) = play(&driven, 1, &[far(0), far(65536)]);
    assert_eq!(took[0], 0.0, "nobody waits for what was not fenced");
}

#[test]
fn threads_wait_for_each_other_at_the_modules_and_more_modules_help() {
    let touched: Vec<Touch> = (0..200).map(|line| Touch::Read { at: line << 12, bytes: 64, near: false }).collect();
    let mean = |modules, threads: usize| {
        let (took, passed) = play(&steady(modules), threads, &touched);
        assert!(passed.iter().all(|one| one.waited >= one.alone / 2));
        took.iter().sum::<f64>() / threads as f64
    };
    let (alone, crowd, wide) = (mean(1, 1), mean(1, 36), mean(6, 36));
    println!("alone {alone:.0} ns, 36 threads {crowd:.0} ns, on six modules {wide:.0} ns");
    assert!(crowd > alone * 1.3 && wide < crowd && wide >= alone * 0.999, "{alone} {crowd} {wide}");
}
