//! Transactions on SQL Server: one exchange for each step.

use std::fmt;

use crate::{
    Result, Session, TpccError,
    input::{By, NewOrder, Payment},
    kind::Kind,
    rows::{History, Order, OrderLine},
    store::{Account, Delivered, Delivery, Oldest, Sale, Status, Terms},
    text::{Text, is_original},
};
use serde::Serialize;

use super::{
    Isolation, begin,
    link::{
        Link, Row,
        Value::{Int, Long, Text as Word},
    },
    statements,
};

/// A session of a `SqlServerStore`: a connection.
pub struct SqlServerSession<L> {
    link: L,
    isolation: Isolation,
    /// A transaction is open at the server.
    open: bool,
    stock: Vec<Stocked>,
    paid: Option<((i32, i32, i32), Account)>,
}

/// A row of stock, as the lines before have left it.
struct Stocked {
    supply: u32,
    item: u32,
    sale: Sale,
}

#[derive(PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Named {
    w: u32,
    i: u32,
}

#[derive(Serialize)]
struct Sold {
    w: u32,
    i: u32,
    q: i32,
    y: i64,
    o: u32,
    r: u32,
}

#[derive(Serialize)]
struct JsonLine<'a> {
    n: u8,
    i: u32,
    s: u32,
    q: u8,
    a: i64,
    d: &'a str,
}

#[derive(Serialize)]
struct Waiting {
    d: u8,
    o: u32,
}

#[derive(Serialize)]
struct Charge {
    d: u8,
    c: u16,
    a: i64,
}

fn json<T: Serialize>(rows: impl Iterator<Item = T>) -> Result<String> {
    serde_json::to_string(&rows.collect::<Vec<_>>()).map_err(TpccError::store)
}

impl<L> fmt::Debug for SqlServerSession<L> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("SqlServerSession").field("open", &self.open).finish_non_exhaustive()
    }
}

fn first<'r>(answers: &'r [Vec<Row>], answer: usize, what: &str) -> Result<&'r Row> {
    answers.get(answer).and_then(|rows| rows.first()).ok_or_else(|| TpccError::damaged(what))
}

/// Rows of an answer; none where there is no such answer.
fn rows(answers: &[Vec<Row>], answer: usize) -> &[Row] {
    answers.get(answer).map_or(&[], Vec::as_slice)
}

impl<L: Link> SqlServerSession<L> {
    pub(super) fn open(mut link: L, isolation: Isolation) -> Result<Self> {
        link.batch(statements::GREETING)?;
        Ok(Self { link, isolation, open: false, stock: Vec::new(), paid: None })
    }

    fn read_stock(&mut self, order: &NewOrder) -> Result<()> {
        let mut named: Vec<Named> = order.lines().iter().map(|line| Named { w: line.supply, i: line.item }).collect();
        // Rows are locked in one order by all, and a row that two lines name comes once.
        named.sort_unstable();
        named.dedup();
        let wanted = json(named.into_iter())?;
        let sql = statements::STOCK[usize::from(order.district) - 1];
        let answers = self.link.ask(sql, &[Word(&wanted)])?;
        self.stock = rows(&answers, 0).iter().map(Stocked::of).collect::<Result<_>>()?;
        Ok(())
    }
}

impl Stocked {
    fn of(row: &Row) -> Result<Self> {
        let sale = Sale {
            price: row.number(8)? as u32,
            info: row.text(7),
            original: is_original(row.text::<50>(6).bytes()) && is_original(row.text::<50>(9).bytes()),
            quantity: row.number(2)? as i32,
            ytd: row.number(3)?,
            orders: row.number(4)? as u32,
            remote_orders: row.number(5)? as u32,
        };
        Ok(Self { supply: row.number(0)? as u32, item: row.number(1)? as u32, sale })
    }

    fn sold(&self) -> Sold {
        let Sale { quantity, ytd, orders, remote_orders, .. } = self.sale;
        Sold { w: self.supply, i: self.item, q: quantity, y: ytd, o: orders, r: remote_orders }
    }
}

