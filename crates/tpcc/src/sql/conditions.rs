//! The twelve consistency conditions as queries over whole tables: each table is read once or twice, none row by row.
//! They are written so that PostgreSQL, SQLite and SQL Server all take them: `concat`, and no truth value as a value.

use crate::{Scale, TpccError, check::Findings, scale::DISTRICTS};

/// Rows that break a condition, each as a place in words. What no row breaks holds.
const BROKEN: [(usize, &str); 12] = [
    (
        1,
        "select concat('warehouse ', w_id) as place from warehouse
         left join (select d_w_id, sum(d_ytd) as ytd from district group by d_w_id) d on d_w_id = w_id
         where w_ytd <> coalesce(ytd, 0)",
    ),
    (
        2,
        "select concat('district ', d_w_id, '/', d_id) as place from district
         left join (select o_w_id, o_d_id, max(o_id) as last from orders group by o_w_id, o_d_id) o
            on o_w_id = d_w_id and o_d_id = d_id
         left join (select no_w_id, no_d_id, max(no_o_id) as newest from new_order group by no_w_id, no_d_id) n
            on no_w_id = d_w_id and no_d_id = d_id
         where d_next_o_id - 1 <> coalesce(last, 0) or newest <> last",
    ),
    (
        3,
        "select concat('district ', no_w_id, '/', no_d_id) as place from new_order group by no_w_id, no_d_id
         having max(no_o_id) - min(no_o_id) + 1 <> count(*)",
    ),
    (
        4,
        "select concat('district ', o_w_id, '/', o_d_id) as place
         from (select o_w_id, o_d_id, sum(o_ol_cnt) as said from orders group by o_w_id, o_d_id) o
         left join (select ol_w_id, ol_d_id, count(*) as seen from order_line group by ol_w_id, ol_d_id) l
            on ol_w_id = o_w_id and ol_d_id = o_d_id
         where said <> coalesce(seen, 0)",
    ),
    (
        5,
        "select concat('order ', o_w_id, '/', o_d_id, '/', o_id) as place from orders
         left join new_order on no_w_id = o_w_id and no_d_id = o_d_id and no_o_id = o_id
         where case when o_carrier_id is null then 1 else 0 end <> case when no_o_id is not null then 1 else 0 end
         union all
         select concat('order ', no_w_id, '/', no_d_id, '/', no_o_id) as place from new_order
         left join orders on no_w_id = o_w_id and no_d_id = o_d_id and no_o_id = o_id where o_id is null",
    ),
    (
        6,
        "select concat('order ', o_w_id, '/', o_d_id, '/', o_id) as place from orders
         left join (select ol_w_id, ol_d_id, ol_o_id, count(*) as seen from order_line
                    group by ol_w_id, ol_d_id, ol_o_id) l
            on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
         where o_ol_cnt <> coalesce(seen, 0)",
    ),
    (
        7,
        "select concat('order ', ol_w_id, '/', ol_d_id, '/', ol_o_id) as place from order_line
         left join orders on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
         where case when ol_delivery_d is null then 1 else 0 end <> case when o_carrier_id is null then 1 else 0 end",
    ),
    (
        8,
        "select concat('warehouse ', w_id) as place from warehouse
         left join (select h_w_id, sum(h_amount) as paid from history group by h_w_id) h on h_w_id = w_id
         where w_ytd <> coalesce(paid, 0)",
    ),
    (
        9,
        "select concat('district ', d_w_id, '/', d_id) as place from district
         left join (select h_w_id, h_d_id, sum(h_amount) as paid from history group by h_w_id, h_d_id) h
            on h_w_id = d_w_id and h_d_id = d_id
         where d_ytd <> coalesce(paid, 0)",
    ),
    (
        10,
        "select concat('customer ', c_w_id, '/', c_d_id, '/', c_id) as place from customer
         left join (select o_w_id, o_d_id, o_c_id, sum(ol_amount) as owed from order_line
                    join orders on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
                    where ol_delivery_d is not null group by o_w_id, o_d_id, o_c_id) o
            on o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id
         left join (select h_c_w_id, h_c_d_id, h_c_id, sum(h_amount) as paid from history
                    group by h_c_w_id, h_c_d_id, h_c_id) h
            on h_c_w_id = c_w_id and h_c_d_id = c_d_id and h_c_id = c_id
         where c_balance <> coalesce(owed, 0) - coalesce(paid, 0)",
    ),
    (
        11,
        "select concat('the whole: ', delivered, ' orders are delivered') as place
         from (select (select count(*) from orders) - (select count(*) from new_order) as delivered) d
         where delivered <> :delivered",
    ),
    (
        12,
        "select concat('customer ', c_w_id, '/', c_d_id, '/', c_id) as place from customer
         left join (select o_w_id, o_d_id, o_c_id, sum(ol_amount) as owed from order_line
                    join orders on ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id
                    where ol_delivery_d is not null group by o_w_id, o_d_id, o_c_id) o
            on o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id
         where c_balance + c_ytd_payment <> coalesce(owed, 0)",
    ),
];

