//! The steps of the transactions, each over a session of the key-value store.

mod prefetch;

use std::{ops::ControlFlow, sync::atomic::Ordering::Relaxed, time::Duration};

use super::{there, undelivered::Undelivered};
use crate::{
    error::Result,
    input::{By, NewOrder, Payment},
    key::{self, Table},
    kind::Kind,
    kv::{Kv, KvSession},
    row::Row,
    rows::{Customer, District, History, Item, Order, OrderLine, Stock, Warehouse},
    scale::DISTRICTS,
    store::{Account, Delivered, Delivery, Oldest, Sale, Session, Status, Terms},
    text::{Text, is_original},
};

/// Orders of a district that Stock-Level looks at.
const RECENT_ORDERS: u32 = 20;

/// A session of a [`KvStore`](super::KvStore).
#[derive(Debug)]
pub struct KvStoreSession<'a, K: Kv + 'a> {
    kv: K::Session<'a>,
    undelivered: Undelivered,
    number: u16,
    /// Instant of the last row of history: the next one's is later, which makes its key its own.
    last_date: i64,
    /// What the open transaction has taken out of the undelivered.
    taken: Option<(u32, Oldest)>,
    customers: Vec<u16>,
    items: Vec<u32>,
}

impl<'a, K: Kv> KvStoreSession<'a, K> {
    pub(super) fn new(kv: K::Session<'a>, undelivered: Undelivered, number: u16) -> Self {
        let (customers, items) = (Vec::with_capacity(64), Vec::with_capacity(512));
        Self { kv, undelivered, number, last_date: 0, taken: None, customers, items }
    }
}

impl<K: Kv> KvStoreSession<'_, K> {
    fn customer(&mut self, warehouse: u32, district: u8, by: &By) -> Result<u16> {
        let By::Name(last) = by else {
            let By::Number(number) = by else { unreachable!("a customer is named or numbered") };
            return Ok(*number);
        };
        let from = key::customer_name(warehouse, district, last.padded(), &[0; 16], 0);
        let below = key::customer_name(warehouse, district, last.padded(), &[0xff; 16], u16::MAX);
        let customers = &mut self.customers;
        customers.clear();
        self.kv.scan(Table::CustomerName, &from, &below, |key, _| {
            customers.push(key::last_u16(key));
            ControlFlow::Continue(())
        })?;
        there(self.customers.get(self.customers.len().saturating_sub(1) / 2).copied(), "a customer of a name")
    }

    fn sell_line(&mut self, order: &NewOrder, at: usize, sell: &mut impl FnMut(usize, &mut Sale)) -> Result<bool> {
        let line = order.wanted[at];
        let item = self.kv.get(Table::Item, &key::item(line.item), |row| {
            let row = Item::whole(row)?;
            Ok((Item::price.get(row), is_original(Item::data.get(row).bytes())))
        })?;
        let Some(item) = item else { return Ok(false) };
        let (price, original) = item?;
        let sold = self.kv.update(Table::Stock, &key::stock(line.supply, line.item), |row| {
            Stock::whole(row)?;
            let mut sale = Sale {
                price,
                info: Stock::info.item(usize::from(order.district) - 1).get(row),
                original: original && is_original(Stock::data.get(row).bytes()),
                quantity: Stock::quantity.get(row),
                ytd: Stock::ytd.get(row),
                orders: Stock::orders.get(row),
                remote_orders: Stock::remote_orders.get(row),
            };
            sell(at, &mut sale);
            Stock::quantity.set(row, &sale.quantity);
            Stock::ytd.set(row, &sale.ytd);
            Stock::orders.set(row, &sale.orders);
            Stock::remote_orders.set(row, &sale.remote_orders);
            Ok(())
        })?;
        there(sold, "a row of stock")??;
        Ok(true)
    }

    fn deliver_one(&mut self, delivery: &Delivery<'_>, district: u8, order: u32) -> Result<Delivered> {
        let Delivery { warehouse, carrier, date, .. } = *delivery;
        let key = key::order(warehouse, district, order);
        let changed = self.kv.update(Table::Order, &key, |row| {
            Order::whole(row)?;
            Order::carrier.set(row, &carrier);
            Ok((Order::customer.get(row), Order::lines.get(row)))
        })?;
        let (customer, lines) = there(changed, "an order that is not delivered")??;
        let mut amount = 0;
        for line in 1..=lines {
            let key = key::order_line(warehouse, district, order, line);
            let changed = self.kv.update(Table::OrderLine, &key, |row| {
                OrderLine::whole(row)?;
                OrderLine::delivered.set(row, &date);
                Ok(OrderLine::amount.get(row))
            })?;
            amount += there(changed, "a line of an order")??;
        }
        Ok(Delivered { district, order, customer, amount })
    }

    fn history_key(&self, payment: &Payment) -> key::Key<15> {
        let date = payment.date.max(self.last_date + 1);
        key::history(payment.warehouse, payment.district, date, self.number)
    }

    fn recent_items(&mut self, warehouse: u32, district: u8) -> Result<()> {
        let next = self.kv.get(Table::District, &key::district(warehouse, district), |row| {
            District::whole(row).map(|row| District::next_order.get(row))
        })?;
        let next = there(next, "a district")??;
        let from = key::order_line(warehouse, district, next.saturating_sub(RECENT_ORDERS), 0);
        let below = key::order_line(warehouse, district, next, 0);
        let items = &mut self.items;
        items.clear();
        let mut damaged = None;
        self.kv.scan(Table::OrderLine, &from, &below, |_, row| match OrderLine::whole(row) {
            Ok(row) => {
                items.push(OrderLine::item.get(row));
                ControlFlow::Continue(())
            }
            Err(error) => {
                damaged = Some(error);
                ControlFlow::Break(())
            }
        })?;
        damaged.map_or(Ok(()), Err)
    }
}

