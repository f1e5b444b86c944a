//! What a store needs of a connection to SQL Server: the edge at which tests put a stand-in.

use crate::{Result, TpccError, text::Text};

use crate::sql::schema::{Rows, TableSchema, Value as Cell};

/// A value of a parameter: `@P1` and so on.
#[derive(Clone, Copy, Debug)]
pub enum Value<'v> {
    /// An `int`.
    Int(i32),
    /// A `bigint`.
    Long(i64),
    /// Text.
    Text(&'v str),
}

/// A value of an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum LinkAnswer {
    /// Any integer.
    Number(i64),
    /// Any text.
    Text(String),
    /// Nothing.
    Null,
}

/// A row of an answer.
#[derive(Clone, Debug, PartialEq)]
pub struct Row(pub Vec<LinkAnswer>);

impl Row {
    pub(super) fn number(&self, at: usize) -> Result<i64> {
        match self.0.get(at) {
            Some(LinkAnswer::Number(number)) => Ok(*number),
            _ => Err(TpccError::damaged("a number of an answer")),
        }
    }

    pub(super) fn text<const N: usize>(&self, at: usize) -> Text<N> {
        match self.0.get(at) {
            Some(LinkAnswer::Text(text)) => Text::of(text.as_bytes()),
            _ => Text::EMPTY,
        }
    }

    pub(super) fn words(&self, at: usize) -> Option<String> {
        match self.0.get(at) {
            Some(LinkAnswer::Text(text)) => Some(text.clone()),
            _ => None,
        }
    }
}

/// Gets the rows of a table.
pub struct Take<'t>(pub &'t mut dyn FnMut(&[Cell<'_>]) -> Result<()>);

impl Rows for Take<'_> {
    type Error = TpccError;

    fn row(&mut self, values: &[Cell<'_>]) -> Result<()> {
        (self.0)(values)
    }
}

/// A connection.
pub trait Link {
    /// Runs a batch without parameters; what it answers is not looked at.
    ///
    /// # Errors
    /// A conflict, or where the server fails.
    fn batch(&mut self, sql: &str) -> Result<()>;

    /// Runs a statement, or several, with parameters; rows of each answer.
    ///
    /// # Errors
    /// A conflict, or where the server fails.
    fn ask(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Vec<Row>>>;

    /// Fills a table in bulk with the rows that `fill` gives.
    ///
    /// # Errors
    /// Where the server fails.
    fn bulk(&mut self, table: &TableSchema, fill: &mut dyn FnMut(&mut Take<'_>) -> Result<()>) -> Result<()>;
}

/// What opens connections.
pub trait Connect: Sync {
    /// A connection.
    type Link: Link;

    /// A new one.
    ///
    /// # Errors
    /// Where the server takes none.
    fn connect(&self) -> Result<Self::Link>;
}
