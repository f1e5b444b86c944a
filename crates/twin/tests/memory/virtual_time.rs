//! Memory in virtual time against the analytic model.

use std::{cmp::Reverse, collections::BinaryHeap};

use assay_record::Persist;
use assay_twin::{
    Target,
    analytic::DeviceLoad,
    memory::MemoryStation,
    simulated::{Action, PS_PER_S, Request, Step},
};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::SeedableRng};

use crate::catalog::{ask, modules, reads, writes};

const SEED: u64 = 11;

/// Operations per second of each of some closed streams of one thread each.
fn play(target: &Target, streams: &[Request], operations: u64) -> Vec<f64> {
    let mut station = MemoryStation::new(target).expect("stations").with_working_set(1e11);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let mut heap = BinaryHeap::new();
    let mut done = vec![0u64; streams.len()];
    let mut now = 0;
    let mut issue = |station: &mut MemoryStation, now, index: usize| {
        let mut request = streams[index];
        match station.step(now, &mut request, &mut random) {
            Step::Done(at) => at,
            Step::At(_) => panic!("memory has one stage"),
        }
    };
    for index in 0..streams.len() {
        heap.push(Reverse((issue(&mut station, 0, index), index)));
    }
    for _ in 0..operations {
        let Reverse((at, index)) = heap.pop().expect("closed streams never end");
        now = at;
        station.complete(now, &streams[index]);
        done[index] += 1;
        heap.push(Reverse((issue(&mut station, now, index), index)));
    }
    done.iter().map(|count| *count as f64 * PS_PER_S / now as f64).collect()
}

fn request(load: &DeviceLoad) -> Request {
    Request {
        action: if load.write_share > 0.0 { Action::Write } else { Action::Read },
        bytes: load.size_bytes as u32,
        sequential: load.sequential,
        persist: load.persist,
        fenced: load.fenced,
        ..Request::default()
    }
}

#[test]
fn the_mean_of_the_events_is_the_model() {
    for (name, count, load) in [
        ("pmem100-256g", 1, reads(64.0, false, 8.0)),
        ("pmem100-256g", 6, reads(4096.0, true, 32.0)),
        ("pmem100-256g", 2, writes(1024.0, true, 32.0, Persist::Nt)),
        ("ddr4-2666-32g", 6, reads(64.0, false, 16.0)),
        ("cxl-a1000", 1, reads(4096.0, true, 8.0)),
    ] {
        let target = modules(name, count);
        let streams = vec![request(&load); load.threads as usize];
        let seen: f64 = play(&target, &streams, 200_000).iter().sum();
        let model = ask(&target, &[load])[0].ops_per_s;
        assert!((seen / model - 1.0).abs() < 0.02, "{name}*{count}: {seen:.4e} by events, {model:.4e} by the model");
    }
}

#[test]
fn readers_beside_writers_get_what_the_model_gives() {
    let target = modules("pmem100-128g", 6);
    let loads = [reads(4096.0, true, 16.0), writes(4096.0, true, 16.0, Persist::Nt)];
    let streams: Vec<Request> = loads.iter().flat_map(|load| vec![request(load); 16]).collect();
    let seen = play(&target, &streams, 400_000);
    let model = ask(&target, &loads);
    for (index, load) in loads.iter().enumerate() {
        let events: f64 = seen[index * 16..(index + 1) * 16].iter().sum();
        let ratio = events / model[index].ops_per_s;
        assert!((ratio - 1.0).abs() < 0.02, "write share {}: ratio {ratio:.3}", load.write_share);
    }
}

#[test]
fn wear_levelling_stops_a_hot_granule_now_and_then() {
    let target = modules("pmem100-256g", 1);
    let mut station = MemoryStation::new(&target).expect("stations").with_working_set(256.0);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(SEED);
    let write = request(&writes(256.0, false, 1.0, Persist::Nt));
    let (mut now, mut stalls) = (0, 0);
    for _ in 0..143_500 {
        let Step::Done(at) = station.step(now, &mut write.clone(), &mut random) else { panic!("one stage") };
        station.complete(at, &write);
        stalls += u32::from(at - now > 40_000_000);
        now = at;
    }
    assert_eq!(stalls, 10, "one stall of 52 us in 14,300 writes to one granule");
}
