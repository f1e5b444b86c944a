//! Pages that are placed by their time of death, on a flash drive whose collection is followed page by page.

use std::sync::Arc;

use assay_buffer::{Config, Grouping, HEADER_BYTES, Pool, Worker};
use assay_scene::{Shared, TwinDisk};
use assay_twin::{Device, Driven, Host, Parameter, TWIN_VERSION, Target, Twin};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

const CAPACITY: u64 = 64 << 20;
const UNIT: u64 = 128 << 10;
const PAGES: u64 = CAPACITY * 8 / 10 / 4096;

fn catalog<T: serde::de::DeserializeOwned>(kind: &str, name: &str) -> T {
    let path = format!("{}/../../catalog/{kind}/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    assay_twin::document::parse_file(path.as_ref()).unwrap()
}

/// A drive of 64 MiB that erases 128 KiB together.
fn driven(handles: f64) -> Driven {
    let mut twin: Twin = catalog("twins", "p4510");
    let given = |value: f64| Parameter { value, ..twin.capacity_bytes.clone() };
    let (capacity, unit, handles) = (given(CAPACITY as f64), given(UNIT as f64), given(handles));
    twin.capacity_bytes = capacity;
    let Device::Nand(nand) = &mut twin.device else { panic!("it is of flash") };
    (nand.collection.unit_bytes, nand.collection.placement_handles) = (Some(unit), Some(handles));
    let target = Target::Device { twin: Box::new(twin), modules: 1 };
    let host: Host = catalog("hosts", "xeon-5220s");
    Driven { version: TWIN_VERSION, label: "flash".to_owned(), target, host, file_system: None }
}

fn change(worker: &Worker<'_>, page: u64, value: u64) {
    let writing = worker.write();
    worker
        .retry(|| {
            let mut page = worker.look(page)?.lock(&writing)?;
            page.bytes_mut()[HEADER_BYTES..HEADER_BYTES + 8].copy_from_slice(&value.to_le_bytes());
            Ok(())
        })
        .unwrap();
}

/// Write amplification of a drive on which nine tenths of the changes hit a tenth of the pages, in its steady state.
fn amplification(handles: f64, grouping: Grouping) -> f64 {
    let driven = driven(handles);
    let scene = Shared::new(&driven.host, 1, 1);
    let station = scene.lock().add(&driven, 1, 1).unwrap();
    let disk = Arc::new(TwinDisk::new("flash", CAPACITY, (station, 0), &scene, u64::MAX));
    let config = Config { pool_bytes: 256 * 4096, workers: 1, grouping, ..Config::default() };
    let pool = Pool::create(disk, config).unwrap();
    let worker = pool.worker().unwrap();
    let mut pages = Vec::new();
    for _ in 0..PAGES {
        let writing = worker.write();
        pages.push(worker.retry(|| Ok(worker.allocate(&writing)?.page())).unwrap());
    }
    let mut random = Xoshiro256PlusPlus::seed_from_u64(9);
    let mut run = |changes: u64| {
        for change_no in 0..changes {
            let (hot, cold) = (PAGES / 10, PAGES - PAGES / 10);
            let at = if random.next_u64() % 10 < 9 { random.next_u64() % hot } else { hot + random.next_u64() % cold };
            change(&worker, pages[at as usize], change_no);
            if change_no % 500 == 499 {
                worker.checkpoint(Vec::new, || Ok(())).unwrap();
            }
        }
        scene.lock().doings(station, 0).programmed.unwrap()
    };
    let before = run(4 * PAGES);
    let after = run(3 * PAGES);
    let [written, copied] = [after[0] - before[0], after[1] - before[1]];
    (written + copied) as f64 / written as f64
}

#[test]
fn pages_that_are_grouped_by_their_death_make_a_drive_with_handles_copy_less() {
    let grouping = Grouping::ByDeath { unit_bytes: UNIT };
    let any = amplification(1.0, Grouping::None);
    let trimmed = amplification(1.0, grouping);
    let grouped = amplification(8.0, grouping);
    eprintln!("any {any:.3}, grouped and trimmed {trimmed:.3}, on a drive with handles {grouped:.3}");
    assert!(trimmed < any && grouped < trimmed, "any {any:.3}, trimmed {trimmed:.3}, grouped {grouped:.3}");
    assert!(grouped - 1.0 < 0.7 * (any - 1.0), "any {any:.3}, grouped {grouped:.3}");
    let idle = amplification(8.0, Grouping::None);
    assert!((idle / any - 1.0).abs() < 0.05, "handles that nobody names do little: {any:.3}, {idle:.3}");
}
