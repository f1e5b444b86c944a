//! What must hold whatever the figures.

use assay_record::Persist;
use assay_twin::{Target, analytic::DeviceLoad};
use proptest::prelude::*;

use crate::catalog::{ask, modules, rate, reads, writes};

const NAMES: [&str; 6] = ["pmem100-128g", "pmem100-256g", "ddr4-2666-32g", "nvdimm-n", "cxl-a1000", "cz120"];

fn load() -> impl Strategy<Value = DeviceLoad> {
    let persist = prop_oneof![Just(Persist::Nt), Just(Persist::Clwb), Just(Persist::None)];
    (6u32..=16, any::<bool>(), 1u32..=64, 0u32..=10, persist, any::<bool>(), 0.0..2e4).prop_map(
        |(size, sequential, threads, tenths, persist, fenced, think_ns)| DeviceLoad {
            write_share: f64::from(tenths) / 10.0,
            persist,
            fenced,
            think_ns,
            ..reads(f64::from(1u32 << size), sequential, f64::from(threads))
        },
    )
}

fn target() -> impl Strategy<Value = (usize, u32)> {
    (0..NAMES.len(), 1u32..=8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn customers_are_where_they_are_by_littles_law((name, count) in target(), load in load()) {
        let answer = ask(&modules(NAMES[name], count), &[load])[0];
        let inside = answer.ops_per_s / 1e9 * (answer.mean_ns + load.think_ns);
        prop_assert!((inside / load.in_flight - 1.0).abs() < 1e-6, "{inside} of {} customers", load.in_flight);
        prop_assert!((0.0..=1.0 + 1e-9).contains(&answer.utilisation));
    }

    #[test]
    fn two_streams_keep_the_law_and_the_capacity((name, count) in target(), one in load(), other in load()) {
        let loads = [one, other];
        for (load, answer) in loads.iter().zip(ask(&modules(NAMES[name], count), &loads)) {
            let inside = answer.ops_per_s / 1e9 * (answer.mean_ns + load.think_ns);
            prop_assert!((inside / load.in_flight - 1.0).abs() < 1e-5);
            prop_assert!((0.0..=1.0 + 1e-6).contains(&answer.utilisation), "{}", answer.utilisation);
        }
    }

    #[test]
    fn a_mix_on_persistent_memory_is_not_faster_than_its_faster_part(name in 0..2_usize, count in 1u32..=8, load in load()) {
        let target = modules(NAMES[name], count);
        let parts = [0.0, 1.0].map(|write_share| rate(&target, DeviceLoad { write_share, ..load }));
        let both = rate(&target, load);
        prop_assert!(both <= parts[0].max(parts[1]) * 1.001, "{both:.3e} of {:.3e} and {:.3e}", parts[0], parts[1]);
    }

    #[test]
    fn more_modules_never_hurt((name, count) in target(), load in load()) {
        let [few, more] = [count, count + 1].map(|count| rate(&modules(NAMES[name], count), load));
        prop_assert!(more >= few * 0.995, "{} to {} modules: {few:.3e} to {more:.3e}", count, count + 1);
    }

    #[test]
    fn thinking_longer_never_gives_more((name, count) in target(), load in load()) {
        let target = modules(NAMES[name], count);
        let slow = DeviceLoad { think_ns: load.think_ns * 2.0 + 1000.0, ..load };
        // With many threads some thinking spares the modules' buffers, which is what the limit on writers is for.
        let room = if load.write_share > 0.0 || load.in_flight > 8.0 { 3.0 } else { 1.001 };
        prop_assert!(rate(&target, slow) <= rate(&target, load) * room);
    }

    #[test]
    fn a_rate_is_kept_or_missed_for_want_of_capacity((name, count) in target(), load in load(), share in 0.1..0.8) {
        let target = modules(NAMES[name], count);
        let full = ask(&target, &[load])[0];
        let rated = DeviceLoad { rate_per_s: full.ops_per_s * share, ..load };
        let answer = ask(&target, &[rated])[0];
        prop_assert!((answer.ops_per_s / rated.rate_per_s - 1.0).abs() < 0.1, "{answer:?} {}", rated.rate_per_s);
        prop_assert!(answer.mean_ns <= full.mean_ns * 1.02 + 1.0, "{} and {}", answer.mean_ns, full.mean_ns);
    }
}

#[test]
fn a_lone_thread_is_not_slowed_by_how_the_modules_share() {
    for name in NAMES {
        let one = ask(&modules(name, 1), &[reads(64.0, false, 1.0)])[0];
        let six = ask(&modules(name, 6), &[reads(64.0, false, 1.0)])[0];
        assert!(six.ops_per_s >= one.ops_per_s * 0.999, "{name}");
    }
}

#[test]
fn writers_beyond_the_buffer_lose_and_lose_less_on_more_modules() {
    let peak = |count| rate(&modules("pmem100-256g", count), writes(1024.0, true, 4.0, Persist::Nt));
    let crowd = |count| rate(&modules("pmem100-256g", count), writes(1024.0, true, 32.0, Persist::Nt));
    assert!(crowd(1) < 0.5 * peak(1));
    assert!(crowd(6) / (6.0 * peak(1)) > crowd(2) / (2.0 * peak(1)));
}

#[test]
fn idle_latency_rises_with_the_working_set_in_steps() {
    let pmem: Target = modules("pmem100-256g", 2);
    let latency = |bytes| {
        let load = DeviceLoad { working_set_bytes: bytes, fenced: true, ..reads(64.0, false, 1.0) };
        ask(&pmem, &[load])[0].mean_ns
    };
    let (buffer, table, media) = (latency(32e3), latency(33e6), latency(1e9));
    assert!(buffer < table && table < media, "{buffer} {table} {media}");
    assert!((media / 374.0 - 1.0).abs() < 0.02, "{media}");
}

#[test]
fn reads_that_do_not_wait_for_one_another_overlap() {
    let answer = ask(&modules("pmem100-256g", 1), &[reads(64.0, false, 1.0)])[0];
    let seen = answer.mean_ns * answer.overlap;
    assert!((300.0..450.0).contains(&seen), "a load takes {seen:.0} ns");
    assert!(answer.overlap > 4.0, "{}", answer.overlap);
}

#[test]
fn a_card_does_most_with_mixed_traffic() {
    let card = modules("cxl-a1000", 1);
    let mixed = |tenths: f64| rate(&card, DeviceLoad { write_share: tenths / 10.0, ..reads(4096.0, true, 16.0) }) / 1e9;
    let (reading, both, writing) = (mixed(0.0), mixed(3.3), mixed(10.0));
    assert!(both > reading && both > writing, "{reading:.1} {both:.1} {writing:.1}");
    assert!((reading / 48.0 - 1.0).abs() < 0.06 && (both / 54.2 - 1.0).abs() < 0.06, "{reading:.1} {both:.1}");
}

/// A stream of reads and writes once lost nothing to the crowding of its writes, because its threads were counted where an
/// idle module would keep them, and not where they wait.
#[test]
fn many_threads_that_read_and_write_crowd_a_module_as_writers_do() {
    let module = modules("pmem100-256g", 1);
    let both = |threads| DeviceLoad { write_share: 0.5, ..writes(4096.0, false, threads, Persist::Nt) };
    let (few, many) = (rate(&module, both(4.0)), rate(&module, both(16.0)));
    assert!(many < 0.85 * few, "{many:.3e} of 16 threads, {few:.3e} of 4");
}
