//! Transactions on PostgreSQL. Statements that do not need each other's answers go out together, `begin` with the first
//! and `commit` with the last of them: a New-Order takes two exchanges, a Payment two, a Delivery three, the others one or
//! two.

use std::fmt;

use crate::{
    Result, Session, TpccError,
    input::{By, NewOrder, Payment},
    kind::Kind,
    rows::{History, Order, OrderLine},
    store::{Account, Delivered, Delivery, Oldest, Sale, Status, Terms},
    text::Text,
};

use super::{
    PostgresOptions, begin,
    pending::{Charges, Entered, Paid, Sold},
    statements::{self, Statements},
    wire::{
        Statement, Wire, WireRow,
        WireValue::{Int, Ints, Long, Text as Word},
    },
};

/// Columns of `receive` and `receive_named`.
const WAREHOUSE_NAME: usize = 18;
const DISTRICT_NAME: usize = 24;

/// What begins a transaction.
#[derive(Clone, Copy, Debug)]
enum Begin {
    /// As the user wants New-Order and Payment.
    Isolated,
    Repeatable,
    Snapshot,
}

/// A session of a `PostgresStore`: a connection with its statements.
pub struct PostgresSession {
    pub(super) wire: Wire,
    pub(super) statements: Statements,
    /// Stock for orders of each district, prepared when it is first asked for.
    stock: [Option<(Statement, Statement)>; 10],
    /// What begins the transaction goes out with its first exchange.
    begins: Option<Begin>,
    /// A transaction is open at the server.
    open: bool,
    pub(super) sold: Sold,
    customer: Option<WireRow>,
    payment: Option<Paid>,
    charges: Option<Charges>,
    entered: Option<Entered>,
}

impl fmt::Debug for PostgresSession {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("PostgresSession").field("open", &self.open).finish_non_exhaustive()
    }
}

fn first<'r>(rows: &'r [WireRow], what: &str) -> Result<&'r WireRow> {
    rows.first().ok_or_else(|| TpccError::damaged(what))
}

impl PostgresSession {
    pub(super) fn open(options: &PostgresOptions) -> Result<Self> {
        let mut wire = Wire::connect(&options.connection)?;
        // Plans of prepared statements are made once: every table is reached by its key, whatever the values.
        wire.run(&format!("set search_path = {}; set plan_cache_mode = force_generic_plan", options.schema))?;
        let statements = Statements::prepare(&mut wire, begin(options.isolation))?;
        Ok(Self {
            wire,
            statements,
            stock: Default::default(),
            begins: None,
            open: false,
            sold: Sold::default(),
            customer: None,
            payment: None,
            charges: None,
            entered: None,
        })
    }

    fn forget(&mut self) {
        self.begins = None;
        self.customer = None;
        self.payment = None;
        self.charges = None;
        self.entered = None;
        self.wire.forget();
    }

    /// Begins the transaction with the exchange that is put together, if none has yet.
    fn begin_with_it(&mut self) -> Result<()> {
        self.open = true;
        let Some(begin) = self.begins.take() else { return Ok(()) };
        let statement = match begin {
            Begin::Isolated => &self.statements.begin_isolated,
            Begin::Repeatable => &self.statements.begin_repeatable,
            Begin::Snapshot => &self.statements.begin_snapshot,
        };
        self.wire.ask(statement, &[])
    }

    fn prepare_stock(&mut self, district: u8) -> Result<()> {
        let place = &mut self.stock[usize::from(district) - 1];
        if place.is_none() {
            *place = Some(statements::stock(&mut self.wire, district)?);
        }
        Ok(())
    }

    fn ask_for_stock(&mut self, order: &NewOrder) -> Result<()> {
        let mut items = [0; crate::scale::LINES_AT_MOST];
        let mut supplies = items;
        for ((item, supply), line) in items.iter_mut().zip(&mut supplies).zip(order.lines()) {
            (*item, *supply) = (line.item as i32, line.supply as i32);
        }
        let count = order.lines().len();
        let Some((home, remote)) = &self.stock[usize::from(order.district) - 1] else {
            return Err(TpccError::store("stock was not prepared"));
        };
        if order.remote_lines() == 0 {
            self.wire.ask(home, &[Int(order.warehouse as i32), Ints(&items[..count])])
        } else {
            self.wire.ask(remote, &[Ints(&supplies[..count]), Ints(&items[..count])])
        }
    }

