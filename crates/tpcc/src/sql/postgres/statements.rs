//! The statements of a session, prepared once.

use crate::Result;

use super::wire::{Statement, Wire};

/// All of them but those of stock, which are ten.
pub(super) struct Statements {
    pub(super) begin_isolated: Statement,
    pub(super) begin_repeatable: Statement,
    pub(super) begin_snapshot: Statement,
    pub(super) commit: Statement,
    pub(super) rollback: Statement,
    pub(super) terms: Statement,
    pub(super) write_order: Statement,
    pub(super) receive: Statement,
    pub(super) receive_named: Statement,
    pub(super) pay_good: Statement,
    pub(super) pay_bad: Statement,
    pub(super) number_of_name: Statement,
    pub(super) status: Statement,
    pub(super) balance: Statement,
    pub(super) take_oldest: Statement,
    pub(super) carry: Statement,
    pub(super) date_lines: Statement,
    pub(super) charge: Statement,
    pub(super) stock_level: Statement,
}

/// Adds an amount to warehouse and district, and locks and reads the customer.
const RECEIVE: &str = "with w as (update warehouse set w_ytd = w_ytd + $1 where w_id = $2
        returning w_name, w_street_1, w_street_2, w_city, w_state, w_zip),
    d as (update district set d_ytd = d_ytd + $1 where d_w_id = $2 and d_id = $3
        returning d_name, d_street_1, d_street_2, d_city, d_state, d_zip)
    select c_id, c_credit, c_balance, c_ytd_payment, c_payment_cnt,
        case when c_credit = 'BC' then c_data else '' end, c_first, c_middle, c_last, c_street_1, c_street_2, c_city,
        c_state, c_zip, c_phone, c_since, c_credit_lim, c_discount, w.*, d.*
    from w, d, customer where c_w_id = $4 and c_d_id = $5";

/// Of several customers of a name the one in the middle, counted from the first by first name (clause 2.5.2.2).
fn middle(warehouse: &str, district: &str, last: &str) -> String {
    format!(
        "(select c_id from (select c_id, row_number() over (order by c_first) as place, count(*) over () as customers
         from customer where c_w_id = {warehouse} and c_d_id = {district} and c_last = {last}) n
         where place = (customers + 1) / 2)"
    )
}

/// Changes an account and adds the row of history; `data` is set where credit is bad.
fn pay(data: &str) -> String {
    format!(
        "with noted as (insert into history values ($4, $5, $6, $7, $8, $9, $10, $11))
         update customer set c_balance = $1, c_ytd_payment = $2, c_payment_cnt = $3{data}
         where c_w_id = $4 and c_d_id = $5 and c_id = $6"
    )
}

impl Statements {
    /// Prepares them; `isolated` begins New-Order and Payment.
    pub(super) fn prepare(wire: &mut Wire, isolated: &str) -> Result<Self> {
        let named = format!("{RECEIVE} and c_id = {} for update of customer", middle("$4", "$5", "$6"));
        let numbered = format!("{RECEIVE} and c_id = $6 for update of customer");
        let number_of_name = format!("select c from {} m (c)", middle("$1", "$2", "$3"));
        Ok(Self {
            begin_isolated: wire.prepare(isolated)?,
            begin_repeatable: wire.prepare("begin isolation level repeatable read")?,
            begin_snapshot: wire.prepare("begin isolation level repeatable read, read only")?,
            commit: wire.prepare("commit")?,
            rollback: wire.prepare("rollback")?,
            terms: wire.prepare(TERMS)?,
            write_order: wire.prepare(WRITE_ORDER)?,
            receive: wire.prepare(&numbered)?,
            receive_named: wire.prepare(&named)?,
            pay_good: wire.prepare(&pay(""))?,
            pay_bad: wire.prepare(&pay(", c_data = $12"))?,
            number_of_name: wire.prepare(&number_of_name)?,
            status: wire.prepare(STATUS)?,
            balance: wire.prepare(BALANCE)?,
            take_oldest: wire.prepare(TAKE_OLDEST)?,
            carry: wire.prepare(CARRY)?,
            date_lines: wire.prepare(DATE_LINES)?,
            charge: wire.prepare(CHARGE)?,
            stock_level: wire.prepare(STOCK_LEVEL)?,
        })
    }
}

