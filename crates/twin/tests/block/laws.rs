//! What holds for any drive of the catalog, alone and composed, under any load.
//!
//! Cases are drawn at random; a failure names the seed, and `ASSAY_SEED=N cargo test` draws the same ones again.

use std::{path::PathBuf, time::SystemTime};

use assay_twin::{
    Device, Host, Stream, StreamPath, Target, Twin,
    analytic::DeviceLoad,
    document::{PathKey, StripeKind},
    solve as solve_with_host,
};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

use crate::{
    invariants::free_host,
    model::{load, play_all, solve},
};

const CASES: usize = 150;
const LAYOUTS: [StripeKind; 4] = [StripeKind::Raid0, StripeKind::Raid5, StripeKind::Raid10, StripeKind::Interleave];

/// Draws cases, and says which.
struct Draw {
    seed: u64,
    random: Xoshiro256PlusPlus,
    drives: Vec<(String, Twin)>,
}

impl Draw {
    fn new() -> Self {
        let given = std::env::var("ASSAY_SEED").ok().and_then(|text| text.parse().ok());
        let now = || SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(7, |time| time.as_secs());
        let seed = given.unwrap_or_else(now);
        Self { seed, random: Xoshiro256PlusPlus::seed_from_u64(seed), drives: drives() }
    }

    fn below(&mut self, count: usize) -> usize {
        (self.random.next_u64() % count as u64) as usize
    }

    fn drive(&mut self) -> (String, Target) {
        let index = self.below(self.drives.len());
        let (name, twin) = self.drives[index].clone();
        (name, Target::device(twin))
    }

    fn layout(&mut self) -> StripeKind {
        LAYOUTS[self.below(LAYOUTS.len())]
    }

    /// Drives alone or side by side.
    fn target(&mut self) -> (String, Target) {
        let (name, drive) = self.drive();
        if self.below(2) == 0 {
            return (name, drive);
        }
        let (layout, count) = (self.layout(), 2 * (self.below(3) as u32 + 2));
        (format!("{layout:?} of {count} {name}"), side_by_side(drive, count, layout))
    }

    fn load(&mut self) -> DeviceLoad {
        let writes = [0.0, 1.0, 0.3, 0.7][self.below(4)];
        let bytes = f64::from(1u32 << (12 + self.below(9)));
        let in_flight = f64::from(1u32 << self.below(9));
        let think_ns = [0.0, 5_000.0, 100_000.0][self.below(3)];
        let sequential = self.below(3) == 0;
        DeviceLoad { think_ns, sequential, threads: 1.0, working_set_bytes: 0.5e12, ..load(writes, bytes, in_flight) }
    }
}

fn side_by_side(member: Target, count: u32, layout: StripeKind) -> Target {
    Target::Stripe { member: Box::new(member), count, chunk_bytes: 512 << 10, layout, missing: 0 }
}

fn drives() -> Vec<(String, Twin)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../catalog/twins");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display())).flatten() {
        let twin: Twin = assay_twin::document::parse_file(&entry.path())
            .unwrap_or_else(|error| panic!("{}: {error}", entry.path().display()));
        // How members that were measured beside their own writes behave in an array is not settled: docs/limits.md.
        let beside = matches!(&twin.device, Device::Nand(nand) if nand.under_load.is_some());
        if !twin.device.is_memory() && !matches!(twin.device, Device::Disk(_)) && !beside {
            found.push((twin.name.clone(), twin));
        }
    }
    found.sort_by(|one, other| one.0.cmp(&other.0));
    assert!(found.len() > 40, "{} drives and volumes", found.len());
    found
}

fn said(load: &DeviceLoad) -> String {
    let order = if load.sequential { "in order" } else { "at random" };
    let (bytes, writes) = (load.size_bytes, load.write_share * 100.0);
    format!("{bytes} B {order}, {writes:.0} % writes, {} in flight, {} ns away", load.in_flight, load.think_ns)
}

fn rate(target: &Target, load: DeviceLoad) -> f64 {
    solve(target, &[load])[0].ops_per_s
}

#[test]
fn littles_law_and_utilisation_hold() {
    let mut draw = Draw::new();
    for _ in 0..CASES {
        let ((name, target), load) = (draw.target(), draw.load());
        let answer = solve(&target, &[load])[0];
        let inside = answer.ops_per_s / 1e9 * (answer.mean_ns + load.think_ns);
        let what = format!("{name}: {} (seed {})", said(&load), draw.seed);
        assert!((inside / load.in_flight - 1.0).abs() < 1e-3, "{inside} of {} customers: {what}", load.in_flight);
        assert!((0.0..=1.0 + 1e-6).contains(&answer.utilisation), "busy {}: {what}", answer.utilisation);
    }
}

