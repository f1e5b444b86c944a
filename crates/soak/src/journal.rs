//! The acknowledgement journal: lines of a thread and its last durable turn, each written by one system call.
//!
//! A call outlives the process, and on a folder of the host the virtual machine. The last line may be cut short; what is
//! in front of it is whole.

use std::{
    fs::{File, OpenOptions},
    io::Write,
    path::Path,
};

use crate::error::SoakError;

/// What threads write to.
#[derive(Debug)]
pub struct Journal {
    file: File,
}

impl Journal {
    /// Begins anew with what each thread has done so far; the journal before it is replaced in one go.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn begin(path: &Path, done: &[u64]) -> Result<Self, SoakError> {
        let fresh = path.with_extension("new");
        let lines: String = done.iter().enumerate().map(|(thread, turn)| line(thread as u32, *turn)).collect();
        std::fs::write(&fresh, lines).map_err(SoakError::file("writing", &fresh))?;
        std::fs::rename(&fresh, path).map_err(SoakError::file("replacing", path))?;
        let file = OpenOptions::new().append(true).open(path).map_err(SoakError::file("opening", path))?;
        Ok(Self { file })
    }

    /// Acknowledges a thread's turns up to this one.
    ///
    /// # Errors
    /// Where it cannot be written.
    pub fn acknowledge(&self, thread: u32, turn: u64) -> std::io::Result<()> {
        (&self.file).write_all(line(thread, turn).as_bytes())
    }
}

fn line(thread: u32, turn: u64) -> String {
    format!("{thread} {turn}\n")
}

/// The last acknowledged turn of each thread; 0 where there is none, or no journal.
///
/// # Errors
/// Where the journal cannot be read.
pub fn read(path: &Path, threads: u32) -> Result<Vec<u64>, SoakError> {
    match std::fs::read_to_string(path) {
        Ok(text) => Ok(parse(&text, threads)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(vec![0; threads as usize]),
        Err(error) => Err(SoakError::file("reading", path)(error)),
    }
}

fn parse(text: &str, threads: u32) -> Vec<u64> {
    let mut done = vec![0; threads as usize];
    // What follows the last end of a line was cut off.
    let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
    for entry in whole.lines() {
        let Some((thread, turn)) = entry.split_once(' ') else { continue };
        if let (Ok(thread), Ok(turn)) = (thread.parse::<usize>(), turn.parse::<u64>()) {
            if let Some(done) = done.get_mut(thread) {
                *done = turn.max(*done);
            }
        }
    }
    done
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_whole_line_of_each_thread_counts() {
        assert_eq!(parse("0 1\n1 1\n0 2\n1 77", 3), [2, 1, 0]);
        assert_eq!(parse("", 1), [0]);
        assert_eq!(parse("9 1\nx\n0 4\n", 1), [4]);
    }

    #[test]
    fn a_journal_goes_on_where_the_last_one_ended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("journal");
        assert_eq!(read(&path, 2).unwrap(), [0, 0]);
        Journal::begin(&path, &[5, 0]).unwrap().acknowledge(1, 3).unwrap();
        assert_eq!(read(&path, 2).unwrap(), [5, 3]);
    }
}