    fn number_of(&mut self, warehouse: i32, district: i32, by: &By) -> Result<i32> {
        match by {
            By::Number(number) => Ok(i32::from(*number)),
            By::Name(last) => {
                self.begin_with_it()?;
                let values = [Int(warehouse), Int(district), Word(last.as_str())];
                self.wire.ask(&self.statements.number_of_name, &values)?;
                let [rows] = self.wire.exchange()?;
                first(&rows, "a customer of a name")?.int(0)
            }
        }
    }
}

impl Session for PostgresSession {
    fn begin(&mut self, kind: Kind) -> Result<()> {
        self.forget();
        self.begins = Some(match kind {
            Kind::NewOrder | Kind::Payment => Begin::Isolated,
            // Two Deliveries of one warehouse must not both look for the oldest orders and then wait for each other.
            Kind::Delivery => Begin::Repeatable,
            Kind::OrderStatus | Kind::StockLevel => Begin::Snapshot,
        });
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        if !self.open {
            return Ok(());
        }
        if let Some(order) = self.entered.take() {
            self.write_order(&order)?;
        } else if let Some(paid) = self.payment.take() {
            self.write_payment(&paid)?;
        } else if let Some(charges) = self.charges.take() {
            self.write_charges(&charges)?;
        }
        self.wire.ask(&self.statements.commit, &[])?;
        let [] = self.wire.exchange()?;
        self.open = false;
        Ok(())
    }

    fn abort(&mut self) -> Result<()> {
        self.forget();
        if self.open {
            self.open = false;
            self.wire.ask(&self.statements.rollback, &[])?;
            let [] = self.wire.exchange()?;
        }
        Ok(())
    }

    fn terms(&mut self, order: &NewOrder) -> Result<Terms> {
        self.prepare_stock(order.district)?;
        self.begin_with_it()?;
        let values = [Int(order.warehouse as i32), Int(i32::from(order.district)), Int(i32::from(order.customer))];
        self.wire.ask(&self.statements.terms, &values)?;
        self.ask_for_stock(order)?;
        let [terms, stock] = self.wire.exchange()?;
        self.sold.fill(&stock)?;
        let terms = first(&terms, "a district, or a customer,")?;
        // Read as the specification has it; the terminal would show them.
        std::hint::black_box((terms.text::<16>(4), terms.text::<2>(5)));
        Ok(Terms {
            order: terms.int(0)? as u32,
            district_tax: terms.int(1)? as u16,
            warehouse_tax: terms.int(2)? as u16,
            discount: terms.int(3)? as u16,
        })
    }

    fn sell(&mut self, order: &NewOrder, mut sell: impl FnMut(usize, &mut Sale)) -> Result<bool> {
        Ok((0..usize::from(order.count)).all(|at| self.sold.sell(&order.wanted[at], |sale| sell(at, sale))))
    }

    fn insert_order(&mut self, order: &NewOrder, number: u32, row: &Order, lines: &[OrderLine]) -> Result<()> {
        let place = (order.warehouse as i32, i32::from(order.district), number as i32);
        self.entered = Some(Entered::of(place, row, lines));
        Ok(())
    }

    fn receive(&mut self, payment: &Payment) -> Result<(Text<10>, Text<10>)> {
        self.begin_with_it()?;
        let (warehouse, district) = (payment.warehouse as i32, i32::from(payment.district));
        let (of_warehouse, of_district) = (payment.customer_warehouse as i32, i32::from(payment.customer_district));
        let (statement, by) = match &payment.by {
            By::Number(number) => (&self.statements.receive, Int(i32::from(*number))),
            By::Name(last) => (&self.statements.receive_named, Word(last.as_str())),
        };
        let amount = Long(payment.amount);
        self.wire.ask(statement, &[amount, Int(warehouse), Int(district), Int(of_warehouse), Int(of_district), by])?;
        let [mut rows] = self.wire.exchange()?;
        let row = rows.pop().ok_or_else(|| TpccError::damaged("a warehouse, a district, or a customer,"))?;
        let names = (row.text(WAREHOUSE_NAME), row.text(DISTRICT_NAME));
        self.customer = Some(row);
        Ok(names)
    }

