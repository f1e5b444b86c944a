//! Fills a schema by COPY, warehouses side by side; keys and indexes come last.

use std::{
    io::{self, Write},
    ops::ControlFlow,
    sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed},
    thread,
    time::Duration,
};

use assay_tpcc::{Result, Scale, TpccError, population::Population};
use postgres::Client;

use super::{PostgresStore, failure};
use crate::schema::{self, INDEXES, Rows, TABLES, Value};

/// Connections that load at the same time, at most.
const CONNECTIONS_AT_MOST: usize = 4;

pub(super) fn load(
    store: &PostgresStore,
    scale: &Scale,
    seed: u64,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<()> {
    scale.validate()?;
    let mut client = store.client()?;
    make_tables(store, &mut client)?;
    let population = Population::new(*scale, seed);
    copy(&mut client, "item", |to| schema::rows::items(&population, to))?;
    fill(store, &population, progress)?;
    make_keys(store, &mut client)?;
    client
        .batch_execute("vacuum analyze; checkpoint")
        .or_else(|_| client.batch_execute("vacuum analyze"))
        .map_err(failure)
}

fn make_tables(store: &PostgresStore, client: &mut Client) -> Result<()> {
    let schema = &store.options.schema;
    client
        .batch_execute(&format!("drop schema if exists {schema} cascade; create schema {schema}"))
        .map_err(failure)?;
    for table in &TABLES {
        client.batch_execute(&format!("create table {} ({})", table.name, table.columns)).map_err(failure)?;
    }
    Ok(())
}

fn fill(
    store: &PostgresStore,
    population: &Population,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<()> {
    let warehouses = population.scale.warehouses;
    let (next, done, stop) = (AtomicU32::new(1), AtomicU32::new(0), AtomicBool::new(false));
    let worker = || -> Result<()> {
        let mut client = store.client()?;
        loop {
            let warehouse = next.fetch_add(1, Relaxed);
            if warehouse > warehouses || stop.load(Relaxed) {
                return Ok(());
            }
            for table in &TABLES[1..] {
                copy(&mut client, table.name, |to| schema::rows::table(table.name, population, warehouse, to))?;
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

fn make_keys(store: &PostgresStore, client: &mut Client) -> Result<()> {
    let space = store.options.index_tablespace.as_ref();
    let using = space.map_or(String::new(), |space| format!(" using index tablespace {space}"));
    let within = space.map_or(String::new(), |space| format!(" tablespace {space}"));
    for table in TABLES.iter().filter(|table| !table.key.is_empty()) {
        let sql = format!("alter table {} add primary key ({}){using}", table.name, table.key);
        client.batch_execute(&sql).map_err(failure)?;
    }
    for (name, table, columns) in INDEXES {
        client.batch_execute(&format!("create index {name} on {table} ({columns}){within}")).map_err(failure)?;
    }
    Ok(())
}

/// Writes rows in the text format of COPY. No text of ours needs escaping.
struct Copier<'c> {
    to: postgres::CopyInWriter<'c>,
    line: String,
}

impl Rows for Copier<'_> {
    type Error = io::Error;

    fn row(&mut self, values: &[Value<'_>]) -> io::Result<()> {
        use std::fmt::Write as _;
        self.line.clear();
        for value in values {
            let written = match value {
                Value::Number(number) => write!(self.line, "{number}"),
                Value::Text(text) => self.line.write_str(text),
                Value::Null => self.line.write_str("\\N"),
            };
            written.map_err(io::Error::other)?;
            self.line.push('\t');
        }
        self.line.pop();
        self.line.push('\n');
        self.to.write_all(self.line.as_bytes())
    }
}

fn copy(
    client: &mut Client,
    table: &str,
    fill: impl FnOnce(&mut Copier<'_>) -> std::result::Result<(), io::Error>,
) -> Result<()> {
    let to = client.copy_in(&format!("copy {table} from stdin")).map_err(failure)?;
    let mut copier = Copier { to, line: String::new() };
    fill(&mut copier).map_err(written)?;
    copier.to.finish().map(|_| ()).map_err(failure)
}

/// An error of writing carries the server's words inside.
fn written(error: io::Error) -> TpccError {
    match error.downcast::<postgres::Error>() {
        Ok(said) => failure(said),
        Err(error) => TpccError::store(error),
    }
}
