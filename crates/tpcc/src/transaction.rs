//! The five transactions (clauses 2.4 to 2.8), written once for every store.

use crate::{
    error::Result,
    input::{Input, NewOrder, Payment},
    rows::{History, Order, OrderLine},
    scale::{DISTRICTS, LINES_AT_MOST},
    store::{Account, Delivered, Delivery, Sale, Session},
    text::{Text, push_number},
};

/// How a transaction ended that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Committed.
    Committed {
        /// Orders that it delivered.
        delivered: u8,
    },
    /// Rolled back because an item does not exist, as one New-Order of a hundred wants it.
    RolledBack,
}

/// Does one transaction; it begins and ends here. After an error the caller aborts.
///
/// # Errors
/// A conflict, after which the same input may be tried again; or where the store fails.
#[inline]
pub fn execute<S: Session>(session: &mut S, input: &Input) -> Result<Outcome> {
    session.begin(input.kind())?;
    let mut delivered = 0;
    match input {
        Input::NewOrder(order) => {
            if !new_order(session, order)? {
                session.abort()?;
                return Ok(Outcome::RolledBack);
            }
        }
        Input::Payment(payment) => pay(session, payment)?,
        Input::OrderStatus { warehouse, district, by } => {
            session.status(*warehouse, *district, by)?;
        }
        Input::Delivery { warehouse, carrier, date } => delivered = deliver(session, *warehouse, *carrier, *date)?,
        Input::StockLevel { warehouse, district, threshold } => {
            session.stock_level(*warehouse, *district, *threshold)?;
        }
    }
    session.commit()?;
    Ok(Outcome::Committed { delivered })
}

/// New-Order; false where an item does not exist.
fn new_order<S: Session>(session: &mut S, order: &NewOrder) -> Result<bool> {
    let terms = session.terms(order)?;
    let mut lines: [OrderLine; LINES_AT_MOST] = Default::default();
    let found = session.sell(order, |at, sale| {
        let wanted = &order.wanted[at];
        take_from_stock(sale, wanted.quantity, wanted.supply != order.warehouse);
        lines[at] = OrderLine {
            item: wanted.item,
            supply_warehouse: wanted.supply,
            delivered: 0,
            quantity: wanted.quantity,
            amount: i64::from(wanted.quantity) * i64::from(sale.price),
            info: sale.info,
        };
    })?;
    if !found {
        return Ok(false);
    }
    let lines = &lines[..usize::from(order.count)];
    let subtotal: i64 = lines.iter().map(|line| line.amount).sum();
    // What the terminal would show; no row has it.
    std::hint::black_box(total(subtotal, terms.discount, terms.warehouse_tax, terms.district_tax));
    let row = Order {
        customer: order.customer,
        entered: order.date,
        carrier: 0,
        lines: order.count,
        all_local: u8::from(order.remote_lines() == 0),
    };
    session.insert_order(order, terms.order, &row, lines)?;
    Ok(true)
}

/// Clause 2.4.2.2: stock never falls below ten pieces; 91 arrive where it would.
fn take_from_stock(sale: &mut Sale, pieces: u8, remote: bool) {
    let pieces = i32::from(pieces);
    let left = sale.quantity - pieces;
    sale.quantity = if left >= 10 { left } else { left + 91 };
    sale.ytd += i64::from(pieces);
    sale.orders += 1;
    sale.remote_orders += u32::from(remote);
}

/// What an order costs, cents; rates in ten-thousandths.
fn total(subtotal: i64, discount: u16, warehouse_tax: u16, district_tax: u16) -> i64 {
    let taxed = 10_000 + i64::from(warehouse_tax) + i64::from(district_tax);
    subtotal * (10_000 - i64::from(discount)) / 10_000 * taxed / 10_000
}

fn pay<S: Session>(session: &mut S, payment: &Payment) -> Result<()> {
    let (warehouse, district) = session.receive(payment)?;
    let customer = session.pay(payment, |customer, account| credit(payment, customer, account))?;
    let mut data = Text::of(warehouse.bytes());
    data.push(b"    ");
    data.push(district.bytes());
    let row = History {
        customer_warehouse: payment.customer_warehouse,
        customer_district: payment.customer_district,
        customer,
        date: payment.date,
        amount: payment.amount,
        data,
    };
    session.insert_history(payment, &row)
}

/// Clause 2.5.2.2: of a customer with bad credit the payment is noted in front of what was noted before.
fn credit(payment: &Payment, customer: u16, account: &mut Account) {
    account.balance -= payment.amount;
    account.ytd_payment += payment.amount;
    account.payments += 1;
    if !account.bad_credit {
        return;
    }
    let mut data = Text::EMPTY;
    let numbers = [
        u64::from(customer),
        u64::from(payment.customer_district),
        u64::from(payment.customer_warehouse),
        u64::from(payment.district),
        u64::from(payment.warehouse),
        payment.amount.unsigned_abs(),
    ];
    for number in numbers {
        push_number(&mut data, number);
        data.push(b" ");
    }
    data.push(account.data.bytes());
    account.data = data;
}

/// Delivery; how many orders. A district without an undelivered order is passed over (clause 2.7.4.2).
fn deliver<S: Session>(session: &mut S, warehouse: u32, carrier: u8, date: i64) -> Result<u8> {
    let oldest = session.take_oldest(warehouse)?;
    let mut delivered = [Delivered::default(); DISTRICTS as usize];
    let mut count = 0;
    session.deliver(&Delivery { warehouse, oldest: &oldest, carrier, date }, |order| {
        delivered[count] = order;
        count += 1;
    })?;
    session.charge(warehouse, &delivered[..count])?;
    Ok(count as u8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::By;

    #[test]
    fn stock_is_refilled_before_it_falls_below_ten() {
        let mut sale = Sale { quantity: 15, ..Sale::default() };
        take_from_stock(&mut sale, 5, false);
        assert_eq!((sale.quantity, sale.ytd, sale.orders, sale.remote_orders), (10, 5, 1, 0));
        take_from_stock(&mut sale, 1, true);
        assert_eq!((sale.quantity, sale.ytd, sale.orders, sale.remote_orders), (100, 6, 2, 1));
    }

    #[test]
    fn an_order_costs_its_lines_less_discount_plus_taxes() {
        assert_eq!(total(10_000, 1_000, 500, 1_500), 10_800);
        assert_eq!(total(0, 5_000, 2_000, 2_000), 0);
    }

    #[test]
    fn a_payment_with_bad_credit_is_noted_in_front() {
        let payment = Payment {
            warehouse: 1,
            district: 2,
            customer_warehouse: 3,
            customer_district: 4,
            by: By::Number(5),
            amount: 600,
            date: 0,
        };
        let mut account = Account { bad_credit: true, data: Text::of(&[b'o'; 500]), ..Account::default() };
        credit(&payment, 5, &mut account);
        assert_eq!((account.balance, account.ytd_payment, account.payments), (-600, 600, 1));
        assert!(account.data.as_str().starts_with("5 4 3 2 1 600 ooo"));
        assert_eq!(account.data.bytes().len(), 500);
        let mut good = Account::default();
        credit(&payment, 5, &mut good);
        assert_eq!(good.data, Text::EMPTY);
    }
}