    fn pay(&mut self, payment: &Payment, change: impl FnOnce(u16, &mut Account)) -> Result<u16> {
        let row = self.customer.take().ok_or_else(|| TpccError::damaged("a customer"))?;
        let customer = row.int(0)? as u16;
        let mut account = Account {
            bad_credit: row.text::<2>(1).bytes() == b"BC",
            balance: row.long(2)?,
            ytd_payment: row.long(3)?,
            payments: row.int(4)? as u32,
            data: row.text(5),
        };
        change(customer, &mut account);
        let place = (payment.customer_warehouse as i32, i32::from(payment.customer_district), i32::from(customer));
        self.payment = Some(Paid { place, account, history: None });
        Ok(customer)
    }

    fn insert_history(&mut self, payment: &Payment, row: &History) -> Result<()> {
        if let Some(paid) = &mut self.payment {
            paid.history = Some((payment.clone(), row.clone()));
        }
        Ok(())
    }

    fn status(&mut self, warehouse: u32, district: u8, by: &By) -> Result<Status> {
        let (warehouse, district) = (warehouse as i32, i32::from(district));
        let customer = self.number_of(warehouse, district, by)?;
        self.begin_with_it()?;
        let values = [Int(warehouse), Int(district), Int(customer)];
        self.wire.ask(&self.statements.balance, &values)?;
        self.wire.ask(&self.statements.status, &values)?;
        self.wire.ask(&self.statements.commit, &[])?;
        let [balance, lines, _] = self.wire.exchange()?;
        self.open = false;
        let order = first(&lines, "the last order of a customer")?;
        Ok(Status {
            customer: customer as u16,
            balance: first(&balance, "a customer")?.long(0)?,
            order: order.int(0)? as u32,
            carrier: order.int(1)? as u8,
            lines: lines.len() as u8,
            amount: lines.iter().try_fold(0i64, |sum, line| Ok::<_, TpccError>(sum.saturating_add(line.long(3)?)))?,
        })
    }

    fn take_oldest(&mut self, warehouse: u32) -> Result<Oldest> {
        self.begin_with_it()?;
        self.wire.ask(&self.statements.take_oldest, &[Int(warehouse as i32)])?;
        let [rows] = self.wire.exchange()?;
        let mut oldest = Oldest::default();
        for row in rows {
            let place = usize::try_from(row.int(0)? - 1).unwrap_or(usize::MAX);
            *oldest.get_mut(place).ok_or_else(|| TpccError::damaged("a district"))? = row.int(1)? as u32;
        }
        Ok(oldest)
    }

    fn deliver(&mut self, delivery: &Delivery<'_>, mut delivered: impl FnMut(Delivered)) -> Result<()> {
        let warehouse = Int(delivery.warehouse as i32);
        let (districts, orders): (Vec<i32>, Vec<i32>) =
            delivery.orders().map(|(district, order)| (i32::from(district), order as i32)).unzip();
        let carry = [warehouse, Int(i32::from(delivery.carrier)), Ints(&districts), Ints(&orders)];
        self.wire.ask(&self.statements.carry, &carry)?;
        let date = [warehouse, Long(delivery.date), Ints(&districts), Ints(&orders)];
        self.wire.ask(&self.statements.date_lines, &date)?;
        let [carried, dated] = self.wire.exchange()?;
        if carried.len() != districts.len() || dated.len() != districts.len() {
            return Err(TpccError::damaged("an order that is not delivered, or its lines,"));
        }
        for row in carried {
            let district = row.int(0)?;
            let lines = dated.iter().find(|line| line.int(0).is_ok_and(|of| of == district));
            delivered(Delivered {
                district: district as u8,
                order: row.int(1)? as u32,
                customer: row.int(2)? as u16,
                amount: lines.map_or(Ok(0), |line| line.long(1))?,
            });
        }
        Ok(())
    }

    fn charge(&mut self, warehouse: u32, delivered: &[Delivered]) -> Result<()> {
        self.charges = Some(Charges {
            warehouse: warehouse as i32,
            districts: delivered.iter().map(|order| i32::from(order.district)).collect(),
            customers: delivered.iter().map(|order| i32::from(order.customer)).collect(),
            amounts: delivered.iter().map(|order| order.amount).collect(),
        });
        Ok(())
    }

    fn stock_level(&mut self, warehouse: u32, district: u8, threshold: u8) -> Result<u32> {
        // One statement is a transaction of its own.
        self.begins = None;
        let values = [Int(warehouse as i32), Int(i32::from(district)), Int(i32::from(threshold))];
        self.wire.ask(&self.statements.stock_level, &values)?;
        let [rows] = self.wire.exchange()?;
        Ok(first(&rows, "a district")?.long(0)? as u32)
    }
}
