//! What the tables hold before the first transaction (clause 4.3.3.1).
//!
//! Every table of every warehouse has random streams of its own, so that tables can be made one after the other or at
//! the same time, and always come out the same.

use crate::{
    random::{Dice, NonUniform, last_name, stream_seed},
    rows::{Customer, District, History, Item, Order, OrderLine, Stock, Warehouse},
    scale::{DISTRICTS, Scale},
    text::Text,
};

/// Cents that every customer has paid, and owes less, at the start.
const FIRST_PAYMENT: i64 = 1_000;

/// Makes the rows of a data set.
#[derive(Clone, Copy, Debug)]
pub struct Population {
    /// How large it is.
    pub scale: Scale,
    /// Where its streams begin.
    pub seed: u64,
    /// Instant of all rows, microseconds since 1970.
    pub date: i64,
}

#[derive(Clone, Copy)]
enum Stream {
    Items,
    Warehouses,
    Stock,
    Districts,
    Customers,
    Histories,
    Orders,
    Lines,
    Owners,
}

impl Population {
    /// The data set of a seed. Its date is a constant, so that the same seed gives the same bytes.
    pub fn new(scale: Scale, seed: u64) -> Self {
        Self { scale, seed, date: 1_767_225_600_000_000 }
    }

    fn dice(&self, stream: Stream, warehouse: u32, district: u8) -> Dice {
        let place = (u64::from(warehouse) << 8 | u64::from(district)) << 4;
        Dice::new(stream_seed(self.seed, place | stream as u64))
    }

    /// All items.
    pub fn items(&self) -> impl Iterator<Item = (u32, Item)> + use<> {
        let mut dice = self.dice(Stream::Items, 0, 0);
        (1..=self.scale.items).map(move |item| {
            let row = Item {
                price: dice.between(100, 10_000),
                image: dice.between(1, 10_000),
                name: dice.text(14, 24),
                data: dice.brand(),
            };
            (item, row)
        })
    }

    /// A warehouse.
    pub fn warehouse(&self, warehouse: u32) -> Warehouse {
        let mut dice = self.dice(Stream::Warehouses, warehouse, 0);
        Warehouse {
            ytd: FIRST_PAYMENT * i64::from(self.scale.customers) * i64::from(DISTRICTS),
            tax: dice.between(0, 2_000) as u16,
            name: dice.text(6, 10),
            street: [dice.text(10, 20), dice.text(10, 20)],
            city: dice.text(10, 20),
            state: dice.text(2, 2),
            zip: dice.zip(),
        }
    }

    /// A district.
    pub fn district(&self, warehouse: u32, district: u8) -> District {
        let mut dice = self.dice(Stream::Districts, warehouse, district);
        District {
            ytd: FIRST_PAYMENT * i64::from(self.scale.customers),
            next_order: u32::from(self.scale.customers) + 1,
            tax: dice.between(0, 2_000) as u16,
            name: dice.text(6, 10),
            street: [dice.text(10, 20), dice.text(10, 20)],
            city: dice.text(10, 20),
            state: dice.text(2, 2),
            zip: dice.zip(),
        }
    }

    /// The stock of a warehouse.
    pub fn stock(&self, warehouse: u32) -> impl Iterator<Item = (u32, Stock)> + use<> {
        let mut dice = self.dice(Stream::Stock, warehouse, 0);
        (1..=self.scale.items).map(move |item| {
            let row = Stock {
                quantity: dice.between(10, 100) as i32,
                info: std::array::from_fn(|_| dice.text(24, 24)),
                data: dice.brand(),
                ..Stock::default()
            };
            (item, row)
        })
    }

    /// The customers of a district.
    pub fn customers(&self, warehouse: u32, district: u8) -> impl Iterator<Item = (u16, Customer)> + use<> {
        let mut dice = self.dice(Stream::Customers, warehouse, district);
        let (constants, names, date) = (NonUniform::for_load(self.seed), self.scale.names(), self.date);
        (1..=self.scale.customers).map(move |customer| {
            let number = if customer <= names { customer - 1 } else { constants.name(&mut dice, names) };
            (customer, customer_row(&mut dice, number, date))
        })
    }

    /// The payments of a district's customers, one each.
    pub fn histories(&self, warehouse: u32, district: u8) -> impl Iterator<Item = History> + use<> {
        let mut dice = self.dice(Stream::Histories, warehouse, district);
        let date = self.date;
        (1..=self.scale.customers).map(move |customer| History {
            customer_warehouse: warehouse,
            customer_district: district,
            customer,
            date,
            amount: FIRST_PAYMENT,
            data: dice.text(12, 24),
        })
    }

