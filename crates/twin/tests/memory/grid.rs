//! The published grid against the shipped twin.

use assay_record::Persist;
use assay_twin::Target;

use crate::catalog::{GIB, folder, modules, rate, reads, writes};

struct Row {
    kind: String,
    measured: f64,
    predicted: f64,
}

fn rows() -> Vec<Row> {
    let path = folder().join("published/optane-pmem100-256g-1-2-modules.csv");
    let text = std::fs::read_to_string(path).expect("the grid is shipped");
    text.lines().skip(1).filter_map(row).collect()
}

fn row(line: &str) -> Option<Row> {
    let fields: Vec<&str> = line.split(',').collect();
    let (modules_seen, op, pattern, persist) = (fields[0].parse().ok()?, fields[2], fields[3], fields[4]);
    if op == "custom" {
        return None;
    }
    let (size, threads): (f64, f64) = (fields[6].parse().ok()?, fields[7].parse().ok()?);
    let sequential = pattern == "sequential";
    let persisted = match persist {
        "cache" => Persist::Clwb,
        "cacheinv" => Persist::Clflushopt,
        "nocache" => Persist::Nt,
        _ => Persist::None,
    };
    let load =
        if op == "read" { reads(size, sequential, threads) } else { writes(size, sequential, threads, persisted) };
    Some(Row {
        kind: format!("{op} {pattern} {persist}"),
        measured: fields[8].parse::<f64>().ok()? * GIB,
        predicted: rate(&modules("pmem100-256g", modules_seen), load),
    })
}

#[test]
fn the_shipped_twin_meets_the_grid_that_it_was_fitted_to() {
    let rows = rows();
    assert!(rows.len() > 250, "{}", rows.len());
    let mut kinds: Vec<&str> = rows.iter().map(|row| row.kind.as_str()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let mut errors: Vec<f64> =
            rows.iter().filter(|row| row.kind == kind).map(|row| (row.predicted / row.measured - 1.0).abs()).collect();
        errors.sort_by(f64::total_cmp);
        let (median, most) = (errors[errors.len() / 2], errors[errors.len() * 9 / 10]);
        assert!(median < 0.03 && most < 0.10, "{kind}: median {median:.3}, ninth decile {most:.3}");
    }
}

#[test]
fn random_lines_cost_a_granule_each() {
    let one = modules("pmem100-256g", 1);
    let lines = rate(&one, writes(64.0, false, 16.0, Persist::Nt));
    let granules = rate(&one, writes(256.0, false, 16.0, Persist::Nt));
    let ratio = granules / lines;
    assert!((3.6..4.4).contains(&ratio), "256 B carry {ratio:.2} times the bytes of 64 B");
}

#[test]
fn six_modules_of_128_gb_give_the_figures_they_were_scaled_to() {
    let six = modules("pmem100-128g", 6);
    for (what, seen, wanted) in [
        ("sequential reads", rate(&six, reads(4096.0, true, 16.0)), 37.0),
        ("sequential stores", rate(&six, writes(1024.0, true, 8.0, Persist::Nt)), 11.8),
        ("random stores", rate(&six, writes(256.0, false, 16.0, Persist::Nt)), 10.4),
        ("random granules", rate(&six, reads(256.0, false, 32.0)), 31.9),
        ("random lines", rate(&six, reads(64.0, false, 32.0)), 9.5),
    ] {
        let error = seen / GIB / wanted - 1.0;
        assert!(error.abs() < 0.03, "{what}: {:.1} GiB/s, published {wanted}", seen / GIB);
    }
}

#[test]
fn writers_keep_their_rate_beside_readers_and_readers_pay() {
    let six = modules("pmem100-256g", 6);
    for (size, read, write) in [(256.0, 15.4, 10.3), (4096.0, 10.75, 8.4), (16384.0, 6.8, 8.8)] {
        let [reads, writes] = beside(&six, size, size);
        assert!((reads / read - 1.0).abs() < 0.35, "{size} B: read {reads:.1}, published {read}");
        assert!((writes / write - 1.0).abs() < 0.2, "{size} B: wrote {writes:.1}, published {write}");
    }
}

/// GiB/s of 16 readers and of 16 writers at the same time.
fn beside(target: &Target, read_bytes: f64, write_bytes: f64) -> [f64; 2] {
    let loads = [reads(read_bytes, false, 16.0), writes(write_bytes, false, 16.0, Persist::Nt)];
    let answers = crate::catalog::ask(target, &loads);
    [answers[0].ops_per_s * read_bytes / GIB, answers[1].ops_per_s * write_bytes / GIB]
}

/// Published of four modules: readers lose more the larger the writes are, whatever they read themselves. The model once went by
/// the size of the reads, and had it the other way round.
#[test]
fn readers_lose_more_the_larger_the_writes_are() {
    let four = modules("pmem100-256g", 4);
    for (read_bytes, published) in
        [(256.0, [12.38, 6.005, 3.48]), (4096.0, [12.766, 7.626, 4.724]), (16_384.0, [15.116, 7.915, 4.713])]
    {
        let seen = [256.0, 4096.0, 16_384.0].map(|write_bytes| beside(&four, read_bytes, write_bytes)[0]);
        assert!(seen[0] > seen[1] && seen[1] > seen[2], "{read_bytes} B beside writes of rising size: {seen:?}");
        for (seen, published) in seen.iter().zip(published) {
            assert!((seen / published).ln().abs() < 0.45, "{read_bytes} B: {seen:.2}, published {published}");
        }
    }
}
