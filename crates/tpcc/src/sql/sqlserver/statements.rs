//! The statements, in T-SQL. Rows that belong together travel as one text of JSON, so that each step takes one exchange.
//!
//! Joins are written in the order in which they are to be done (`inner loop join`): from the few rows that were named to
//! their keys. A row that is changed later is locked where it is read (`updlock`).

/// What a connection begins with: no counts, and an error ends the transaction.
pub(super) const GREETING: &str = "set nocount on; set xact_abort on";
pub(super) const COMMIT: &str = "commit transaction";
pub(super) const ROLLBACK: &str = "if @@trancount > 0 rollback transaction";
/// What reads alone begins with; the database allows snapshots.
pub(super) const BEGIN_SNAPSHOT: &str = "set transaction isolation level snapshot; begin transaction";
pub(super) const BEGIN_COMMITTED: &str = "set transaction isolation level read committed; begin transaction";

pub(super) const TERMS: &str = "update d set d_next_o_id = d_next_o_id + 1
    output deleted.d_next_o_id, deleted.d_tax, w_tax, c_discount, c_last, c_credit
    from district as d join warehouse on w_id = d_w_id join customer on c_w_id = d_w_id and c_d_id = d_id
    where d_w_id = @P1 and d_id = @P2 and c_id = @P3";

macro_rules! stock {
    ($info:literal) => {
        concat!(
            "select s_w_id, s_i_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_data, ",
            $info,
            ", i_price, i_data, i_name
    from openjson(@P1) with (w int, i int) as wanted
    inner loop join stock with (updlock) on s_w_id = w and s_i_id = i inner loop join item on i_id = i"
        )
    };
}

/// Stock for orders of a district (1 to 10) with its items.
pub(super) const STOCK: [&str; 10] = [
    stock!("s_dist_01"),
    stock!("s_dist_02"),
    stock!("s_dist_03"),
    stock!("s_dist_04"),
    stock!("s_dist_05"),
    stock!("s_dist_06"),
    stock!("s_dist_07"),
    stock!("s_dist_08"),
    stock!("s_dist_09"),
    stock!("s_dist_10"),
];

pub(super) const WRITE_ORDER: &str = "update s set s_quantity = q, s_ytd = y, s_order_cnt = o, s_remote_cnt = r
    from openjson(@P9) with (w int, i int, q int, y bigint, o int, r int) as sold
    inner loop join stock as s on s_w_id = w and s_i_id = i;
    insert into orders values (@P1, @P2, @P3, @P4, @P5, null, @P6, @P7);
    insert into new_order values (@P1, @P2, @P3);
    insert into order_line select @P1, @P2, @P3, n, i, s, null, q, a, d
    from openjson(@P8) with (n int, i int, s int, q int, a bigint, d varchar(24)) as lines";

macro_rules! receive {
    ($customer:literal) => {
        concat!(
            "update warehouse set w_ytd = w_ytd + @P1
    output inserted.w_name, inserted.w_street_1, inserted.w_street_2, inserted.w_city, inserted.w_state, inserted.w_zip
    where w_id = @P2;
    update district set d_ytd = d_ytd + @P1
    output inserted.d_name, inserted.d_street_1, inserted.d_street_2, inserted.d_city, inserted.d_state, inserted.d_zip
    where d_w_id = @P2 and d_id = @P3;
    select c_id, c_credit, c_balance, c_ytd_payment, c_payment_cnt, case when c_credit = 'BC' then c_data else '' end,
        c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, c_phone, c_since, c_credit_lim,
        c_discount
    from customer with (updlock) where c_w_id = @P4 and c_d_id = @P5 and c_id = ",
            $customer
        )
    };
}
pub(super) const RECEIVE: &str = receive!("@P6");
/// Of several customers of a name the one in the middle, counted from the first by first name (clause 2.5.2.2).
pub(super) const RECEIVE_NAMED: &str = receive!(
    "(select c_id from (select c_id, row_number() over (order by c_first) as place, count(*) over () as customers
        from customer where c_w_id = @P4 and c_d_id = @P5 and c_last = cast(@P6 as varchar(50))) n
        where place = (customers + 1) / 2)"
);
pub(super) const NUMBER_OF_NAME: &str =
    "select c_id from (select c_id, row_number() over (order by c_first) as place, count(*) over () as customers
    from customer where c_w_id = @P1 and c_d_id = @P2 and c_last = cast(@P3 as varchar(50))) n
    where place = (customers + 1) / 2";

macro_rules! pay {
    ($data:literal) => {
        concat!(
            "update customer set c_balance = @P1, c_ytd_payment = @P2, c_payment_cnt = @P3",
            $data,
            " where c_w_id = @P4 and c_d_id = @P5 and c_id = @P6;
    insert into history values (@P4, @P5, @P6, @P7, @P8, @P9, @P10, @P11)"
        )
    };
}
pub(super) const PAY_GOOD: &str = pay!("");
pub(super) const PAY_BAD: &str = pay!(", c_data = @P12");

pub(super) const STATUS: &str = "select c_balance, c_first, c_middle, c_last from customer
    where c_w_id = @P1 and c_d_id = @P2 and c_id = @P3;
    select o_id, coalesce(o_carrier_id, 0), o_entry_d, ol_amount, ol_i_id, ol_supply_w_id, ol_quantity, ol_delivery_d
    from (select top (1) o_id, o_carrier_id, o_entry_d from orders
          where o_w_id = @P1 and o_d_id = @P2 and o_c_id = @P3 order by o_id desc) o
    join order_line on ol_w_id = @P1 and ol_d_id = @P2 and ol_o_id = o_id";

pub(super) const TAKE_OLDEST: &str = "delete n output deleted.no_d_id, deleted.no_o_id
    from (values (1), (2), (3), (4), (5), (6), (7), (8), (9), (10)) as g (d)
    cross apply (select top (1) no_o_id as o from new_order with (updlock)
                 where no_w_id = @P1 and no_d_id = d order by no_o_id) as oldest
    inner loop join new_order as n on no_w_id = @P1 and no_d_id = d and n.no_o_id = o";
pub(super) const DELIVER: &str = "update w set o_carrier_id = @P2
    output inserted.o_d_id, inserted.o_id, inserted.o_c_id
    from openjson(@P3) with (d int, o int) as oldest
    inner loop join orders as w on o_w_id = @P1 and o_d_id = d and o_id = o;
    update l set ol_delivery_d = @P4 output inserted.ol_d_id, inserted.ol_amount
    from openjson(@P3) with (d int, o int) as oldest
    inner loop join order_line as l on ol_w_id = @P1 and ol_d_id = d and ol_o_id = o";
pub(super) const CHARGE: &str = "update x set c_balance = c_balance + a, c_delivery_cnt = c_delivery_cnt + 1
    from openjson(@P2) with (d int, c int, a bigint) as delivered
    inner loop join customer as x on c_w_id = @P1 and c_d_id = d and c_id = c";
pub(super) const STOCK_LEVEL: &str = "select count(distinct s_i_id) from district
    join order_line on ol_w_id = @P1 and ol_d_id = @P2 and ol_o_id < d_next_o_id and ol_o_id >= d_next_o_id - 20
    join stock on s_w_id = @P1 and s_i_id = ol_i_id where d_w_id = @P1 and d_id = @P2 and s_quantity < @P3";
