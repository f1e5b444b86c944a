//! What a transaction has put off to its last exchange.

use crate::{
    Result,
    input::{Payment, Wanted},
    rows::{History, Order, OrderLine},
    store::{Account, Sale},
    text::{Text, is_original},
};

use super::wire::WireRow;

/// Rows of stock, in columns as their update wants them.
#[derive(Default)]
pub(super) struct Sold {
    pub(super) warehouses: Vec<i32>,
    pub(super) items: Vec<i32>,
    pub(super) quantities: Vec<i32>,
    pub(super) ytd: Vec<i64>,
    pub(super) orders: Vec<i32>,
    pub(super) remote_orders: Vec<i32>,
    pub(super) infos: Vec<Text<24>>,
    pub(super) original: Vec<bool>,
    pub(super) prices: Vec<u32>,
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
    pub(super) place: (i32, i32, i32),
    pub(super) row: Order,
    pub(super) items: Vec<i32>,
    pub(super) supplies: Vec<i32>,
    pub(super) quantities: Vec<i32>,
    pub(super) amounts: Vec<i64>,
    pub(super) infos: Vec<Text<24>>,
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
    pub(super) fn fill(&mut self, rows: &[WireRow]) -> Result<()> {
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
