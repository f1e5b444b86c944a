//! What is driven, and how fast its driver is alone.

use assay_record::Subject;

/// What is driven, in words.
#[derive(Clone, Debug)]
pub struct About {
    /// Name, version and settings.
    pub subject: Subject,
    /// What makes a commit durable.
    pub durability: String,
    /// It runs inside this process, so that its CPU cannot be told from the driver's.
    pub in_process: bool,
}

/// What the driver does without a store.
#[derive(Clone, Copy, Debug)]
pub struct Ceiling {
    /// Transactions per second of one terminal.
    pub per_s: f64,
    /// CPU seconds of one transaction.
    pub cpu_s: f64,
}
