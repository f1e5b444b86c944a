//! A stand-in at the edge of the connection: it knows each statement by its text, and lets SQLite do what it means.

use std::{
    ops::ControlFlow,
    path::PathBuf,
    sync::{Arc, Mutex},
    thread,
    time::Duration,
};

use crate::{
    Result, Scale, Session, Store, TpccError,
    input::{Asker, Choice, Mix},
    kind::Kind,
    random::NonUniform,
    transaction::{Outcome, execute},
};
use rusqlite::{Connection, params_from_iter, types::ValueRef};

use super::{
    Isolation, SqlServerOptions, SqlServerStore, is_conflict,
    link::{Connect, Link, LinkAnswer, Row, Take, Value},
    load, statements as say, tds,
};
use crate::sql::schema::{TABLES, TableSchema, Value as Cell};

const SCALE: Scale = Scale { warehouses: 2, items: 100, customers: 20 };

macro_rules! middle {
    ($warehouse:literal, $district:literal, $last:literal) => {
        concat!(
            "select c_id from (select c_id, row_number() over (order by c_first) as place, count(*) over () as customers
             from customer where c_w_id = ", $warehouse, " and c_d_id = ", $district, " and c_last = ", $last, ")
             where place = (customers + 1) / 2"
        )
    };
}
macro_rules! concat_customer {
    ($($customer:tt)*) => {
        concat!(
            "select c_id, c_credit, c_balance, c_ytd_payment, c_payment_cnt, c_data from customer
             where c_w_id = ?4 and c_d_id = ?5 and c_id = (", $($customer)*, ")"
        )
    };
}
macro_rules! paid {
    ($data:literal) => {
        concat!(
            "update customer set c_balance = ?1, c_ytd_payment = ?2, c_payment_cnt = ?3",
            $data,
            " where c_w_id = ?4 and c_d_id = ?5 and c_id = ?6"
        )
    };
}

