//! Figures of other studies, to which nothing was fitted.

use assay_record::Persist;
use assay_twin::analytic::DeviceLoad;

use crate::catalog::{GIB, ask, modules, rate, reads, writes};

/// Published figures that must lie within `width` of the prediction.
fn near(what: &str, seen: f64, published: f64, width: f64) {
    let error = seen / published - 1.0;
    eprintln!("{what}: {seen:.2}, published {published} ({:+.0} %)", error * 100.0);
    assert!(error.abs() < width, "{what}: {seen:.2}, published {published}");
}

#[test]
fn one_module_on_a_dax_file_system() {
    // Fedorova 2019; the capacity of the module is not named.
    let one = modules("pmem100-128g", 1);
    near("mapped reads, GB/s", rate(&one, reads(8192.0, true, 8.0)) / 1e9, 6.4, 0.15);
    near("mapped stores, GB/s", rate(&one, writes(8192.0, true, 8.0, Persist::None)) / 1e9, 0.6, 0.25);
    near("persistent stores, GB/s", rate(&one, writes(8192.0, true, 4.0, Persist::Nt)) / 1e9, 2.3, 0.15);
}

#[test]
fn latency_of_a_page_on_two_modules() {
    // Wu and others, DaMoN 2020: one thread, microseconds.
    let lone = |bytes| {
        let load = DeviceLoad { fenced: true, ..reads(bytes, false, 1.0) };
        ask(&modules("pmem100-512g", 2), &[load])[0].mean_ns / 1e3
    };
    near("512 B, us", lone(512.0), 0.5, 0.10);
    near("8 KiB, us", lone(8192.0), 2.6, 0.25);
}

#[test]
fn page_ins_and_page_outs_by_load_and_store() {
    // Boether and others, DaMoN 2021: 80 % writes, pages of 4 KiB, 1, 8 and 64 threads (36 hardware threads).
    let six = modules("pmem100-128g", 6);
    let pages = |threads| rate(&six, DeviceLoad { write_share: 0.8, ..reads(4096.0, false, threads) }) / GIB;
    near("1 thread, GiB/s", pages(1.0), 2.7, 0.25);
    near("8 threads, GiB/s", pages(8.0), 8.5, 0.25);
    near("64 threads, GiB/s", pages(36.0), 6.0, 0.30);
}

#[test]
fn random_reads_of_six_modules_by_size() {
    // NVSL/OptaneStudy issue 8 (2020): six 256 GB modules, prefetching on, GB/s.
    let six = modules("pmem100-256g", 6);
    for (bytes, published) in [(64.0, 9.75), (256.0, 34.53), (1024.0, 17.0), (4096.0, 28.5), (16384.0, 32.5)] {
        near(&format!("{bytes} B, GB/s"), rate(&six, reads(bytes, false, 16.0)) / 1e9, published, 0.40);
    }
}
