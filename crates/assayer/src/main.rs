//! The binary: a job goes in, events come out.

fn main() {}
