//! What a transaction has put off to its last exchange, and that exchange.

use assay_tpcc::{
    Result, TpccError,
    input::Payment,
    rows::{History, Order},
    store::Account,
    text::Text,
};
use tokio::try_join;
use tokio_postgres::{Client, Error, Row, Statement, types::ToSql};

use super::{failure, session::PostgresSession};

pub(super) const COMMIT: &str = "commit";

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
#[derive(Default)]
pub(super) struct Entered {
    pub(super) place: (i32, i32, i32),
    pub(super) row: Order,
    pub(super) items: Vec<i32>,
    pub(super) supplies: Vec<i32>,
    pub(super) quantities: Vec<i32>,
    pub(super) amounts: Vec<i64>,
    pub(super) infos: Vec<Text<24>>,
}

pub(super) type Values<'v, const N: usize> = [&'v (dyn ToSql + Sync); N];

pub(super) async fn ask<const N: usize>(
    client: &Client,
    statement: &Statement,
    values: Values<'_, N>,
) -> std::result::Result<Vec<Row>, Error> {
    client.query(statement, &values).await
}

pub(super) async fn tell<const N: usize>(
    client: &Client,
    statement: &Statement,
    values: Values<'_, N>,
) -> std::result::Result<u64, Error> {
    client.execute(statement, &values).await
}

fn is_original(brand: &str) -> bool {
    brand.contains("ORIGINAL")
}

impl Sold {
    pub(super) fn fill(&mut self, rows: &[Row]) {
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
            let (warehouse, item) = (row.get::<_, i32>(0), row.get::<_, i32>(1));
            // A row that two lines name comes twice where it was asked for by a join.
            if self.items.last() == Some(&item) && self.warehouses.last() == Some(&warehouse) {
                continue;
            }
            self.warehouses.push(warehouse);
            self.items.push(item);
            self.quantities.push(row.get(2));
            self.ytd.push(row.get(3));
            self.orders.push(row.get(4));
            self.remote_orders.push(row.get(5));
            self.original.push(is_original(row.get(6)) && is_original(row.get(9)));
            self.prices.push(row.get::<_, i32>(8) as u32);
            self.infos.push(Text::of(row.get::<_, &str>(7).as_bytes()));
        }
    }
}

impl PostgresSession {
    pub(super) fn commit_order(&self, order: &Entered) -> std::result::Result<(), Error> {
        let Self { client, statements, sold, .. } = self;
        let (warehouse, district, number) = order.place;
        let (customer, lines) = (i32::from(order.row.customer), i32::from(order.row.lines));
        let (entered, local) = (order.row.entered, i32::from(order.row.all_local));
        let infos: Vec<&str> = order.infos.iter().map(Text::as_str).collect();
        self.runtime.block_on(async {
            try_join!(
                biased;
                tell(
                    client,
                    &statements.write_order,
                    [
                        &warehouse, &district, &number, &customer, &entered, &lines, &local, &order.items,
                        &order.supplies, &order.quantities, &order.amounts, &infos, &sold.warehouses, &sold.items,
                        &sold.quantities, &sold.ytd, &sold.orders, &sold.remote_orders,
                    ],
                ),
                client.batch_execute(COMMIT),
            )
        })?;
        Ok(())
    }

    pub(super) fn commit_payment(&self, paid: &Paid) -> Result<()> {
        let Self { client, statements, .. } = self;
        let (payment, history) =
            paid.history.as_ref().ok_or_else(|| TpccError::store("a payment without history was committed"))?;
        let (warehouse, district, customer) = paid.place;
        let Account { bad_credit, balance, ytd_payment, payments, ref data } = paid.account;
        let (payments, data) = (payments as i32, data.as_str());
        let (to_warehouse, to_district) = (payment.warehouse as i32, i32::from(payment.district));
        let (date, amount, note) = (history.date, history.amount, history.data.as_str());
        let change = async {
            let common: Values<'_, 11> = [
                &balance,
                &ytd_payment,
                &payments,
                &warehouse,
                &district,
                &customer,
                &to_warehouse,
                &to_district,
                &date,
                &amount,
                &note,
            ];
            if bad_credit {
                let [a, b, c, d, e, f, g, h, i, j, k] = common;
                tell(client, &statements.pay_bad, [a, b, c, d, e, f, g, h, i, j, k, &data]).await
            } else {
                tell(client, &statements.pay_good, common).await
            }
        };
        self.runtime
            .block_on(async {
                try_join!(
                    biased;
                    change,
                    client.batch_execute(COMMIT),
                )
            })
            .map_err(failure)?;
        Ok(())
    }

    pub(super) fn commit_charges(&self, charges: &Charges) -> std::result::Result<(), Error> {
        let Self { client, statements, .. } = self;
        let Charges { warehouse, districts, customers, amounts } = charges;
        self.runtime.block_on(async {
            try_join!(
                biased;
                tell(client, &statements.charge, [warehouse, districts, customers, amounts]),
                client.batch_execute(COMMIT),
            )
        })?;
        Ok(())
    }
}
