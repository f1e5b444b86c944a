//! Drives with plain parameters, and a closed loop that plays against their stations.

use std::{cmp::Reverse, collections::BinaryHeap};

use assay_twin::{
    Device, Parameter, Target, Twin,
    analytic::{DeviceAnswer, DeviceLoad, answer},
    array::ArrayStations,
    document::{
        Band, Bounds, Bucket, CloudVolume, FlushModel, GarbageCollection, Nand, OptaneSsd, PathKey, StripeKind,
    },
    simulated::{Action, PS_PER_S, Request, Step},
};
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{RngCore, SeedableRng},
};

pub const SEED: u64 = 11;

pub fn value(value: f64) -> Parameter {
    Parameter::assumed(value, "a test", "2026-11")
}

pub fn flush(safe: bool, base_ns: f64) -> FlushModel {
    FlushModel {
        power_loss_protection: value(f64::from(u8::from(safe))),
        base_ns: value(base_ns),
        drain_bytes_per_s: Some(value(1e9)),
        blocking_share: Some(value(if safe { 0.0 } else { 1.0 })),
    }
}

/// A drive of the class of a data centre's, whose dies, not whose controller, limit small reads.
pub fn nand() -> Nand {
    Nand {
        read_delay_ns: value(20_000.0),
        dies: value(32.0),
        read_ns: value(60_000.0),
        page_bytes: value(16_384.0),
        program_ns: value(600_000.0),
        erase_ns: None,
        channel_bytes_per_s: value(800e6),
        spread_dies: None,
        spread_delay_ns: None,
        read_range: None,
        mapping_bytes: None,
        sequential_delay_ns: None,
        read_iops: value(2_000_000.0),
        write_iops: value(2_000_000.0),
        mixed_iops: None,
        read_bytes_per_s: value(6e9),
        write_bytes_per_s: value(3e9),
        sustained_bytes_per_s: value(3e9),
        buffer_bytes: value(8e6),
        write_latency_ns: value(15_000.0),
        slc: None,
        collection: GarbageCollection {
            over_provisioning: Some(value(0.28)),
            write_amplification: Some(value(1.0)),
            unit_bytes: None,
            placement_handles: None,
        },
        flush: flush(true, 20_000.0),
        suspend_ns: None,
        under_load: None,
    }
}

pub fn twin(device: Device) -> Twin {
    Twin {
        version: 1,
        name: "drive".into(),
        title: "a drive".into(),
        capacity_bytes: value(1e12),
        device,
        bounds: Bounds {
            size_bytes: [512.0, 1e6],
            in_flight: [1.0, 256.0],
            write_percent: [0.0, 100.0],
            duration_s: [0.0, 1e5],
        },
        band: Band { bandwidth: value(0.1), latency: value(0.1), tail: value(1.0), joined: None },
        notes: Vec::new(),
    }
}

pub fn drive(nand: Nand) -> Target {
    Target::device(twin(Device::Nand(Box::new(nand))))
}

pub fn optane() -> Target {
    Target::device(twin(Device::OptaneSsd(Box::new(OptaneSsd {
        delay_ns: value(2_000.0),
        units: value(7.0),
        command_ns: None,
        read_ns: value(4_000.0),
        write_ns: value(5_000.0),
        read_iops: value(2e6),
        write_iops: value(2e6),
        read_bytes_per_s: value(2.4e9),
        write_bytes_per_s: value(2e9),
        flush: flush(true, 1_000.0),
    }))))
}

pub fn volume(operations: Bucket, bytes: f64) -> Target {
    Target::device(twin(Device::CloudVolume(Box::new(CloudVolume {
        read_latency_ns: value(500_000.0),
        write_latency_ns: value(500_000.0),
        latency_sigma: value(0.3),
        operations,
        bytes: Bucket { rate_per_s: value(bytes), burst_per_s: None, credit: None },
        unit_bytes: value(262_144.0),
        instance_operations: None,
        instance_bytes: None,
    }))))
}

pub fn stripe(member: Target, count: u32, layout: StripeKind) -> Target {
    Target::Stripe { member: Box::new(member), count, chunk_bytes: 65_536, layout, missing: 0 }
}

pub fn load(write_share: f64, size_bytes: f64, in_flight: f64) -> DeviceLoad {
    DeviceLoad {
        write_share,
        size_bytes,
        sequential: false,
        in_flight,
        threads: in_flight,
        bunch: 1.0,
        think_ns: 0.0,
        rate_per_s: f64::INFINITY,
        flushes_per_op: 0.0,
        working_set_bytes: 1e12,
        duration_s: 0.0,
        path: PathKey::Libaio,
        persist: assay_record::Persist::Auto,
        fenced: false,
    }
}

