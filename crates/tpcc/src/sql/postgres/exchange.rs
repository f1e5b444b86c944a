//! The last exchange of a transaction: what was put off is written.

use crate::{Result, TpccError, store::Account};

use super::{
    pending::{Charges, Entered, Paid},
    session::PostgresSession,
    wire::WireValue::{Int, Ints, Long, Longs, Text as Word, Texts},
};

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
