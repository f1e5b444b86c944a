//! A connection that blocks: the statements of one exchange go out in one write, and their answers come in one go.
//!
//! The library's own client has an event loop and ends every statement with a message that makes the server answer at
//! once. A driver that does so uses twice the CPU, and wakes up for each statement instead of each exchange. It also asks
//! for the types of an answer while that answer waits to be read: a server that never says it is ready makes it wait for
//! ever, even for a connection that is closed.

use std::{
    fs::File,
    io::{self, Read, Write},
    net::{TcpStream, ToSocketAddrs},
    ops::Range,
    os::{
        fd::OwnedFd,
        unix::net::{SocketAddr, UnixStream},
    },
    path::Path,
    time::Duration,
};

use crate::{Result, TpccError, text::Text};
use bytes::{Bytes, BytesMut};
use fallible_iterator::FallibleIterator;
use postgres_protocol::{
    IsNull,
    message::{
        backend::{DataRowBody, ErrorResponseBody, Message},
        frontend::{self, BindError},
    },
    types as encode,
};
use tokio::runtime::{Builder, Runtime};
use tokio_postgres::{
    Config, NoTls,
    config::Host,
    types::{Oid, Type},
};

use super::{failure, is_conflict};

/// As much as the server puts into one write.
const INPUT_BYTES: usize = 8 << 10;
const BINARY: i16 = 1;
const PORT: u16 = 5432;