impl<L: Link> Session for SqlServerSession<L> {
    fn begin(&mut self, kind: Kind) -> Result<()> {
        self.link.batch(match kind {
            Kind::NewOrder | Kind::Payment => begin(self.isolation),
            Kind::Delivery => statements::BEGIN_COMMITTED,
            Kind::OrderStatus | Kind::StockLevel => statements::BEGIN_SNAPSHOT,
        })?;
        self.open = true;
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        self.link.batch(statements::COMMIT)?;
        self.open = false;
        Ok(())
    }

    fn abort(&mut self) -> Result<()> {
        if self.open {
            self.open = false;
            self.link.batch(statements::ROLLBACK)?;
        }
        Ok(())
    }

    fn terms(&mut self, order: &NewOrder) -> Result<Terms> {
        let values = [Int(order.warehouse as i32), Int(i32::from(order.district)), Int(i32::from(order.customer))];
        let answers = self.link.ask(statements::TERMS, &values)?;
        let row = first(&answers, 0, "a district, or a customer,")?;
        // Read as the specification has it; the terminal would show them.
        std::hint::black_box((row.text::<16>(4), row.text::<2>(5)));
        Ok(Terms {
            order: row.number(0)? as u32,
            district_tax: row.number(1)? as u16,
            warehouse_tax: row.number(2)? as u16,
            discount: row.number(3)? as u16,
        })
    }

    fn sell(&mut self, order: &NewOrder, mut sell: impl FnMut(usize, &mut Sale)) -> Result<bool> {
        self.read_stock(order)?;
        for (at, line) in order.lines().iter().enumerate() {
            let row = self.stock.iter_mut().find(|row| row.item == line.item && row.supply == line.supply);
            // Stock comes together with its item: without one there is no row.
            let Some(row) = row else { return Ok(false) };
            sell(at, &mut row.sale);
        }
        Ok(true)
    }

    fn insert_order(&mut self, order: &NewOrder, number: u32, row: &Order, lines: &[OrderLine]) -> Result<()> {
        let sold = json(self.stock.iter().map(Stocked::sold))?;
        let lines = json((1..).zip(lines).map(|(n, line)| JsonLine {
            n,
            i: line.item,
            s: line.supply_warehouse,
            q: line.quantity,
            a: line.amount,
            d: line.info.as_str(),
        }))?;
        let values = [
            Int(order.warehouse as i32),
            Int(i32::from(order.district)),
            Int(number as i32),
            Int(i32::from(order.customer)),
            Long(row.entered),
            Int(i32::from(row.lines)),
            Int(i32::from(row.all_local)),
            Word(&lines),
            Word(&sold),
        ];
        self.link.ask(statements::WRITE_ORDER, &values).map(|_| ())
    }

    fn receive(&mut self, payment: &Payment) -> Result<(Text<10>, Text<10>)> {
        let (sql, by) = match &payment.by {
            By::Number(number) => (statements::RECEIVE, Int(i32::from(*number))),
            By::Name(last) => (statements::RECEIVE_NAMED, Word(last.as_str())),
        };
        let place = (payment.customer_warehouse as i32, i32::from(payment.customer_district));
        let (warehouse, district) = (Int(payment.warehouse as i32), Int(i32::from(payment.district)));
        let values = [Long(payment.amount), warehouse, district, Int(place.0), Int(place.1), by];
        let answers = self.link.ask(sql, &values)?;
        let (warehouse, district) = (first(&answers, 0, "a warehouse")?, first(&answers, 1, "a district")?);
        let customer = first(&answers, 2, "a customer")?;
        let account = Account {
            bad_credit: customer.text::<2>(1).bytes() == b"BC",
            balance: customer.number(2)?,
            ytd_payment: customer.number(3)?,
            payments: customer.number(4)? as u32,
            data: customer.text(5),
        };
        self.paid = Some(((place.0, place.1, customer.number(0)? as i32), account));
        Ok((warehouse.text(0), district.text(0)))
    }

    fn pay(&mut self, _payment: &Payment, change: impl FnOnce(u16, &mut Account)) -> Result<u16> {
        let Some(((.., number), account)) = &mut self.paid else {
            return Err(TpccError::store("a payment was made before its customer was read"));
        };
        let customer = *number as u16;
        change(customer, account);
        Ok(customer)
    }

