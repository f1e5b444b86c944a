//! Transactions on PostgreSQL. Statements that do not need each other's answers go out together, `begin` with the first
//! and `commit` with the last of them: a New-Order takes two exchanges, a Payment two, a Delivery three, the others one or
//! two.

use std::fmt;

use assay_tpcc::{
    Result, Session, TpccError,
    input::{By, NewOrder, Payment},
    rows::{History, Order, OrderLine},
    store::{Account, Delivered, Oldest, Sale, Status, Terms},
    text::Text,
    transaction::Kind,
};
use tokio::{
    runtime::{Builder, Runtime},
    try_join,
};
use tokio_postgres::{Client, Error, NoTls, Row, Statement};

use super::{
    PostgresOptions, failure,
    pending::{COMMIT, Charges, Entered, Paid, Sold, Values, ask},
    statements::{self, Statements},
};

const REPEATABLE: &str = "begin isolation level repeatable read";
const SNAPSHOT: &str = "begin isolation level repeatable read, read only";

/// A session of a `PostgresStore`: a connection, and a loop of its own that serves it.
pub struct PostgresSession {
    pub(super) runtime: Runtime,
    pub(super) client: Client,
    pub(super) statements: Statements,
    /// Stock for orders of each district, prepared when it is first asked for.
    stock: [Option<(Statement, Statement)>; 10],
    /// How New-Order and Payment begin.
    isolated: &'static str,
    /// What begins the transaction goes out with its first exchange.
    begins: Option<&'static str>,
    /// A transaction is open at the server.
    open: bool,
    pub(super) sold: Sold,
    customer: Option<Row>,
    payment: Option<Paid>,
    charges: Option<Charges>,
    entered: Option<Entered>,
}

impl fmt::Debug for PostgresSession {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("PostgresSession").field("open", &self.open).finish_non_exhaustive()
    }
}

async fn begin(client: &Client, sql: Option<&'static str>) -> std::result::Result<(), Error> {
    match sql {
        Some(sql) => client.batch_execute(sql).await,
        None => Ok(()),
    }
}

fn first(rows: &[Row], what: &str) -> Result<Row> {
    rows.first().cloned().ok_or_else(|| TpccError::damaged(what))
}

impl PostgresSession {
    pub(super) fn open(options: &PostgresOptions) -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().enable_time().build().map_err(TpccError::store)?;
        let (client, statements) = runtime
            .block_on(async {
                let (client, connection) = tokio_postgres::connect(&options.connection, NoTls).await?;
                tokio::spawn(connection);
                // Plans of prepared statements are made once: every table is reached by its key, whatever the values.
                let set = format!("set search_path = {}; set plan_cache_mode = force_generic_plan", options.schema);
                client.batch_execute(&set).await?;
                let statements = Statements::prepare(&client).await?;
                Ok((client, statements))
            })
            .map_err(failure)?;
        Ok(Self {
            runtime,
            client,
            statements,
            stock: Default::default(),
            isolated: options.isolation.begin(),
            begins: None,
            open: false,
            sold: Sold::default(),
            customer: None,
            payment: None,
            charges: None,
            entered: None,
        })
    }

    fn forget(&mut self) {
        self.begins = None;
        self.customer = None;
        self.payment = None;
        self.charges = None;
        self.entered = None;
    }

    /// What begins the transaction, for its first exchange.
    fn first_exchange(&mut self) -> Option<&'static str> {
        self.open = true;
        self.begins.take()
    }

    fn prepare_stock(&mut self, district: u8) -> Result<()> {
        let place = &mut self.stock[usize::from(district) - 1];
        if place.is_none() {
            *place = Some(self.runtime.block_on(statements::stock(&self.client, district)).map_err(failure)?);
        }
        Ok(())
    }

    /// Hands a line's item and stock to `sell`; false where there is no such item.
    fn sell_line(&mut self, order: &NewOrder, at: usize, sell: &mut impl FnMut(usize, &mut Sale)) -> Result<bool> {
        let line = order.wanted[at];
        let (item, supply) = (line.item as i32, line.supply as i32);
        let sold = &mut self.sold;
        let place = (0..sold.items.len()).find(|place| sold.items[*place] == item && sold.warehouses[*place] == supply);
        // Stock comes together with its item: without one there is no row.
        let Some(place) = place else { return Ok(false) };
        let mut sale = Sale {
            price: sold.prices[place],
            info: sold.infos[place],
            original: sold.original[place],
            quantity: sold.quantities[place],
            ytd: sold.ytd[place],
            orders: sold.orders[place] as u32,
            remote_orders: sold.remote_orders[place] as u32,
        };
        sell(at, &mut sale);
        sold.quantities[place] = sale.quantity;
        sold.ytd[place] = sale.ytd;
        sold.orders[place] = sale.orders as i32;
        sold.remote_orders[place] = sale.remote_orders as i32;
        Ok(true)
    }
}