/// Stock for orders of a district with its items, of one warehouse or of several; rows of stock are locked in the order
/// of their keys.
pub(super) fn stock(wire: &mut Wire, district: u8) -> Result<(Statement, Statement)> {
    let columns = format!(
        "s_w_id, s_i_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_data, s_dist_{district:02}, i_price, i_data,
         i_name"
    );
    let home = format!(
        "select {columns} from stock join item on i_id = s_i_id where s_w_id = $1 and s_i_id = any($2)
         order by s_i_id for update of stock"
    );
    let remote = format!(
        "select {columns} from unnest($1::int[], $2::int[]) as wanted (w, i) join stock on s_w_id = w and s_i_id = i
         join item on i_id = i order by s_w_id, s_i_id for update of stock"
    );
    Ok((wire.prepare(&home)?, wire.prepare(&remote)?))
}

const TERMS: &str = "with taken as (update district set d_next_o_id = d_next_o_id + 1 where d_w_id = $1 and d_id = $2
        returning d_next_o_id - 1 as number, d_tax)
    select number, d_tax, w_tax, c_discount, c_last, c_credit from taken, warehouse, customer
    where w_id = $1 and c_w_id = $1 and c_d_id = $2 and c_id = $3";
const WRITE_ORDER: &str = "with changed as (update stock set s_quantity = q, s_ytd = y, s_order_cnt = o, s_remote_cnt = r
        from unnest($13::int[], $14::int[], $15::int[], $16::bigint[], $17::int[], $18::int[]) as sold (w, i, q, y, o, r)
        where s_w_id = w and s_i_id = i),
    entered as (insert into orders values ($1, $2, $3, $4, $5, null, $6, $7)),
    waiting as (insert into new_order values ($1, $2, $3))
    insert into order_line select $1, $2, $3, n, i, s, null, q, a, d
    from unnest($8::int[], $9::int[], $10::int[], $11::bigint[], $12::text[]) with ordinality as l (i, s, q, a, d, n)";
const BALANCE: &str = "select c_balance, c_first, c_middle, c_last from customer
    where c_w_id = $1 and c_d_id = $2 and c_id = $3";
const STATUS: &str =
    "select o_id, coalesce(o_carrier_id, 0), o_entry_d, ol_amount, ol_i_id, ol_supply_w_id, ol_quantity,
        ol_delivery_d
    from (select o_id, o_carrier_id, o_entry_d from orders where o_w_id = $1 and o_d_id = $2 and o_c_id = $3
          order by o_id desc limit 1) o
    join order_line on ol_w_id = $1 and ol_d_id = $2 and ol_o_id = o_id";
const TAKE_OLDEST: &str = "delete from new_order using (select d, (select min(no_o_id) from new_order
        where no_w_id = $1 and no_d_id = d) as o from generate_series(1, 10) as g (d)) as oldest
    where no_w_id = $1 and no_d_id = d and no_o_id = o returning no_d_id, no_o_id";
const CARRY: &str = "update orders set o_carrier_id = $2 from unnest($3::int[], $4::int[]) as oldest (d, o)
    where o_w_id = $1 and o_d_id = d and o_id = o returning o_d_id, o_id, o_c_id";
const DATE_LINES: &str = "with dated as (update order_line set ol_delivery_d = $2
        from unnest($3::int[], $4::int[]) as oldest (d, o) where ol_w_id = $1 and ol_d_id = d and ol_o_id = o
        returning ol_d_id, ol_amount)
    select ol_d_id, sum(ol_amount)::bigint from dated group by ol_d_id";
const CHARGE: &str = "update customer set c_balance = c_balance + a, c_delivery_cnt = c_delivery_cnt + 1
    from unnest($2::int[], $3::int[], $4::bigint[]) as delivered (d, c, a)
    where c_w_id = $1 and c_d_id = d and c_id = c";
const STOCK_LEVEL: &str = "select count(distinct s_i_id) from district
    join order_line on ol_w_id = $1 and ol_d_id = $2 and ol_o_id < d_next_o_id and ol_o_id >= d_next_o_id - 20
    join stock on s_w_id = $1 and s_i_id = ol_i_id where d_w_id = $1 and d_id = $2 and s_quantity < $3";