    fn insert_history(&mut self, payment: &Payment, row: &History) -> Result<()> {
        let Some(((warehouse, district, customer), account)) = self.paid.take() else {
            return Err(TpccError::store("history was written before its payment was made"));
        };
        let values = [
            Long(account.balance),
            Long(account.ytd_payment),
            Int(account.payments as i32),
            Int(warehouse),
            Int(district),
            Int(customer),
            Int(payment.warehouse as i32),
            Int(i32::from(payment.district)),
            Long(row.date),
            Long(row.amount),
            Word(row.data.as_str()),
            Word(account.data.as_str()),
        ];
        let (sql, count) = if account.bad_credit { (statements::PAY_BAD, 12) } else { (statements::PAY_GOOD, 11) };
        self.link.ask(sql, &values[..count]).map(|_| ())
    }

    fn status(&mut self, warehouse: u32, district: u8, by: &By) -> Result<Status> {
        let (warehouse, district) = (Int(warehouse as i32), Int(i32::from(district)));
        let customer = match by {
            By::Number(number) => *number,
            By::Name(last) => {
                let values = [warehouse, district, Word(last.as_str())];
                let answers = self.link.ask(statements::NUMBER_OF_NAME, &values)?;
                first(&answers, 0, "a customer of a name")?.number(0)? as u16
            }
        };
        let answers = self.link.ask(statements::STATUS, &[warehouse, district, Int(i32::from(customer))])?;
        let balance = first(&answers, 0, "a customer")?.number(0)?;
        let order = first(&answers, 1, "the last order of a customer")?;
        let lines = rows(&answers, 1);
        Ok(Status {
            customer,
            balance,
            order: order.number(0)? as u32,
            carrier: order.number(1)? as u8,
            lines: lines.len() as u8,
            amount: lines.iter().map(|line| line.number(3)).sum::<Result<i64>>()?,
        })
    }

    fn take_oldest(&mut self, warehouse: u32) -> Result<Oldest> {
        let answers = self.link.ask(statements::TAKE_OLDEST, &[Int(warehouse as i32)])?;
        let mut oldest = Oldest::default();
        for row in rows(&answers, 0) {
            let district = row.number(0)? as usize;
            let place = district.checked_sub(1).and_then(|at| oldest.get_mut(at));
            *place.ok_or_else(|| TpccError::damaged("the district of an undelivered order"))? = row.number(1)? as u32;
        }
        Ok(oldest)
    }

    fn deliver(&mut self, delivery: &Delivery<'_>, mut delivered: impl FnMut(Delivered)) -> Result<()> {
        let waiting = json(delivery.orders().map(|(d, o)| Waiting { d, o }))?;
        let Delivery { warehouse, carrier, date, .. } = *delivery;
        let values = [Int(warehouse as i32), Int(i32::from(carrier)), Word(&waiting), Long(date)];
        let answers = self.link.ask(statements::DELIVER, &values)?;
        let mut amounts = [0; 256];
        for line in rows(&answers, 1) {
            amounts[usize::from(line.number(0)? as u8)] += line.number(1)?;
        }
        if rows(&answers, 0).len() != delivery.orders().count() {
            return Err(TpccError::damaged("an order that is not delivered"));
        }
        for row in rows(&answers, 0) {
            let district = row.number(0)? as u8;
            let (order, customer) = (row.number(1)? as u32, row.number(2)? as u16);
            delivered(Delivered { district, order, customer, amount: amounts[usize::from(district)] });
        }
        Ok(())
    }

    fn charge(&mut self, warehouse: u32, delivered: &[Delivered]) -> Result<()> {
        let charges = json(delivered.iter().map(|one| Charge { d: one.district, c: one.customer, a: one.amount }))?;
        self.link.ask(statements::CHARGE, &[Int(warehouse as i32), Word(&charges)]).map(|_| ())
    }

    fn stock_level(&mut self, warehouse: u32, district: u8, threshold: u8) -> Result<u32> {
        let values = [Int(warehouse as i32), Int(i32::from(district)), Int(i32::from(threshold))];
        let answers = self.link.ask(statements::STOCK_LEVEL, &values)?;
        Ok(first(&answers, 0, "a district")?.number(0)? as u32)
    }
}
