//! What changes in time: buckets, caches, flushes.

use assay_libtwin::stations::{Drive, FlashStations};
use assay_twin::{
    Device,
    analytic::DeviceLoad,
    document::{Bucket, SlcCache, StripeKind},
    simulated::{Action, PS_PER_S, Request},
};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

use crate::model::{SEED, flush, load, nand, play, solve, stripe, twin, value, volume};

fn bucket(rate: f64, burst: Option<(f64, f64)>) -> Bucket {
    Bucket {
        rate_per_s: value(rate),
        burst_per_s: burst.map(|(burst, _)| value(burst)),
        credit: burst.map(|(_, credit)| value(credit)),
    }
}

#[test]
fn a_bucket_gives_exactly_its_rate_by_both_engines() {
    let target = volume(bucket(3000.0, None), 125e6);
    for (size, rate) in [(4096.0, 3000.0), (65_536.0, 125e6 / 65_536.0), (524_288.0, 125e6 / 524_288.0)] {
        let one = load(0.0, size, 64.0);
        let seen = play(&target, &one, 20.0).per_s;
        assert!((solve(&target, &[one])[0].ops_per_s / rate - 1.0).abs() < 1e-6);
        assert!((seen / rate - 1.0).abs() < 0.01, "{size} bytes: {seen:.1} against {rate:.1} (seed {SEED})");
    }
}

#[test]
fn credit_lasts_as_long_as_it_should() {
    // 3000 a second, 1500 of them from the credit of 15000: ten seconds.
    let target = volume(bucket(1500.0, Some((3000.0, 15_000.0))), 1e12);
    let mut one = load(0.0, 4096.0, 64.0);
    for (seconds, mean) in [(5.0, 3000.0), (20.0, 2250.0)] {
        one.duration_s = seconds;
        let known = solve(&target, &[one])[0].ops_per_s;
        assert!((known / mean - 1.0).abs() < 1e-6, "{seconds} s: {known:.1} against {mean}");
    }
    // The last 80 % of 50 s: all of them after the credit is spent.
    let seen = play(&target, &one, 50.0).per_s;
    assert!((seen / 1500.0 - 1.0).abs() < 0.02, "{seen:.1} (seed {SEED})");
}

/// Closed loads and one with a rate of its own on a bucket that is short: all wait as long, so that the rate is kept while
/// the closed load slows down, and the bucket is full.
#[test]
fn a_bucket_that_is_short_slows_closed_loads_and_not_rates() {
    let target = volume(bucket(3000.0, None), 1e12);
    let closed = load(0.0, 4096.0, 64.0);
    let paced = DeviceLoad { rate_per_s: 500.0, ..load(0.0, 4096.0, 32.0) };
    let answers = solve(&target, &[closed, paced]);
    assert!((answers[1].ops_per_s / 500.0 - 1.0).abs() < 1e-6, "{answers:?}");
    assert!((answers[0].ops_per_s / 2500.0 - 1.0).abs() < 1e-6, "{answers:?}");
    assert!((answers[0].mean_ns - answers[1].mean_ns).abs() < 1.0, "{answers:?}");
    let short = solve(&target, &[closed, DeviceLoad { in_flight: 1.0, ..paced }]);
    assert!(short[1].ops_per_s < 100.0, "one in flight cannot keep a rate behind 64: {short:?}");
    assert!((short[0].ops_per_s + short[1].ops_per_s - 3000.0).abs() < 0.01, "{short:?}");
}

#[test]
fn a_volume_is_not_faster_than_its_latency_allows() {
    let target = volume(bucket(1e6, None), 1e12);
    let answer = solve(&target, &[load(0.0, 4096.0, 1.0)])[0];
    assert!((answer.mean_ns / 500_000.0 - 1.0).abs() < 1e-9);
}

fn write_seconds(drive: &mut FlashStations, bytes_per_s: f64, seconds: u64) -> Vec<f64> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let size = 1 << 20;
    let gap = (f64::from(size) / bytes_per_s * PS_PER_S) as u64;
    let (mut now, mut offset, mut slowest) = (0, 0u64, vec![0.0f64; seconds as usize]);
    while now < seconds * PS_PER_S as u64 {
        let request = Request { action: Action::Write, offset, bytes: size, sequential: true, ..Request::default() };
        let done = drive.serve(now, &request.at_drive(), &mut random);
        let second = (now as f64 / PS_PER_S) as usize;
        slowest[second] = slowest[second].max((done - now) as f64 / 1e3);
        offset = (offset + u64::from(size)) % 900_000_000_000;
        now += gap;
    }
    slowest
}

#[test]
fn an_slc_cache_takes_its_bytes_and_then_writes_slow_down() {
    let mut cached = nand();
    cached.sustained_bytes_per_s = value(1e9);
    cached.slc = Some(SlcCache { empty_bytes: value(20e9), full_bytes: value(6e9), fold_bytes_per_s: value(4e8) });
    let mut drive = FlashStations::new(&cached, 1e12, SEED, 1.0);
    // 2 GB/s into 6 GB that the drive writes at 3 GB/s; the cells behind it take 1 GB/s.
    let slowest = write_seconds(&mut drive, 2e9, 8);
    assert!(slowest[1] < 2e6, "before: {slowest:?} (seed {SEED})");
    assert!(slowest[5] > 10.0 * slowest[1], "after: {slowest:?} (seed {SEED})");
}

