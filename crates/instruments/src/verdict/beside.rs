//! What others do beside a load in memory: they need not take a CPU of the run to slow it down.

use assay_record::{Cache, Reason, ReasonCode, Severity};

use super::{
    observation::{ClassObservation, RunObservation},
    reason::{of_class, with},
};

/// CPUs in sum that others may keep busy beside a load in memory: caches and memory bandwidth are everybody's.
pub const OTHERS_CPUS: f64 = 0.5;

/// Others computed while memory was measured.
pub(super) fn memory_shared(run: &RunObservation, class: &ClassObservation) -> Option<Reason> {
    let in_memory = class.memory() || class.emulated || (class.buffered() && run.cache == Cache::Warm);
    if !in_memory || class.null() || class.operations() == 0 {
        return None;
    }
    let own_cpus = run.own_cpu?.cpu_s() / run.measured_s.max(1e-9);
    let others = run.system.busy_share? * f64::from(run.cpus) - own_cpus;
    if others < OTHERS_CPUS {
        return None;
    }
    let evidence = format!(
        "other processes kept {others:.1} CPUs busy: they share caches and memory bandwidth with a load that is served from \
         memory"
    );
    let fix = "stop what else computes on this machine (top names it), or take the figure for one of a shared machine";
    let numbers = [("others_cpus", others), ("own_cpus", own_cpus)];
    Some(with(of_class(&class.name, ReasonCode::ForeignLoad, Severity::Suspect, evidence, fix), &numbers))
}