/// Asks for every condition; `ask` gets a query whose answer is one row: how many places, and the first of them.
pub(crate) fn check<E>(
    scale: &Scale,
    delivered: u64,
    mut ask: impl FnMut(&str) -> Result<(i64, Option<String>), E>,
) -> Result<Vec<assay_record::WorkCheck>, E> {
    let loaded = u64::from(scale.first_undelivered() - 1) * u64::from(DISTRICTS) * u64::from(scale.warehouses);
    let mut findings = Findings::default();
    for (condition, broken) in BROKEN {
        let broken = broken.replace(":delivered", &(loaded + delivered).to_string());
        let (places, first) = ask(&format!("select count(*), min(place) from ({broken}) b"))?;
        findings.add(condition, places.unsigned_abs(), first);
    }
    Ok(findings.checks())
}

/// Orders taken since the load.
pub(crate) fn orders_taken(scale: &Scale) -> String {
    format!("select coalesce(sum(d_next_o_id - 1 - {}), 0) from district", scale.customers)
}

/// Statements that break a condition.
pub(crate) fn spoil(condition: u8) -> Result<&'static [&'static str], TpccError> {
    Ok(match condition {
        1 => &["update warehouse set w_ytd = w_ytd + 1 where w_id = 1"],
        2 => &["update district set d_next_o_id = d_next_o_id + 1 where d_w_id = 1 and d_id = 1"],
        3 => &["delete from new_order where no_w_id = 1 and no_d_id = 1 and no_o_id =
                (select min(no_o_id) + 1 from new_order where no_w_id = 1 and no_d_id = 1)"],
        4 => &["update orders set o_ol_cnt = o_ol_cnt + 1 where o_w_id = 1 and o_d_id = 1 and o_id = 1"],
        5 => &["update orders set o_carrier_id = 1 where o_w_id = 1 and o_d_id = 1 and o_id =
                (select min(no_o_id) from new_order where no_w_id = 1 and no_d_id = 1)"],
        6 => &[
            "update orders set o_ol_cnt = o_ol_cnt + 1 where o_w_id = 1 and o_d_id = 1 and o_id = 1",
            "update orders set o_ol_cnt = o_ol_cnt - 1 where o_w_id = 1 and o_d_id = 1 and o_id = 2",
        ],
        7 => &["update order_line set ol_delivery_d = 1 where ol_w_id = 1 and ol_d_id = 1 and ol_number = 1
                and ol_o_id = (select min(no_o_id) from new_order where no_w_id = 1 and no_d_id = 1)"],
        8 => &["update history set h_amount = h_amount + 1 where h_w_id = 1 and h_d_id = 1 and h_c_w_id = 1
                and h_c_d_id = 1 and h_c_id = 1 and h_date = (select min(h_date) from history)"],
        9 => &["update district set d_ytd = d_ytd + 1 where d_w_id = 1 and d_id = 1"],
        10 => &["update customer set c_balance = c_balance + 1 where c_w_id = 1 and c_d_id = 1 and c_id = 1"],
        11 => &["delete from new_order where no_w_id = 1 and no_d_id = 1 and no_o_id =
                (select min(no_o_id) from new_order where no_w_id = 1 and no_d_id = 1)"],
        12 => &["update customer set c_ytd_payment = c_ytd_payment + 1 where c_w_id = 1 and c_d_id = 1 and c_id = 1"],
        _ => {
            return Err(TpccError::Asked {
                reason: format!("there is no consistency condition {condition}"),
                fix: "name one of 1 to 12",
            });
        }
    })
}
