//! A file system in memory that fails when it is told to: `assay-faultfs MOUNTPOINT [SEED [BYTES]]`.
//!
//! It says `mounted`, then answers each line of its standard input with one line. At the end of its input it unmounts and
//! ends, so that whoever started it cannot leave it behind.
//!
//! `assay-faultfs moves PATH buffered|direct FILE` says whether what a path moves arrives (`moves.rs`).
//!
//! | line | what it does |
//! | --- | --- |
//! | `rule OPERATION EFFECT [from=N] [count=N] [name=PART]` | the N-th such call and `count` after it (all) on names that hold PART |
//! | `clear` | forgets all rules |
//! | `space BYTES` | the size of the file system |
//! | `crash lose`, `crash torn` | what was not synced is lost, or by the seed: lost, kept, or kept in part |
//! | `calls` | how often each operation was called: `create=1 write=20 ...`, and how often a rule held: `hits=3` |
//! | `quit` | ends |

#![expect(clippy::print_stdout, reason = "what became of a file is its output")]

mod body;
mod file_system;
mod moves;
mod node;
mod rule;
mod world;

use std::{
    io::{self, BufRead, Write},
    sync::{Arc, Mutex},
};

use fuser::{Config, MountOption, SessionACL};

use crate::{file_system::FaultFs, world::World};

/// Bytes of the file system where nothing is said.
const BYTES: u64 = 64 << 30;

fn main() -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let ["moves", path, how, file] = words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        println!("{}", moves::moved(path, how == "direct", file.as_ref())?);
        return Ok(());
    }
    let [at, numbers @ ..] = words.as_slice() else {
        return Err(io::Error::other("usage: assay-faultfs MOUNTPOINT [SEED [BYTES]]"));
    };
    let number = |n: usize, otherwise| numbers.get(n).map_or(Ok(otherwise), |word| word.parse::<u64>());
    let seed = number(0, 1).map_err(io::Error::other)?;
    let bytes = number(1, BYTES).map_err(io::Error::other)?;
    let world = Arc::new(Mutex::new(World::new(seed, bytes)));
    let mut config = Config::default();
    config.mount_options = vec![MountOption::FSName("faultfs".to_owned()), MountOption::DefaultPermissions];
    config.acl = SessionACL::All;
    config.n_threads = Some(4);
    let session = fuser::spawn_mount(FaultFs::new(Arc::clone(&world)), at, &config)?;
    let told = listen(&world);
    drop(session);
    told
}

/// Answers lines until there are none.
fn listen(world: &Mutex<World>) -> io::Result<()> {
    let mut out = io::stdout();
    writeln!(out, "mounted")?;
    for line in io::stdin().lock().lines() {
        let line = line?;
        if line.trim() == "quit" {
            break;
        }
        let said = world.lock().expect("no thread panics").told(&line).unwrap_or_else(|wrong| format!("error {wrong}"));
        writeln!(out, "{said}")?;
    }
    Ok(())
}
