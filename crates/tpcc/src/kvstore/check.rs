//! Checks the consistency conditions by reading every table once.

use std::{collections::BTreeMap, ops::ControlFlow};

use assay_record::WorkCheck;

use super::there;
use crate::{
    check::Findings,
    error::Result,
    key::{self, Table},
    kv::{Kv, KvSession},
    row::Row,
    rows::{Customer, District, History, Order, OrderLine, Warehouse},
    scale::{DISTRICTS, Scale},
};

pub(super) fn check<K: Kv>(kv: &K, scale: &Scale, delivered: u64) -> Result<Vec<WorkCheck>> {
    let mut checker = Checker::new(kv.session()?, *scale);
    checker.session.begin(true)?;
    for warehouse in 1..=scale.warehouses {
        (1..=DISTRICTS).try_for_each(|district| checker.payments(warehouse, district))?;
    }
    (1..=scale.warehouses).try_for_each(|warehouse| checker.warehouse(warehouse))?;
    checker.session.commit()?;
    let loaded = u64::from(scale.first_undelivered() - 1) * u64::from(DISTRICTS) * u64::from(scale.warehouses);
    let (seen, findings) = (checker.orders - checker.undelivered, &mut checker.findings);
    findings.expect(11, seen == (loaded + delivered) as i64, || {
        format!("{seen} orders are delivered; {loaded} were loaded so, and {delivered} delivered since")
    });
    Ok(checker.findings.checks())
}

pub(super) fn orders_taken<K: Kv>(kv: &K, scale: &Scale) -> Result<u64> {
    let mut session = kv.session()?;
    session.begin(true)?;
    let mut taken = 0;
    for warehouse in 1..=scale.warehouses {
        for district in 1..=DISTRICTS {
            let next = session.get(Table::District, &key::district(warehouse, district), |row| {
                District::whole(row).map(|row| District::next_order.get(row))
            })?;
            taken += u64::from(there(next, "a district")??).saturating_sub(u64::from(scale.customers) + 1);
        }
    }
    session.commit()?;
    Ok(taken)
}

/// Orders that are not among the undelivered, but for those that were loaded so.
pub(super) fn orders_delivered<K: Kv>(kv: &K, scale: &Scale) -> Result<u64> {
    let loaded = u64::from(scale.customers) * u64::from(DISTRICTS) * u64::from(scale.warehouses);
    let loaded_so = u64::from(scale.first_undelivered() - 1) * u64::from(DISTRICTS) * u64::from(scale.warehouses);
    let orders = loaded + orders_taken(kv, scale)?;
    let mut session = kv.session()?;
    session.begin(true)?;
    let mut undelivered = 0;
    let (from, below) = (key::order(0, 0, 0), key::order(u32::MAX, u8::MAX, u32::MAX));
    session.scan(Table::NewOrder, &from, &below, |_, _| {
        undelivered += 1;
        ControlFlow::Continue(())
    })?;
    session.commit()?;
    Ok(orders.saturating_sub(undelivered + loaded_so))
}

#[derive(Clone, Copy, Default)]
struct OrderSeen {
    customer: u16,
    carrier: u8,
    lines_said: u32,
    lines: u32,
    undelivered: bool,
}

struct Checker<S> {
    session: S,
    scale: Scale,
    findings: Findings,
    /// Cents of history by the district that got them.
    received: Vec<i64>,
    /// Cents of history by the customer who paid them.
    paid: Vec<i64>,
    orders: i64,
    undelivered: i64,
}

impl<S: KvSession> Checker<S> {
    fn new(session: S, scale: Scale) -> Self {
        let districts = scale.warehouses as usize * usize::from(DISTRICTS);
        let customers = districts * usize::from(scale.customers);
        let findings = Findings::default();
        Self {
            session,
            scale,
            findings,
            received: vec![0; districts],
            paid: vec![0; customers],
            orders: 0,
            undelivered: 0,
        }
    }