#[test]
fn a_stripe_of_one_is_the_device() {
    let mut draw = Draw::new();
    for _ in 0..CASES {
        let ((name, one), load, layout) = (draw.drive(), draw.load(), draw.layout());
        let striped = side_by_side(one.clone(), 1, layout);
        assert_eq!(rate(&one, load), rate(&striped, load), "{name}: {} (seed {})", said(&load), draw.seed);
    }
}

/// Of RAID 5 only reads and small writes: what was a full stripe is none any more with another member.
#[test]
fn more_members_never_hurt() {
    let mut draw = Draw::new();
    for _ in 0..CASES {
        let ((name, one), mut load, layout) = (draw.drive(), draw.load(), draw.layout());
        load.size_bytes = load.size_bytes.min(65_536.0);
        let count = 2 * (draw.below(3) as u32 + 2);
        let [few, more] = [count, count + 2].map(|count| rate(&side_by_side(one.clone(), count, layout), load));
        let what = format!("{layout:?} of {count} {name}: {} (seed {})", said(&load), draw.seed);
        assert!(more >= few * 0.98, "{few:.0} with two more {more:.0}: {what}");
    }
}

/// Requests in order lie on as many members as those in flight reach, however many there are (drawn by chance once, with 3 to
/// 7 % less on more members).
#[test]
fn members_that_a_stream_does_not_reach_neither_help_nor_hurt() {
    for (name, layout, writes, kib, in_flight, think_us) in [
        ("i4g-xlarge", StripeKind::Raid10, 1.0, 64.0, 8.0, 5.0),
        ("l64as-v4", StripeKind::Raid5, 1.0, 64.0, 256.0, 0.0),
        ("l2aos-v4", StripeKind::Raid0, 0.3, 32.0, 128.0, 100.0),
        ("i3en-2xlarge", StripeKind::Raid0, 1.0, 64.0, 64.0, 100.0),
    ] {
        let in_order = DeviceLoad { sequential: true, threads: 1.0, ..load(writes, kib * 1024.0, in_flight) };
        let asked = DeviceLoad { think_ns: think_us * 1e3, working_set_bytes: 0.5e12, ..in_order };
        let one = drives().into_iter().find(|drive| drive.0 == name).map(|drive| Target::device(drive.1));
        let arrays = [4, 6, 8, 10].map(|count| side_by_side(one.clone().expect(name), count, layout));
        let rates = arrays.each_ref().map(|array| rate(array, asked));
        assert!(rates.is_sorted_by(|few, more| *more >= few * 0.999), "{name}: {rates:?}");
        for (array, solved) in arrays.iter().zip(rates) {
            let played = play_all(array, &[asked], 2.0, 1)[0].per_s;
            assert!((solved / played - 1.0).abs() < 0.25, "{name}: {solved:.0} and {played:.0}");
        }
    }
}

#[test]
fn more_in_flight_never_hurts() {
    let mut draw = Draw::new();
    for _ in 0..CASES {
        let ((name, target), load) = (draw.target(), draw.load());
        let [few, more] =
            [1.0, 2.0].map(|times| rate(&target, DeviceLoad { in_flight: load.in_flight * times, ..load }));
        assert!(more >= few * 0.93, "{few:.0} to {more:.0}: {name}: {} (seed {})", said(&load), draw.seed);
    }
}

#[test]
fn a_host_that_costs_nothing_gives_the_limit_of_the_device() {
    let (mut draw, host): (Draw, Host) = (Draw::new(), free_host());
    for _ in 0..CASES {
        let ((name, target), load) = (draw.target(), draw.load());
        let mut stream = Stream::closed("s", load.write_share, load.size_bytes, StreamPath::plain(PathKey::Libaio));
        (stream.depth, stream.sequential) = (load.in_flight as u32, load.sequential);
        stream.working_set_bytes = load.working_set_bytes;
        let with_host = solve_with_host(&target, &host, &[stream]).unwrap().streams[0].ops_per_s;
        let device = rate(&target, DeviceLoad { think_ns: 0.0, ..load });
        let what = format!("{name}: {} (seed {})", said(&load), draw.seed);
        assert!((with_host / device - 1.0).abs() < 0.02, "{with_host:.0} against {device:.0}: {what}");
    }
}

