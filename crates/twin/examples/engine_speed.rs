//! Simulated operations per second of the engine itself, on stations that cost next to nothing: its ceiling.
//!
//! `cargo run --release -p assay-twin --example engine_speed`

use std::io::Write;

use assay_instruments::counters::cpu_seconds;
use assay_record::Job;
use assay_twin::{
    des::{Engine, Runnable, ceiling_seat, thread_seat},
    simulated::{Picoseconds, Request, Simulated, Step},
};
use rand_xoshiro::{Xoshiro256PlusPlus, rand_core::RngCore};

/// Dies chosen at random, then one channel: two stages, as a drive has.
#[derive(Debug)]
struct Drive {
    dies: Vec<Picoseconds>,
    channel: Picoseconds,
}

impl Simulated for Drive {
    fn step(&mut self, now: Picoseconds, request: &mut Request, random: &mut Xoshiro256PlusPlus) -> Step {
        if request.stage == 0 {
            request.stage = 1;
            let count = self.dies.len() as u64;
            let die = &mut self.dies[((u128::from(random.next_u64()) * u128::from(count)) >> 64) as usize];
            *die = (*die).max(now) + 60_000_000;
            return Step::At(*die);
        }
        self.channel = self.channel.max(now) + 1_000_000;
        Step::Done(self.channel)
    }

    fn busiest(&self) -> (&'static str, Picoseconds) {
        ("channel", 0)
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout();
    for (threads, depth) in [(1, 1), (1, 32), (4, 32), (16, 64)] {
        let job = Job::parse(&format!(
            r#"{{"version": 1, "name": "speed", "seed": 7, "targets": [{{"id": "t", "kind": "null"}}],
                "datasets": [{{"name": "d", "target": "t", "bytes": 107374182400}}],
                "classes": [{{"name": "c", "dataset": "d", "path": {{"kind": "libaio", "direct": true}},
                    "operation": {{"kind": "read"}}, "pattern": {{"kind": "uniform"}}, "size": 4096,
                    "threads": {threads}, "depth": {depth}}}],
                "window": {{"measure_s": 1}}}}"#
        ))?;
        let seats = (0..threads).map(|thread| thread_seat(&job, 0, thread, &job.datasets[0], 0)).collect();
        let drive = Drive { dies: vec![0; 64], channel: 0 };
        let class = ceiling_seat(&job.classes[0], 1_000_000);
        let mut engine = Engine::new(vec![drive], vec![class], seats, Vec::new(), Runnable::new(64, threads), 7);
        engine.recording = true;
        engine.run(u64::MAX, 1_000_000);
        let begin = cpu_seconds();
        engine.run(u64::MAX, 10_000_000);
        let rate = 10e6 / (cpu_seconds() - begin);
        writeln!(out, "{threads} threads, depth {depth}: {:.1} million simulated operations per second", rate / 1e6)?;
    }
    Ok(())
}
