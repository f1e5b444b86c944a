//! Modules of DRAM in the memory channels of a host.

use assay_twin::{Driven, Host, PathKey, Stream, StreamPath, TWIN_VERSION, Target, Twin, solve};

fn document<T: serde::de::DeserializeOwned>(name: &str) -> T {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../catalog").join(name);
    assay_twin::document::parse_file(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn modules(name: &str, count: u32) -> Target {
    Target::device(document::<Twin>(&format!("twins/{name}.toml"))).times(count)
}

fn reached(target: &Target, host: &Host) -> f64 {
    let read = Stream {
        threads: 32,
        sequential: true,
        ..Stream::closed("load", 0.0, 4096.0, StreamPath::plain(PathKey::Pmem))
    };
    solve(target, host, &[read]).unwrap_or_else(|error| panic!("{error}")).streams[0].ops_per_s
}

/// Twelve modules of a socket with six channels had the bandwidth of twelve channels.
#[test]
fn two_modules_of_a_channel_hold_more_and_give_no_more() {
    let one_socket: Host = document("hosts/xeon-5220s.toml");
    let (six, twelve) = (modules("ddr4-2666-32g", 6), modules("ddr4-2666-32g", 12));
    assert_eq!(reached(&twelve, &one_socket), reached(&six, &one_socket));
    let seated = twelve.seated(&one_socket);
    assert_eq!((seated.devices(), seated.capacity_bytes()), (6, twelve.capacity_bytes()));
    let nobody_knows = Host { memory_channels: None, ..one_socket };
    assert!(reached(&twelve, &nobody_knows) > 1.5 * reached(&six, &nobody_knows));
}

#[test]
fn what_a_job_is_played_on_lies_in_the_channels_too() {
    let host: Host = document("hosts/xeon-5220s.toml");
    let (front, back) = (Box::new(modules("ddr4-2666-32g", 8)), Box::new(modules("pmem100-128g", 6)));
    let policy = assay_twin::document::CachePolicy::DirectMapped;
    let target = Target::Cache { front, back, bytes: 1 << 34, policy };
    let label = "twin:memory-mode".to_owned();
    let driven = Driven { version: TWIN_VERSION, label, target, host, file_system: None };
    let text = serde_json::to_value(&driven).expect("it is plain data");
    let Target::Cache { front, back, .. } = Driven::parse(&text).expect("it is whole").target else {
        panic!("a cache stays one");
    };
    assert_eq!((front.devices(), back.devices()), (6, 6));
}
