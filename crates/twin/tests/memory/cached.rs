//! Caches in front of memory.

use assay_record::Persist;
use assay_twin::{
    Target,
    analytic::DeviceLoad,
    document::CachePolicy,
    memory::cache::{dirty_share, hit_ratio},
};

use crate::catalog::{ask, modules, rate, reads, writes};

fn memory_mode(back: &str, count: u32, gigabytes: f64) -> Target {
    Target::Cache {
        front: Box::new(modules("ddr4-2666-32g", 6)),
        back: Box::new(modules(back, count)),
        bytes: (gigabytes * 1e9) as u64,
        policy: CachePolicy::DirectMapped,
    }
}

#[test]
fn hits_fall_as_the_working_set_grows() {
    for policy in [CachePolicy::DirectMapped, CachePolicy::Lru] {
        assert!((hit_ratio(policy, 1e9, 1.0) - 1.0).abs() < 1e-6);
        assert!(hit_ratio(policy, 1e9, 1e9) > hit_ratio(policy, 1e9, 2e9));
        assert!((hit_ratio(policy, 1e9, 1e12) - 1e-3).abs() < 1e-5);
    }
    let even = hit_ratio(CachePolicy::DirectMapped, 1e9, 1e9);
    assert!((even - (1.0 - (-1.0f64).exp())).abs() < 1e-12, "pages that chance placed collide: {even}");
}

#[test]
fn only_writes_make_lines_dirty() {
    assert_eq!(dirty_share(0.5, 0.0), 0.0);
    assert!((dirty_share(0.0, 0.3) - 0.3).abs() < 1e-12);
    assert!(dirty_share(0.9, 0.3) > 0.8);
}

#[test]
fn memory_mode_gives_what_four_threads_were_seen_to_read() {
    // Wu and others, DaMoN 2020: 96 GB of DRAM before two 512 GB modules; 13.9 and 8.7 GB/s. Not fitted to.
    for (gigabytes, published) in [(100.0, 13.9), (500.0, 8.7)] {
        let load = DeviceLoad { working_set_bytes: gigabytes * 1e9, ..reads(4096.0, true, 4.0) };
        let seen = rate(&memory_mode("pmem100-512g", 2, 96.0), load) / 1e9;
        assert!((seen / published - 1.0).abs() < 0.25, "{gigabytes} GB: {seen:.1} GB/s, published {published}");
    }
}

#[test]
fn a_cache_that_holds_all_is_its_front_and_one_that_holds_nothing_is_slower_than_its_back() {
    let load = DeviceLoad { working_set_bytes: 1e6, ..reads(4096.0, true, 4.0) };
    let front = rate(&modules("ddr4-2666-32g", 6), load);
    let held = rate(&memory_mode("pmem100-256g", 6, 96.0), load);
    assert!((held / front - 1.0).abs() < 0.01, "{held:.3e} {front:.3e}");
    let far = DeviceLoad { working_set_bytes: 1e15, ..load };
    assert!(rate(&memory_mode("pmem100-256g", 6, 96.0), far) < rate(&modules("pmem100-256g", 6), load));
}

#[test]
fn customers_of_a_cache_obey_littles_law() {
    for share in [0.0, 0.3, 1.0] {
        let load = DeviceLoad { write_share: share, working_set_bytes: 4e11, ..reads(4096.0, false, 8.0) };
        let answer = ask(&memory_mode("pmem100-256g", 6, 96.0), &[load])[0];
        let inside = answer.ops_per_s / 1e9 * answer.mean_ns;
        assert!((inside / 8.0 - 1.0).abs() < 1e-3, "{share}: {inside}");
    }
}

/// Lines leave Memory Mode's cache one at a time, so that the modules never see the streams of those who wrote.
#[test]
fn writes_of_more_than_dram_holds_lose_against_the_modules_themselves() {
    for (back, count) in [("pmem100-512g", 2), ("pmem100-128g", 6)] {
        for sequential in [false, true] {
            for threads in [1.0, 4.0, 16.0] {
                let load = writes(4096.0, sequential, threads, Persist::Auto);
                let load = DeviceLoad { working_set_bytes: 5e11, ..load };
                let (cached, bare) = (rate(&memory_mode(back, count, 96.0), load), rate(&modules(back, count), load));
                let what = format!("{back}*{count}, {threads} threads, in order: {sequential}");
                assert!(cached < 0.9 * bare, "{cached:.3e} in Memory Mode, {bare:.3e} without: {what}");
            }
        }
    }
}