    fn place(warehouse: u32, district: u8) -> usize {
        (warehouse as usize - 1) * usize::from(DISTRICTS) + usize::from(district) - 1
    }

    /// Reads one table's rows of a key range; the first damaged one ends it.
    fn rows<R: Row>(
        &mut self,
        table: Table,
        from: &[u8],
        below: &[u8],
        mut each: impl FnMut(&mut Self, &[u8], R),
    ) -> Result<()> {
        let mut found = Vec::new();
        let mut damaged = None;
        self.session.scan(table, from, below, |key, value| match R::whole(value) {
            Ok(row) => {
                found.push((key.to_vec(), R::decode(row)));
                ControlFlow::Continue(())
            }
            Err(error) => {
                damaged = Some(error);
                ControlFlow::Break(())
            }
        })?;
        found.into_iter().for_each(|(key, row)| each(self, &key, row));
        damaged.map_or(Ok(()), Err)
    }

    fn payments(&mut self, w: u32, d: u8) -> Result<()> {
        let customers = usize::from(self.scale.customers);
        let (from, below) = (key::history(w, d, 0, 0), key::history(w, d, -1, u16::MAX));
        self.rows::<History>(Table::History, &from, &below, |checker, _, row| {
            checker.received[Self::place(w, d)] += row.amount;
            let payer = Self::place(row.customer_warehouse.max(1), row.customer_district.max(1)) * customers;
            if let Some(paid) = checker.paid.get_mut(payer + usize::from(row.customer.max(1)) - 1) {
                *paid += row.amount;
            }
        })
    }

    fn warehouse(&mut self, w: u32) -> Result<()> {
        let ytd = self.session.get(Table::Warehouse, &key::warehouse(w), |row| {
            Warehouse::whole(row).map(|row| Warehouse::ytd.get(row))
        })?;
        let ytd = there(ytd, "a warehouse")??;
        let mut districts = 0;
        for d in 1..=DISTRICTS {
            districts += self.district(w, d)?;
        }
        let place = Self::place(w, 1);
        let received: i64 = self.received[place..place + usize::from(DISTRICTS)].iter().sum();
        let at = |other: i64| move || format!("warehouse {w}: {ytd} and {other} cents");
        self.findings.expect(1, ytd == districts, at(districts));
        self.findings.expect(8, ytd == received, at(received));
        Ok(())
    }

    /// Checks a district; the year's payments that it says, cents.
    fn district(&mut self, w: u32, d: u8) -> Result<i64> {
        let row = self.session.get(Table::District, &key::district(w, d), |row| {
            District::whole(row).map(|row| (District::ytd.get(row), District::next_order.get(row)))
        })?;
        let (ytd, next) = there(row, "a district")??;
        let received = self.received[Self::place(w, d)];
        self.findings.expect(9, ytd == received, || format!("district {w}/{d}: {ytd} and {received} cents"));
        let mut orders = self.read_orders(w, d)?;
        let undelivered = self.read_undelivered(w, d, &mut orders)?;
        self.check_numbers(w, d, next, &orders, &undelivered);
        let owed = self.read_lines(w, d, &mut orders)?;
        self.check_orders(w, d, &orders);
        self.check_customers(w, d, &owed)?;
        Ok(ytd)
    }

    fn read_orders(&mut self, w: u32, d: u8) -> Result<BTreeMap<u32, OrderSeen>> {
        let mut orders = BTreeMap::new();
        let (from, below) = (key::order(w, d, 0), key::order(w, d, u32::MAX));
        self.rows::<Order>(Table::Order, &from, &below, |_, key, row| {
            let lines_said = u32::from(row.lines);
            let seen = OrderSeen { customer: row.customer, carrier: row.carrier, lines_said, ..OrderSeen::default() };
            orders.insert(key::last_u32(key), seen);
        })?;
        Ok(orders)
    }

