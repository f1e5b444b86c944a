//! Fills a key-value store: warehouses side by side, each table in the order of its keys.

use std::ops::ControlFlow;

use crate::{
    error::{Result, TpccError},
    key::{self, Table},
    kv::{Kv, KvSession, VALUE_BYTES_AT_MOST},
    population::Population,
    row::Row,
    scale::{DISTRICTS, Scale},
    side_by_side,
};

/// Rows of one transaction.
const ROWS_AT_ONCE: u32 = 500;
/// Threads that load at the same time, at most.
const THREADS_AT_MOST: usize = 8;
/// Times that a transaction of a load is tried.
const TRIES: u32 = 1000;

pub(super) fn load<K: Kv>(
    kv: &K,
    scale: &Scale,
    seed: u64,
    progress: &mut dyn FnMut(f64) -> ControlFlow<()>,
) -> Result<()> {
    scale.validate()?;
    let population = Population::new(*scale, seed);
    Loader::new(kv)?.items(&population)?;
    let threads = kv.loaders().clamp(1, THREADS_AT_MOST);
    let load = |loader: &mut Loader<'_, K>, warehouse| loader.warehouse(&population, warehouse);
    side_by_side::fill((threads, scale.warehouses), progress, || Loader::new(kv), load)?;
    kv.loaded()
}

/// Rows that are kept until their transaction is through, in case it must be tried again.
struct Loader<'a, K: Kv + 'a> {
    session: K::Session<'a>,
    rows: Vec<(Table, usize, usize)>,
    bytes: Vec<u8>,
}

impl<'a, K: Kv> Loader<'a, K> {
    fn new(kv: &'a K) -> Result<Self> {
        Ok(Self { session: kv.session()?, rows: Vec::new(), bytes: Vec::new() })
    }

    fn items(&mut self, population: &Population) -> Result<()> {
        population.items().try_for_each(|(item, row)| self.row(Table::Item, &key::item(item), &row))?;
        self.flush()
    }

    fn warehouse(&mut self, population: &Population, w: u32) -> Result<()> {
        self.row(Table::Warehouse, &key::warehouse(w), &population.warehouse(w))?;
        for d in 1..=DISTRICTS {
            self.row(Table::District, &key::district(w, d), &population.district(w, d))?;
            self.customers(population, w, d)?;
            self.orders(population, w, d)?;
        }
        population.stock(w).try_for_each(|(item, row)| self.row(Table::Stock, &key::stock(w, item), &row))?;
        self.flush()
    }

    fn customers(&mut self, population: &Population, w: u32, d: u8) -> Result<()> {
        let mut names = Vec::new();
        for (customer, row) in population.customers(w, d) {
            self.row(Table::Customer, &key::customer(w, d, customer), &row)?;
            names.push(key::customer_name(w, d, row.last.padded(), row.first.padded(), customer));
        }
        names.sort_unstable();
        names.iter().try_for_each(|name| self.add(Table::CustomerName, name, &[]))?;
        for (row, at) in population.histories(w, d).zip(0..) {
            self.row(Table::History, &key::history(w, d, population.date + at, u16::MAX), &row)?;
        }
        Ok(())
    }

    fn orders(&mut self, population: &Population, w: u32, d: u8) -> Result<()> {
        let mut owned = Vec::new();
        for (order, row) in population.orders(w, d) {
            self.row(Table::Order, &key::order(w, d, order), &row)?;
            owned.push((row.customer, order, row.carrier == 0));
        }
        for (_, order, undelivered) in &owned {
            if *undelivered {
                self.add(Table::NewOrder, &key::order(w, d, *order), &[])?;
            }
        }
        owned.sort_unstable();
        for (customer, order, _) in owned {
            self.add(Table::CustomerOrder, &key::customer_order(w, d, customer, order), &[])?;
        }
        let mut lines = population.order_lines(w, d);
        lines.try_for_each(|(order, line, row)| self.row(Table::OrderLine, &key::order_line(w, d, order, line), &row))
    }

    fn row<R: Row>(&mut self, table: Table, key: &[u8], row: &R) -> Result<()> {
        let mut bytes = [0; VALUE_BYTES_AT_MOST];
        row.encode(&mut bytes);
        self.add(table, key, &bytes[..R::SIZE])
    }

    fn add(&mut self, table: Table, key: &[u8], value: &[u8]) -> Result<()> {
        self.bytes.extend_from_slice(key);
        self.bytes.extend_from_slice(value);
        self.rows.push((table, key.len(), value.len()));
        if self.rows.len() as u32 >= ROWS_AT_ONCE { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<()> {
        for _ in 0..TRIES {
            match self.try_flush() {
                Err(TpccError::Conflict) => self.session.abort()?,
                other => {
                    self.rows.clear();
                    self.bytes.clear();
                    return other;
                }
            }
        }
        Err(TpccError::Conflict)
    }

    fn try_flush(&mut self) -> Result<()> {
        self.session.begin(false)?;
        let mut rest = self.bytes.as_slice();
        for (table, key_bytes, value_bytes) in &self.rows {
            let (key, after) = rest.split_at(*key_bytes);
            let (value, after) = after.split_at(*value_bytes);
            self.session.insert(*table, key, value)?;
            rest = after;
        }
        self.session.commit()
    }
}
