//! What a play in virtual time leaves: figures with their bands, and what set the pace.

use std::collections::BTreeMap;

use assay_buffer::stage::{Account, Picoseconds};
use assay_engine::Durability;
use assay_instruments::work::WorkWindow;
use assay_record::{
    DeviceCounters, Environment, Figure, Method, Provenance, Reason, Unit, Verdict, Widths, WorkRecord,
};
use assay_scene::{Doings, SATURATED, cpu_width};
use assay_twin::{Driven, Twin, machine, reason};
use serde_json::json;

use super::Play;
use crate::engine::tiers;

/// Everything at one edge of a piece of the window.
pub(super) struct Edge {
    at: Picoseconds,
    done: u64,
    pub workers: Account,
    pub log_writer: Account,
    pub all: Account,
    /// Time for which the log's writer waited for its device.
    writing: Picoseconds,
    data: Doings,
    log: Doings,
    /// Bytes of pages that the engine wrote.
    pages: u64,
    /// Bytes of pages in use.
    used: u64,
}

impl Edge {
    pub fn now(play: &Play<'_>, workers: &[usize], done: u64) -> Self {
        let stage = play.stage;
        let mut sum = Account::default();
        workers.iter().for_each(|&actor| sum.add(&stage.account(actor)));
        let mut all = sum;
        ["log", "checkpoint"]
            .iter()
            .filter_map(|name| stage.find(name))
            .for_each(|actor| all.add(&stage.account(actor)));
        let scene = play.set.scene.lock();
        let [data, log] = play.set.stations.map(|station| scene.doings(station, stage.now()));
        let log_writer = stage.find("log").map(|actor| stage.account(actor)).unwrap_or_default();
        let pool = play.database.pool();
        let (pages, used) = (pool.written_bytes(), pool.pages() * pool.page_bytes() as u64);
        Self {
            at: stage.now(),
            done,
            workers: sum,
            writing: log_writer.device,
            log_writer,
            all,
            data,
            log,
            pages,
            used,
        }
    }

    /// Transactions per second between two edges.
    pub fn rate(edges: &[Self]) -> f64 {
        let (first, last) = (&edges[0], &edges[edges.len() - 1]);
        (last.done - first.done) as f64 / seconds(last.at - first.at).max(1e-12)
    }
}

fn seconds(time: Picoseconds) -> f64 {
    time as f64 / 1e12
}

/// What set the pace, and by how much.
struct Pace {
    bound_by: &'static str,
    /// Shares of the workers' time: computing (and waiting for a core, and for memory), devices, others.
    shares: [f64; 3],
    cpu: f64,
    data: f64,
    log: f64,
}

impl Pace {
    fn of(play: &Play<'_>, first: &Edge, last: &Edge) -> Self {
        let window = seconds(last.at - first.at).max(1e-12);
        let used = last.workers.since(&first.workers);
        let parts = [used.cpu + used.memory + used.core, used.device, used.others];
        let whole = (parts.iter().sum::<u64>() + used.asleep).max(1) as f64;
        let shares = parts.map(|part| part as f64 / whole);
        let all = last.all.since(&first.all);
        let host = &play.twins.data.host;
        let cores = host.hardware_threads().min(f64::from(play.job.threads) + 2.0).max(1.0);
        let cpu = seconds(all.cpu + all.memory) / (window * cores);
        let [data, log] = [(&first.data, &last.data), (&first.log, &last.log)]
            .map(|(first, last)| seconds(last.busy - first.busy.min(last.busy)) / window);
        // Persistent memory makes durable; the drive gets the log in the background.
        let awaited = play.job.durability.logs() && play.job.durability != Durability::Pmem;
        let writing = if awaited { seconds(last.writing - first.writing) / window } else { 0.0 };
        let bound_by = bound_by(cpu, data, writing, shares, play.job.durability.logs());
        Self { bound_by, shares, cpu, data, log }
    }
}

fn bound_by(cpu: f64, data: f64, writing: f64, [computing, device, others]: [f64; 3], logs: bool) -> &'static str {
    if cpu >= SATURATED || computing >= SATURATED {
        return "cpu";
    }
    if data >= SATURATED && (device >= others || !logs) {
        return "device";
    }
    // Those who wait for the log look at their pages meanwhile.
    if writing >= SATURATED && computing < device + others {
        return "log";
    }
    let waits = if logs { "log" } else { "locks" };
    let shares = [(computing, "cpu"), (device, "device"), (others, waits)];
    shares.into_iter().fold((0.0, "cpu"), |most, next| if next.0 > most.0 { next } else { most }).1
}

