//! What a play leaves in a record in the place of what processes and devices of this machine leave.

use std::collections::BTreeMap;

use assay_instruments::work::WorkWindow;
use assay_record::{CpuUse, DeviceCounters, Environment, Figure, Method, Provenance, Unit};

use crate::scene::Doings;

fn figure(value: f64, unit: Unit) -> Figure {
    Figure::new(value, unit, Provenance::Modelled, Method::Simulation)
}

/// A window as measured records have it, to be filled in: one second, nothing used.
pub fn window(environment: Environment) -> WorkWindow {
    let zero = |unit| figure(0.0, unit);
    let cpu = CpuUse {
        user_s: zero(Unit::Seconds),
        kernel_s: zero(Unit::Seconds),
        helper_s: zero(Unit::Seconds),
        wait_s: zero(Unit::Seconds),
        cycles_per_op: zero(Unit::CyclesPerOp),
        cycles_per_byte: zero(Unit::CyclesPerByte),
        instructions_per_op: None,
        tlb_misses_per_op: None,
        context_switches_per_op: zero(Unit::PerOp),
        system_calls_per_op: zero(Unit::PerOp),
        page_faults_per_op: zero(Unit::PerOp),
        counted: None,
    };
    WorkWindow {
        measured_s: 1.0,
        cpu,
        io: None,
        devices: Vec::new(),
        environment,
        reasons: Vec::new(),
        not_measured: Vec::new(),
    }
}

impl Doings {
    /// What came on top since an earlier look.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            reads: self.reads - earlier.reads,
            writes: self.writes - earlier.writes,
            flushes: self.flushes - earlier.flushes,
            trims: self.trims - earlier.trims,
            read_bytes: self.read_bytes - earlier.read_bytes,
            written_bytes: self.written_bytes - earlier.written_bytes,
            busy: self.busy - earlier.busy.min(self.busy),
            time: self.time.wrapping_sub(earlier.time),
            programmed: self
                .programmed
                .zip(earlier.programmed)
                .map(|(now, then)| std::array::from_fn(|at| now[at].saturating_sub(then[at]))),
        }
    }

    /// As a device's counters over a window of so many seconds.
    pub fn counters(&self, label: &str, window_s: f64) -> DeviceCounters {
        DeviceCounters {
            device: label.to_owned(),
            read_bytes: figure(self.read_bytes as f64, Unit::Bytes),
            written_bytes: figure(self.written_bytes as f64, Unit::Bytes),
            reads: figure(self.reads as f64, Unit::Count),
            writes: figure(self.writes as f64, Unit::Count),
            flushes: figure(self.flushes as f64, Unit::Count),
            mean_in_flight: figure(self.time as i128 as f64 / 1e12 / window_s, Unit::Count),
            utilisation: figure(self.busy as f64 / 1e12 / window_s, Unit::Ratio),
            held_up: BTreeMap::new(),
        }
    }
}
