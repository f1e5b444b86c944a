//! A crash after which something was wrong, as little of it as suffices.

use std::fmt;

/// A crash that the structure did not survive.
#[derive(Clone, Debug)]
pub struct Violation {
    /// What was wrong afterwards.
    pub what: String,
    /// The crashes that led to it, the first one first: more than one where recovery was cut off too.
    pub points: Vec<CrashPoint>,
    /// The seed that finds it again.
    pub seed: u64,
}

/// One crash.
#[derive(Clone, Debug)]
pub struct CrashPoint {
    /// How many events of the history had happened.
    pub event: usize,
    /// What had arrived of each line that was not durable.
    pub lines: Vec<String>,
    /// The last events before it.
    pub trace: Vec<String>,
}

impl fmt::Display for Violation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(formatter, "{} (seed {})", self.what, self.seed)?;
        for (number, point) in self.points.iter().enumerate() {
            writeln!(formatter, "crash {} after event {}:", number + 1, point.event)?;
            for line in &point.lines {
                writeln!(formatter, "    {line}")?;
            }
            writeln!(formatter, "  the last events before it:")?;
            for event in &point.trace {
                writeln!(formatter, "    {event}")?;
            }
        }
        Ok(())
    }
}
