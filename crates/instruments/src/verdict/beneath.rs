//! What lies beneath a target: layers that are memory, or that take writes into memory.

use assay_record::{Reason, ReasonCode, Severity};

use super::{
    cache::{CACHE_BYTES_AT_LEAST, CACHE_SERVED_INVALID, CACHE_SERVED_SUSPECT},
    layers::serving,
    observation::ClassObservation,
    reason::{graded, of_class, with},
    words::{bytes, percent},
};

const FIX: &str = "make the loop device with --direct-io=on, make writes durable (durability), or take a device without memory \
    in between";

/// A layer is memory, or took writes into memory.
pub(super) fn memory_beneath(class: &ClassObservation) -> Option<Reason> {
    if class.null() || class.memory() || class.operations() == 0 {
        return None;
    }
    absorbed(class).or_else(|| is_memory(class))
}

fn is_memory(class: &ClassObservation) -> Option<Reason> {
    // A folder in memory at the top was asked for by its name: `emulated-target` tells of that.
    let below = class.layers.iter().skip(1).filter(|layer| layer.kind == "file-system" && serves_both(layer));
    let whole = class.layers.iter().filter(|layer| layer.kind == "memory");
    let layer = whole.chain(below.filter(|layer| matches!(layer.detail.as_str(), "tmpfs" | "ramfs"))).next()?;
    let by: Vec<&str> = layer.effects.iter().map(|effect| effect.by.as_str()).collect();
    let evidence = format!(
        "beneath the target lies {}, no device: {}. It looks like a disk, and the figures are memory's",
        layer.name,
        by.join(", ")
    );
    let fix = "measure on a device; use these figures for the cost of the software only";
    Some(of_class(&class.name, ReasonCode::MemoryBeneath, Severity::Suspect, evidence, fix))
}

fn serves_both(layer: &assay_record::Layer) -> bool {
    layer.effects.iter().any(|effect| effect.reads && effect.writes)
}

/// Writes that were acknowledged and had not reached a device.
fn absorbed(class: &ClassObservation) -> Option<Reason> {
    let (layer, by) = serving(class, |effect| effect.writes)?;
    if class.writes == 0 || !(class.direct() || class.durable) {
        return None;
    }
    let asked = class.written_bytes as f64;
    let moved = class.beneath.map(|beneath| beneath.written_bytes);
    let share = moved.filter(|_| asked >= CACHE_BYTES_AT_LEAST as f64).map(|moved| 1.0 - moved / asked);
    let graded = share.and_then(|share| graded(share, CACHE_SERVED_SUSPECT, CACHE_SERVED_INVALID));
    let numbers = [("asked_bytes", asked), ("beneath_bytes", moved.unwrap_or(f64::NAN))];
    let (severity, evidence) = match (graded, share, moved) {
        (Some(severity), Some(share), Some(moved)) => {
            let (asked, moved, share) = (bytes(asked), bytes(moved), percent(share));
            let evidence =
                format!("{asked} were written and the devices beneath {layer} received {moved}: {by} took {share}");
            (severity, evidence)
        }
        // A flush goes through to the device.
        _ if class.durable => return None,
        _ => (Severity::Suspect, format!("{layer} writes into {by}, so no write had to wait for a device")),
    };
    Some(with(of_class(&class.name, ReasonCode::MemoryBeneath, severity, evidence, FIX), &numbers))
}