/// RAID 10 writes everything twice; a small write of RAID 5 is two reads and two writes, a full stripe one part more.
#[test]
fn arrays_cost_what_theory_says() {
    let mut draw = Draw::new();
    for _ in 0..CASES {
        let (name, one) = draw.drive();
        if matches!(one.twin().device, Device::CloudVolume(_)) {
            continue;
        }
        let deep = DeviceLoad { working_set_bytes: 0.5e12, ..load(1.0, 4096.0, 16_384.0) };
        let of = |layout, load| rate(&side_by_side(one.clone(), 4, layout), load);
        let plain = of(StripeKind::Raid0, deep);
        let what = format!("{name} (seed {})", draw.seed);
        assert!((of(StripeKind::Raid10, deep) / plain * 2.0 - 1.0).abs() < 0.05, "mirrors: {what}");
        // An operation of half reads and half writes, four of which are one small write.
        let half = of(StripeKind::Raid0, DeviceLoad { write_share: 0.5, ..deep });
        let small = of(StripeKind::Raid5, deep);
        assert!((small / half * 4.0 - 1.0).abs() < 0.08, "small write {small:.0}, half and half {half:.0}: {what}");
        let stripe = DeviceLoad { size_bytes: 3.0 * 524_288.0, sequential: true, in_flight: 512.0, ..deep };
        let (full, all) = (of(StripeKind::Raid5, stripe), of(StripeKind::Raid0, stripe));
        assert!((full / all / 0.75 - 1.0).abs() < 0.12, "full stripes {full:.0}, without parity {all:.0}: {what}");
    }
}

/// A read of what a missing member of RAID 5 held asks all others, and the copy that is left of a pair serves both halves:
/// either way an array does half of its reads. Without redundancy there is nothing to ask.
#[test]
fn an_array_that_lacks_a_member_does_half_of_its_reads() {
    let mut draw = Draw::new();
    for _ in 0..CASES {
        let ((name, one), count) = (draw.drive(), 2 * (draw.below(3) as u32 + 2));
        let deep = DeviceLoad { working_set_bytes: 0.5e12, ..load(0.0, 16_384.0, 16_384.0) };
        for layout in LAYOUTS {
            let whole = side_by_side(one.clone(), count, layout);
            let mut array = whole.clone();
            if let Target::Stripe { missing, .. } = &mut array {
                *missing = 1;
            }
            if !matches!(layout, StripeKind::Raid5 | StripeKind::Raid10) {
                assert!(array.validate().is_err(), "{layout:?} without a member");
                continue;
            }
            array.validate().unwrap();
            let share = rate(&array, deep) / rate(&whole, deep);
            let what = format!("{layout:?} of {count} {name} (seed {})", draw.seed);
            assert!(
                matches!(one.twin().device, Device::CloudVolume(_)) || (share - 0.5).abs() < 0.03,
                "{share}: {what}"
            );
        }
    }
}

/// Both engines, over compositions: what a random case may be off, and what most of them are.
#[test]
fn both_engines_give_the_same() {
    let mut draw = Draw::new();
    let mut off = Vec::new();
    while off.len() < 60 {
        let ((name, target), mut load) = (draw.target(), draw.load());
        if matches!(target.twin().device, Device::CloudVolume(_)) {
            continue;
        }
        (load.working_set_bytes, load.sequential) = (target.capacity_bytes(), false);
        // One engine is asked for the steady state, and the other one begins with an empty SLC cache, or with the fresh
        // drives of an instance.
        let begins_elsewhere = match &target.twin().device {
            Device::Nand(nand) => nand.slc.is_some(),
            device => matches!(device, Device::CloudInstance(_)),
        };
        if begins_elsewhere {
            load.write_share = 0.0;
        }
        let solved = rate(&target, load);
        // Buffers that fill take writes faster than the steady state.
        let least_s = if load.write_share > 0.0 { 0.2 } else { 0.02 };
        let seconds = (20_000.0 / solved).clamp(least_s, 2.0);
        let played = play_all(&target, &[load], seconds, draw.seed)[0].per_s;
        off.push((solved / played, format!("{solved:.0} and {played:.0}: {name}: {}", said(&load))));
    }
    off.sort_by(|one, other| one.0.ln().abs().total_cmp(&other.0.ln().abs()));
    let at = |share: f64| &off[((off.len() - 1) as f64 * share) as usize];
    let what = format!("(seed {})", draw.seed);
    for (share, most) in [(0.5, 1.05), (0.9, 1.3), (1.0, 2.0)] {
        let (ratio, case) = at(share);
        assert!((1.0 / most..most).contains(ratio), "{share} of the cases: {case} {what}");
    }
}