impl Session for PostgresSession {
    fn begin(&mut self, kind: Kind) -> Result<()> {
        self.forget();
        self.begins = Some(match kind {
            Kind::NewOrder | Kind::Payment => self.isolated,
            // Two Deliveries of one warehouse must not both look for the oldest orders and then wait for each other.
            Kind::Delivery => REPEATABLE,
            Kind::OrderStatus | Kind::StockLevel => SNAPSHOT,
        });
        Ok(())
    }

    fn commit(&mut self) -> Result<()> {
        if !self.open {
            return Ok(());
        }
        if let Some(order) = self.entered.take() {
            self.commit_order(&order).map_err(failure)?;
        } else if let Some(paid) = self.payment.take() {
            self.commit_payment(&paid)?;
        } else if let Some(charges) = self.charges.take() {
            self.commit_charges(&charges).map_err(failure)?;
        } else {
            self.runtime.block_on(self.client.batch_execute(COMMIT)).map_err(failure)?;
        }
        self.open = false;
        Ok(())
    }

    fn abort(&mut self) -> Result<()> {
        self.forget();
        if self.open {
            self.open = false;
            self.runtime.block_on(self.client.batch_execute("rollback")).map_err(failure)?;
        }
        Ok(())
    }

    fn terms(&mut self, order: &NewOrder) -> Result<Terms> {
        self.prepare_stock(order.district)?;
        let begins = self.first_exchange();
        let (warehouse, district) = (order.warehouse as i32, i32::from(order.district));
        let customer = i32::from(order.customer);
        let items: Vec<i32> = order.lines().iter().map(|line| line.item as i32).collect();
        let supplies: Vec<i32> = order.lines().iter().map(|line| line.supply as i32).collect();
        let Some((home, remote)) = &self.stock[usize::from(order.district) - 1] else {
            return Err(TpccError::store("stock was not prepared"));
        };
        let (client, statements) = (&self.client, &self.statements);
        let stock = async {
            if order.remote_lines() == 0 {
                ask(client, home, [&warehouse, &items]).await
            } else {
                ask(client, remote, [&supplies, &items]).await
            }
        };
        let (_, terms, stock) = self
            .runtime
            .block_on(async {
                try_join!(
                    biased;
                    begin(client, begins),
                    ask(client, &statements.terms, [&warehouse, &district, &customer]),
                    stock,
                )
            })
            .map_err(failure)?;
        self.sold.fill(&stock);
        let terms = first(&terms, "a district, or a customer,")?;
        std::hint::black_box((terms.get::<_, &str>(4), terms.get::<_, &str>(5)));
        Ok(Terms {
            order: terms.get::<_, i32>(0) as u32,
            district_tax: terms.get::<_, i32>(1) as u16,
            warehouse_tax: terms.get::<_, i32>(2) as u16,
            discount: terms.get::<_, i32>(3) as u16,
        })
    }

