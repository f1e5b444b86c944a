//! The engine against queueing theory.

use assay_instruments::tally::Tally;
use assay_record::{Arrivals, Dataset, Job, RateScope};
use rand_distr::{Distribution, Exp1};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::RngCore};

use super::*;
use crate::simulated::{PS_PER_S, Picoseconds, Request, Simulated, Step};

/// Stations with exponential service: `stations` of one server each, chosen at random; or one with `stations` servers.
#[derive(Debug)]
struct Exponential {
    free_at: Vec<Picoseconds>,
    pooled: bool,
    mean_ps: f64,
}

impl Simulated for Exponential {
    fn step(&mut self, now: Picoseconds, _request: &mut Request, random: &mut Xoshiro256PlusPlus) -> Step {
        let index = if self.pooled {
            (0..self.free_at.len()).min_by_key(|index| self.free_at[*index]).unwrap()
        } else {
            (random.next_u64() % self.free_at.len() as u64) as usize
        };
        let service: f64 = Exp1.sample(random);
        self.free_at[index] = self.free_at[index].max(now) + (service * self.mean_ps) as u64;
        Step::Done(self.free_at[index])
    }

    fn busiest(&self) -> (&'static str, Picoseconds) {
        ("exponential", 0)
    }
}

fn job(class: &str) -> Job {
    let document = format!(
        r#"{{"version": 1, "name": "t", "seed": 7,
            "targets": [{{"id": "t", "kind": "null"}}],
            "datasets": [{{"name": "d", "target": "t", "bytes": 1073741824}}],
            "classes": [{{"name": "c", "dataset": "d", "path": {{"kind": "libaio", "direct": true}},
                "operation": {{"kind": "read"}}, "pattern": {{"kind": "uniform"}}, "size": 4096 {class}}}],
            "window": {{"measure_s": 1}}}}"#
    );
    Job::parse(&document).unwrap()
}

fn engine(job: &Job, machine: Exponential, cpu_ns: u64) -> Engine<Exponential> {
    let class = &job.classes[0];
    let dataset: &Dataset = &job.datasets[0];
    let seat = ceiling_seat(class, cpu_ns * 1000);
    let threads = (0..class.threads).map(|thread| thread_seat(job, 0, thread, dataset, 0)).collect();
    Engine::new(vec![machine], vec![seat], threads, Vec::new(), Runnable::new(64, class.threads), job.seed)
}

/// Throughput (1/s) and mean time (s) of a closed class over `operations`, after as many to warm up.
fn run(engine: &mut Engine<Exponential>, operations: u64) -> (f64, f64) {
    engine.run(u64::MAX, operations / 2);
    engine.recording = true;
    let begin = engine.now;
    engine.run(u64::MAX, operations);
    let tally = &engine.classes[0].tally;
    let sum = assay_instruments::series::sum_of(std::iter::once(Some(&tally.service))).unwrap();
    (sum.count() as f64 / ((engine.now - begin) as f64 / PS_PER_S), sum.mean() / 1e9)
}

/// Exact mean value analysis: `customers` at `stations` equal single servers of `service` s each with visit ratio
/// 1/stations, and a delay of `think` s.
fn mva(customers: u32, stations: f64, service: f64, think: f64) -> (f64, f64) {
    let (mut queue, mut answer) = (0.0, (0.0, 0.0));
    for population in 1..=customers {
        let stay = service * (1.0 + queue);
        let rate = f64::from(population) / (think + stay);
        queue = rate / stations * stay;
        answer = (rate, stay);
    }
    answer
}

/// Exact closed M/M/m: the machine repairman without think time is `m` busy servers; with it, birth and death.
fn repairman(customers: u32, servers: u32, service: f64, think: f64) -> f64 {
    let mut weights = vec![1.0f64];
    for inside in 1..=customers {
        let born = f64::from(customers - inside + 1) / think;
        let dies = f64::from(inside.min(servers)) / service;
        let last = weights[weights.len() - 1];
        weights.push(last * born / dies);
    }
    let total: f64 = weights.iter().sum();
    weights.iter().zip(0u32..).map(|(weight, inside)| weight / total * f64::from(inside.min(servers)) / service).sum()
}

fn close(seen: f64, wanted: f64, within: f64, what: &str) {
    assert!((seen / wanted - 1.0).abs() < within, "{what}: {seen} against {wanted}");
}

