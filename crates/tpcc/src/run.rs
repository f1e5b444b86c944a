//! A whole run: load, drive, spoil, check, and the record of it.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    time::{Duration, Instant},
};

use assay_instruments::{
    Watch,
    clock::Clock,
    work::{Done, WorkPlace, WorkWatch},
};
use assay_record::{Event, Provenance, WorkCheck, WorkRecord};

pub use crate::about::{About, Ceiling};
use crate::{
    driver::{Driven, Surroundings, drive},
    error::{Result, TpccError},
    null::NullStore,
    order::{Drive, Order, Pace},
    record,
    store::Store,
};

/// Seconds for which the driver alone is measured.
const CEILING_S: f64 = 0.3;

/// Does what is ordered. The record of a run whose checks fail says so in its verdict.
///
/// # Errors
/// Where the order cannot be, the store fails, or the load was interrupted.
pub fn perform<S: Store>(store: &S, order: &Order, about: About, watch: &mut Watch<'_>) -> Result<WorkRecord> {
    order.validate()?;
    let began = Instant::now();
    let load = if order.load { Some(load(store, order, watch)?) } else { None };
    let prepared = began.elapsed();
    // What earlier runs have left; the checks count from there.
    let before = match order.load {
        false if order.check => (store.orders_delivered(&order.scale)?, store.orders_taken(&order.scale)?),
        _ => (0, 0),
    };
    let ceiling = order.drive.as_ref().map(|_| ceiling(order)).transpose()?;
    let driven = match &order.drive {
        Some(asked) => Some(run_drive(store, order, asked, watch)?),
        None => None,
    };
    let mut checks = checks(store, order, driven.as_ref(), before, watch)?;
    checks.extend(driven.as_ref().zip(order.drive.as_ref()).and_then(|(driven, asked)| record::audit(driven, asked)));
    let window = driven.is_none().then(|| empty_window(order));
    Ok(record::record(record::Parts { order, about, began, prepared, load, ceiling, driven, window, checks }))
}

fn load<S: Store>(store: &S, order: &Order, watch: &mut Watch<'_>) -> Result<Duration> {
    let began = Instant::now();
    let mut shown = -1.0;
    let done = store.load(&order.scale, order.load_seed, &mut |done| {
        if done - shown >= 0.01 {
            shown = done;
            (watch.emit)(Event::Progress { stage: "load".to_owned(), done, detail: String::new() });
        }
        if watch.interrupted.load(Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    if watch.interrupted.load(Relaxed) {
        return Err(TpccError::Interrupted);
    }
    done.map(|()| began.elapsed())
}

fn run_drive<S: Store>(store: &S, order: &Order, asked: &Drive, watch: &mut Watch<'_>) -> Result<Driven> {
    let Watch { emit, interrupted } = watch;
    let mut progress = |done: f64, per_s: f64| {
        emit(Event::Progress { stage: "drive".to_owned(), done, detail: format!("{per_s:.0} transactions/s") });
    };
    let mut surroundings =
        Surroundings { sites: &order.sites, server_pid: order.server_pid, progress: &mut progress, interrupted };
    drive(store, &order.scale, asked, (order.seed, order.load_seed), &mut surroundings)
}

/// The driver alone, on a store that does nothing: one terminal as fast as it goes.
///
/// # Errors
/// Where it cannot be driven.
pub fn ceiling(order: &Order) -> Result<Ceiling> {
    let asked = Drive {
        terminals: 1,
        ramp_s: 0.05,
        measure_s: CEILING_S,
        interval_s: CEILING_S,
        pace: Pace::Closed,
        ..order.drive.clone().unwrap_or_else(|| Drive::new(1, CEILING_S))
    };
    let interrupted = AtomicBool::new(false);
    let mut watch = Surroundings { sites: &[], server_pid: None, progress: &mut |_, _| {}, interrupted: &interrupted };
    let driven = drive(
        &NullStore { items: order.scale.items },
        &order.scale,
        &asked,
        (order.seed, order.load_seed),
        &mut watch,
    )?;
    let count = driven.kinds.iter().map(|kind| kind.service.count()).sum::<u64>().max(1) as f64;
    let cpu = &driven.window.cpu;
    Ok(Ceiling { per_s: count / driven.window.measured_s, cpu_s: (cpu.user_s.value + cpu.kernel_s.value) / count })
}

/// The consistency conditions, and that what was acknowledged is there.
fn checks<S: Store>(
    store: &S,
    order: &Order,
    driven: Option<&Driven>,
    (delivered, ordered): (u64, u64),
    watch: &mut Watch<'_>,
) -> Result<Vec<WorkCheck>> {
    if let Some(condition) = order.spoil {
        store.spoil(condition)?;
    }
    if !order.check {
        return Ok(Vec::new());
    }
    (watch.emit)(Event::Progress { stage: "check".to_owned(), done: 0.0, detail: String::new() });
    let mut checks = store.check(&order.scale, delivered + driven.map_or(0, |driven| driven.delivered))?;
    if let Some(driven) = driven {
        let taken = store.orders_taken(&order.scale)?.saturating_sub(ordered);
        checks.push(WorkCheck {
            name: "acknowledged".to_owned(),
            passed: taken == driven.ordered,
            evidence: format!("{} orders were acknowledged, and the districts counted {taken}", driven.ordered),
        });
    }
    Ok(checks)
}

/// The machine, where nothing was driven.
fn empty_window(order: &Order) -> assay_instruments::work::WorkWindow {
    let places: Vec<WorkPlace> =
        order.sites.iter().map(|site| WorkPlace { role: site.role.clone(), path: site.path.clone() }).collect();
    WorkWatch::open(Clock::new(), &places).close(&Done::operations(0, Provenance::Measured))
}

/// Checks a store that was loaded and that somebody else has driven, and writes the record of it.
///
/// # Errors
/// Where the store fails.
pub fn conclude<S: Store>(
    store: &S,
    order: &Order,
    about: About,
    (began, prepared): (Instant, Duration),
    driven: Driven,
    watch: &mut Watch<'_>,
) -> Result<WorkRecord> {
    let mut checks = checks(store, order, Some(&driven), (0, 0), watch)?;
    checks.extend(order.drive.as_ref().and_then(|asked| record::audit(&driven, asked)));
    let (load, ceiling, window) = (None, None, None);
    let driven = Some(driven);
    Ok(record::record(record::Parts { order, about, began, prepared, load, ceiling, driven, window, checks }))
}