    fn sell(&mut self, order: &NewOrder, mut sell: impl FnMut(usize, &mut Sale)) -> Result<bool> {
        for at in 0..usize::from(order.count) {
            if !self.sell_line(order, at, &mut sell)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn insert_order(&mut self, order: &NewOrder, number: u32, row: &Order, lines: &[OrderLine]) -> Result<()> {
        self.entered = Some(Entered {
            place: (order.warehouse as i32, i32::from(order.district), number as i32),
            row: row.clone(),
            items: lines.iter().map(|line| line.item as i32).collect(),
            supplies: lines.iter().map(|line| line.supply_warehouse as i32).collect(),
            quantities: lines.iter().map(|line| i32::from(line.quantity)).collect(),
            amounts: lines.iter().map(|line| line.amount).collect(),
            infos: lines.iter().map(|line| line.info).collect(),
        });
        Ok(())
    }

    fn receive(&mut self, payment: &Payment) -> Result<(Text<10>, Text<10>)> {
        let begins = self.first_exchange();
        let (warehouse, district, amount) = (payment.warehouse as i32, i32::from(payment.district), payment.amount);
        let (of_warehouse, of_district) = (payment.customer_warehouse as i32, i32::from(payment.customer_district));
        let (client, statements) = (&self.client, &self.statements);
        let customer = async {
            match &payment.by {
                By::Number(number) => {
                    let number = i32::from(*number);
                    let values: Values<'_, 6> = [&amount, &warehouse, &district, &of_warehouse, &of_district, &number];
                    ask(client, &statements.receive, values).await
                }
                By::Name(last) => {
                    let last = last.as_str();
                    let values: Values<'_, 6> = [&amount, &warehouse, &district, &of_warehouse, &of_district, &last];
                    ask(client, &statements.receive_named, values).await
                }
            }
        };
        let (_, rows) =
            self.runtime.block_on(async { try_join!(biased; begin(client, begins), customer) }).map_err(failure)?;
        let row = first(&rows, "a warehouse, a district, or a customer,")?;
        let name = |column: &str| Text::of(row.get::<_, &str>(column).as_bytes());
        let names = (name("w_name"), name("d_name"));
        self.customer = Some(row);
        Ok(names)
    }

    fn pay(&mut self, payment: &Payment, change: impl FnOnce(u16, &mut Account)) -> Result<u16> {
        let row = self.customer.take().ok_or_else(|| TpccError::damaged("a customer"))?;
        let customer = row.get::<_, i32>(0) as u16;
        let mut account = Account {
            bad_credit: row.get::<_, &str>(1) == "BC",
            balance: row.get(2),
            ytd_payment: row.get(3),
            payments: row.get::<_, i32>(4) as u32,
            data: Text::of(row.get::<_, &str>(5).as_bytes()),
        };
        change(customer, &mut account);
        let place = (payment.customer_warehouse as i32, i32::from(payment.customer_district), i32::from(customer));
        self.payment = Some(Paid { place, account, history: None });
        Ok(customer)
    }

    fn insert_history(&mut self, payment: &Payment, row: &History) -> Result<()> {
        if let Some(paid) = &mut self.payment {
            paid.history = Some((payment.clone(), row.clone()));
        }
        Ok(())
    }

    fn status(&mut self, warehouse: u32, district: u8, by: &By) -> Result<Status> {
        let begins = self.first_exchange();
        let (warehouse, district) = (warehouse as i32, i32::from(district));
        let (client, statements) = (&self.client, &self.statements);
        let asked = self.runtime.block_on(async {
            let (begins, customer) = match by {
                By::Number(number) => (begins, i32::from(*number)),
                By::Name(last) => {
                    let last = last.as_str();
                    let found = ask(client, &statements.number_of_name, [&warehouse, &district, &last]);
                    let (_, rows) = try_join!(biased; begin(client, begins), found)?;
                    (None, rows.first().map_or(0, |row| row.get(0)))
                }
            };
            let (_, balance, lines, ()) = try_join!(
                biased;
                begin(client, begins),
                ask(client, &statements.balance, [&warehouse, &district, &customer]),
                ask(client, &statements.status, [&warehouse, &district, &customer]),
                client.batch_execute(COMMIT),
            )?;
            Ok((customer, balance, lines))
        });
        let (customer, balance, lines) = asked.map_err(failure)?;
        self.open = false;
        let order = first(&lines, "the last order of a customer")?;
        Ok(Status {
            customer: customer as u16,
            balance: first(&balance, "a customer")?.get(0),
            order: order.get::<_, i32>(0) as u32,
            carrier: order.get::<_, i32>(1) as u8,
            lines: lines.len() as u8,
            amount: lines.iter().map(|line| line.get::<_, i64>(3)).sum(),
        })
    }

    fn take_oldest(&mut self, warehouse: u32) -> Result<Oldest> {
        let begins = self.first_exchange();
        let warehouse = warehouse as i32;
        let (client, statements) = (&self.client, &self.statements);
        let taken = ask(client, &statements.take_oldest, [&warehouse]);
        let (_, rows) =
            self.runtime.block_on(async { try_join!(biased; begin(client, begins), taken) }).map_err(failure)?;
        let mut oldest = Oldest::default();
        for row in rows {
            let place = usize::try_from(row.get::<_, i32>(0) - 1).unwrap_or(usize::MAX);
            *oldest.get_mut(place).ok_or_else(|| TpccError::damaged("a district"))? = row.get::<_, i32>(1) as u32;
        }
        Ok(oldest)
    }

    fn deliver(
        &mut self,
        warehouse: u32,
        oldest: &Oldest,
        carrier: u8,
        date: i64,
        mut delivered: impl FnMut(Delivered),
    ) -> Result<()> {
        let (warehouse, carrier) = (warehouse as i32, i32::from(carrier));
        let (districts, orders): (Vec<i32>, Vec<i32>) = (1..)
            .zip(oldest)
            .filter(|(_, order)| **order != 0)
            .map(|(district, order)| (district, *order as i32))
            .unzip();
        let (client, statements) = (&self.client, &self.statements);
        let (carried, dated) = self
            .runtime
            .block_on(async {
                try_join!(
                    biased;
                    ask(client, &statements.carry, [&warehouse, &carrier, &districts, &orders]),
                    ask(client, &statements.date_lines, [&warehouse, &date, &districts, &orders]),
                )
            })
            .map_err(failure)?;
        if carried.len() != districts.len() || dated.len() != districts.len() {
            return Err(TpccError::damaged("an order that is not delivered, or its lines,"));
        }
        for row in carried {
            let district = row.get::<_, i32>(0);
            let lines = dated.iter().find(|line| line.get::<_, i32>(0) == district);
            delivered(Delivered {
                district: district as u8,
                order: row.get::<_, i32>(1) as u32,
                customer: row.get::<_, i32>(2) as u16,
                amount: lines.map_or(0, |line| line.get(1)),
            });
        }
        Ok(())
    }

    fn charge(&mut self, warehouse: u32, delivered: &[Delivered]) -> Result<()> {
        self.charges = Some(Charges {
            warehouse: warehouse as i32,
            districts: delivered.iter().map(|order| i32::from(order.district)).collect(),
            customers: delivered.iter().map(|order| i32::from(order.customer)).collect(),
            amounts: delivered.iter().map(|order| order.amount).collect(),
        });
        Ok(())
    }

    fn stock_level(&mut self, warehouse: u32, district: u8, threshold: u8) -> Result<u32> {
        // One statement is a transaction of its own.
        self.begins = None;
        let (warehouse, district, threshold) = (warehouse as i32, i32::from(district), i32::from(threshold));
        let values: Values<'_, 3> = [&warehouse, &district, &threshold];
        let rows = self.runtime.block_on(ask(&self.client, &self.statements.stock_level, values)).map_err(failure)?;
        Ok(first(&rows, "a district")?.get::<_, i64>(0) as u32)
    }
}