#[test]
fn the_mean_of_a_closed_network_is_that_of_exact_mean_value_analysis() {
    for (threads, depth, stations) in [(1, 1, 8), (1, 16, 8), (4, 16, 32), (2, 64, 16)] {
        let job = job(&format!(r#", "threads": {threads}, "depth": {depth}"#));
        let machine = Exponential { free_at: vec![0; stations], pooled: false, mean_ps: 80e6 };
        let (rate, mean) = run(&mut engine(&job, machine, 0), 400_000);
        let (wanted_rate, wanted_mean) = mva(threads * depth, stations as f64, 80e-6, 0.0);
        let what = format!("{threads} threads, depth {depth}, {stations} stations");
        close(rate, wanted_rate, 0.02, &what);
        close(mean, wanted_mean, 0.02, &what);
        close(rate * mean, f64::from(threads * depth), 0.01, &format!("Little's law, {what}"));
    }
}

#[test]
fn a_closed_queue_with_many_servers_keeps_the_rate_of_the_machine_repairman() {
    for (threads, servers) in [(4, 2), (32, 8), (64, 60)] {
        let job = job(&format!(r#", "threads": {threads}"#));
        let machine = Exponential { free_at: vec![0; servers as usize], pooled: true, mean_ps: 100e6 };
        let (rate, _) = run(&mut engine(&job, machine, 50_000), 300_000);
        // The host's 50 us are constant; the formula's think time is exponential and only its mean matters (it is a delay).
        close(rate, repairman(threads, servers, 100e-6, 50e-6), 0.02, &format!("{threads} threads, {servers} servers"));
    }
}

#[test]
fn threads_that_pause_keep_the_rate_of_the_machine_repairman() {
    for (threads, servers, every) in [(1, 1, 1), (1, 1, 4), (8, 2, 1), (40, 4, 1)] {
        let job = job(&format!(r#", "threads": {threads}, "think": {{"pause_s": 0.0005, "every": {every}}}"#));
        let machine = Exponential { free_at: vec![0; servers as usize], pooled: true, mean_ps: 100e6 };
        let (rate, mean) = run(&mut engine(&job, machine, 0), 300_000);
        let pause_s = 500e-6 / f64::from(every);
        let what = format!("{threads} threads, {servers} servers, a pause in {every}");
        close(rate, repairman(threads, servers, 100e-6, pause_s), 0.02, &what);
        close(rate * (mean + pause_s), f64::from(threads), 0.01, &format!("Little's law, {what}"));
    }
}

#[test]
fn an_open_queue_waits_as_erlang_said() {
    let mut job = job(r#", "threads": 1, "depth": 4096"#);
    job.classes[0].arrivals = Arrivals::Poisson { rate_per_s: 8_000.0, scope: RateScope::Total };
    let machine = Exponential { free_at: vec![0], pooled: true, mean_ps: 100e6 };
    let (rate, mean) = run(&mut engine(&job, machine, 0), 2_000_000);
    close(rate, 8_000.0, 0.02, "the rate asked for");
    // M/M/1: s / (1 - rho).
    close(mean, 100e-6 / (1.0 - 0.8), 0.03, "the mean time at 80 % load");
}

#[test]
fn a_device_that_takes_no_time_leaves_the_host_and_a_host_that_costs_nothing_leaves_the_device() {
    let job = job(r#", "threads": 2, "depth": 8"#);
    let nothing = Exponential { free_at: vec![0; 4], pooled: true, mean_ps: 0.0 };
    let (rate, _) = run(&mut engine(&job, nothing, 1_000), 100_000);
    close(rate, 2.0 / 1e-6, 0.01, "two threads of 1 us per operation");
    let device = Exponential { free_at: vec![0; 4], pooled: true, mean_ps: 10e6 };
    let (rate, _) = run(&mut engine(&job, device, 0), 400_000);
    close(rate, 4.0 / 10e-6, 0.02, "four servers of 10 us, always busy");
}

#[test]
fn equal_seeds_give_equal_plays() {
    let job = job(r#", "threads": 3, "depth": 5"#);
    let play = || {
        let machine = Exponential { free_at: vec![0; 4], pooled: false, mean_ps: 10e6 };
        run(&mut engine(&job, machine, 500), 20_000)
    };
    assert_eq!(play(), play());
}

#[test]
fn what_was_due_in_the_window_is_played_to_its_end_or_counts_as_at_least() {
    let job = job(r#", "depth": 4, "arrivals": {"kind": "fixed", "rate_per_s": 1000, "scope": "total"}"#);
    for (mean_ps, ends) in [(9e8, true), (5e10, false)] {
        let machine = Exponential { free_at: vec![0], pooled: true, mean_ps };
        let mut engine = engine(&job, machine, 1);
        engine.recording = true;
        engine.run(PS_PER_S as u64, u64::MAX);
        let done = engine.done;
        engine.settle(0, u64::MAX);
        assert_eq!(engine.done, done, "the window's own count stays");
        let (tally, overdue) = (&engine.classes[0].tally, &engine.classes[0].overdue);
        let accounted = tally.service.count() + overdue.completed() + overdue.missing();
        assert_eq!(accounted, 1000, "a mean service time of {mean_ps} ps");
        assert_eq!(overdue.missing() == 0, ends, "{} missing", overdue.missing());
        let responses = |tally: &Tally| tally.response.as_ref().map_or(0, assay_instruments::tally::Latencies::count);
        assert_eq!(responses(tally) + responses(&overdue.tally), 1000);
        assert!(ends || overdue.response.from_ns >= 1_000_000_000, "waited for a second at least");
    }
}
