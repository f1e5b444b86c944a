//! The second program: indexes, the storage engine and databases. `assayer` becomes it for these commands.

mod commands;

use std::{path::PathBuf, process::ExitCode};

use assayer::Failure;
use clap::{Parser, Subcommand, ValueEnum};

/// Runs indexes, the storage engine and databases: a job goes in, events come out, one line of JSON each.
#[derive(Debug, Parser)]
#[command(name = "assayer-db", version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a job of any kind, which its field `kind` names: io, index, engine, tpcc or soak.
    Run {
        /// The job, a JSON document; `-` reads standard input.
        job: PathBuf,
    },
    /// Run a workload on an index: a job goes in, events come out, the last one has the record.
    Index {
        /// The job, a JSON document; `-` reads standard input. With --list it is not read.
        #[arg(required_unless_present = "list")]
        job: Option<PathBuf>,
        /// List the indexes instead.
        #[arg(long)]
        list: bool,
    },
    /// Run a workload on the storage engine; events and exit codes as for `assayer run`.
    Engine {
        /// The job, a JSON document; `-` reads standard input.
        job: PathBuf,
    },
    /// Work on an index or the engine until killed, or check what a killed run has left.
    Soak {
        /// What to do.
        action: SoakAction,
        /// The job, a JSON document, the same for both.
        job: PathBuf,
    },
    /// Run TPC-C on a database: events as NDJSON on standard output, a work record in the last. Exit codes as for run.
    Tpcc {
        /// The job, a JSON document; `-` reads standard input.
        job: PathBuf,
    },
    /// A JSON Schema.
    Schema {
        /// Of which document.
        document: Document,
    },
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum SoakAction {
    /// Work through turns until killed or, with an end in the job, done. Each is acknowledged in the journal.
    Work,
    /// Compare the store with the journal. Exit code 1 where something is lost or corrupt.
    Check,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Document {
    /// A job of any kind.
    AnyJob,
    /// A run of an index.
    Index,
    /// What a run of the storage engine is asked to do.
    Engine,
    /// What a run of TPC-C is told.
    Tpcc,
    /// A store that is worked on until it is killed.
    Soak,
}

fn main() -> ExitCode {
    dispatch(Arguments::parse().command).unwrap_or_else(|failure: Failure| {
        failure.report();
        ExitCode::from(failure.exit_code)
    })
}

fn dispatch(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Run { job } => commands::run::run(&job, None),
        Command::Index { job: Some(job), list: false } => commands::run::run(&job, Some("index")),
        Command::Index { .. } => commands::index::list(),
        Command::Engine { job } => commands::run::run(&job, Some("engine")),
        Command::Soak { action: SoakAction::Work, job } => commands::run::run(&job, Some("soak")),
        Command::Soak { action: SoakAction::Check, job } => commands::soak::check(&job),
        Command::Tpcc { job } => commands::run::run(&job, Some("tpcc")),
        Command::Schema { document } => commands::schema::schema(document),
    }
}