    fn read_undelivered(&mut self, w: u32, d: u8, orders: &mut BTreeMap<u32, OrderSeen>) -> Result<Vec<u32>> {
        let mut undelivered = Vec::new();
        self.session.scan(Table::NewOrder, &key::order(w, d, 0), &key::order(w, d, u32::MAX), |key, _| {
            undelivered.push(key::last_u32(key));
            ControlFlow::Continue(())
        })?;
        for order in &undelivered {
            match orders.get_mut(order) {
                Some(seen) => seen.undelivered = true,
                None => self.findings.expect(5, false, || format!("order {w}/{d}/{order}: undelivered, but no order")),
            }
        }
        Ok(undelivered)
    }

    fn check_numbers(&mut self, w: u32, d: u8, next: u32, orders: &BTreeMap<u32, OrderSeen>, undelivered: &[u32]) {
        self.orders += orders.len() as i64;
        self.undelivered += undelivered.len() as i64;
        let last = orders.keys().next_back().copied().unwrap_or(0);
        let last_undelivered = undelivered.last().copied().unwrap_or(last);
        let follows = next == last + 1 && last_undelivered == last;
        self.findings.expect(2, follows, || {
            format!("district {w}/{d}: next order {next}, last {last}, last undelivered {last_undelivered}")
        });
        if let (Some(first), Some(last)) = (undelivered.first(), undelivered.last()) {
            let count = undelivered.len() as u32;
            self.findings.expect(3, last - first + 1 == count, || {
                format!("district {w}/{d}: {count} undelivered orders from {first} to {last}")
            });
        }
    }

    /// Counts the lines of every order; cents that were delivered, by customer.
    fn read_lines(&mut self, w: u32, d: u8, orders: &mut BTreeMap<u32, OrderSeen>) -> Result<Vec<i64>> {
        let mut owed = vec![0; usize::from(self.scale.customers) + 1];
        let (from, below) = (key::order_line(w, d, 0, 0), key::order_line(w, d, u32::MAX, 0));
        let mut total = 0_u64;
        self.rows::<OrderLine>(Table::OrderLine, &from, &below, |checker, key, row| {
            total += 1;
            let order = key::u32_at(key, 5);
            let seen = orders.entry(order).or_default();
            seen.lines += 1;
            let agrees = (row.delivered == 0) == (seen.carrier == 0);
            checker.findings.expect(7, agrees, || format!("a line of order {w}/{d}/{order}"));
            if row.delivered != 0 {
                if let Some(owed) = owed.get_mut(usize::from(seen.customer)) {
                    *owed += row.amount;
                }
            }
        })?;
        let said: u64 = orders.values().map(|seen| u64::from(seen.lines_said)).sum();
        self.findings.expect(4, said == total, || format!("district {w}/{d}: {said} lines said, {total} there"));
        Ok(owed)
    }

    fn check_orders(&mut self, w: u32, d: u8, orders: &BTreeMap<u32, OrderSeen>) {
        for (order, seen) in orders {
            let agrees = (seen.carrier == 0) == seen.undelivered;
            self.findings.expect(5, agrees, || format!("order {w}/{d}/{order}: carrier {}", seen.carrier));
            self.findings.expect(6, seen.lines_said == seen.lines, || {
                format!("order {w}/{d}/{order}: {} lines said, {} there", seen.lines_said, seen.lines)
            });
        }
    }

    fn check_customers(&mut self, w: u32, d: u8, owed: &[i64]) -> Result<()> {
        let place = Self::place(w, d) * usize::from(self.scale.customers);
        let (from, below) = (key::customer(w, d, 0), key::customer(w, d, u16::MAX));
        self.rows::<Customer>(Table::Customer, &from, &below, |checker, key, row| {
            let customer = key::last_u16(key);
            let Some(delivered) = owed.get(usize::from(customer)).copied() else { return };
            let paid = checker.paid[place + usize::from(customer) - 1];
            let at =
                || format!("customer {w}/{d}/{customer}: owes {}, delivered {delivered}, paid {paid}", row.balance);
            checker.findings.expect(10, row.balance == delivered - paid, at);
            checker.findings.expect(12, row.balance + row.ytd_payment == delivered, at);
        })
    }
}
