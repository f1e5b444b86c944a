//! Transactions on SQLite.

use crate::{
    Result, Session, TpccError,
    input::{By, NewOrder, Payment},
    kind::Kind,
    rows::{History, Order, OrderLine},
    store::{Account, Delivered, Delivery, Oldest, Sale, Status, Terms},
    text::{Text, is_original},
};
use rusqlite::{Connection, OptionalExtension, Params, Row, params};

use super::failure;

macro_rules! stock_sql {
    ($info:literal) => {
        concat!(
            "select s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_data, ",
            $info,
            " from stock where s_w_id = ? and s_i_id = ?"
        )
    };
}

/// Stock of the ten districts: `s_dist_01` and so on.
const STOCK: [&str; 10] = [
    stock_sql!("s_dist_01"),
    stock_sql!("s_dist_02"),
    stock_sql!("s_dist_03"),
    stock_sql!("s_dist_04"),
    stock_sql!("s_dist_05"),
    stock_sql!("s_dist_06"),
    stock_sql!("s_dist_07"),
    stock_sql!("s_dist_08"),
    stock_sql!("s_dist_09"),
    stock_sql!("s_dist_10"),
];

/// A session of a `SqliteStore`.
#[derive(Debug)]
pub struct SqliteSession {
    connection: Connection,
}

impl SqliteSession {
    pub(super) fn new(connection: Connection) -> Self {
        Self { connection }
    }

    fn run(&self, sql: &str, values: impl Params) -> Result<usize> {
        self.connection.prepare_cached(sql).and_then(|mut statement| statement.execute(values)).map_err(failure)
    }

    fn find<T>(
        &self,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        let mut statement = self.connection.prepare_cached(sql).map_err(failure)?;
        statement.query_row(values, read).optional().map_err(failure)
    }

