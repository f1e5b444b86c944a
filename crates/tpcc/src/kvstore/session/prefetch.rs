//! What a transaction will ask for, said before it does, in that order: a store looks for all of it side by side.

use super::KvStoreSession;
use crate::{
    input::{By, NewOrder, Payment},
    key::{self, Table},
    kv::{Kv, KvSession},
};

impl<K: Kv> KvStoreSession<'_, K> {
    /// What a New-Order reads and changes.
    pub(super) fn prefetch_order(&mut self, order: &NewOrder) {
        let NewOrder { warehouse, district, customer, .. } = *order;
        self.kv.prefetch(Table::Warehouse, &key::warehouse(warehouse));
        self.kv.prefetch(Table::Customer, &key::customer(warehouse, district, customer));
        self.kv.prefetch(Table::District, &key::district(warehouse, district));
        for line in order.lines() {
            self.kv.prefetch(Table::Item, &key::item(line.item));
            self.kv.prefetch(Table::Stock, &key::stock(line.supply, line.item));
        }
    }

    /// What it adds; lines lie side by side.
    pub(super) fn prefetch_rows(&mut self, order: &NewOrder, number: u32) {
        let NewOrder { warehouse, district, customer, .. } = *order;
        let key = key::order(warehouse, district, number);
        self.kv.prefetch(Table::Order, &key);
        self.kv.prefetch(Table::NewOrder, &key);
        self.kv.prefetch(Table::CustomerOrder, &key::customer_order(warehouse, district, customer, number));
        self.kv.prefetch(Table::OrderLine, &key::order_line(warehouse, district, number, 1));
    }

    /// What a payment will ask for, in that order. Of a customer who is named only the way to the name is known.
    pub(super) fn prefetch_payment(&mut self, payment: &Payment) {
        let Payment { warehouse, district, customer_warehouse, customer_district, .. } = *payment;
        self.kv.prefetch(Table::Warehouse, &key::warehouse(warehouse));
        self.kv.prefetch(Table::District, &key::district(warehouse, district));
        self.prefetch_customer(customer_warehouse, customer_district, &payment.by);
        let history = self.history_key(payment);
        self.kv.prefetch(Table::History, &history);
    }

    pub(super) fn prefetch_customer(&mut self, warehouse: u32, district: u8, by: &By) {
        match by {
            By::Number(number) => self.kv.prefetch(Table::Customer, &key::customer(warehouse, district, *number)),
            By::Name(last) => {
                let from = key::customer_name(warehouse, district, last.padded(), &[0; 16], 0);
                self.kv.prefetch(Table::CustomerName, &from);
            }
        }
    }
}
