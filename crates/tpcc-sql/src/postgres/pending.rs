//! What a transaction has put off to its last exchange.

use assay_tpcc::{
    Result, TpccError,
    input::{Payment, Wanted},
    rows::{History, Order, OrderLine},
    store::{Account, Sale},
    text::{Text, is_original},
};

use super::{
    session::PostgresSession,
    wire::{
        Row,
        Value::{Int, Ints, Long, Longs, Text as Word, Texts},
    },
};

/// Rows of stock, in columns as their update wants them.
#[derive(Default)]
pub(super) struct Sold {
    warehouses: Vec<i32>,
    items: Vec<i32>,
    quantities: Vec<i32>,
    ytd: Vec<i64>,
    orders: Vec<i32>,
    remote_orders: Vec<i32>,
    infos: Vec<Text<24>>,
    original: Vec<bool>,
    prices: Vec<u32>,
}

pub(super) struct Paid {
    pub(super) place: (i32, i32, i32),
    pub(super) account: Account,
    pub(super) history: Option<(Payment, History)>,
}

#[derive(Default)]
pub(super) struct Charges {
    pub(super) warehouse: i32,
    pub(super) districts: Vec<i32>,
    pub(super) customers: Vec<i32>,
    pub(super) amounts: Vec<i64>,
}

/// An order and its lines, in columns as their insertion wants them.
pub(super) struct Entered {
    place: (i32, i32, i32),
    row: Order,
    items: Vec<i32>,
    supplies: Vec<i32>,
    quantities: Vec<i32>,
    amounts: Vec<i64>,
    infos: Vec<Text<24>>,
}

impl Entered {
    pub(super) fn of(place: (i32, i32, i32), row: &Order, lines: &[OrderLine]) -> Self {
        Self {
            place,
            row: row.clone(),
            items: lines.iter().map(|line| line.item as i32).collect(),
            supplies: lines.iter().map(|line| line.supply_warehouse as i32).collect(),
            quantities: lines.iter().map(|line| i32::from(line.quantity)).collect(),
            amounts: lines.iter().map(|line| line.amount).collect(),
            infos: lines.iter().map(|line| line.info).collect(),
        }
    }
}

impl Sold {
    pub(super) fn fill(&mut self, rows: &[Row]) -> Result<()> {
        self.warehouses.clear();
        self.items.clear();
        self.quantities.clear();
        self.ytd.clear();
        self.orders.clear();
        self.remote_orders.clear();
        self.original.clear();
        self.infos.clear();
        self.prices.clear();
        for row in rows {
            let (warehouse, item) = (row.int(0)?, row.int(1)?);
            // A row that two lines name comes twice where it was asked for by a join.
            if self.items.last() == Some(&item) && self.warehouses.last() == Some(&warehouse) {
                continue;
            }
            self.warehouses.push(warehouse);
            self.items.push(item);
            self.quantities.push(row.int(2)?);
            self.ytd.push(row.long(3)?);
            self.orders.push(row.int(4)?);
            self.remote_orders.push(row.int(5)?);
            self.original.push(is_original(row.text::<50>(6).bytes()) && is_original(row.text::<50>(9).bytes()));
            self.prices.push(row.int(8)? as u32);
            self.infos.push(row.text(7));
        }
        Ok(())
    }

    /// Hands a line's item and stock to `sell`; false where there is no such item.
    pub(super) fn sell(&mut self, line: &Wanted, sell: impl FnOnce(&mut Sale)) -> bool {
        let (item, supply) = (line.item as i32, line.supply as i32);
        let place = (0..self.items.len()).find(|place| self.items[*place] == item && self.warehouses[*place] == supply);
        // Stock comes together with its item: without one there is no row.
        let Some(place) = place else { return false };
        let mut sale = Sale {
            price: self.prices[place],
            info: self.infos[place],
            original: self.original[place],
            quantity: self.quantities[place],
            ytd: self.ytd[place],
            orders: self.orders[place] as u32,
            remote_orders: self.remote_orders[place] as u32,
        };
        sell(&mut sale);
        self.quantities[place] = sale.quantity;
        self.ytd[place] = sale.ytd;
        self.orders[place] = sale.orders as i32;
        self.remote_orders[place] = sale.remote_orders as i32;
        true
    }
}

impl PostgresSession {
    pub(super) fn write_order(&mut self, order: &Entered) -> Result<()> {
        let Self { wire, statements, sold, .. } = self;
        let (warehouse, district, number) = order.place;
        let values = [
            Int(warehouse),
            Int(district),
            Int(number),
            Int(i32::from(order.row.customer)),
            Long(order.row.entered),
            Int(i32::from(order.row.lines)),
            Int(i32::from(order.row.all_local)),
            Ints(&order.items),
            Ints(&order.supplies),
            Ints(&order.quantities),
            Longs(&order.amounts),
            Texts(&order.infos),
            Ints(&sold.warehouses),
            Ints(&sold.items),
            Ints(&sold.quantities),
            Longs(&sold.ytd),
            Ints(&sold.orders),
            Ints(&sold.remote_orders),
        ];
        wire.ask(&statements.write_order, &values)
    }

    pub(super) fn write_payment(&mut self, paid: &Paid) -> Result<()> {
        let Self { wire, statements, .. } = self;
        let history = paid.history.as_ref();
        let (payment, history) = history.ok_or_else(|| TpccError::store("a payment without history was committed"))?;
        let (warehouse, district, customer) = paid.place;
        let Account { bad_credit, balance, ytd_payment, payments, ref data } = paid.account;
        let values = [
            Long(balance),
            Long(ytd_payment),
            Int(payments as i32),
            Int(warehouse),
            Int(district),
            Int(customer),
            Int(payment.warehouse as i32),
            Int(i32::from(payment.district)),
            Long(history.date),
            Long(history.amount),
            Word(history.data.as_str()),
            Word(data.as_str()),
        ];
        if bad_credit {
            wire.ask(&statements.pay_bad, &values)
        } else {
            wire.ask(&statements.pay_good, &values[..values.len() - 1])
        }
    }

    pub(super) fn write_charges(&mut self, charges: &Charges) -> Result<()> {
        let Charges { warehouse, districts, customers, amounts } = charges;
        let values = [Int(*warehouse), Ints(districts), Ints(customers), Longs(amounts)];
        self.wire.ask(&self.statements.charge, &values)
    }
}
