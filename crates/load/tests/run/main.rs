//! Runs from a job to a record, one program: it takes seconds to build.

mod arrivals;
mod checks;
mod interrupts;
mod paths;
mod support;
