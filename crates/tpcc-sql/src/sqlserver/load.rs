//! Fills a database in bulk, warehouses side by side; keys and indexes come last.

use std::{
    ops::ControlFlow,
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    thread,
    time::Duration,
};

use assay_tpcc::{Result, Scale, TpccError, population::Population};

use super::link::{Connect, Link};
use crate::schema::{self, INDEXES, TABLES, Table};

/// Connections that load at the same time, at most.
const CONNECTIONS_AT_MOST: usize = 4;
/// Columns that may be empty.
const NULLABLE: [&str; 2] = ["o_carrier_id", "ol_delivery_d"];

pub(super) fn load<C: Connect>(
    connector: &C,
    scale: &Scale,
    seed: u64,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<()> {
    scale.validate()?;
    let mut link = connector.connect()?;
    for table in &TABLES {
        link.batch(&format!("drop table if exists {}", table.name))?;
        link.batch(&create(table))?;
    }
    let population = Population::new(*scale, seed);
    link.bulk(&TABLES[0], &mut |take| schema::rows::items(&population, take))?;
    fill(connector, &population, progress)?;
    for table in TABLES.iter().filter(|table| !table.key.is_empty()) {
        link.batch(&format!("alter table {} add primary key ({})", table.name, table.key))?;
    }
    for (name, table, columns) in INDEXES {
        link.batch(&format!("create index {name} on {table} ({columns})"))?;
    }
    link.batch("exec sp_updatestats")?;
    link.batch("checkpoint")
}

/// A table in T-SQL: text is of bounded length, and keys are never empty.
pub(super) fn create(table: &Table) -> String {
    let columns: Vec<String> = table.columns.split(',').map(column).collect();
    format!("create table {} ({})", table.name, columns.join(", "))
}

fn column(text: &str) -> String {
    let (name, kind) = text.trim().split_once(' ').unwrap_or((text, "text"));
    let kind = match (name, kind.trim()) {
        ("c_data", _) => "varchar(500)",
        (_, "text") => "varchar(50)",
        (_, "integer") => "int",
        (_, other) => other,
    };
    format!("{name} {kind} {}", if NULLABLE.contains(&name) { "null" } else { "not null" })
}

fn fill<C: Connect>(
    connector: &C,
    population: &Population,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<()> {
    let warehouses = population.scale.warehouses;
    let (next, done, stop) = (AtomicU32::new(1), AtomicU32::new(0), AtomicBool::new(false));
    let worker = || -> Result<()> {
        let mut link = connector.connect()?;
        loop {
            let warehouse = next.fetch_add(1, Relaxed);
            if warehouse > warehouses || stop.load(Relaxed) {
                return Ok(());
            }
            for table in &TABLES[1..] {
                link.bulk(table, &mut |take| schema::rows::table(table.name, population, warehouse, take))?;
            }
            done.fetch_add(1, Relaxed);
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(CONNECTIONS_AT_MOST);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.min(warehouses as usize)).map(|_| scope.spawn(worker)).collect();
        while !workers.iter().all(thread::ScopedJoinHandle::is_finished) {
            // Keys and indexes take the last tenth.
            if progress(0.9 * f64::from(done.load(Relaxed)) / f64::from(warehouses)).is_break() {
                stop.store(true, Relaxed);
            }
            thread::sleep(Duration::from_millis(20));
        }
        workers.into_iter().try_for_each(|worker| worker.join().map_err(|_| TpccError::TerminalLost)?)
    })?;
    if stop.load(Relaxed) { Err(TpccError::Conflict) } else { Ok(()) }
}
