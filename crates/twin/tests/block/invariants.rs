//! What holds whatever the parameters.

use assay_twin::{
    Host, Stream, StreamPath, Target,
    document::{PathKey, StripeKind},
    solve as solve_with_host,
};
use proptest::prelude::*;

use crate::model::{drive, load, nand, solve, stripe, value};

pub fn free_host() -> Host {
    let cost =
        |cycles: f64| serde_json::json!({"value": cycles, "kind": "assumed", "source": "a test", "date": "2026-11"});
    let path = serde_json::json!({
        "cycles_per_read": cost(0.0), "cycles_per_write": cost(0.0), "cycles_per_byte_read": cost(0.0),
        "cycles_per_byte_write": cost(0.0), "cycles_per_submission": cost(0.0), "cycles_per_flush": cost(0.0),
        "wakeup_ns": cost(0.0)});
    let host = serde_json::json!({"version": 1, "name": "free", "title": "costs nothing", "cores": cost(64.0),
        "threads_per_core": cost(1.0), "clock_hz": cost(4e9), "costs": {"libaio": path}});
    serde_json::from_value(host).unwrap()
}

fn layouts() -> impl Strategy<Value = StripeKind> {
    prop_oneof![
        Just(StripeKind::Raid0),
        Just(StripeKind::Raid5),
        Just(StripeKind::Raid10),
        Just(StripeKind::Interleave)
    ]
}

fn rate(target: &Target, writes: f64, size: f64, in_flight: f64) -> f64 {
    solve(target, &[load(writes, size, in_flight)])[0].ops_per_s
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn customers_are_rate_times_stay(writes in 0.0..1.0f64, size in 9u32..20, in_flight in 1u32..512, think in 0.0..1e6f64) {
        let mut one = load(writes, f64::from(1u32 << size), f64::from(in_flight));
        one.think_ns = think;
        let answer = solve(&drive(nand()), &[one])[0];
        let customers = answer.ops_per_s / 1e9 * (think + answer.mean_ns);
        prop_assert!((customers / f64::from(in_flight) - 1.0).abs() < 0.05 || answer.utilisation > 0.98,
            "{customers} of {in_flight}");
    }

    #[test]
    fn no_station_is_busier_than_always(writes in 0.0..1.0f64, size in 9u32..20, in_flight in 1u32..2048) {
        let answer = solve(&drive(nand()), &[load(writes, f64::from(1u32 << size), f64::from(in_flight))])[0];
        prop_assert!(answer.utilisation <= 1.0 + 1e-6, "{}", answer.utilisation);
        prop_assert!(answer.ops_per_s.is_finite() && answer.ops_per_s > 0.0);
        prop_assert!(answer.p50.mid_ns <= answer.p99.mid_ns && answer.p99.mid_ns <= answer.p999.mid_ns);
    }

    #[test]
    fn more_dies_never_hurt(writes in 0.0..1.0f64, size in 9u32..20, in_flight in 1u32..512, dies in 8u32..64) {
        let with = |dies: u32| {
            let mut nand = nand();
            nand.sustained_bytes_per_s = value(nand.sustained_bytes_per_s.value * f64::from(dies) / 32.0);
            nand.dies = value(f64::from(dies));
            rate(&drive(nand), writes, f64::from(1u32 << size), f64::from(in_flight))
        };
        prop_assert!(with(dies * 2) >= with(dies) * 0.995);
    }

    #[test]
    fn more_members_never_hurt_reads(size in 9u32..20, in_flight in 1u32..512, half in 1u32..4, layout in layouts()) {
        let with = |count: u32| {
            rate(&stripe(drive(nand()), count, layout), 0.0, f64::from(1u32 << size), f64::from(in_flight))
        };
        prop_assert!(with(half * 4) >= with(half * 2) * 0.995);
    }

    #[test]
    fn more_depth_never_hurts(writes in 0.0..1.0f64, size in 9u32..20, in_flight in 1u32..512) {
        let target = drive(nand());
        let bytes = f64::from(1u32 << size);
        prop_assert!(rate(&target, writes, bytes, f64::from(in_flight) + 1.0) >= rate(&target, writes, bytes, f64::from(in_flight)) * 0.995);
    }

    #[test]
    fn a_stripe_of_one_is_the_device(writes in 0.0..1.0f64, size in 9u32..20, in_flight in 1u32..512) {
        let alone = drive(nand());
        let one = stripe(alone.clone(), 1, StripeKind::Raid0);
        let bytes = f64::from(1u32 << size);
        prop_assert_eq!(rate(&alone, writes, bytes, f64::from(in_flight)), rate(&one, writes, bytes, f64::from(in_flight)));
    }

    #[test]
    fn a_host_that_costs_nothing_gives_the_limit_of_the_device(size in 9u32..20, depth in 1u32..256) {
        let target = drive(nand());
        let bytes = f64::from(1u32 << size);
        let mut stream = Stream::closed("s", 0.0, bytes, StreamPath::plain(PathKey::Libaio));
        stream.depth = depth;
        let with_host = solve_with_host(&target, &free_host(), &[stream]).unwrap().streams[0].ops_per_s;
        let device = rate(&target, 0.0, bytes, f64::from(depth));
        prop_assert!((with_host / device - 1.0).abs() < 1e-3, "{} against {}", with_host, device);
    }

    #[test]
    fn a_slower_writer_beside_it_never_hurts_a_reader(rate in 1000.0..100_000.0f64, in_flight in 1u32..256) {
        let reads = |writes: f64| {
            let mut writer = load(1.0, 16_384.0, 4.0);
            writer.rate_per_s = writes;
            solve(&drive(nand()), &[load(0.0, 16_384.0, f64::from(in_flight)), writer])[0].ops_per_s
        };
        prop_assert!(reads(rate / 2.0) >= reads(rate) * 0.995);
    }
}
