//! How the errors of indexes, engines and databases end a command: what was seen, what to do, the exit code.

use assay_engine::EngineError;
use assay_index::IndexError;
use assay_soak::SoakError;
use assay_tpcc::TpccError;
use assay_work::WorkError;
use assayer::Failure;

/// Of an index.
pub fn of_index(error: IndexError) -> Failure {
    Failure { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() }
}

/// Of the storage engine.
pub fn of_engine(error: EngineError) -> Failure {
    Failure { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() }
}

/// Of a store that is worked on until it is killed.
pub fn of_soak(error: SoakError) -> Failure {
    Failure { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() }
}

/// Of a benchmark.
pub fn of_work(error: WorkError) -> Failure {
    Failure { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() }
}

/// Of TPC-C.
pub fn of_tpcc(error: TpccError) -> Failure {
    Failure { reason: error.to_string(), fix: error.fix(), exit_code: error.exit_code() }
}
