//! Fills a schema by COPY, warehouses side by side; keys and indexes come last.

use std::{fmt::Write, ops::ControlFlow};

use crate::{Result, Scale, TpccError, population::Population};

use super::{PostgresStore, wire::Wire};
use crate::sql::{
    schema::{self, INDEXES, Rows, TABLES, Value},
    side_by_side,
};

/// As much of rows as goes into one message.
const MESSAGE_BYTES: usize = 64 << 10;

pub(super) fn load(
    store: &PostgresStore,
    scale: &Scale,
    seed: u64,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<()> {
    scale.validate()?;
    let mut wire = store.connect()?;
    make_tables(store, &mut wire)?;
    let population = Population::new(*scale, seed);
    copy(&mut wire, "item", |to| schema::rows::items(&population, to))?;
    let fill = |wire: &mut Wire, warehouse| {
        let mut tables = TABLES[1..].iter();
        tables.try_for_each(|table| {
            copy(wire, table.name, |to| schema::rows::table(table.name, &population, warehouse, to))
        })
    };
    side_by_side::fill(scale.warehouses, progress, || store.connect(), fill)?;
    make_keys(store, &mut wire)?;
    // A role that may not checkpoint loads as well; a connection that is lost is seen by the next to ask.
    wire.run("vacuum analyze").and_then(|()| wire.run("checkpoint").or(Ok(())))
}

fn make_tables(store: &PostgresStore, wire: &mut Wire) -> Result<()> {
    let schema = &store.options.schema;
    wire.run(&format!("drop schema if exists {schema} cascade; create schema {schema}"))?;
    for table in &TABLES {
        wire.run(&format!("create table {} ({})", table.name, table.columns))?;
    }
    Ok(())
}

fn make_keys(store: &PostgresStore, wire: &mut Wire) -> Result<()> {
    let space = store.options.index_tablespace.as_ref();
    let using = space.map_or(String::new(), |space| format!(" using index tablespace {space}"));
    let within = space.map_or(String::new(), |space| format!(" tablespace {space}"));
    for table in TABLES.iter().filter(|table| !table.key.is_empty()) {
        let sql = format!("alter table {} add primary key ({}){using}", table.name, table.key);
        wire.run(&sql)?;
    }
    for (name, table, columns) in INDEXES {
        wire.run(&format!("create index {name} on {table} ({columns}){within}"))?;
    }
    Ok(())
}

/// Writes rows in the text format of COPY. No text of ours needs escaping.
struct Copier<'w> {
    to: &'w mut Wire,
    rows: String,
}

impl Rows for Copier<'_> {
    type Error = TpccError;

    fn row(&mut self, values: &[Value<'_>]) -> Result<()> {
        for value in values {
            let written = match value {
                Value::Number(number) => write!(self.rows, "{number}"),
                Value::Text(text) => self.rows.write_str(text),
                Value::Null => self.rows.write_str("\\N"),
            };
            written.map_err(TpccError::store)?;
            self.rows.push('\t');
        }
        self.rows.pop();
        self.rows.push('\n');
        if self.rows.len() < MESSAGE_BYTES { Ok(()) } else { self.send() }
    }
}

impl Copier<'_> {
    fn send(&mut self) -> Result<()> {
        self.to.add_copied(self.rows.as_bytes())?;
        self.rows.clear();
        self.to.send()
    }
}

fn copy(wire: &mut Wire, table: &str, fill: impl FnOnce(&mut Copier<'_>) -> Result<()>) -> Result<()> {
    wire.begin_running(&format!("copy {table} from stdin"))?;
    wire.receive_copy()?;
    let mut copier = Copier { to: wire, rows: String::with_capacity(2 * MESSAGE_BYTES) };
    fill(&mut copier)?;
    copier.send()?;
    wire.end_copy()
}
