//! What the five transactions need of a database.
//!
//! A step is as large as it can be without holding any of the specification's arithmetic: a store in SQL then answers
//! each in one exchange with its server, and one over an engine reads rows in place. What is computed is computed once,
//! in [`crate::transaction`].

use std::{ops::ControlFlow, ops::Range, time::Duration};

use assay_record::WorkCheck;

use crate::{
    error::Result,
    input::{By, NewOrder, Payment},
    kind::Kind,
    rows::{History, Order, OrderLine},
    scale::{DISTRICTS, Scale},
    text::Text,
};

/// What New-Order reads besides items and stock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Terms {
    /// Number that the order gets; the district gives it out once.
    pub order: u32,
    /// Tax of the warehouse, ten-thousandths.
    pub warehouse_tax: u16,
    /// Tax of the district, ten-thousandths.
    pub district_tax: u16,
    /// Discount of the customer, ten-thousandths.
    pub discount: u16,
}

/// What a sale reads and changes of one row of stock, and what it reads of its item.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sale {
    /// Price of a piece, cents; read only.
    pub price: u32,
    /// The stock's text for the order's district; read only.
    pub info: Text<24>,
    /// Both brands are original; read only.
    pub original: bool,
    /// Pieces in stock.
    pub quantity: i32,
    /// Pieces sold in the year.
    pub ytd: i64,
    /// Orders.
    pub orders: u32,
    /// Orders of other warehouses.
    pub remote_orders: u32,
}

/// What Payment changes of a customer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// Credit is bad: the payment is noted in `data`. Read only.
    pub bad_credit: bool,
    /// What is owed, cents.
    pub balance: i64,
    /// Cents paid in the year.
    pub ytd_payment: i64,
    /// Payments made.
    pub payments: u32,
    /// Miscellaneous; filled, and written back, only where credit is bad.
    pub data: Text<500>,
}

/// What Order-Status answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The customer.
    pub customer: u16,
    /// What is owed, cents.
    pub balance: i64,
    /// The customer's last order.
    pub order: u32,
    /// Its carrier; 0 where it is not delivered.
    pub carrier: u8,
    /// Its lines.
    pub lines: u8,
    /// Their amounts together, cents.
    pub amount: i64,
}

/// An order that Delivery has delivered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Delivered {
    /// Its district.
    pub district: u8,
    /// Its number.
    pub order: u32,
    /// Its customer.
    pub customer: u16,
    /// Amounts of its lines together, cents.
    pub amount: i64,
}

/// The oldest undelivered order of each district; 0 where there is none.
pub type Oldest = [u32; DISTRICTS as usize];

/// What Delivery does to the orders that it took.
#[derive(Clone, Copy, Debug)]
pub struct Delivery<'a> {
    /// Whose they are.
    pub warehouse: u32,
    /// The orders.
    pub oldest: &'a Oldest,
    /// Carrier that they get.
    pub carrier: u8,
    /// Date that their lines get, microseconds since 1970.
    pub date: i64,
}

impl Delivery<'_> {
    /// Districts and their orders, where there is one.
    pub fn orders(&self) -> impl Iterator<Item = (u8, u32)> {
        (1..).zip(*self.oldest).filter(|(_, order)| *order != 0)
    }
}

/// A database that threads share. A thread works through a [`Session`] of its own.
pub trait Store: Sync {
    /// What a thread works through.
    type Session<'a>: Session
    where
        Self: 'a;

    /// A session for the calling thread.
    ///
    /// # Errors
    /// Where the store has no room for another.
    fn session(&self) -> Result<Self::Session<'_>>;

    /// Sessions can take turns on one thread, so that a thread may have several terminals.
    const TAKES_TURNS: bool = false;

    /// Hands a session to each of the terminals of the calling thread, and returns when all have ended. A store that
    /// [`Store::TAKES_TURNS`] lets them take turns; any other has one terminal.
    ///
    /// # Errors
    /// The first error of a terminal, or where the store has no room for another.
    fn run_terminals<C: TerminalWork<Self>>(&self, terminals: Range<u32>, work: &C) -> Result<()>
    where
        Self: Sized,
    {
        terminals.into_iter().try_for_each(|terminal| work.work(terminal, self.session()?))
    }

    /// Fills an empty store; `progress` gets the share done and may break it off.
    ///
    /// # Errors
    /// Where the store fails; and a conflict where `progress` broke it off.
    fn load(&self, scale: &Scale, seed: u64, progress: &mut dyn FnMut(f64) -> ControlFlow<()>) -> Result<()>;

    /// Checks the twelve consistency conditions (clause 3.3.2) while no transaction runs. Condition 11 holds after a
    /// load as the specification has it; `delivered` orders were delivered since.
    ///
    /// # Errors
    /// Where the store fails; a condition that does not hold is no error.
    fn check(&self, scale: &Scale, delivered: u64) -> Result<Vec<WorkCheck>>;

