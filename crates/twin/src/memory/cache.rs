//! A cache in front of something: Memory Mode where it is direct-mapped, a page cache or buffer where it is not.
//!
//! Every operation looks in front; the share 1 - h that misses goes on to what lies behind, and takes dirty lines out with
//! it. To the back the cache is a load of (1 - h) of the operations whose customers think as long as it takes to miss
//! once more, so that any device can lie behind.

use assay_record::Persist;

use crate::{
    PathKey, Target, TwinError, analytic,
    device_load::{DeviceAnswer, DeviceLoad},
    document::CachePolicy,
};

const ROUNDS: usize = 40;
/// Bytes of a page of a page cache.
const PAGE_BYTES: f64 = 4096.0;

/// Hit ratio of uniform accesses to a working set.
///
/// A direct-mapped cache of B bytes before pages that lie where chance put them: a place is sought by Poisson(W / B) pages
/// and holds the last one, so h = (1 - e^-a) / a with a = W / B. With LRU h = min(1, B / W).
pub fn hit_ratio(policy: CachePolicy, cache_bytes: f64, working_set_bytes: f64) -> f64 {
    if working_set_bytes <= 0.0 {
        return 1.0;
    }
    let load = working_set_bytes / cache_bytes;
    match policy {
        CachePolicy::Lru => (1.0 / load).min(1.0),
        CachePolicy::DirectMapped => -(-load).exp_m1() / load,
    }
}

/// Share of misses that push out a dirty line: a line is dirty unless every access since it came was a read, and there
/// were j of them with probability (1 - h) h^(j - 1).
pub fn dirty_share(hit_ratio: f64, write_share: f64) -> f64 {
    let clean = (1.0 - hit_ratio) * (1.0 - write_share) / (1.0 - hit_ratio * (1.0 - write_share)).max(1e-12);
    (1.0 - clean).clamp(0.0, 1.0)
}

struct Miss {
    hit: f64,
    /// Share of misses that push out a dirty line.
    dirty: f64,
    /// Share of misses that read what lies behind.
    fetches: f64,
}

/// Serves the loads from the cache and what lies behind it.
///
/// # Errors
/// Where front or back cannot do what a load asks.
pub fn answer(
    front: &Target,
    back: &Target,
    bytes: u64,
    policy: CachePolicy,
    loads: &[DeviceLoad],
    answers: &mut [DeviceAnswer],
) -> Result<(), TwinError> {
    let misses: Vec<Miss> = loads.iter().map(|load| miss(policy, bytes as f64, load)).collect();
    let mut fronts = vec![DeviceAnswer::default(); loads.len()];
    let mut backs = vec![DeviceAnswer::default(); loads.len()];
    let mut front_loads = loads.to_vec();
    let mut back_loads: Vec<DeviceLoad> = loads.iter().map(|load| evicting(policy, load)).collect();
    for _ in 0..ROUNDS {
        analytic::answer(front, &front_loads, &mut fronts)?;
        for (index, load) in loads.iter().enumerate() {
            behind(load, &misses[index], fronts[index].mean_ns, &mut back_loads[index]);
        }
        analytic::answer(back, &back_loads, &mut backs)?;
        let mut change: f64 = 0.0;
        for (index, load) in loads.iter().enumerate() {
            let away = load.think_ns + behind_ns(load, &misses[index], &backs[index]);
            change = change.max((away - front_loads[index].think_ns).abs() / away.max(1.0));
            front_loads[index].think_ns += 0.5 * (away - front_loads[index].think_ns);
        }
        if change < 1e-6 {
            break;
        }
    }
    for (index, load) in loads.iter().enumerate() {
        answers[index] = together(load, &misses[index], &fronts[index], &backs[index]);
    }
    Ok(())
}

