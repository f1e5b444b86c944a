//! A database that was kept, against the rows that a run wants of it.

use assay_engine::{Database, EngineError};

use super::shape::{RowsShape, TABLE};
use crate::error::Result;

/// Refuses a database with more, fewer, longer or shorter rows: a run would find wrong ones, or never look at some.
///
/// # Errors
/// [`EngineError::Foreign`] where that is so.
pub(super) fn demand(database: &Database, shape: RowsShape) -> Result<()> {
    let (mut session, mut value) = (database.session()?, Vec::new());
    session.begin()?;
    let last = shape.rows.checked_sub(1).map(|last| session.get(TABLE, &last.to_be_bytes(), &mut value)).transpose()?;
    let bytes = value.len();
    let more = session.get(TABLE, &shape.rows.to_be_bytes(), &mut value)?;
    session.abort();
    let what = match (last, more) {
        (Some(false), _) => "fewer rows".to_owned(),
        (_, true) => "more rows".to_owned(),
        (Some(true), _) if bytes != shape.value_bytes => format!("rows of {bytes} bytes"),
        _ => return Ok(()),
    };
    let wanted = format!("{} of {} bytes", shape.rows, shape.value_bytes);
    let error = EngineError::Foreign {
        what: format!("the database that was kept has {what}, and this work needs {wanted}"),
        fix: "name another folder, or the rows that it was made with".to_owned(),
    };
    Err(error.into())
}