/// Half-width of the band of throughput: each part of a transaction's time with its own.
fn width(play: &Play<'_>, pace: &Pace, spread: f64) -> f64 {
    let cpu = cpu_width(&play.twins.data.host);
    let band = |twin: &Twin| if pace.data >= SATURATED { twin.band.bandwidth.value } else { twin.band.latency.value };
    let data = band(play.twins.data.target.twin());
    let log = play.twins.log.as_ref().map_or(data, |log| log.target.twin().band.latency.value);
    let [computing, device, others] = pace.shares;
    (computing * cpu + device * data + others * log).max(0.02) + spread
}

/// How far the pieces' rates spread.
fn spread(edges: &[Edge]) -> f64 {
    assay_scene::spread(&edges.windows(2).map(Edge::rate).collect::<Vec<_>>())
}

/// Turns a record that was made as if it had been measured into what it is.
pub(super) fn complete(play: &Play<'_>, record: &mut WorkRecord, edges: &[Edge]) {
    let (first, last) = (&edges[0], &edges[edges.len() - 1]);
    let measured_s = seconds(last.at - first.at);
    let (pace, spread) = (Pace::of(play, first, last), spread(edges));
    let width = width(play, &pace, spread);
    let stretch = measured_s.max(1e-12) / record.measured_s.max(1e-12);
    record.measured_s = measured_s;
    record.cpu = None;
    record.kind = assay_record::WorkKind::Engine;
    record.environment = environment(play);
    record.devices = devices(play, first, last);
    for part in &mut record.parts {
        for distribution in part.service.iter_mut().chain(&mut part.response) {
            distribution.provenance = Provenance::Modelled;
            let tail = play.twins.data.target.twin().band.tail.value;
            distribution.widths = Some(Widths { latency: width, tail });
        }
        part.figures.iter_mut().for_each(|(name, figure)| model(name, figure, stretch, width));
    }
    // What belongs to processes and devices of this machine has no meaning here.
    record.figures.retain(|name, _| !name.starts_with("device_") && !name.contains("cycles") && name != "load_s");
    if play.job.tier.is_some() {
        let [before, after] = [play.counters[0].get(), play.counters[1].get()];
        tiers(play.database.pool(), &before, &after, &mut record.figures);
    }
    record.figures.iter_mut().for_each(|(name, figure)| model(name, figure, stretch, width));
    figures(play, record, (first, last), &pace, spread);
    settings(play, record, &pace);
    record.verdict = verdict(play, record, &pace, width);
}

/// A figure of this machine's seconds becomes one of the play's.
fn model(name: &str, figure: &mut Figure, stretch: f64, width: f64) {
    (figure.provenance, figure.method) = (Provenance::Modelled, Method::Simulation);
    // There is no unit of a rate by the minute.
    if matches!(figure.unit, Unit::OpsPerSecond | Unit::BytesPerSecond) || name.ends_with("_per_min") {
        figure.value /= stretch;
        *figure = figure.clone().within(width);
    }
}

fn figures(play: &Play<'_>, record: &mut WorkRecord, (first, last): (&Edge, &Edge), pace: &Pace, spread: f64) {
    let modelled = |value: f64, unit| Figure::new(value, unit, Provenance::Modelled, Method::Simulation);
    let done = (last.done - first.done).max(1) as f64;
    let used = last.all.since(&first.all);
    let clock_hz = play.twins.data.host.clock_hz.value;
    let (data, log) = (last.data.since(&first.data), last.log.since(&first.log));
    let own_log = play.set.stations[0] != play.set.stations[1];
    let per = |count: u64| modelled(count as f64 / done, Unit::PerOp);
    for (name, figure) in [
        ("cycles_per_transaction", modelled(seconds(used.cpu) * clock_hz / done, Unit::CyclesPerOp)),
        ("memory_stall_ns_per_transaction", modelled(seconds(used.memory) * 1e9 / done, Unit::Nanoseconds)),
        ("cpu_utilisation", modelled(pace.cpu, Unit::Ratio)),
        ("device_utilisation", modelled(pace.data, Unit::Ratio)),
        ("cpu_share", modelled(pace.shares[0], Unit::Ratio)),
        ("device_wait_share", modelled(pace.shares[1], Unit::Ratio)),
        ("log_and_lock_wait_share", modelled(pace.shares[2], Unit::Ratio)),
        ("spread_of_the_pieces", modelled(spread, Unit::Ratio)),
        ("device_read_bytes_per_transaction", per(data.read_bytes)),
        ("device_written_bytes_per_transaction", per(data.written_bytes)),
        ("memory_held_bytes", modelled(play.set.data.held() as f64, Unit::Bytes)),
    ] {
        record.figures.insert(name.to_owned(), figure);
    }
    flash(play, record, (first, last), done);
    if own_log {
        record.figures.insert("log_utilisation".to_owned(), modelled(pace.log, Unit::Ratio));
        record.figures.insert("log_bytes_per_transaction".to_owned(), per(log.written_bytes));
        record.figures.insert("log_flushes_per_transaction".to_owned(), per(log.flushes));
    }
}