fn miss(policy: CachePolicy, cache_bytes: f64, load: &DeviceLoad) -> Miss {
    let fits = load.working_set_bytes <= cache_bytes;
    let scan = policy == CachePolicy::Lru && load.sequential && !fits;
    // Whoever goes round in order finds that what it needs next has just left.
    let hit = if scan { 0.0 } else { hit_ratio(policy, cache_bytes, load.working_set_bytes) };
    let whole = policy == CachePolicy::Lru && is_whole(load.size_bytes);
    Miss { hit, dirty: dirty_share(hit, load.write_share), fetches: if whole { 1.0 - load.write_share } else { 1.0 } }
}

/// A write of whole pages overwrites all that it touches: nothing is read before.
pub fn is_whole(bytes: f64) -> bool {
    bytes % PAGE_BYTES == 0.0
}

/// Operations at the back per operation of the load: reads that miss, dirty lines that leave; what is made durable passes
/// through.
fn visits(load: &DeviceLoad, miss: &Miss) -> (f64, f64) {
    if load.flushes_per_op > 0.0 {
        return ((1.0 - miss.hit) * (1.0 - load.write_share), load.write_share);
    }
    ((1.0 - miss.hit) * miss.fetches, (1.0 - miss.hit) * miss.dirty)
}

/// How lines that are pushed out reach what lies behind. In Memory Mode the controller lets go of one line at a time, as the
/// next one asks for its place: the modules see what plain stores that leave the CPU's caches by chance make of them, and not
/// the streams of whoever wrote.
fn evicting(policy: CachePolicy, load: &DeviceLoad) -> DeviceLoad {
    match policy {
        CachePolicy::Lru => *load,
        CachePolicy::DirectMapped => DeviceLoad { path: PathKey::Pmem, persist: Persist::None, ..*load },
    }
}

fn behind(load: &DeviceLoad, miss: &Miss, front_ns: f64, back: &mut DeviceLoad) {
    let (reads, writes) = visits(load, miss);
    let all = (reads + writes).max(1e-6);
    back.think_ns = (load.think_ns + front_ns) / all;
    back.write_share = writes / all;
    back.rate_per_s = load.rate_per_s * all;
    back.flushes_per_op = load.flushes_per_op / all;
}

/// Time behind the cache per operation of the load, ns.
fn behind_ns(load: &DeviceLoad, miss: &Miss, back: &DeviceAnswer) -> f64 {
    let (reads, writes) = visits(load, miss);
    (reads + writes) * back.mean_ns
}

fn together(load: &DeviceLoad, miss: &Miss, front: &DeviceAnswer, back: &DeviceAnswer) -> DeviceAnswer {
    let (reads, writes) = visits(load, miss);
    let all = reads + writes;
    let mean_ns = front.mean_ns + all * back.mean_ns;
    let ops_per_s = (load.in_flight / (load.think_ns + mean_ns) * 1e9).min(load.rate_per_s);
    let missed = |front: crate::Percentile, back: crate::Percentile, beyond: f64| {
        if 1.0 - miss.hit > beyond {
            let add = |front: f64, back: f64| front + back;
            crate::Percentile {
                low_ns: add(front.low_ns, back.low_ns),
                mid_ns: add(front.mid_ns, back.mid_ns),
                high_ns: add(front.high_ns, back.high_ns),
            }
        } else {
            front
        }
    };
    let behind_sets = back.utilisation >= front.utilisation;
    DeviceAnswer {
        ops_per_s,
        mean_ns,
        overlap: (front.mean_ns * front.overlap.max(1.0) + all * back.mean_ns * back.overlap.max(1.0))
            / mean_ns.max(1e-9),
        queue_ns: front.queue_ns + all * back.queue_ns,
        flush_ns: front.flush_ns + all * back.flush_ns,
        last_ns: 0.0,
        p50: missed(front.p50, back.p50, 0.5),
        p99: missed(front.p99, back.p50, 0.01),
        p999: missed(front.p999, back.p99, 0.001),
        bound_by: if behind_sets { back.bound_by } else { front.bound_by },
        utilisation: front.utilisation.max(back.utilisation),
    }
}
