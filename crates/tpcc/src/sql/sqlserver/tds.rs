//! Connections of the library `tiberius`. Its futures run over a socket that blocks, so that none ever waits elsewhere:
//! an event loop would cost the driver CPU and gain nothing.

use std::{fmt, net::TcpStream};

use crate::{Result, TpccError};
use futures_util::io::AllowStdIo;
use tiberius::{AuthMethod, Client, ColumnData, Config, EncryptionLevel, ToSql, TokenRow, error::Error};
use tokio::runtime::{Builder, Runtime};

use super::{
    SqlServerOptions, is_conflict,
    link::{Connect, Link, LinkAnswer, Row, Take, Value},
};
use crate::sql::schema::{TableSchema, Value as Cell};

/// A server, and who asks it.
#[derive(Debug)]
pub struct Server {
    options: SqlServerOptions,
}

impl Server {
    pub(super) fn new(options: SqlServerOptions) -> Self {
        Self { options }
    }
}

/// A connection.
pub struct TdsLink {
    client: Client<AllowStdIo<TcpStream>>,
    runtime: Runtime,
}

impl fmt::Debug for TdsLink {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.debug_struct("TdsLink").finish_non_exhaustive()
    }
}

fn failure(error: Error) -> TpccError {
    match error {
        Error::Server(said) if is_conflict(said.code()) => TpccError::Conflict,
        Error::Server(said) => TpccError::store(format!("{} ({})", said.message(), said.code())),
        other => TpccError::store(other),
    }
}

impl Connect for Server {
    type Link = TdsLink;

    fn connect(&self) -> Result<TdsLink> {
        let SqlServerOptions { host, port, user, password, database, .. } = &self.options;
        let mut config = Config::new();
        config.host(host);
        config.port(*port);
        config.database(database);
        config.application_name("assay");
        config.authentication(AuthMethod::sql_server(user, password));
        config.encryption(EncryptionLevel::NotSupported);
        let refused = |error: &dyn fmt::Display| format!("SQL Server at {host}:{port} takes no connection: {error}");
        let socket = TcpStream::connect((host.as_str(), *port)).map_err(|error| TpccError::store(refused(&error)))?;
        socket.set_nodelay(true).map_err(TpccError::store)?;
        let runtime = Builder::new_current_thread().build().map_err(TpccError::store)?;
        let client = runtime.block_on(Client::connect(config, AllowStdIo::new(socket)));
        Ok(TdsLink { client: client.map_err(|error| TpccError::store(refused(&error)))?, runtime })
    }
}

impl Link for TdsLink {
    fn batch(&mut self, sql: &str) -> Result<()> {
        let Self { client, runtime } = self;
        runtime.block_on(async { client.simple_query(sql).await?.into_results().await }).map_err(failure).map(|_| ())
    }

    fn ask(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Vec<Row>>> {
        let values: Vec<&dyn ToSql> = values.iter().map(parameter).collect();
        let Self { client, runtime } = self;
        let answers = runtime.block_on(async { client.query(sql, &values).await?.into_results().await });
        answers.map_err(failure)?.into_iter().map(|rows| rows.into_iter().map(row).collect()).collect()
    }

    fn bulk(&mut self, table: &TableSchema, fill: &mut dyn FnMut(&mut Take<'_>) -> Result<()>) -> Result<()> {
        let long = longs(table);
        let Self { client, runtime } = self;
        let mut request = runtime.block_on(client.bulk_insert(table.name)).map_err(failure)?;
        let mut send = |values: &[Cell<'_>]| runtime.block_on(request.send(token_row(values, &long))).map_err(failure);
        fill(&mut Take(&mut send))?;
        runtime.block_on(request.finalize()).map_err(failure).map(|_| ())
    }
}

fn parameter<'v>(value: &'v Value<'_>) -> &'v dyn ToSql {
    match value {
        Value::Int(value) => value,
        Value::Long(value) => value,
        Value::Text(value) => value,
    }
}

fn row(row: tiberius::Row) -> Result<Row> {
    row.into_iter().map(answer).collect::<Result<_>>().map(Row)
}

fn answer(data: ColumnData<'static>) -> Result<LinkAnswer> {
    Ok(match data {
        ColumnData::U8(Some(number)) => LinkAnswer::Number(number.into()),
        ColumnData::I16(Some(number)) => LinkAnswer::Number(number.into()),
        ColumnData::I32(Some(number)) => LinkAnswer::Number(number.into()),
        ColumnData::I64(Some(number)) => LinkAnswer::Number(number),
        ColumnData::String(Some(text)) => LinkAnswer::Text(text.into_owned()),
        ColumnData::U8(None)
        | ColumnData::I16(None)
        | ColumnData::I32(None)
        | ColumnData::I64(None)
        | ColumnData::String(None) => LinkAnswer::Null,
        other => return Err(TpccError::store(format!("the server answered {other:?}, which nothing here asks for"))),
    })
}

/// Which columns are `bigint`.
pub(super) fn longs(table: &TableSchema) -> Vec<bool> {
    table.columns.split(',').map(|column| column.trim().ends_with(" bigint")).collect()
}

/// A row as bulk loads take it: numbers are as wide as their columns.
pub(super) fn token_row(values: &[Cell<'_>], long: &[bool]) -> TokenRow<'static> {
    let mut row = TokenRow::with_capacity(values.len());
    for (value, long) in values.iter().zip(long) {
        row.push(match (value, long) {
            (Cell::Number(number), true) => ColumnData::I64(Some(*number)),
            (Cell::Number(number), false) => ColumnData::I32(Some(*number as i32)),
            (Cell::Text(text), _) => ColumnData::String(Some((*text).to_owned().into())),
            (Cell::Null, true) => ColumnData::I64(None),
            (Cell::Null, false) => ColumnData::I32(None),
        });
    }
    row
}