pub fn solve(target: &Target, loads: &[DeviceLoad]) -> Vec<DeviceAnswer> {
    let mut answers = vec![DeviceAnswer::default(); loads.len()];
    answer(target, loads, &mut answers).unwrap();
    answers
}

/// What a closed loop saw: operations per second, and their mean latency.
pub struct Seen {
    pub per_s: f64,
    pub mean_ns: f64,
}

/// Plays `in_flight` customers that read or write `bytes` at random places for some virtual seconds.
pub fn play(target: &Target, load: &DeviceLoad, seconds: f64) -> Seen {
    play_all(target, std::slice::from_ref(load), seconds, SEED).remove(0)
}

/// A customer of one of several closed loads.
struct Customer {
    load: usize,
    /// The thread that it belongs to.
    thread: usize,
    request: Request,
    since: u64,
    /// Writes since its last flush.
    unflushed: f64,
}

/// Where the next operations of a load go: at random, or on from where each thread is.
struct Places {
    count: u64,
    heads: Vec<u64>,
}

impl Places {
    fn new(target: &Target, load: &DeviceLoad) -> Self {
        let count = (target.capacity_bytes() / load.size_bytes) as u64;
        let threads = load.threads as u64;
        Self { count, heads: (0..threads).map(|thread| count * thread / threads).collect() }
    }

    fn fresh(&mut self, load: &DeviceLoad, thread: usize, random: &mut Xoshiro256PlusPlus) -> Request {
        let write = (random.next_u64() as f64) < load.write_share * u64::MAX as f64;
        let mut place = random.next_u64() % self.count;
        if load.sequential {
            place = self.heads[thread];
            self.heads[thread] = (place + 1) % self.count;
        }
        Request {
            action: if write { Action::Write } else { Action::Read },
            offset: place * load.size_bytes as u64,
            bytes: load.size_bytes as u32,
            sequential: load.sequential,
            ..Request::default()
        }
    }
}

impl Customer {
    /// What comes after a request: the flush that makes it durable, or, after a while, the next one.
    fn goes_on(&mut self, load: &DeviceLoad) -> bool {
        self.unflushed += f64::from(u8::from(self.request.action == Action::Write));
        if load.flushes_per_op == 0.0 || self.unflushed * load.flushes_per_op < 1.0 - 1e-9 {
            return false;
        }
        self.unflushed = 0.0;
        self.request = Request { action: Action::Flush, bytes: 0, stage: 0, ..self.request };
        true
    }
}

/// Plays closed loads side by side for some virtual seconds, of which the first fifth does not count.
pub fn play_all(target: &Target, loads: &[DeviceLoad], seconds: f64, seed: u64) -> Vec<Seen> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut stations = ArrayStations::new(target, seed, 0.0).unwrap();
    let mut places: Vec<Places> = loads.iter().map(|load| Places::new(target, load)).collect();
    let (end, begin) = ((seconds * PS_PER_S) as u64, (seconds * 0.2 * PS_PER_S) as u64);
    let mut customers: Vec<Customer> = Vec::new();
    for (load, each) in loads.iter().enumerate() {
        for index in 0..each.in_flight as usize {
            let thread = index % each.threads as usize;
            let request = places[load].fresh(each, thread, &mut random);
            customers.push(Customer { load, thread, request, since: 0, unflushed: 0.0 });
        }
    }
    let mut events: BinaryHeap<Reverse<(u64, usize, bool)>> =
        (0..customers.len()).map(|index| Reverse((index as u64 * 1_000_000, index, false))).collect();
    let mut seen: Vec<(u64, f64)> = vec![(0, 0.0); loads.len()];
    while let Some(Reverse((now, index, ended))) = events.pop() {
        if now > end {
            break;
        }
        let customer = &mut customers[index];
        let load = &loads[customer.load];
        if ended && !customer.goes_on(load) {
            if now > begin {
                seen[customer.load].0 += 1;
                seen[customer.load].1 += (now - customer.since) as f64;
            }
            customer.request = places[customer.load].fresh(load, customer.thread, &mut random);
            events.push(Reverse((now + (load.think_ns * 1e3) as u64, index, false)));
            customer.since = 0;
            continue;
        }
        if customer.since == 0 {
            customer.since = now;
        }
        let next = match stations.step(now, &mut customer.request, &mut random) {
            Step::Done(at) => (at, index, true),
            Step::At(at) => (at, index, false),
        };
        events.push(Reverse(next));
    }
    let mean = |(done, waited): (u64, f64)| waited / done.max(1) as f64 / 1e3;
    seen.into_iter().map(|one| Seen { per_s: one.0 as f64 / (seconds * 0.8), mean_ns: mean(one) }).collect()
}