/// A value of a parameter.
#[derive(Clone, Copy)]
pub(super) enum WireValue<'v> {
    Int(i32),
    Long(i64),
    Text(&'v str),
    Ints(&'v [i32]),
    Longs(&'v [i64]),
    Texts(&'v [Text<24>]),
}

/// A statement that the server has prepared.
#[derive(Debug)]
pub(super) struct Statement {
    name: String,
}

/// A row of an answer.
#[derive(Debug)]
pub(super) struct WireRow {
    bytes: Bytes,
    cells: Vec<Range<usize>>,
}

/// A connection, and the exchange that is being put together.
pub(super) struct Wire {
    socket: File,
    out: BytesMut,
    input: BytesMut,
    asked: usize,
    prepared: u32,
}

impl Wire {
    pub(super) fn connect(connection: &str) -> Result<Self> {
        let config: Config = connection.parse().map_err(failure)?;
        let runtime = Builder::new_current_thread().enable_io().build().map_err(TpccError::store)?;
        let socket = open(&config, &runtime)?;
        let input = BytesMut::with_capacity(INPUT_BYTES);
        Ok(Self { socket: File::from(socket), out: BytesMut::new(), input, asked: 0, prepared: 0 })
    }

    /// Runs a statement that is not prepared, or several.
    pub(super) fn run(&mut self, sql: &str) -> Result<()> {
        self.begin_running(sql)?;
        self.receive().map(|_| ())
    }

    /// The one row that a statement answers with, as text; nothing is an empty text.
    pub(super) fn words<const N: usize>(&mut self, sql: &str) -> Result<[String; N]> {
        self.begin_running(sql)?;
        let answers = self.receive()?;
        let row = answers.last().and_then(|rows| rows.first()).filter(|row| row.cells.len() == N);
        let row = row.ok_or_else(|| TpccError::store(format!("the server did not answer `{sql}` with {N} columns")))?;
        Ok(std::array::from_fn(|at| String::from_utf8_lossy(row.cell(at)).into_owned()))
    }

    /// Sends a statement that is not prepared.
    pub(super) fn begin_running(&mut self, sql: &str) -> Result<()> {
        frontend::query(sql, &mut self.out).map_err(TpccError::store)?;
        self.send()
    }

    /// Puts rows of a COPY, in its text format, into the next write.
    pub(super) fn add_copied(&mut self, rows: &[u8]) -> Result<()> {
        let data = frontend::CopyData::new(rows).map_err(TpccError::store)?;
        data.write(&mut self.out);
        Ok(())
    }

    /// Ends a COPY.
    pub(super) fn end_copy(&mut self) -> Result<()> {
        frontend::copy_done(&mut self.out);
        self.send()?;
        self.receive().map(|_| ())
    }

    pub(super) fn prepare(&mut self, sql: &str) -> Result<Statement> {
        let name = format!("s{}", self.prepared);
        self.prepared += 1;
        frontend::parse(&name, sql, [], &mut self.out).map_err(TpccError::store)?;
        frontend::sync(&mut self.out);
        self.send()?;
        self.receive()?;
        Ok(Statement { name })
    }

    /// Adds a statement to the exchange.
    pub(super) fn ask(&mut self, statement: &Statement, values: &[WireValue<'_>]) -> Result<()> {
        let bound = frontend::bind("", &statement.name, [BINARY], values, put, [BINARY], &mut self.out);
        bound.map_err(|error| match error {
            BindError::Conversion(error) => TpccError::store(error),
            BindError::Serialization(error) => TpccError::store(error),
        })?;
        self.asked += 1;
        frontend::execute("", 0, &mut self.out).map_err(TpccError::store)
    }

    /// Makes the exchange; rows of the last `N` of its statements.
    pub(super) fn exchange<const N: usize>(&mut self) -> Result<[Vec<WireRow>; N]> {
        let asked = std::mem::take(&mut self.asked);
        frontend::sync(&mut self.out);
        self.send()?;
        let mut answers = self.receive()?;
        if answers.len() != asked || asked < N {
            return Err(TpccError::store(format!("the server answered {} of {asked} statements", answers.len())));
        }
        let last = answers.split_off(asked - N);
        last.try_into().map_err(|_| TpccError::store("an exchange had another number of statements"))
    }

    /// Forgets an exchange that was not made.
    pub(super) fn forget(&mut self) {
        self.asked = 0;
        self.out.clear();
    }

    pub(super) fn send(&mut self) -> Result<()> {
        let sent = self.socket.write_all(&self.out);
        self.out.clear();
        sent.map_err(lost)
    }

    /// Reads until the server is ready for the next exchange; rows of each statement, or its first complaint.
    fn receive(&mut self) -> Result<Vec<Vec<WireRow>>> {
        let (mut answers, mut rows, mut complaint) = (Vec::with_capacity(4), Vec::new(), None);
        loop {
            match self.message()? {
                Message::DataRow(body) => rows.push(WireRow::of(&body).map_err(TpccError::store)?),
                Message::CommandComplete(_) => answers.push(std::mem::take(&mut rows)),
                Message::ErrorResponse(body) => complaint = complaint.or_else(|| Some(said(&body))),
                Message::ReadyForQuery(_) => return complaint.map_or(Ok(answers), Err),
                _ => {}
            }
        }
    }

    /// Reads until the server takes rows.
    pub(super) fn receive_copy(&mut self) -> Result<()> {
        let mut complaint = None;
        loop {
            match self.message()? {
                Message::CopyInResponse(_) => return Ok(()),
                Message::ErrorResponse(body) => complaint = complaint.or_else(|| Some(said(&body))),
                Message::ReadyForQuery(_) => {
                    return Err(complaint.unwrap_or_else(|| TpccError::store("the server takes no rows")));
                }
                _ => {}
            }
        }
    }

    fn message(&mut self) -> Result<Message> {
        loop {
            if let Some(message) = Message::parse(&mut self.input).map_err(lost)? {
                return Ok(message);
            }
            self.fill()?;
        }
    }

    fn fill(&mut self) -> Result<()> {
        let there = self.input.len();
        self.input.resize(there + INPUT_BYTES, 0);
        let read = loop {
            match self.socket.read(&mut self.input[there..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.input.truncate(there + read.as_ref().map_or(0, |read| *read));
        match read {
            Ok(0) => Err(lost(io::ErrorKind::UnexpectedEof.into())),
            Ok(_) => Ok(()),
            Err(error) => Err(lost(error)),
        }
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.out.clear();
        frontend::terminate(&mut self.out);
        // A server that is gone needs no farewell.
        let _ = self.socket.write_all(&self.out);
    }
}

impl WireRow {
    fn of(body: &DataRowBody) -> io::Result<Self> {
        let mut cells = Vec::with_capacity(24);
        let mut ranges = body.ranges();
        while let Some(range) = ranges.next()? {
            // Nothing that is asked for may be null; if it is, the cell is empty and does not decode.
            cells.push(range.unwrap_or(0..0));
        }
        Ok(Self { bytes: body.buffer_bytes().clone(), cells })
    }

    fn cell(&self, at: usize) -> &[u8] {
        self.cells.get(at).map_or(&[], |range| &self.bytes[range.clone()])
    }

    pub(super) fn int(&self, at: usize) -> Result<i32> {
        encode::int4_from_sql(self.cell(at)).map_err(|_| TpccError::damaged("an integer of an answer"))
    }

    pub(super) fn long(&self, at: usize) -> Result<i64> {
        encode::int8_from_sql(self.cell(at)).map_err(|_| TpccError::damaged("a long integer of an answer"))
    }

    pub(super) fn text<const N: usize>(&self, at: usize) -> Text<N> {
        Text::of(self.cell(at))
    }
}

fn put(
    value: &WireValue<'_>,
    out: &mut BytesMut,
) -> std::result::Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
    match *value {
        WireValue::Int(value) => encode::int4_to_sql(value, out),
        WireValue::Long(value) => encode::int8_to_sql(value, out),
        WireValue::Text(value) => encode::text_to_sql(value, out),
        WireValue::Ints(values) => array(values, &Type::INT4, |value, out| encode::int4_to_sql(*value, out), out)?,
        WireValue::Longs(values) => array(values, &Type::INT8, |value, out| encode::int8_to_sql(*value, out), out)?,
        WireValue::Texts(values) => array(values, &Type::TEXT, |value, out| out.extend_from_slice(value.bytes()), out)?,
    }
    Ok(IsNull::No)
}

fn array<T>(
    values: &[T],
    kind: &Type,
    put: impl Fn(&T, &mut BytesMut),
    out: &mut BytesMut,
) -> std::result::Result<(), Box<dyn std::error::Error + Sync + Send>> {
    let dimension = encode::ArrayDimension { len: i32::try_from(values.len())?, lower_bound: 1 };
    let kind: Oid = kind.oid();
    let one = |value: &T, out: &mut BytesMut| {
        put(value, out);
        Ok(IsNull::No)
    };
    encode::array_to_sql([dimension], kind, values, one, out)
}

/// A socket on which a user was let in. The library does that, on another handle of the same socket that it then drops:
/// the last word of the greeting is that the server is ready, so nothing is lost with it.
fn open(config: &Config, runtime: &Runtime) -> Result<OwnedFd> {
    let mut seen = None;
    for (place, host) in config.get_hosts().iter().enumerate() {
        let ports = config.get_ports();
        let port = ports.get(place).or(ports.first()).copied().unwrap_or(PORT);
        match greet(config, host, port, runtime) {
            Ok(socket) => return Ok(socket),
            Err(error) => seen = Some(error),
        }
    }
    Err(seen.unwrap_or_else(|| TpccError::store("the connection string names no host")))
}

fn greet(config: &Config, host: &Host, port: u16, runtime: &Runtime) -> Result<OwnedFd> {
    match host {
        Host::Unix(folder) => {
            let socket = unix(folder, port).map_err(lost)?;
            socket.set_nonblocking(true).map_err(lost)?;
            let other = socket.try_clone().map_err(lost)?;
            runtime.block_on(async {
                let other = tokio::net::UnixStream::from_std(other).map_err(lost)?;
                config.connect_raw(other, NoTls).await.map_err(failure).map(|_| ())
            })?;
            socket.set_nonblocking(false).map_err(lost)?;
            Ok(socket.into())
        }
        Host::Tcp(name) => {
            let socket = tcp(name, port, config.get_connect_timeout().copied()).map_err(lost)?;
            socket.set_nodelay(true).map_err(lost)?;
            socket.set_nonblocking(true).map_err(lost)?;
            let other = socket.try_clone().map_err(lost)?;
            runtime.block_on(async {
                let other = tokio::net::TcpStream::from_std(other).map_err(lost)?;
                config.connect_raw(other, NoTls).await.map_err(failure).map(|_| ())
            })?;
            socket.set_nonblocking(false).map_err(lost)?;
            Ok(socket.into())
        }
    }
}

fn unix(folder: &Path, port: u16) -> io::Result<UnixStream> {
    UnixStream::connect_addr(&SocketAddr::from_pathname(folder.join(format!(".s.PGSQL.{port}")))?)
}

fn tcp(name: &str, port: u16, at_most: Option<Duration>) -> io::Result<TcpStream> {
    let Some(at_most) = at_most else { return TcpStream::connect((name, port)) };
    let mut seen = io::ErrorKind::NotFound.into();
    for address in (name, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, at_most) {
            Ok(socket) => return Ok(socket),
            Err(error) => seen = error,
        }
    }
    Err(seen)
}

fn lost(error: io::Error) -> TpccError {
    TpccError::store(format!("the connection to the server was lost: {error}"))
}

/// A complaint of the server, in its own words.
fn said(body: &ErrorResponseBody) -> TpccError {
    let (mut severity, mut code, mut message) = (String::new(), String::new(), String::new());
    let mut fields = body.fields();
    while let Ok(Some(field)) = fields.next() {
        let value = || String::from_utf8_lossy(field.value_bytes()).into_owned();
        match field.type_() {
            b'S' => severity = value(),
            b'C' => code = value(),
            b'M' => message = value(),
            _ => {}
        }
    }
    if is_conflict(&code) { TpccError::Conflict } else { TpccError::store(format!("{severity}: {message} ({code})")) }
}