    /// The orders of a district, one of every customer in random order.
    pub fn orders(&self, warehouse: u32, district: u8) -> impl Iterator<Item = (u32, Order)> + use<> {
        let owners = self.owners(warehouse, district);
        let mut dice = self.dice(Stream::Orders, warehouse, district);
        let (date, undelivered) = (self.date, self.scale.first_undelivered());
        owners.into_iter().zip(1..).map(move |(customer, order)| {
            let lines = dice.between(5, 15) as u8;
            let carrier = dice.between(1, 10) as u8;
            let carrier = if order < undelivered { carrier } else { 0 };
            (order, Order { customer, entered: date, carrier, lines, all_local: 1 })
        })
    }

    /// The lines of a district's orders: order, line, row.
    pub fn order_lines(&self, warehouse: u32, district: u8) -> impl Iterator<Item = (u32, u8, OrderLine)> + use<> {
        let mut dice = self.dice(Stream::Lines, warehouse, district);
        let (items, date) = (self.scale.items, self.date);
        self.orders(warehouse, district).flat_map(move |(order, row)| {
            let done = row.carrier != 0;
            let lines: [OrderLine; 15] = std::array::from_fn(|_| OrderLine {
                item: dice.between(1, items),
                supply_warehouse: warehouse,
                delivered: if done { date } else { 0 },
                quantity: 5,
                amount: if done { 0 } else { i64::from(dice.between(1, 999_999)) },
                info: dice.text(24, 24),
            });
            lines.into_iter().zip(1..=row.lines).map(move |(line, number)| (order, number, line))
        })
    }

    /// A permutation of the customers (Fisher and Yates).
    fn owners(&self, warehouse: u32, district: u8) -> Vec<u16> {
        let mut dice = self.dice(Stream::Owners, warehouse, district);
        let mut owners: Vec<u16> = (1..=self.scale.customers).collect();
        for at in (1..owners.len()).rev() {
            owners.swap(at, dice.between(0, at as u32) as usize);
        }
        owners
    }
}

fn customer_row(dice: &mut Dice, name: u16, date: i64) -> Customer {
    Customer {
        balance: -FIRST_PAYMENT,
        ytd_payment: FIRST_PAYMENT,
        payments: 1,
        deliveries: 0,
        discount: dice.between(0, 5_000) as u16,
        credit: Text::of(if dice.percent(10) { b"BC" } else { b"GC" }),
        last: last_name(name),
        first: dice.text(8, 16),
        middle: Text::of(b"OE"),
        credit_limit: 5_000_000,
        since: date,
        street: [dice.text(10, 20), dice.text(10, 20)],
        city: dice.text(10, 20),
        state: dice.text(2, 2),
        zip: dice.zip(),
        phone: dice.digits(16),
        data: dice.text(300, 500),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_rows_and_another_gives_others() {
        let rows = |seed| Population::new(Scale::small(2), seed).customers(2, 3).collect::<Vec<_>>();
        assert_eq!(rows(1), rows(1));
        assert_ne!(rows(1), rows(2));
    }

    #[test]
    fn every_customer_has_one_order_and_every_order_its_lines() {
        let population = Population::new(Scale::small(1), 9);
        let orders: Vec<_> = population.orders(1, 4).collect();
        let mut owners: Vec<u16> = orders.iter().map(|(_, order)| order.customer).collect();
        owners.sort_unstable();
        assert_eq!(owners, (1..=30).collect::<Vec<u16>>());
        for (number, order) in &orders {
            let lines: Vec<_> = population.order_lines(1, 4).filter(|(order, ..)| order == number).collect();
            assert_eq!(lines.len(), usize::from(order.lines));
            assert!(lines.iter().all(|(.., line)| (line.delivered == 0) == (order.carrier == 0)));
        }
        assert_eq!(orders.iter().filter(|(_, order)| order.carrier == 0).count(), 9);
    }

    #[test]
    fn a_district_of_full_size_has_three_thousand_customers_with_a_thousand_names() {
        let population = Population::new(Scale::of(1), 9);
        let customers: Vec<_> = population.customers(1, 1).collect();
        let names: std::collections::BTreeSet<String> =
            customers.iter().map(|(_, row)| row.last.as_str().to_owned()).collect();
        assert_eq!((customers.len(), names.len()), (3000, 1000));
        let bad = customers.iter().filter(|(_, row)| row.credit.as_str() == "BC").count();
        assert!((230..=370).contains(&bad), "{bad}");
    }
}
