//! Breaks the consistency conditions on purpose.

use std::ops::ControlFlow;

use super::there;
use crate::{
    error::{Result, TpccError},
    key::{self, Table},
    kv::{Kv, KvSession},
    row::{Column, Field},
    rows::{Customer, District, History, Order, OrderLine, Warehouse},
};

/// Changes what makes `condition` fail: in the first district of the first warehouse, or, where orders that are not yet
/// delivered are needed, in the first district that has enough of them.
pub(super) fn spoil<K: Kv>(kv: &K, condition: u8) -> Result<()> {
    let mut session = kv.session()?;
    session.begin(false)?;
    let done = break_condition(&mut session, condition);
    if done.is_err() {
        session.abort()?;
        return done;
    }
    session.commit()
}

fn break_condition<S: KvSession>(session: &mut S, condition: u8) -> Result<()> {
    let district = key::district(1, 1);
    let customer = key::customer(1, 1, 1);
    match condition {
        1 => add(session, Table::Warehouse, &key::warehouse(1), &Warehouse::ytd, 1),
        2 => add(session, Table::District, &district, &District::next_order, 1),
        // Of two orders either may go without a gap.
        3 => {
            let orders = waiting(session, 3)?;
            session.delete(Table::NewOrder, &orders[1]).map(drop)
        }
        4 => add(session, Table::Order, &key::order(1, 1, 1), &Order::lines, 1),
        5 => {
            let order = oldest(session)?;
            add(session, Table::Order, &order, &Order::carrier, 1)
        }
        6 => {
            add(session, Table::Order, &key::order(1, 1, 1), &Order::lines, 1)?;
            add(session, Table::Order, &key::order(1, 1, 2), &Order::lines, u8::MAX)
        }
        7 => {
            let line = [&oldest(session)?[..], &[1]].concat();
            add(session, Table::OrderLine, &line, &OrderLine::delivered, 1)
        }
        8 => {
            let key = first_payment(session)?;
            add(session, Table::History, &key, &History::amount, 1)
        }
        9 => add(session, Table::District, &district, &District::ytd, 1),
        10 => add(session, Table::Customer, &customer, &Customer::balance, 1),
        11 => {
            let order = oldest(session)?;
            session.delete(Table::NewOrder, &order).map(drop)
        }
        12 => add(session, Table::Customer, &customer, &Customer::ytd_payment, 1),
        _ => Err(TpccError::Asked {
            reason: format!("there is no consistency condition {condition}"),
            fix: "name one of 1 to 12",
        }),
    }
}

/// Integers of a row that can be counted up, and around.
trait Counted: Field {
    fn plus(self, amount: Self) -> Self;
}

macro_rules! counted {
    ($($kind:ty),*) => {$(
        impl Counted for $kind {
            fn plus(self, amount: Self) -> Self {
                self.wrapping_add(amount)
            }
        }
    )*};
}

counted!(u8, u32, i64);

fn add<S: KvSession, T: Counted>(
    session: &mut S,
    table: Table,
    key: &[u8],
    column: &Column<T>,
    amount: T,
) -> Result<()> {
    let changed = session.update(table, key, |row| column.set(row, &column.get(row).plus(amount)))?;
    there(changed, "the row that was to be spoilt")
}

/// Key of the oldest undelivered order of the first district that has any.
fn oldest<S: KvSession>(session: &mut S) -> Result<Vec<u8>> {
    Ok(waiting(session, 1)?.swap_remove(0))
}

/// Keys of the oldest `least` undelivered orders of the first district that has so many: deliveries empty one now and then.
fn waiting<S: KvSession>(session: &mut S, least: usize) -> Result<Vec<Vec<u8>>> {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    let district = |key: &[u8]| key.len() - size_of::<u32>();
    session.scan(Table::NewOrder, &key::order(1, 1, 0), &key::order(u32::MAX, 0, 0), |key, _| {
        let same = |other: &Vec<u8>| other[..district(other)] == key[..district(key)];
        if !keys.last().is_some_and(same) {
            keys.clear();
        }
        keys.push(key.to_vec());
        if keys.len() == least { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    if keys.len() == least {
        return Ok(keys);
    }
    Err(TpccError::Asked {
        reason: format!("the condition cannot be broken: no district has {least} orders that are not delivered"),
        fix: "name another condition, or a mix with fewer deliveries",
    })
}

fn first_payment<S: KvSession>(session: &mut S) -> Result<Vec<u8>> {
    let mut found = None;
    session.scan(Table::History, &key::history(1, 1, 0, 0), &key::history(1, 2, 0, 0), |key, _| {
        found = Some(key.to_vec());
        ControlFlow::Break(())
    })?;
    there(found, "a payment")
}