    /// Changes one row, without any transaction that would do so, so that condition `condition` (1 to 12) fails. It
    /// proves that the checks check.
    ///
    /// # Errors
    /// Where the store fails.
    fn spoil(&self, condition: u8) -> Result<()>;

    /// Orders delivered since the data was loaded; asked only of a store that was not loaded by the same run.
    ///
    /// # Errors
    /// Where the store fails.
    fn orders_delivered(&self, scale: &Scale) -> Result<u64> {
        let _ = scale;
        Ok(0)
    }

    /// Orders taken since the data was loaded, as the districts count them.
    ///
    /// # Errors
    /// Where the store fails.
    fn orders_taken(&self, scale: &Scale) -> Result<u64>;
}

/// The terminals of one thread.
pub trait TerminalWork<S: Store> {
    /// Works as a terminal until it has ended.
    ///
    /// # Errors
    /// What ended it.
    fn work<'s>(&self, terminal: u32, session: S::Session<'s>) -> Result<()>
    where
        S: 's;
}

/// One thread's transactions, one after the other.
///
/// After [`crate::TpccError::Conflict`] of any step the caller aborts and tries the whole transaction again.
pub trait Session {
    /// Begins a transaction. A store may put off telling its server until the first step.
    ///
    /// # Errors
    /// Where none can begin.
    fn begin(&mut self, kind: Kind) -> Result<()>;

    /// Makes the changes visible, and durable as far as the store was told to. Writes that were put off happen here.
    ///
    /// # Errors
    /// A conflict, or where the store fails.
    fn commit(&mut self) -> Result<()>;

    /// Sleeps; on a thread that others share, they go on.
    fn nap(&mut self, time: Duration) {
        std::thread::sleep(time);
    }

    /// Called between transactions: on a thread that others share, they go on.
    #[inline]
    fn take_turns(&mut self) {}

    /// Leaves nothing of the transaction. Also called where none is open.
    ///
    /// # Errors
    /// Where the store fails.
    fn abort(&mut self) -> Result<()>;

    /// New-Order: reads taxes, discount, name and credit, and takes the district's next order number.
    ///
    /// # Errors
    /// A conflict, or where the store fails.
    fn terms(&mut self, order: &NewOrder) -> Result<Terms>;

    /// New-Order: hands item and stock of every line to `sell`, with the line's place, and keeps what it changed. A row
    /// of stock that two lines name is handed out twice, as the first left it. False where an item does not exist; the
    /// lines before it have been handed out.
    ///
    /// # Errors
    /// A conflict, or where the store fails.
    fn sell(&mut self, order: &NewOrder, sell: impl FnMut(usize, &mut Sale)) -> Result<bool>;

    /// New-Order: adds the order, its entry among the undelivered, and its lines.
    ///
    /// # Errors
    /// A conflict, or where the store fails.
    fn insert_order(&mut self, order: &NewOrder, number: u32, row: &Order, lines: &[OrderLine]) -> Result<()>;

    /// Payment: adds the amount to warehouse and district, and gives their names.
    ///
    /// # Errors
    /// A conflict, or where the store fails.
    fn receive(&mut self, payment: &Payment) -> Result<(Text<10>, Text<10>)>;

    /// Payment: finds the customer, of several of one name the one in the middle (clause 2.5.2.2), lets `change` change
    /// the account, and gives the customer's number.
    ///
    /// # Errors
    /// A conflict, or where the store fails.
    fn pay(&mut self, payment: &Payment, change: impl FnOnce(u16, &mut Account)) -> Result<u16>;

    /// Payment: adds the row of history.
    ///
    /// # Errors
    /// A conflict, or where the store fails.
    fn insert_history(&mut self, payment: &Payment, row: &History) -> Result<()>;

    /// Order-Status: the customer, the last order and its lines.
    ///
    /// # Errors
    /// Where the store fails.
    fn status(&mut self, warehouse: u32, district: u8, by: &By) -> Result<Status>;

    /// Delivery: the oldest undelivered order of every district, taken out of the undelivered.
    ///
    /// # Errors
    /// A conflict, or where the store fails.
    fn take_oldest(&mut self, warehouse: u32) -> Result<Oldest>;

    /// Delivery: gives those orders a carrier and their lines a date; says whose they are and what they cost.
    ///
    /// # Errors
    /// A conflict, or where the store fails.
    fn deliver(&mut self, delivery: &Delivery<'_>, delivered: impl FnMut(Delivered)) -> Result<()>;

    /// Delivery: charges the customers for what was delivered to them.
    ///
    /// # Errors
    /// A conflict, or where the store fails.
    fn charge(&mut self, warehouse: u32, delivered: &[Delivered]) -> Result<()>;

    /// Stock-Level: different items of the district's last twenty orders of which fewer than `threshold` are in stock.
    ///
    /// # Errors
    /// Where the store fails.
    fn stock_level(&mut self, warehouse: u32, district: u8, threshold: u8) -> Result<u32>;
}
