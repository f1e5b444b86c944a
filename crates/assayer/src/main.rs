//! The binary: a job goes in, events come out. Useful alone on a bare database host.

mod commands;

use std::{ffi::OsString, path::PathBuf, process::ExitCode};

use assayer::Failure;
use clap::{Parser, Subcommand, ValueEnum};

/// Measures storage the way a database uses it: a job goes in, events come out, one line of JSON each.
#[derive(Debug, Parser)]
#[command(name = "assayer", version, about, max_term_width = 100)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run a job, of any kind that its field `kind` names (io, if none): events as NDJSON on standard output. Exit codes:
    /// 0 done, 1 failed, 2 bad job, 3 interrupted with what was finished kept, 4 not possible on this machine.
    Run {
        /// The job, a JSON document; `-` reads standard input.
        job: PathBuf,
    },
    /// Prepare a job's data sets and run no load. They stay where the job keeps its scratch folder, and are removed
    /// again otherwise, with what an earlier call left.
    Prepare {
        /// The job, a JSON document; `-` reads standard input.
        job: PathBuf,
    },
    /// Say what a job would do, without doing it.
    Plan {
        /// The job, a JSON document; `-` reads standard input.
        job: PathBuf,
    },
    /// Answer what-ifs on twins in closed form: a document of targets, hosts and questions goes in, answers come out.
    Predict {
        /// The questions, a JSON document; `-` reads standard input.
        questions: PathBuf,
        /// Answer them again and again for this many seconds of CPU, and say how many a second that is.
        #[arg(long, value_name = "SECONDS")]
        bench: Option<f64>,
    },
    /// Say which paths are available on targets, or why not and what would make them so.
    Probe {
        /// A folder, file or device; may be repeated.
        #[arg(long = "on", value_name = "TARGET")]
        on: Vec<PathBuf>,
    },
    /// Facts of the machine and of targets.
    Facts {
        /// A folder, file or device; may be repeated.
        #[arg(long = "on", value_name = "TARGET")]
        on: Vec<PathBuf>,
    },
    /// Say whether a device is in use, and by what. Exit code 4 where it is.
    Guard {
        /// The device.
        device: PathBuf,
    },
    /// Folders that runs made and, killed, could not remove.
    Scratch {
        /// What to do.
        action: ScratchAction,
        /// Only those whose names begin so.
        #[arg(long, default_value = "")]
        named: String,
        /// Folders that hold them.
        #[arg(required = true)]
        folders: Vec<PathBuf>,
    },
    /// Make folders for the program that started this one, and remove them: requests as lines of JSON on standard input.
    Own,
    /// Give drives back to the kernel that runs had taken (path nvme_polled) and, killed, could not give back.
    Polled {
        /// What to do.
        action: PolledAction,
    },
    /// Check the acknowledgement journal of a killed run: what was acknowledged as durable must be there.
    Verify {
        /// The job of the killed run.
        job: PathBuf,
    },
    /// Run a workload on an index (by the second program, assayer-db).
    Index(Rest),
    /// What hardware counters cost on this machine: at a context switch, and for an operation on nothing.
    Counting,
    /// What the generator can do without a target: one thread, 4 KiB random reads, full histograms.
    Null {
        /// Seconds to measure, for each of open and closed loop.
        #[arg(long, default_value_t = 1.0)]
        seconds: f64,
    },
    /// Run a workload on the storage engine (by assayer-db).
    Engine(Rest),
    /// Work on an index or the engine until killed, or check what a killed run has left (by assayer-db).
    Soak(Rest),
    /// Run TPC-C on a database (by assayer-db).
    Tpcc(Rest),
    /// A JSON Schema.
    Schema {
        /// Of which document.
        document: Document,
    },
    /// A completion script for a shell.
    Completion {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

/// What is handed to the second program as it is; its own help says what it takes.
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    arguments: Vec<OsString>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ScratchAction {
    /// List them.
    List,
    /// Remove those whose owner is gone.
    Clean,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum PolledAction {
    /// Give back those whose owner is gone.
    Clean,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Document {
    /// What goes in.
    Job,
    /// What comes out, line by line.
    Event,
    /// What a run leaves.
    Record,
    /// What a run of an index, an engine or a database leaves.
    Work,
    /// A run of an index.
    Index,
    /// What a run of the storage engine is asked to do.
    Engine,
    /// What a run of TPC-C is told.
    Tpcc,
    /// A store that is worked on until it is killed.
    Soak,
    /// Questions to twins, with every target, device and host in them.
    Twin,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match dispatch(arguments.command) {
        Ok(code) => code,
        Err(failure) => {
            failure.report();
            ExitCode::from(failure.exit_code)
        }
    }
}

fn dispatch(command: Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Run { job } => commands::run::run(&job),
        Command::Prepare { job } => commands::run::prepare(&job),
        Command::Plan { job } => commands::plan::plan(&job),
        Command::Predict { questions, bench } => commands::predict::predict(&questions, bench),
        Command::Probe { on } => commands::facts::probe(&on),
        Command::Facts { on } => commands::facts::facts(&on),
        Command::Guard { device } => commands::facts::guard(&device),
        Command::Scratch { action, named, folders } => commands::scratch::scratch(action, &named, &folders),
        Command::Own => commands::scratch::own(),
        Command::Polled { action: PolledAction::Clean } => commands::polled::clean(),
        Command::Verify { job } => commands::verify::verify(&job),
        Command::Index(rest) => commands::elsewhere::hand_over("index", &rest.arguments),
        Command::Counting => commands::counting::counting(),
        Command::Null { seconds } => commands::null::null(seconds),
        Command::Engine(rest) => commands::elsewhere::hand_over("engine", &rest.arguments),
        Command::Soak(rest) => commands::elsewhere::hand_over("soak", &rest.arguments),
        Command::Tpcc(rest) => commands::elsewhere::hand_over("tpcc", &rest.arguments),
        Command::Schema { document } => commands::schema::schema(document),
        Command::Completion { shell } => commands::schema::completion(shell),
    }
}