/// What the engine wrote of pages, and what a drive that is followed page by page made of it.
fn flash(play: &Play<'_>, record: &mut WorkRecord, (first, last): (&Edge, &Edge), done: f64) {
    let modelled = |value: f64, unit| Figure::new(value, unit, Provenance::Modelled, Method::Simulation);
    let written = (last.pages - first.pages) as f64;
    let mut figures = vec![("page_written_bytes_per_transaction", modelled(written / done, Unit::PerOp))];
    if let Some([host, copied]) = last.data.since(&first.data).programmed.map(|both| both.map(|bytes| bytes as f64)) {
        let capacity = play.twins.data.target.capacity_bytes();
        let share = |used: u64| modelled(used as f64 / capacity, Unit::Ratio);
        figures.extend([
            ("flash_written_bytes_per_transaction", modelled((host + copied) / done, Unit::PerOp)),
            ("flash_write_amplification", modelled((host + copied) / host.max(1.0), Unit::Ratio)),
            ("drive_overwritten", modelled(host / capacity, Unit::Ratio)),
            ("drive_filled_at_first", share(first.used)),
            ("drive_filled_at_last", share(last.used)),
        ]);
    }
    record.figures.extend(figures.into_iter().map(|(name, figure)| (name.to_owned(), figure)));
}

fn settings(play: &Play<'_>, record: &mut WorkRecord, pace: &Pace) {
    let trace = format!("{:016x}", play.set.scene.lock().trace());
    for (name, value) in
        [("bound_by", json!(pace.bound_by)), ("host", json!(play.twins.data.host.name)), ("io_trace", json!(trace))]
    {
        record.subject.settings.insert(name.to_owned(), value);
    }
}

fn verdict(play: &Play<'_>, record: &WorkRecord, pace: &Pace, width: f64) -> Verdict {
    let mut reasons: Vec<Reason> = record.verdict.reasons.clone();
    let [computing, device, others] = pace.shares.map(|share| (share * 100.0).round());
    let evidence = format!(
        "the engine ran in virtual time on {} with the host {}, bound by {} (of its threads' time {computing} % were CPU, \
         {device} % waits for pages, {others} % waits for the log and for each other); throughput is expected within \
         {:.0} %",
        play.twins.data.label,
        play.twins.data.host.name,
        pace.bound_by,
        width * 100.0,
    );
    reasons.push(reason::modelled(None, evidence, BTreeMap::from([("band".to_owned(), width)])));
    reasons.extend(outside(play));
    Verdict::from_reasons(reasons)
}

fn outside(play: &Play<'_>) -> Option<Reason> {
    let twin = play.twins.data.target.twin();
    let ([least, most], page) = (twin.bounds.size_bytes, f64::from(play.job.page_bytes));
    if (least..=most).contains(&page) {
        return None;
    }
    let evidence = format!("the twin was calibrated for {least} to {most} bytes, and pages have {page}");
    Some(reason::extrapolated(None, evidence, BTreeMap::new()))
}

fn devices(play: &Play<'_>, first: &Edge, last: &Edge) -> Vec<DeviceCounters> {
    let window = seconds(last.at - first.at).max(1e-12);
    let one = |driven: &Driven, first: &Doings, last: &Doings| last.since(first).counters(&driven.label, window);
    let mut devices = vec![one(&play.twins.data, &first.data, &last.data)];
    devices.extend(play.twins.log.as_ref().map(|log| one(log, &first.log, &last.log)));
    devices
}

/// The window as measured records have it, to be filled in by [`complete`]: one second, nothing used.
pub(super) fn window(play: &Play<'_>) -> WorkWindow {
    assay_scene::window(environment(play))
}

/// The machine that is played.
fn environment(play: &Play<'_>) -> Environment {
    let twins = play.twins;
    let others = [("log", &twins.log), ("log-tail", &twins.tail), ("tier", &twins.tier)];
    let others = others.into_iter().filter_map(|(role, driven)| driven.as_ref().map(|driven| (role, driven)));
    let parts = std::iter::once(("data", &twins.data)).chain(others).map(|(role, driven)| driven.part(role));
    machine::environment(&twins.data.host, parts)
}
