//! Fills a schema by COPY, warehouses side by side; keys and indexes come last.

use std::{
    io::{self, Write},
    ops::ControlFlow,
};

use crate::{Result, Scale, TpccError, population::Population};
use postgres::Client;

use super::{PostgresStore, failure};
use crate::sql::{
    schema::{self, INDEXES, Rows, TABLES, Value},
    side_by_side,
};

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
    let fill = |client: &mut Client, warehouse| {
        let mut tables = TABLES[1..].iter();
        tables.try_for_each(|table| {
            copy(client, table.name, |to| schema::rows::table(table.name, &population, warehouse, to))
        })
    };
    side_by_side::fill(scale.warehouses, progress, || store.client(), fill)?;
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
