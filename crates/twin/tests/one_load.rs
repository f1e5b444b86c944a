//! How far one load on memory may be off, by kind of question: both engines say the same.

mod scenario;

use assay_twin::{Driven, TWIN_VERSION, Target, Twin, document::Joined};
use scenario::{Catalog, Scenario, solved};
use serde_json::json;

const GRANULES: f64 = 0.31;
const LINES: f64 = 0.62;
/// Of kinds that are asked about elsewhere.
const OTHERS: f64 = 0.93;

fn twin() -> Twin {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog/twins/pmem100-256g.toml");
    let mut twin: Twin = assay_twin::document::parse_file(&path).unwrap_or_else(|error| panic!("{error}"));
    let wide = |value: f64| assay_twin::Parameter { value, ..twin.band.bandwidth.clone() };
    twin.band.joined = Some(Joined {
        several: wide(OTHERS),
        page_cache: wide(OTHERS),
        mix: wide(OTHERS),
        granules: Some(wide(GRANULES)),
        calls_or_lines: Some(wide(LINES)),
    });
    twin
}

fn on_memory(size: u64, path: &str, operation: &serde_json::Value) -> Scenario {
    let catalog = Catalog::read();
    let class = json!({
        "name": "load",
        "path": {"kind": path, "direct": false},
        "operation": operation,
        "pattern": {"kind": "uniform"},
        "size": size,
        "threads": 2,
        "depth": 1,
    });
    let mut one = Scenario::written(&catalog, "p4610", "xeon-5220s", None, &[class]);
    let driven = Driven {
        version: TWIN_VERSION,
        label: "memory".to_owned(),
        target: Target::device(twin()).times(2),
        host: catalog.host("xeon-5220s").clone(),
        file_system: None,
    };
    // Short enough for the operations that a test may take.
    (one.job.window.warmup_s, one.job.window.measure_s, one.job.window.interval_ms) = (0.0, 0.003, 1);
    one.job.targets[0].twin = Some(serde_json::to_value(driven).expect("it is plain data"));
    one
}

/// The width of both engines' bands.
fn widths(one: &Scenario) -> [f64; 2] {
    let solution = solved(&one.job).unwrap_or_else(|error| panic!("{error}"));
    let record = one.play().unwrap_or_else(|error| panic!("{error}"));
    let said = record.verdict.reasons.iter().find_map(|reason| reason.numbers.get("band_bandwidth"));
    [solution.streams[0].band.bandwidth, *said.expect("a modelled class says its band")]
}

/// Half of the figures of other machines lay outside the band while it came from the grid of one machine alone.
#[test]
fn one_load_has_the_width_of_its_kind_by_both_engines() {
    let read = json!({"kind": "read"});
    for (size, path, operation, width) in [
        (4096, "pmem", &read, GRANULES),
        (256, "pmem", &read, GRANULES),
        (64, "pmem", &read, LINES),
        (16_384, "pread", &read, LINES),
    ] {
        let one = on_memory(size, path, operation);
        assert_eq!(widths(&one), [width; 2], "{size} B by {path}");
    }
}