/// What the statements mean, in SQLite's words.
const MEANING: [(&str, &[&str]); 12] = [
    (
        say::TERMS,
        &["update district set d_next_o_id = d_next_o_id + 1 where d_w_id = ?1 and d_id = ?2
           returning d_next_o_id - 1, d_tax, (select w_tax from warehouse where w_id = ?1),
           (select c_discount from customer where c_w_id = ?1 and c_d_id = ?2 and c_id = ?3), 'last', 'GC'"],
    ),
    (
        say::WRITE_ORDER,
        &[
            "update stock set s_quantity = q, s_ytd = y, s_order_cnt = o, s_remote_cnt = r
             from (select value->>'w' as w, value->>'i' as i, value->>'q' as q, value->>'y' as y, value->>'o' as o,
                   value->>'r' as r from json_each(?9)) where s_w_id = w and s_i_id = i",
            "insert into orders values (?1, ?2, ?3, ?4, ?5, null, ?6, ?7)",
            "insert into new_order values (?1, ?2, ?3)",
            "insert into order_line select ?1, ?2, ?3, value->>'n', value->>'i', value->>'s', null, value->>'q',
             value->>'a', value->>'d' from json_each(?8)",
        ],
    ),
    (say::RECEIVE, &[WAREHOUSE_PAID, DISTRICT_PAID, concat_customer!("?6")]),
    (say::RECEIVE_NAMED, &[WAREHOUSE_PAID, DISTRICT_PAID, concat_customer!(middle!("?4", "?5", "?6"))]),
    (say::NUMBER_OF_NAME, &[middle!("?1", "?2", "?3")]),
    (say::PAY_GOOD, &[paid!(""), HISTORY]),
    (say::PAY_BAD, &[paid!(", c_data = ?12"), HISTORY]),
    (
        say::STATUS,
        &[
            "select c_balance, c_first, c_middle, c_last from customer where c_w_id = ?1 and c_d_id = ?2 and c_id = ?3",
            "select o_id, coalesce(o_carrier_id, 0), o_entry_d, ol_amount, ol_i_id, ol_supply_w_id, ol_quantity,
             ol_delivery_d from order_line join orders on o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id
             where ol_w_id = ?1 and ol_d_id = ?2 and ol_o_id =
             (select max(o_id) from orders where o_w_id = ?1 and o_d_id = ?2 and o_c_id = ?3)",
        ],
    ),
    (
        say::TAKE_OLDEST,
        &["delete from new_order where no_w_id = ?1 and no_o_id = (select min(n.no_o_id) from new_order n
           where n.no_w_id = ?1 and n.no_d_id = new_order.no_d_id) returning no_d_id, no_o_id"],
    ),
    (
        say::DELIVER,
        &[
            "update orders set o_carrier_id = ?2 from (select value->>'d' as d, value->>'o' as o from json_each(?3))
             where o_w_id = ?1 and o_d_id = d and o_id = o returning o_d_id, o_id, o_c_id",
            "update order_line set ol_delivery_d = ?4 from (select value->>'d' as d, value->>'o' as o
             from json_each(?3)) where ol_w_id = ?1 and ol_d_id = d and ol_o_id = o returning ol_d_id, ol_amount",
        ],
    ),
    (
        say::CHARGE,
        &["update customer set c_balance = c_balance + a, c_delivery_cnt = c_delivery_cnt + 1
           from (select value->>'d' as d, value->>'c' as c, value->>'a' as a from json_each(?2))
           where c_w_id = ?1 and c_d_id = d and c_id = c"],
    ),
    (
        say::STOCK_LEVEL,
        &["select count(distinct s_i_id) from district join order_line on ol_w_id = ?1 and ol_d_id = ?2
           and ol_o_id < d_next_o_id and ol_o_id >= d_next_o_id - 20 join stock on s_w_id = ?1 and s_i_id = ol_i_id
           where d_w_id = ?1 and d_id = ?2 and s_quantity < ?3"],
    ),
];

const WAREHOUSE_PAID: &str = "update warehouse set w_ytd = w_ytd + ?1 where w_id = ?2 returning w_name";
const DISTRICT_PAID: &str = "update district set d_ytd = d_ytd + ?1 where d_w_id = ?2 and d_id = ?3 returning d_name";
const HISTORY: &str = "insert into history values (?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)";

/// A server: a file of SQLite's, and what was said.
#[derive(Clone)]
struct StandIn {
    path: PathBuf,
    told: Arc<Mutex<Vec<String>>>,
}

struct Line {
    connection: Connection,
    told: Arc<Mutex<Vec<String>>>,
}

impl Connect for StandIn {
    type Link = Line;

    fn connect(&self) -> Result<Line> {
        let connection = Connection::open(&self.path).map_err(crate::sql::sqlite::failure)?;
        connection.busy_timeout(Duration::from_secs(20)).unwrap();
        connection.execute_batch("pragma journal_mode = wal; pragma synchronous = off").unwrap();
        Ok(Line { connection, told: Arc::clone(&self.told) })
    }
}

/// The highest number of a parameter; all below it must be there.
fn parameters(sql: &str) -> usize {
    let number = |rest: &str| rest.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default().parse::<usize>();
    let mut seen: Vec<usize> = sql.split("@P").skip(1).map(|rest| number(rest).unwrap()).collect();
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen, (1..=seen.len()).collect::<Vec<_>>(), "{sql}");
    seen.len()
}

fn stock(sql: &str) -> Option<Vec<String>> {
    let district = say::STOCK.iter().position(|one| *one == sql)? + 1;
    Some(vec![format!(
        "select s_w_id, s_i_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt, s_data, s_dist_{district:02}, i_price,
         i_data, i_name from json_each(?1) join stock on s_w_id = value->>'w' and s_i_id = value->>'i'
         join item on i_id = s_i_id"
    )])
}

fn meaning(sql: &str) -> Vec<String> {
    let known = MEANING.iter().find(|(text, _)| *text == sql);
    let words = known.map(|(_, words)| words.iter().map(|word| (*word).to_owned()).collect());
    // Conditions and counts are the same in every dialect.
    words.or_else(|| stock(sql)).unwrap_or_else(|| vec![sql.to_owned()])
}

impl Link for Line {
    fn batch(&mut self, sql: &str) -> Result<()> {
        self.told.lock().unwrap().push(sql.to_owned());
        let said = if sql.ends_with("begin transaction") {
            "begin immediate"
        } else if sql == say::COMMIT {
            "commit"
        } else if sql == say::ROLLBACK {
            if self.connection.is_autocommit() { "" } else { "rollback" }
        } else if sql == say::GREETING || sql.starts_with("exec ") || sql.starts_with("alter ") || sql == "checkpoint" {
            ""
        } else {
            sql
        };
        self.connection.execute_batch(said).map_err(crate::sql::sqlite::failure)
    }

    fn ask(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Vec<Row>>> {
        self.told.lock().unwrap().push(sql.to_owned());
        assert_eq!(parameters(sql), values.len(), "{sql}");
        let values: Vec<rusqlite::types::Value> = values
            .iter()
            .map(|value| match value {
                Value::Int(number) => i64::from(*number).into(),
                Value::Long(number) => (*number).into(),
                Value::Text(text) => (*text).to_owned().into(),
            })
            .collect();
        let mut answers = Vec::new();
        for sql in meaning(sql) {
            let mut statement = self.connection.prepare_cached(&sql).map_err(crate::sql::sqlite::failure)?;
            let columns = statement.column_count();
            let known = &values[..statement.parameter_count()];
            let mut rows = statement.query(params_from_iter(known)).map_err(crate::sql::sqlite::failure)?;
            let mut found = Vec::new();
            while let Some(row) = rows.next().map_err(crate::sql::sqlite::failure)? {
                found.push(Row((0..columns).map(|at| answer(row.get_ref(at).unwrap())).collect()));
            }
            if columns > 0 {
                answers.push(found);
            }
        }
        Ok(answers)
    }

    fn bulk(&mut self, table: &TableSchema, fill: &mut dyn FnMut(&mut Take<'_>) -> Result<()>) -> Result<()> {
        let connection = self.connection.unchecked_transaction().map_err(crate::sql::sqlite::failure)?;
        let long = tds::longs(table);
        let marks = vec!["?"; long.len()].join(", ");
        let mut insert = connection.prepare(&format!("insert into {} values ({marks})", table.name)).unwrap();
        fill(&mut Take(&mut |values: &[Cell<'_>]| {
            assert_eq!(tds::token_row(values, &long).len(), long.len());
            // As `create` has it: 500 letters for what is noted of a customer, 50 for any other text.
            let fits = |value: &Cell<'_>, most| !matches!(value, Cell::Text(text) if text.len() > most);
            let room = |at| if table.name == "customer" && at + 1 == values.len() { 500 } else { 50 };
            assert!(values.iter().enumerate().all(|(at, value)| fits(value, room(at))), "{values:?}");
            insert.execute(params_from_iter(values)).map(|_| ()).map_err(crate::sql::sqlite::failure)
        }))?;
        drop(insert);
        connection.commit().map_err(crate::sql::sqlite::failure)
    }
}

fn answer(value: ValueRef<'_>) -> LinkAnswer {
    match value {
        ValueRef::Integer(number) => LinkAnswer::Number(number),
        ValueRef::Text(text) => LinkAnswer::Text(String::from_utf8_lossy(text).into_owned()),
        ValueRef::Null => LinkAnswer::Null,
        other => panic!("an answer is {other:?}"),
    }
}

fn loaded() -> (tempfile::TempDir, SqlServerStore<StandIn>) {
    let folder = tempfile::tempdir().unwrap();
    let connector = StandIn { path: folder.path().join("stand-in.sqlite"), told: Arc::default() };
    let store = SqlServerStore { connector, isolation: Isolation::ReadCommitted };
    store.load(&SCALE, 1, &mut |_| ControlFlow::Continue(())).unwrap();
    (folder, store)
}

fn work(store: &SqlServerStore<StandIn>, terminal: u32, count: i64) -> (u64, u64) {
    let constants = NonUniform::for_run(&NonUniform::for_load(1), 9);
    let seed = 40 + u64::from(terminal);
    let mut asker = Asker::new(SCALE, Choice::Uniform, &Mix::default(), constants, terminal, seed).unwrap();
    let mut session = store.session().unwrap();
    let (mut orders, mut all) = (0, 0);
    for date in 1..=count {
        let input = asker.ask(date);
        match execute(&mut session, &input) {
            Ok(Outcome::Committed { delivered }) => {
                all += u64::from(delivered);
                orders += u64::from(input.kind() == Kind::NewOrder);
            }
            Ok(Outcome::RolledBack) => {}
            Err(error) => panic!("seed {seed}: {error}"),
        }
    }
    (orders, all)
}

fn broken(store: &SqlServerStore<StandIn>, delivered: u64) -> Vec<String> {
    let checks = store.check(&SCALE, delivered).unwrap();
    assert_eq!(checks.len(), 12);
    checks.into_iter().filter(|check| !check.passed).map(|check| check.name).collect()
}

#[test]
fn all_five_transactions_leave_the_twelve_conditions_whole() {
    let (_folder, store) = loaded();
    assert_eq!(broken(&store, 0), Vec::<String>::new());
    let done: Vec<(u64, u64)> = thread::scope(|scope| {
        let workers = [0, 1].map(|terminal| {
            let store = &store;
            scope.spawn(move || work(store, terminal, 300))
        });
        workers.into_iter().map(|worker| worker.join().unwrap()).collect()
    });
    let (orders, delivered) = done.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
    assert!(orders > 0 && delivered > 0);
    assert_eq!(broken(&store, delivered), Vec::<String>::new());
    assert_eq!(store.orders_taken(&SCALE).unwrap(), orders);
    let told = store.connector.told.lock().unwrap();
    for (sql, _) in MEANING {
        assert!(told.iter().any(|one| one == sql), "never said: {sql}");
    }
    for district in say::STOCK {
        assert!(told.iter().any(|one| one == district), "never said: {district}");
    }
}

#[test]
fn every_spoilt_condition_is_found() {
    for condition in 1..=12 {
        let (_folder, store) = loaded();
        store.spoil(condition).unwrap();
        let found = broken(&store, 0);
        assert!(found.contains(&format!("consistency-{condition}")), "{condition}: {found:?}");
    }
}

#[test]
fn an_aborted_transaction_leaves_nothing() {
    let (_folder, store) = loaded();
    let before = store.orders_taken(&SCALE).unwrap();
    let mut session = store.session().unwrap();
    let constants = NonUniform::for_run(&NonUniform::for_load(1), 9);
    let mix = Mix { new_order: 100, payment: 0, order_status: 0, delivery: 0, stock_level: 0 };
    let mut asker = Asker::new(SCALE, Choice::Home, &mix, constants, 0, 7).unwrap();
    let crate::input::Input::NewOrder(order) = asker.ask(1) else { panic!("another kind was drawn") };
    session.begin(Kind::NewOrder).unwrap();
    session.terms(&order).unwrap();
    session.abort().unwrap();
    session.abort().unwrap();
    assert_eq!(store.orders_taken(&SCALE).unwrap(), before);
    let told = store.connector.told.lock().unwrap();
    assert_eq!(told.iter().filter(|one| *one == say::ROLLBACK).count(), 1, "the second abort has nothing to say");
}

#[test]
fn tables_have_bounded_text_and_keys_that_are_never_empty() {
    let orders = TABLES.iter().find(|table| table.name == "orders").unwrap();
    assert_eq!(
        load::create(orders),
        "create table orders (o_w_id int not null, o_d_id int not null, o_id int not null, o_c_id int not null, \
         o_entry_d bigint not null, o_carrier_id int null, o_ol_cnt int not null, o_all_local int not null)"
    );
    let customer = TABLES.iter().find(|table| table.name == "customer").unwrap();
    assert!(load::create(customer).contains("c_data varchar(500) not null"));
}

#[test]
fn a_deadlock_a_time_limit_and_a_changed_snapshot_are_conflicts_and_nothing_else_is() {
    assert_eq!((1..60_000).filter(|number| is_conflict(*number)).collect::<Vec<_>>(), [1205, 1222, 3960]);
}

#[test]
fn a_server_that_is_not_there_is_a_sentence_without_the_password() {
    let options: SqlServerOptions = serde_json::from_str(
        r#"{"host": "127.0.0.1", "port": 1, "user": "sa", "password": "secret", "database": "x"}"#,
    )
    .unwrap();
    assert!(!format!("{options:?}").contains("secret"));
    let Err(error) = SqlServerStore::new(options).version() else { panic!("a server answered at port 1") };
    assert!(error.to_string().starts_with("SQL Server at 127.0.0.1:1 takes no connection"), "{error}");
    assert!(!error.to_string().contains("secret"));
    assert!(matches!(error, TpccError::Store(_)));
}