impl<K: Kv> Session for KvStoreSession<'_, K> {
    #[inline]
    fn begin(&mut self, kind: Kind) -> Result<()> {
        self.taken = None;
        self.kv.begin(kind.is_read_only())
    }

    fn commit(&mut self) -> Result<()> {
        self.kv.commit()?;
        if let Some((warehouse, oldest)) = self.taken.take() {
            for (order, district) in oldest.into_iter().zip(1..).filter(|(order, _)| *order != 0) {
                self.undelivered.of(warehouse, district).fetch_max(order + 1, Relaxed);
            }
        }
        Ok(())
    }

    fn abort(&mut self) -> Result<()> {
        self.taken = None;
        self.kv.abort()
    }

    fn nap(&mut self, time: Duration) {
        self.kv.nap(time);
    }

    #[inline]
    fn take_turns(&mut self) {
        self.kv.take_turns();
    }

    fn terms(&mut self, order: &NewOrder) -> Result<Terms> {
        let NewOrder { warehouse, district, customer, .. } = *order;
        self.prefetch_order(order);
        let tax = self.kv.get(Table::Warehouse, &key::warehouse(warehouse), |row| {
            Warehouse::whole(row).map(|row| Warehouse::tax.get(row))
        })?;
        let discount = self.kv.get(Table::Customer, &key::customer(warehouse, district, customer), |row| {
            let row = Customer::whole(row)?;
            // Read as the specification has it; the terminal would show them.
            std::hint::black_box((Customer::last.get(row), Customer::credit.get(row)));
            Ok(Customer::discount.get(row))
        })?;
        let taken = self.kv.update(Table::District, &key::district(warehouse, district), |row| {
            District::whole(row)?;
            let next = District::next_order.get(row);
            District::next_order.set(row, &(next + 1));
            Ok((next, District::tax.get(row)))
        })?;
        let (order, district_tax) = there(taken, "a district")??;
        let (warehouse_tax, discount) = (there(tax, "a warehouse")??, there(discount, "a customer")??);
        Ok(Terms { order, warehouse_tax, district_tax, discount })
    }

    fn sell(&mut self, order: &NewOrder, mut sell: impl FnMut(usize, &mut Sale)) -> Result<bool> {
        for at in 0..usize::from(order.count) {
            if !self.sell_line(order, at, &mut sell)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn insert_order(&mut self, order: &NewOrder, number: u32, row: &Order, lines: &[OrderLine]) -> Result<()> {
        let NewOrder { warehouse, district, customer, .. } = *order;
        let mut bytes = [0; Order::SIZE];
        row.encode(&mut bytes);
        let key = key::order(warehouse, district, number);
        self.prefetch_rows(order, number);
        self.kv.insert(Table::Order, &key, &bytes)?;
        self.kv.insert(Table::NewOrder, &key, &[])?;
        self.kv.insert(Table::CustomerOrder, &key::customer_order(warehouse, district, customer, number), &[])?;
        let mut bytes = [0; OrderLine::SIZE];
        for (line, count) in lines.iter().zip(1..) {
            line.encode(&mut bytes);
            self.kv.insert(Table::OrderLine, &key::order_line(warehouse, district, number, count), &bytes)?;
        }
        Ok(())
    }

    fn receive(&mut self, payment: &Payment) -> Result<(Text<10>, Text<10>)> {
        let Payment { warehouse, district, amount, .. } = *payment;
        self.prefetch_payment(payment);
        let name = self.kv.update(Table::Warehouse, &key::warehouse(warehouse), |row| {
            Warehouse::whole(row)?;
            Warehouse::ytd.set(row, &(Warehouse::ytd.get(row) + amount));
            Ok(Warehouse::name.get(row))
        })?;
        let district_name = self.kv.update(Table::District, &key::district(warehouse, district), |row| {
            District::whole(row)?;
            District::ytd.set(row, &(District::ytd.get(row) + amount));
            Ok(District::name.get(row))
        })?;
        Ok((there(name, "a warehouse")??, there(district_name, "a district")??))
    }

    fn pay(&mut self, payment: &Payment, change: impl FnOnce(u16, &mut Account)) -> Result<u16> {
        let (warehouse, district) = (payment.customer_warehouse, payment.customer_district);
        let customer = self.customer(warehouse, district, &payment.by)?;
        let changed = self.kv.update(Table::Customer, &key::customer(warehouse, district, customer), |row| {
            Customer::whole(row)?;
            let bad_credit = Customer::credit.get(row).bytes() == b"BC";
            let mut account = Account {
                bad_credit,
                balance: Customer::balance.get(row),
                ytd_payment: Customer::ytd_payment.get(row),
                payments: Customer::payments.get(row),
                data: if bad_credit { Customer::data.get(row) } else { Text::EMPTY },
            };
            change(customer, &mut account);
            Customer::balance.set(row, &account.balance);
            Customer::ytd_payment.set(row, &account.ytd_payment);
            Customer::payments.set(row, &account.payments);
            if bad_credit {
                Customer::data.set(row, &account.data);
            }
            Ok(())
        })?;
        there(changed, "a customer")??;
        Ok(customer)
    }

    fn insert_history(&mut self, payment: &Payment, row: &History) -> Result<()> {
        let key = self.history_key(payment);
        self.last_date = payment.date.max(self.last_date + 1);
        let mut bytes = [0; History::SIZE];
        row.encode(&mut bytes);
        self.kv.insert(Table::History, &key, &bytes)
    }

    fn status(&mut self, warehouse: u32, district: u8, by: &By) -> Result<Status> {
        self.prefetch_customer(warehouse, district, by);
        let customer = self.customer(warehouse, district, by)?;
        let balance = self.kv.get(Table::Customer, &key::customer(warehouse, district, customer), |row| {
            Customer::whole(row).map(|row| Customer::balance.get(row))
        })?;
        let mut status = Status { customer, balance: there(balance, "a customer")??, ..Status::default() };
        let from = key::customer_order(warehouse, district, customer, 0);
        let below = key::customer_order(warehouse, district, customer, u32::MAX);
        self.kv.scan_back(Table::CustomerOrder, &from, &below, |key, _| {
            status.order = key::last_u32(key);
            ControlFlow::Break(())
        })?;
        let order = self.kv.get(Table::Order, &key::order(warehouse, district, status.order), |row| {
            Order::whole(row).map(|row| Order::carrier.get(row))
        })?;
        status.carrier = there(order, "the last order of a customer")??;
        let from = key::order_line(warehouse, district, status.order, 0);
        let below = key::order_line(warehouse, district, status.order + 1, 0);
        self.kv.scan(Table::OrderLine, &from, &below, |_, row| {
            status.lines += 1;
            status.amount += OrderLine::whole(row).map_or(0, |row| OrderLine::amount.get(row));
            ControlFlow::Continue(())
        })?;
        Ok(status)
    }

    fn take_oldest(&mut self, warehouse: u32) -> Result<Oldest> {
        for district in 1..=DISTRICTS {
            let known = self.undelivered.of(warehouse, district).load(Relaxed);
            self.kv.prefetch(Table::NewOrder, &key::order(warehouse, district, known));
        }
        let mut oldest = Oldest::default();
        for (order, district) in oldest.iter_mut().zip(1..) {
            let known = self.undelivered.of(warehouse, district).load(Relaxed);
            let from = key::order(warehouse, district, known);
            let below = key::order(warehouse, district, u32::MAX);
            self.kv.scan(Table::NewOrder, &from, &below, |key, _| {
                *order = key::last_u32(key);
                ControlFlow::Break(())
            })?;
            if *order != 0 {
                self.kv.delete(Table::NewOrder, &key::order(warehouse, district, *order))?;
            }
        }
        self.taken = Some((warehouse, oldest));
        Ok(oldest)
    }

    fn deliver(&mut self, delivery: &Delivery<'_>, mut delivered: impl FnMut(Delivered)) -> Result<()> {
        for (district, order) in delivery.orders() {
            self.kv.prefetch(Table::Order, &key::order(delivery.warehouse, district, order));
            self.kv.prefetch(Table::OrderLine, &key::order_line(delivery.warehouse, district, order, 1));
        }
        for (district, order) in delivery.orders() {
            delivered(self.deliver_one(delivery, district, order)?);
        }
        Ok(())
    }

    fn charge(&mut self, warehouse: u32, delivered: &[Delivered]) -> Result<()> {
        for order in delivered {
            self.kv.prefetch(Table::Customer, &key::customer(warehouse, order.district, order.customer));
        }
        for order in delivered {
            let key = key::customer(warehouse, order.district, order.customer);
            let changed = self.kv.update(Table::Customer, &key, |row| {
                Customer::whole(row)?;
                Customer::balance.set(row, &(Customer::balance.get(row) + order.amount));
                Customer::deliveries.set(row, &(Customer::deliveries.get(row) + 1));
                Ok(())
            })?;
            there(changed, "a customer")??;
        }
        Ok(())
    }

    fn stock_level(&mut self, warehouse: u32, district: u8, threshold: u8) -> Result<u32> {
        self.recent_items(warehouse, district)?;
        self.items.sort_unstable();
        self.items.dedup();
        for item in &self.items {
            self.kv.prefetch(Table::Stock, &key::stock(warehouse, *item));
        }
        let mut low = 0;
        for item in &self.items {
            let quantity = self.kv.get(Table::Stock, &key::stock(warehouse, *item), |row| {
                Stock::whole(row).map(|row| Stock::quantity.get(row))
            })?;
            low += u32::from(there(quantity, "a row of stock")?? < i32::from(threshold));
        }
        Ok(low)
    }
}
