//! Fills a database in bulk, warehouses side by side; keys and indexes come last.

use std::ops::ControlFlow;

use crate::{Result, Scale, population::Population};

use super::link::{Connect, Link};
use crate::sql::{
    schema::{self, INDEXES, TABLES, TableSchema},
    side_by_side,
};

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
    let fill = |link: &mut C::Link, warehouse| {
        let mut tables = TABLES[1..].iter();
        tables.try_for_each(|table| {
            link.bulk(table, &mut |take| schema::rows::table(table.name, &population, warehouse, take))
        })
    };
    side_by_side::fill(scale.warehouses, progress, || connector.connect(), fill)?;
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
pub(super) fn create(table: &TableSchema) -> String {
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
