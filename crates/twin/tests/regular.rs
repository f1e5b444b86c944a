//! One load with nothing of chance in its way, by both engines: whoever waits once comes later from then on.

mod scenario;

use scenario::{Catalog, Scenario};
use serde_json::json;

const DRIVES: [&str; 6] = ["i4i-16xlarge", "l4aos-v4", "p5520-1.92t", "9100max", "990pro", "p4800x"];

fn apart(
    catalog: &Catalog,
    drive: &str,
    (operation, size): (&str, u64),
    (threads, depth): (u32, u32),
) -> (f64, String) {
    let class = json!({"name": "one", "path": {"kind": "libaio", "direct": true}, "operation": {"kind": operation},
        "pattern": {"kind": "sequential"}, "size": size, "threads": threads, "depth": depth});
    let one = Scenario::written(catalog, drive, "xeon-6242r", None, &[class]);
    let pair = one.compare().unwrap_or_else(|error| panic!("{}: {error}", one.words)).remove(0);
    (pair.apart(), format!("{operation} {size} {threads}x{depth} on {drive}: {pair:?}"))
}

/// Scans of 512 KiB were 1.4 apart, logs 1.5.
#[test]
fn scans_and_logs_keep_what_their_drives_give() {
    let catalog = Catalog::read();
    for drive in DRIVES {
        for load in [("read", 65_536), ("read", 524_288), ("write", 65_536), ("write", 524_288)] {
            for many in [(1, 4), (1, 16), (4, 1), (8, 1)] {
                let (apart, said) = self::apart(&catalog, drive, load, many);
                assert!(apart < 1.2, "{said}");
            }
        }
    }
}
