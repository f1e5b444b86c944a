//! Tables and indexes (clause 1.3).
//!
//! Money is in cents, rates in ten-thousandths, instants in microseconds since 1970, all as integers: exact in every
//! database, and cheaper than decimals.

/// A table: its name, its columns with types that every dialect knows, and its primary key.
#[derive(Debug)]
pub struct TableSchema {
    /// Its name.
    pub name: &'static str,
    /// Its columns with their types.
    pub columns: &'static str,
    /// Columns of the primary key; empty where there is none.
    pub key: &'static str,
}

pub const TABLES: [TableSchema; 9] = [
    TableSchema {
        name: "item",
        columns: "i_id integer, i_im_id integer, i_name text, i_price integer, i_data text",
        key: "i_id",
    },
    TableSchema {
        name: "warehouse",
        columns: "w_id integer, w_name text, w_street_1 text, w_street_2 text, w_city text, w_state text, w_zip text, \
            w_tax integer, w_ytd bigint",
        key: "w_id",
    },
    TableSchema {
        name: "district",
        columns: "d_w_id integer, d_id integer, d_name text, d_street_1 text, d_street_2 text, d_city text, \
            d_state text, d_zip text, d_tax integer, d_ytd bigint, d_next_o_id integer",
        key: "d_w_id, d_id",
    },
    TableSchema {
        name: "customer",
        columns: "c_w_id integer, c_d_id integer, c_id integer, c_first text, c_middle text, c_last text, \
            c_street_1 text, c_street_2 text, c_city text, c_state text, c_zip text, c_phone text, c_since bigint, \
            c_credit text, c_credit_lim bigint, c_discount integer, c_balance bigint, c_ytd_payment bigint, \
            c_payment_cnt integer, c_delivery_cnt integer, c_data text",
        key: "c_w_id, c_d_id, c_id",
    },
    TableSchema {
        name: "history",
        columns: "h_c_w_id integer, h_c_d_id integer, h_c_id integer, h_w_id integer, h_d_id integer, h_date bigint, \
            h_amount bigint, h_data text",
        key: "",
    },
    TableSchema {
        name: "new_order",
        columns: "no_w_id integer, no_d_id integer, no_o_id integer",
        key: "no_w_id, no_d_id, no_o_id",
    },
    TableSchema {
        name: "orders",
        columns: "o_w_id integer, o_d_id integer, o_id integer, o_c_id integer, o_entry_d bigint, \
            o_carrier_id integer, o_ol_cnt integer, o_all_local integer",
        key: "o_w_id, o_d_id, o_id",
    },
    TableSchema {
        name: "order_line",
        columns: "ol_w_id integer, ol_d_id integer, ol_o_id integer, ol_number integer, ol_i_id integer, \
            ol_supply_w_id integer, ol_delivery_d bigint, ol_quantity integer, ol_amount bigint, ol_dist_info text",
        key: "ol_w_id, ol_d_id, ol_o_id, ol_number",
    },
    TableSchema {
        name: "stock",
        columns: "s_w_id integer, s_i_id integer, s_quantity integer, s_ytd bigint, s_order_cnt integer, \
            s_remote_cnt integer, s_dist_01 text, s_dist_02 text, s_dist_03 text, s_dist_04 text, s_dist_05 text, \
            s_dist_06 text, s_dist_07 text, s_dist_08 text, s_dist_09 text, s_dist_10 text, s_data text",
        key: "s_w_id, s_i_id",
    },
];

/// The secondary access paths: name, table, columns.
pub const INDEXES: [(&str, &str, &str); 2] = [
    ("customer_name", "customer", "c_w_id, c_d_id, c_last, c_first"),
    ("orders_customer", "orders", "o_w_id, o_d_id, o_c_id, o_id"),
];

/// Values of a row as a database gets them, in the order of the columns.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    Number(i64),
    Text(&'a str),
    Null,
}

/// Gets rows one after the other.
pub trait Rows {
    type Error;
    fn row(&mut self, values: &[Value<'_>]) -> Result<(), Self::Error>;
}

pub mod rows {
    //! Rows of a population as values.

    use crate::{
        population::Population,
        rows::{Item, Stock},
        scale::DISTRICTS,
    };

    use super::{Rows, Value};

    fn number(value: impl Into<i64>) -> Value<'static> {
        Value::Number(value.into())
    }

    fn or_null(value: impl Into<i64>) -> Value<'static> {
        match value.into() {
            0 => Value::Null,
            value => Value::Number(value),
        }
    }

    pub fn items<R: Rows>(population: &Population, to: &mut R) -> Result<(), R::Error> {
        for (item, row) in population.items() {
            let Item { price, image, name, data } = &row;
            let text = Value::Text;
            to.row(&[number(item), number(*image), text(name.as_str()), number(*price), text(data.as_str())])?;
        }
        Ok(())
    }