    fn one<T>(
        &self,
        what: &str,
        sql: &str,
        values: impl Params,
        read: impl FnOnce(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<T> {
        self.find(sql, values, read)?.ok_or_else(|| TpccError::damaged(what))
    }

    fn each(
        &self,
        sql: &str,
        values: impl Params,
        mut read: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<()> {
        let mut statement = self.connection.prepare_cached(sql).map_err(failure)?;
        let mut rows = statement.query(values).map_err(failure)?;
        while let Some(row) = rows.next().map_err(failure)? {
            read(row).map_err(failure)?;
        }
        Ok(())
    }

    fn customer(&self, warehouse: u32, district: u8, by: &By) -> Result<u16> {
        match by {
            By::Number(number) => Ok(*number),
            By::Name(last) => {
                let sql = "select c_id from customer where c_w_id = ?1 and c_d_id = ?2 and c_last = ?3 order by c_first
                    limit 1 offset (select (count(*) - 1) / 2 from customer
                                    where c_w_id = ?1 and c_d_id = ?2 and c_last = ?3)";
                self.one("a customer of a name", sql, params![warehouse, district, last.as_str()], |row| row.get(0))
            }
        }
    }
}

fn text<const N: usize>(row: &Row<'_>, at: usize) -> rusqlite::Result<Text<N>> {
    Ok(Text::of(row.get_ref(at)?.as_bytes()?))
}

fn original(row: &Row<'_>, at: usize) -> rusqlite::Result<bool> {
    Ok(is_original(row.get_ref(at)?.as_bytes()?))
}

impl Session for SqliteSession {
    fn begin(&mut self, kind: Kind) -> Result<()> {
        // A writer takes its turn at once: one that began as a reader could not become a writer after another's commit.
        self.run(if kind.is_read_only() { "begin" } else { "begin immediate" }, []).map(|_| ())
    }

    fn commit(&mut self) -> Result<()> {
        self.run("commit", []).map(|_| ())
    }

    fn abort(&mut self) -> Result<()> {
        if self.connection.is_autocommit() { Ok(()) } else { self.run("rollback", []).map(|_| ()) }
    }

    fn terms(&mut self, order: &NewOrder) -> Result<Terms> {
        let NewOrder { warehouse, district, customer, .. } = *order;
        let sql = "update district set d_next_o_id = d_next_o_id + 1 where d_w_id = ? and d_id = ?
            returning d_next_o_id - 1, d_tax";
        let (number, district_tax) =
            self.one("a district", sql, params![warehouse, district], |row| Ok((row.get(0)?, row.get(1)?)))?;
        let sql = "select w_tax, c_discount, c_last, c_credit from warehouse, customer
            where w_id = ?1 and c_w_id = ?1 and c_d_id = ?2 and c_id = ?3";
        self.one("a customer", sql, params![warehouse, district, customer], |row| {
            std::hint::black_box((text::<16>(row, 2)?, text::<2>(row, 3)?));
            Ok(Terms { order: number, warehouse_tax: row.get(0)?, district_tax, discount: row.get(1)? })
        })
    }

    fn sell(&mut self, order: &NewOrder, mut sell: impl FnMut(usize, &mut Sale)) -> Result<bool> {
        for (at, line) in order.lines().iter().enumerate() {
            let sql = "select i_price, i_name, i_data from item where i_id = ?";
            let item = self.find(sql, [line.item], |row| {
                std::hint::black_box(text::<24>(row, 1)?);
                Ok((row.get::<_, u32>(0)?, original(row, 2)?))
            })?;
            let Some((price, brand)) = item else { return Ok(false) };
            let sql = STOCK[usize::from(order.district) - 1];
            let mut sale = self.one("a row of stock", sql, params![line.supply, line.item], |row| {
                Ok(Sale {
                    price,
                    info: text(row, 5)?,
                    original: brand && original(row, 4)?,
                    quantity: row.get(0)?,
                    ytd: row.get(1)?,
                    orders: row.get(2)?,
                    remote_orders: row.get(3)?,
                })
            })?;
            sell(at, &mut sale);
            let sql = "update stock set s_quantity = ?, s_ytd = ?, s_order_cnt = ?, s_remote_cnt = ?
                where s_w_id = ? and s_i_id = ?";
            let values = params![sale.quantity, sale.ytd, sale.orders, sale.remote_orders, line.supply, line.item];
            self.run(sql, values)?;
        }
        Ok(true)
    }

    fn insert_order(&mut self, order: &NewOrder, number: u32, row: &Order, lines: &[OrderLine]) -> Result<()> {
        let NewOrder { warehouse, district, customer, .. } = *order;
        let values = params![warehouse, district, number, customer, row.entered, row.lines, row.all_local];
        self.run("insert into orders values (?, ?, ?, ?, ?, null, ?, ?)", values)?;
        self.run("insert into new_order values (?, ?, ?)", params![warehouse, district, number])?;
        for (line, count) in lines.iter().zip(1_u8..) {
            let (item, supply, info) = (line.item, line.supply_warehouse, line.info.as_str());
            let values = params![warehouse, district, number, count, item, supply, line.quantity, line.amount, info];
            self.run("insert into order_line values (?, ?, ?, ?, ?, ?, null, ?, ?, ?)", values)?;
        }
        Ok(())
    }

    fn receive(&mut self, payment: &Payment) -> Result<(Text<10>, Text<10>)> {
        let Payment { warehouse, district, amount, .. } = *payment;
        let sql = "update warehouse set w_ytd = w_ytd + ? where w_id = ?
            returning w_name, w_street_1, w_street_2, w_city, w_state, w_zip";
        let name = self.one("a warehouse", sql, params![amount, warehouse], |row| text(row, 0))?;
        let sql = "update district set d_ytd = d_ytd + ? where d_w_id = ? and d_id = ?
            returning d_name, d_street_1, d_street_2, d_city, d_state, d_zip";
        let district = self.one("a district", sql, params![amount, warehouse, district], |row| text(row, 0))?;
        Ok((name, district))
    }

    fn pay(&mut self, payment: &Payment, change: impl FnOnce(u16, &mut Account)) -> Result<u16> {
        let (warehouse, district) = (payment.customer_warehouse, payment.customer_district);
        let customer = self.customer(warehouse, district, &payment.by)?;
        let sql = "select c_credit, c_balance, c_ytd_payment, c_payment_cnt, c_data, c_first, c_middle, c_last,
                c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim, c_discount
            from customer where c_w_id = ? and c_d_id = ? and c_id = ?";
        let mut account = self.one("a customer", sql, params![warehouse, district, customer], |row| {
            let bad_credit = row.get_ref(0)?.as_bytes()? == b"BC";
            Ok(Account {
                bad_credit,
                balance: row.get(1)?,
                ytd_payment: row.get(2)?,
                payments: row.get(3)?,
                data: if bad_credit { text(row, 4)? } else { Text::EMPTY },
            })
        })?;
        change(customer, &mut account);
        let Account { bad_credit, balance, ytd_payment, payments, ref data } = account;
        if bad_credit {
            let sql = "update customer set c_balance = ?, c_ytd_payment = ?, c_payment_cnt = ?, c_data = ?
                where c_w_id = ? and c_d_id = ? and c_id = ?";
            let values = params![balance, ytd_payment, payments, data.as_str(), warehouse, district, customer];
            self.run(sql, values)?;
        } else {
            let sql = "update customer set c_balance = ?, c_ytd_payment = ?, c_payment_cnt = ?
                where c_w_id = ? and c_d_id = ? and c_id = ?";
            self.run(sql, params![balance, ytd_payment, payments, warehouse, district, customer])?;
        }
        Ok(customer)
    }

    fn insert_history(&mut self, payment: &Payment, row: &History) -> Result<()> {
        let values = params![
            row.customer_warehouse,
            row.customer_district,
            row.customer,
            payment.warehouse,
            payment.district,
            row.date,
            row.amount,
            row.data.as_str()
        ];
        self.run("insert into history values (?, ?, ?, ?, ?, ?, ?, ?)", values).map(|_| ())
    }

    fn status(&mut self, warehouse: u32, district: u8, by: &By) -> Result<Status> {
        let customer = self.customer(warehouse, district, by)?;
        let sql = "select c_balance, c_first, c_middle, c_last from customer
            where c_w_id = ? and c_d_id = ? and c_id = ?";
        let balance = self.one("a customer", sql, params![warehouse, district, customer], |row| row.get(0))?;
        let sql = "select o_id, coalesce(o_carrier_id, 0), o_entry_d from orders
            where o_w_id = ? and o_d_id = ? and o_c_id = ? order by o_id desc limit 1";
        let order = self.one("the last order of a customer", sql, params![warehouse, district, customer], |row| {
            Ok((row.get(0)?, row.get(1)?))
        })?;
        let mut status = Status { customer, balance, order: order.0, carrier: order.1, ..Status::default() };
        let sql = "select ol_amount, ol_i_id, ol_supply_w_id, ol_quantity, ol_delivery_d from order_line
            where ol_w_id = ? and ol_d_id = ? and ol_o_id = ?";
        let order = status.order;
        self.each(sql, params![warehouse, district, order], |row| {
            status.lines += 1;
            status.amount += row.get::<_, i64>(0)?;
            Ok(())
        })?;
        Ok(status)
    }

    fn take_oldest(&mut self, warehouse: u32) -> Result<Oldest> {
        let mut oldest = Oldest::default();
        for (order, district) in oldest.iter_mut().zip(1_u8..) {
            let sql = "delete from new_order where no_w_id = ?1 and no_d_id = ?2 and no_o_id =
                (select min(no_o_id) from new_order where no_w_id = ?1 and no_d_id = ?2) returning no_o_id";
            *order = self.find(sql, params![warehouse, district], |row| row.get(0))?.unwrap_or(0);
        }
        Ok(oldest)
    }

    fn deliver(&mut self, delivery: &Delivery<'_>, mut delivered: impl FnMut(Delivered)) -> Result<()> {
        let Delivery { warehouse, carrier, date, .. } = *delivery;
        for (district, order) in delivery.orders() {
            let sql = "update orders set o_carrier_id = ? where o_w_id = ? and o_d_id = ? and o_id = ?
                returning o_c_id";
            let values = params![carrier, warehouse, district, order];
            let customer = self.one("an order that is not delivered", sql, values, |row| row.get(0))?;
            let sql = "update order_line set ol_delivery_d = ? where ol_w_id = ? and ol_d_id = ? and ol_o_id = ?";
            self.run(sql, params![date, warehouse, district, order])?;
            let sql = "select sum(ol_amount) from order_line where ol_w_id = ? and ol_d_id = ? and ol_o_id = ?";
            let amount = self.one("lines of an order", sql, params![warehouse, district, order], |row| row.get(0))?;
            delivered(Delivered { district, order, customer, amount });
        }
        Ok(())
    }

    fn charge(&mut self, warehouse: u32, delivered: &[Delivered]) -> Result<()> {
        for order in delivered {
            let sql = "update customer set c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1
                where c_w_id = ? and c_d_id = ? and c_id = ?";
            self.run(sql, params![order.amount, warehouse, order.district, order.customer])?;
        }
        Ok(())
    }

    fn stock_level(&mut self, warehouse: u32, district: u8, threshold: u8) -> Result<u32> {
        let sql = "select count(distinct s_i_id) from order_line, stock, district
            where d_w_id = ?1 and d_id = ?2 and ol_w_id = ?1 and ol_d_id = ?2 and ol_o_id < d_next_o_id
            and ol_o_id >= d_next_o_id - 20 and s_w_id = ?1 and s_i_id = ol_i_id and s_quantity < ?3";
        self.one("a district", sql, params![warehouse, district, threshold], |row| row.get(0))
    }
}
