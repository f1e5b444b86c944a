//! What more in flight does to a load, over the drives whose latency beside writes was measured: near the knee such a drive
//! can stand in either of two ways, and a solution that swings between them ends wherever it was last.

use assay_twin::{Host, PathKey, Stream, StreamPath, Target, Twin, solve};

/// Least of what a load reached that is left where more of it is in flight. Beyond the knee a drive was measured to serve
/// reads more slowly, so that a little may be lost.
const LEFT: f64 = 0.6;

fn document<T: serde::de::DeserializeOwned>(name: &str) -> T {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog").join(name);
    assay_twin::document::parse_file(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn reached(target: &Target, host: &Host, stream: &Stream) -> f64 {
    let answer =
        solve(target, host, std::slice::from_ref(stream)).unwrap_or_else(|error| panic!("{stream:?}: {error}"));
    answer.streams[0].ops_per_s
}

fn drive(name: &str) -> Target {
    Target::device(document::<Twin>(&format!("twins/{name}.toml")))
}

/// Loads of a path by size, order and share of writes.
fn loads(key: PathKey) -> Vec<Stream> {
    let mut found = Vec::new();
    for size in [4096.0, 65536.0] {
        for sequential in [false, true] {
            for write_share in [0.0, 0.1, 0.5, 0.9, 1.0] {
                let closed = Stream::closed("load", write_share, size, StreamPath::plain(key));
                found.push(Stream { sequential, ..closed });
            }
        }
    }
    found
}

#[test]
fn more_in_flight_does_not_make_a_load_collapse() {
    let host: Host = document("hosts/xeon-5220s.toml");
    for name in ["7450-pro-960g", "pm9a3-960g", "p5520-1.92t"] {
        for members in [1, 2, 4] {
            let target = drive(name).times(members);
            for load in [PathKey::Libaio, PathKey::IoUringBuffered].into_iter().flat_map(loads) {
                let of = |depth: u32| reached(&target, &host, &Stream { threads: 8, depth, ..load.clone() });
                let rates = [1, 4, 16, 64].map(of);
                assert!(
                    rates.windows(2).all(|pair| pair[1] > LEFT * pair[0]),
                    "{name} * {members}: {rates:?} of {load:?}"
                );
            }
        }
    }
}

#[test]
fn write_back_takes_no_more_than_is_written() {
    let host: Host = document("hosts/xeon-5220s.toml");
    let target = drive("7450-pro-960g").times(6);
    let mix =
        Stream { threads: 2, depth: 16, ..Stream::closed("mix", 0.1, 4096.0, StreamPath::plain(PathKey::Libaio)) };
    let buffered = Stream { path: StreamPath::plain(PathKey::IoUringBuffered), ..mix.clone() };
    let (direct, buffered) = (reached(&target, &host, &mix), reached(&target, &host, &buffered));
    assert!(buffered > 0.5 * direct, "{buffered:.0}/s through the page cache, {direct:.0}/s past it");
}