#[test]
fn the_slc_cache_counts_by_the_time_of_the_load() {
    let mut cached = nand();
    cached.sustained_bytes_per_s = value(1e9);
    cached.slc = Some(SlcCache { empty_bytes: value(20e9), full_bytes: value(6e9), fold_bytes_per_s: value(4e8) });
    let rate = |duration: f64| {
        let mut one = load(1.0, 131_072.0, 64.0);
        (one.duration_s, one.sequential) = (duration, true);
        solve(&crate::model::drive(cached.clone()), &[one])[0].ops_per_s * 131_072.0
    };
    let (short, long, ever) = (rate(1.0), rate(60.0), rate(0.0));
    assert!(short > 2.0e9 && short > long && long > ever, "{short:.3e} {long:.3e} {ever:.3e}");
    assert!((ever / 1e9 - 1.0).abs() < 0.1, "{ever:.3e}");
}

/// The analytic solution gave every drive the cache that a full one has, and the simulation what is free as well: writing
/// for 20 s to a tenth of a drive, one said 1.9 GB/s and the other 6.6.
#[test]
fn what_is_free_adds_to_the_slc_cache() {
    let mut cached = nand();
    cached.sustained_bytes_per_s = value(1e9);
    cached.slc = Some(SlcCache { empty_bytes: value(200e9), full_bytes: value(6e9), fold_bytes_per_s: value(4e8) });
    let target = crate::model::drive(cached);
    let rate = |share: f64| {
        let mut one = load(1.0, 131_072.0, 64.0);
        (one.duration_s, one.sequential) = (20.0, true);
        one.working_set_bytes = share * target.capacity_bytes();
        solve(&target, &[one])[0].ops_per_s * 131_072.0
    };
    let (empty, full) = (rate(0.1), rate(1.0));
    assert!(empty > 2.5e9 && full < 0.6 * empty, "{empty:.3e} {full:.3e}");
}

#[test]
fn a_flush_stops_a_drive_without_protection_and_not_one_with_it() {
    let with = |safe: bool| {
        let mut nand = nand();
        nand.flush = flush(safe, if safe { 20_000.0 } else { 1_000_000.0 });
        let mut log = load(1.0, 16_384.0, 1.0);
        (log.flushes_per_op, log.sequential) = (1.0, true);
        let target = crate::model::drive(nand);
        let alone = solve(&target, &[load(0.0, 16_384.0, 64.0)])[0].ops_per_s;
        let both = solve(&target, &[load(0.0, 16_384.0, 64.0), log]);
        (both[0].ops_per_s / alone, both[1].ops_per_s)
    };
    let (consumer, enterprise) = (with(false), with(true));
    assert!(consumer.0 < 0.85, "reads keep {:.2}", consumer.0);
    assert!(enterprise.0 > 0.7, "reads keep {:.2}", enterprise.0);
    assert!(enterprise.1 > 5.0 * consumer.1, "{} and {} durable writes a second", enterprise.1, consumer.1);
}

#[test]
fn an_array_flushes_as_its_slowest_member() {
    let mut consumer = nand();
    consumer.flush = flush(false, 1_000_000.0);
    let log = |target| {
        let mut log = load(1.0, 16_384.0, 1.0);
        (log.flushes_per_op, log.sequential) = (1.0, true);
        solve(&target, &[log])[0].flush_ns
    };
    let one = crate::model::drive(consumer);
    let (alone, four) = (log(one.clone()), log(stripe(one, 4, StripeKind::Raid0)));
    assert!(four > 1.2 * alone && four < 1.5 * alone, "{alone} and {four}");
}

#[test]
fn fewer_flushes_let_more_reads_through() {
    let mut nand = nand();
    nand.flush = flush(false, 1_000_000.0);
    let target = crate::model::drive(nand);
    let reads = |every: f64| {
        let mut log = load(1.0, 16_384.0, 1.0);
        (log.flushes_per_op, log.rate_per_s) = (1.0 / every, 500.0);
        solve(&target, &[load(0.0, 16_384.0, 64.0), log])[0].ops_per_s
    };
    let rates: Vec<f64> = [1.0, 4.0, 16.0, 64.0].map(reads).to_vec();
    assert!(rates.windows(2).all(|pair| pair[1] > pair[0]), "{rates:?}");
}

#[test]
fn a_drive_is_transient_only_where_it_writes() {
    let mut collected = nand();
    collected.collection.write_amplification = Some(value(2.5));
    let flash = Drive::new(&twin(Device::Nand(Box::new(collected))), SEED, 0.5).unwrap();
    assert!(flash.is_transient(true) && !flash.is_transient(false));
}

/// Linux makes one flush of those that wait for the one under way: 32 threads once flushed a drive in turns.
#[test]
fn flushes_of_many_are_merged() {
    let mut slow = nand();
    slow.flush = flush(false, 1_000_000.0);
    let target = crate::model::drive(slow);
    let flushing = |threads: f64| {
        let load = DeviceLoad { flushes_per_op: 1.0, ..load(1.0, 16_384.0, threads) };
        play(&target, &load, 2.0).per_s
    };
    let (one, many) = (flushing(1.0), flushing(32.0));
    assert!((800.0..1100.0).contains(&one), "{one} (seed {SEED})");
    // Half of them write and wait while the others flush.
    assert!((9.0..20.0).contains(&(many / one)), "{many} of 32, {one} of one (seed {SEED})");
}