    /// The rows of a table that belong to a warehouse.
    pub fn table<R: Rows>(name: &str, population: &Population, w: u32, to: &mut R) -> Result<(), R::Error> {
        match name {
            "warehouse" => warehouse(population, w, to),
            "stock" => stock(population, w, to),
            _ => (1..=DISTRICTS).try_for_each(|d| match name {
                "district" => district(population, w, d, to),
                "customer" => customers(population, w, d, to),
                "history" => histories(population, w, d, to),
                "new_order" => new_orders(population, w, d, to),
                "orders" => orders(population, w, d, to),
                _ => order_lines(population, w, d, to),
            }),
        }
    }

    fn warehouse<R: Rows>(population: &Population, w: u32, to: &mut R) -> Result<(), R::Error> {
        let row = population.warehouse(w);
        let text = [&row.street[0], &row.street[1], &row.city].map(|text| Value::Text(text.as_str()));
        let mut values = vec![number(w), Value::Text(row.name.as_str())];
        values.extend(text);
        values.extend([
            Value::Text(row.state.as_str()),
            Value::Text(row.zip.as_str()),
            number(row.tax),
            number(row.ytd),
        ]);
        to.row(&values)
    }

    fn district<R: Rows>(population: &Population, w: u32, d: u8, to: &mut R) -> Result<(), R::Error> {
        let row = population.district(w, d);
        let text = [&row.street[0], &row.street[1], &row.city].map(|text| Value::Text(text.as_str()));
        let mut values = vec![number(w), number(d), Value::Text(row.name.as_str())];
        values.extend(text);
        values.extend([
            Value::Text(row.state.as_str()),
            Value::Text(row.zip.as_str()),
            number(row.tax),
            number(row.ytd),
        ]);
        values.push(number(row.next_order));
        to.row(&values)
    }

    fn customers<R: Rows>(population: &Population, w: u32, d: u8, to: &mut R) -> Result<(), R::Error> {
        for (customer, row) in population.customers(w, d) {
            let text = Value::Text;
            to.row(&[
                number(w),
                number(d),
                number(customer),
                text(row.first.as_str()),
                text(row.middle.as_str()),
                text(row.last.as_str()),
                text(row.street[0].as_str()),
                text(row.street[1].as_str()),
                text(row.city.as_str()),
                text(row.state.as_str()),
                text(row.zip.as_str()),
                text(row.phone.as_str()),
                number(row.since),
                text(row.credit.as_str()),
                number(row.credit_limit),
                number(row.discount),
                number(row.balance),
                number(row.ytd_payment),
                number(row.payments),
                number(row.deliveries),
                text(row.data.as_str()),
            ])?;
        }
        Ok(())
    }

    fn histories<R: Rows>(population: &Population, w: u32, d: u8, to: &mut R) -> Result<(), R::Error> {
        for row in population.histories(w, d) {
            to.row(&[
                number(row.customer_warehouse),
                number(row.customer_district),
                number(row.customer),
                number(w),
                number(d),
                number(row.date),
                number(row.amount),
                Value::Text(row.data.as_str()),
            ])?;
        }
        Ok(())
    }

    fn new_orders<R: Rows>(population: &Population, w: u32, d: u8, to: &mut R) -> Result<(), R::Error> {
        let scale = population.scale;
        (scale.first_undelivered()..=u32::from(scale.customers))
            .try_for_each(|order| to.row(&[number(w), number(d), number(order)]))
    }

    fn orders<R: Rows>(population: &Population, w: u32, d: u8, to: &mut R) -> Result<(), R::Error> {
        for (order, row) in population.orders(w, d) {
            to.row(&[
                number(w),
                number(d),
                number(order),
                number(row.customer),
                number(row.entered),
                or_null(row.carrier),
                number(row.lines),
                number(row.all_local),
            ])?;
        }
        Ok(())
    }

    fn order_lines<R: Rows>(population: &Population, w: u32, d: u8, to: &mut R) -> Result<(), R::Error> {
        for (order, line, row) in population.order_lines(w, d) {
            to.row(&[
                number(w),
                number(d),
                number(order),
                number(line),
                number(row.item),
                number(row.supply_warehouse),
                or_null(row.delivered),
                number(row.quantity),
                number(row.amount),
                Value::Text(row.info.as_str()),
            ])?;
        }
        Ok(())
    }

    fn stock<R: Rows>(population: &Population, w: u32, to: &mut R) -> Result<(), R::Error> {
        for (item, row) in population.stock(w) {
            let Stock { quantity, ytd, orders, remote_orders, info, data } = &row;
            let mut values = [Value::Null; 17];
            values[..6].copy_from_slice(&[
                number(w),
                number(item),
                number(*quantity),
                number(*ytd),
                number(*orders),
                number(*remote_orders),
            ]);
            values[6..16].iter_mut().zip(info).for_each(|(value, info)| *value = Value::Text(info.as_str()));
            values[16] = Value::Text(data.as_str());
            to.row(&values)?;
        }
        Ok(())
    }
}
