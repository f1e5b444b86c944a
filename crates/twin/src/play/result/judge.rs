//! What speaks for and against a modelled record.

use std::collections::BTreeMap;

use assay_instruments::verdict::{ClassObservation, Observation, RunObservation, judge};
use assay_record::{ClassResult, Reason, ReasonCode, Stop, TargetKind};

use super::Played;
use crate::{
    BandWidths, StreamSolution, reason,
    solve::{extent, widths},
};

/// How far the twin can answer for a class.
pub struct Judged {
    /// What lies outside the box.
    pub outside: Vec<String>,
    /// Half-widths of the bands.
    pub widths: BandWidths,
}

/// Rules of measured runs that hold in virtual time as well.
const HOLD: [ReasonCode; 6] = [
    ReasonCode::RateNotReached,
    ReasonCode::OperationsMissing,
    ReasonCode::NotSteady,
    ReasonCode::SteadinessLost,
    ReasonCode::DepthNotReached,
    ReasonCode::Interrupted,
];

/// Said of a depth that does nothing.
const INLINE: &str =
    "; memory as a block device copies each request while it is handed over, so that a thread has one in flight";

impl Played<'_> {
    /// How far the twin can answer for a class.
    pub fn judged(&self, index: usize) -> Judged {
        let seat = &self.engine.classes[index];
        let target = &self.scene.targets[seat.machine].1;
        let (outside, stretch) = extent::outside(target, &seat.stream);
        let several = self.engine.classes.len() > 1;
        Judged { outside, widths: widths(target, &seat.stream, several, stretch) }
    }

    /// All reasons.
    pub fn reasons(&self, classes: &[ClassResult], judged: &[Judged]) -> Vec<Reason> {
        let observation = Observation {
            run: RunObservation {
                measured_s: self.seconds(),
                asked_s: self.job.window.measure_s,
                stop: Some(self.stop),
                ..RunObservation::default()
            },
            classes: (0..classes.len()).map(|index| self.observed(index, &classes[index])).collect(),
        };
        let mut reasons = judge(&observation).reasons;
        reasons.retain(|reason| HOLD.contains(&reason.code));
        let solution = self.solution();
        for (index, (class, judged)) in classes.iter().zip(judged).enumerate() {
            let solved = solution.as_ref().map(|solution| &solution.streams[index]);
            reasons.push(self.modelled(index, class, judged, solved));
            reasons.extend(extrapolated(class, judged));
            reasons.extend(solved.and_then(|solved| engines_differ(class, judged, solved)));
        }
        reasons
    }

    fn observed(&self, index: usize, result: &ClassResult) -> ClassObservation {
        let (class, seat) = (&self.job.classes[index], &self.engine.classes[index]);
        ClassObservation {
            threads: seat.threads,
            depth: seat.depth,
            batch: seat.batch,
            achieved_depth: result.achieved_depth.value,
            asked_rate: seat.stream.rate_per_s,
            poisson: matches!(class.arrivals, assay_record::Arrivals::Poisson { .. }),
            active_s: self.active_s(seat),
            reads: result.reads,
            writes: result.writes,
            latencies: result.operations,
            overdue: result.overdue,
            intervals: result.intervals.clone(),
            ..ClassObservation::new(&class.name, class.path.clone(), TargetKind::Twin)
        }
    }

    fn modelled(&self, index: usize, class: &ClassResult, judged: &Judged, solved: Option<&StreamSolution>) -> Reason {
        let seat = &self.engine.classes[index];
        let percent = |width: f64| (width * 100.0).round();
        let cut = match self.stop {
            Stop::Operations => format!(
                "; {} operations settle its figures, so that {:.3} s of {} s were played",
                self.engine.done,
                self.seconds(),
                self.job.window.measure_s
            ),
            _ if self.lapse > 1.0 => format!(
                "; each second of the load was played for {:.3} ms, and caches, credits and free blocks changed as much \
                 faster",
                1e3 / self.lapse
            ),
            _ => String::new(),
        };
        let pace = solved.map_or(String::new(), |solved| format!(", bound by {}", word(solved)));
        let asked = self.job.classes[index].depth;
        let depth = if asked > seat.depth && seat.stream.path.inline { INLINE } else { "" };
        let evidence = format!(
            "the twin {} on the host {} computed it in virtual time{pace}; throughput is expected within {:.0} %, \
             latency within {:.0} %{cut}{depth}",
            self.scene.labels[seat.machine],
            self.scene.host.name,
            percent(judged.widths.bandwidth),
            percent(judged.widths.latency),
        );
        let mut numbers: BTreeMap<String, f64> = [
            ("band_bandwidth", judged.widths.bandwidth),
            ("band_latency", judged.widths.latency),
            ("band_tail", judged.widths.tail),
            ("simulated_operations", self.engine.done as f64),
            ("load_s_per_played_s", self.lapse),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        if let Some(solved) = solved {
            for (name, value) in [
                ("analytic_ops_per_s", solved.ops_per_s),
                ("analytic_mean_ns", solved.mean_ns),
                ("host_ns", solved.time.host_ns),
                ("wait_ns", solved.time.wait_ns),
                ("queue_ns", solved.time.queue_ns),
                ("device_ns", solved.time.device_ns),
                ("flush_ns", solved.time.flush_ns),
            ] {
                numbers.insert(name.to_owned(), value);
            }
        }
        numbers.retain(|_, value| value.is_finite());
        reason::modelled(Some(&class.name), evidence, numbers)
    }
}

fn word(solved: &StreamSolution) -> String {
    let text = serde_json::to_value(solved.bound_by).ok();
    let text = text.and_then(|value| value.as_str().map(str::to_owned)).unwrap_or_default();
    text.replace('-', " ")
}

fn extrapolated(class: &ClassResult, judged: &Judged) -> Option<Reason> {
    if judged.outside.is_empty() {
        return None;
    }
    let evidence = format!("the twin was not calibrated for this: {}", judged.outside.join("; "));
    let numbers = [("band_bandwidth".to_owned(), judged.widths.bandwidth)].into();
    Some(reason::extrapolated(Some(&class.name), evidence, numbers))
}

/// Operations of a class below which chance alone sets it apart.
const OPERATIONS_AT_LEAST: u64 = 200;

/// Both engines have a band: one may be high by its own, the other one low by as much.
fn engines_differ(class: &ClassResult, judged: &Judged, solution: &StreamSolution) -> Option<Reason> {
    let (simulated, solved) = (class.ops_rate.value, solution.ops_per_s);
    let most = (1.0 + judged.widths.bandwidth) * (1.0 + solution.band.bandwidth.max(judged.widths.bandwidth));
    let apart = (simulated / solved).max(solved / simulated);
    if class.operations < OPERATIONS_AT_LEAST || apart <= most {
        return None;
    }
    let evidence = format!(
        "the simulation gives {simulated:.0} operations a second and the analytic solution {solved:.0}: a factor of \
         {apart:.2}, where the bands of both together allow {most:.2}"
    );
    let numbers = [
        ("simulated_ops_per_s".to_owned(), simulated),
        ("analytic_ops_per_s".to_owned(), solved),
        ("apart".to_owned(), apart),
        ("apart_at_most".to_owned(), most),
    ];
    Some(reason::engines_differ(Some(&class.name), evidence, numbers.into()))
}
