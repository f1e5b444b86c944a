//! How the rows of a run look, and what is done to them.

use super::job::Workload;

pub(super) const TABLE: u16 = 0;

#[derive(Clone, Copy)]
pub(super) struct RowsShape {
    pub rows: u64,
    pub value_bytes: usize,
    pub read_share: f64,
    pub zipf: f64,
    pub kind: AccessKind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessKind {
    Rows,
    Scans,
    Ledger,
}

impl RowsShape {
    pub fn of(workload: &Workload) -> Self {
        match *workload {
            Workload::Ycsb { rows, value_bytes, read_share, zipf } => {
                Self { rows, value_bytes: value_bytes as usize, read_share, zipf, kind: AccessKind::Rows }
            }
            Workload::Scan { rows, value_bytes } => {
                Self { rows, value_bytes: value_bytes as usize, read_share: 1.0, zipf: 0.0, kind: AccessKind::Scans }
            }
            Workload::Ledger { value_bytes } => Self {
                rows: 0,
                value_bytes: value_bytes as usize,
                read_share: 0.0,
                zipf: 0.0,
                kind: AccessKind::Ledger,
            },
            Workload::Tpcc { .. } => unreachable!("the caller looked"),
        }
    }
}
