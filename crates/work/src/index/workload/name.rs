//! Workloads by name.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::distribution::Distribution;

/// Kinds of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Looks a key up that is there.
    Lookup,
    /// Looks a key up that never was.
    Missing,
    /// Adds a new key.
    Insert,
    /// Changes the value of a key that is there.
    Update,
    /// Removes a key that is there.
    Remove,
    /// Visits entries in order, from a key that is there.
    Scan,
    /// Looks a key up, then changes its value.
    ReadModifyWrite,
}

impl Operation {
    /// How many there are.
    pub const COUNT: usize = 7;
    /// All of them, in order.
    pub const ALL: [Self; Self::COUNT] =
        [Self::Lookup, Self::Missing, Self::Insert, Self::Update, Self::Remove, Self::Scan, Self::ReadModifyWrite];

    /// Its name in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lookup => "lookup",
            Self::Missing => "missing",
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Remove => "remove",
            Self::Scan => "scan",
            Self::ReadModifyWrite => "read-modify-write",
        }
    }
}

/// Workloads: single operations, mixes, and those of the Yahoo! Cloud Serving Benchmark (Cooper et al., SoCC 2010).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WorkloadName {
    /// Lookups of keys that are there.
    Lookup,
    /// Lookups of keys that are not.
    Missing,
    /// New keys.
    Insert,
    /// New values.
    Update,
    /// Keys removed, until none is left.
    Remove,
    /// Scans.
    Scan,
    /// Half lookups, half updates.
    Mixed,
    /// Half lookups, half updates.
    YcsbA,
    /// 95 % lookups, 5 % updates.
    YcsbB,
    /// Lookups alone.
    YcsbC,
    /// 95 % lookups of what is newest, 5 % inserts.
    YcsbD,
    /// 95 % scans, 5 % inserts.
    YcsbE,
    /// Half lookups, half read-modify-writes.
    YcsbF,
}

/// Shares of operations, of 1000, in the order of [`Operation::ALL`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mix(pub [u32; Operation::COUNT]);

impl WorkloadName {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::Lookup,
        Self::Missing,
        Self::Insert,
        Self::Update,
        Self::Remove,
        Self::Scan,
        Self::Mixed,
        Self::YcsbA,
        Self::YcsbB,
        Self::YcsbC,
        Self::YcsbD,
        Self::YcsbE,
        Self::YcsbF,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Lookup => "lookup",
            Self::Missing => "missing",
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Remove => "remove",
            Self::Scan => "scan",
            Self::Mixed => "mixed",
            Self::YcsbA => "ycsb-a",
            Self::YcsbB => "ycsb-b",
            Self::YcsbC => "ycsb-c",
            Self::YcsbD => "ycsb-d",
            Self::YcsbE => "ycsb-e",
            Self::YcsbF => "ycsb-f",
        }
    }

    /// Its operations.
    pub fn mix(self) -> Mix {
        use Operation::{Insert, Lookup, Missing, ReadModifyWrite, Remove, Scan, Update};
        let of = |parts: &[(Operation, u32)]| {
            let mut shares = [0; Operation::COUNT];
            parts.iter().for_each(|&(operation, share)| shares[operation as usize] = share);
            Mix(shares)
        };
        match self {
            Self::Lookup | Self::YcsbC => of(&[(Lookup, 1000)]),
            Self::Missing => of(&[(Missing, 1000)]),
            Self::Insert => of(&[(Insert, 1000)]),
            Self::Update => of(&[(Update, 1000)]),
            Self::Remove => of(&[(Remove, 1000)]),
            Self::Scan => of(&[(Scan, 1000)]),
            Self::Mixed | Self::YcsbA => of(&[(Lookup, 500), (Update, 500)]),
            Self::YcsbB => of(&[(Lookup, 950), (Update, 50)]),
            Self::YcsbD => of(&[(Lookup, 950), (Insert, 50)]),
            Self::YcsbE => of(&[(Scan, 950), (Insert, 50)]),
            Self::YcsbF => of(&[(Lookup, 500), (ReadModifyWrite, 500)]),
        }
    }

    /// Which keys it picks where nothing else is said.
    pub fn distribution(self) -> Distribution {
        match self {
            Self::YcsbA | Self::YcsbB | Self::YcsbC | Self::YcsbE | Self::YcsbF => Distribution::Zipf { theta: 0.99 },
            Self::YcsbD => Distribution::Latest { theta: 0.99 },
            _ => Distribution::Uniform,
        }
    }

    /// Whether it scans.
    pub fn scans(self) -> bool {
        self.mix().has(Operation::Scan)
    }
}

impl Mix {
    /// Whether an operation is in it.
    pub fn has(&self, operation: Operation) -> bool {
        self.0[operation as usize] != 0
    }

    /// The operation that a number below 1000 picks.
    #[inline(always)]
    pub fn pick(&self, mut number: u32) -> Operation {
        for operation in Operation::ALL {
            let share = self.0[operation as usize];
            if number < share {
                return operation;
            }
            number -= share;
        }
        Operation::Lookup
    }

    /// The same without a change of which keys are there: inserts and removes become lookups. For warm-up.
    #[must_use]
    pub fn without_growth(mut self) -> Self {
        for operation in [Operation::Insert, Operation::Remove] {
            let share = std::mem::take(&mut self.0[operation as usize]);
            self.0[Operation::Lookup as usize] += share;
        }
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_add_up_and_every_number_picks_its_operation() {
        for workload in WorkloadName::ALL {
            for mix in [workload.mix(), workload.mix().without_growth()] {
                assert_eq!(mix.0.iter().sum::<u32>(), 1000, "{workload:?}");
                let mut picked = [0; Operation::COUNT];
                (0..1000).for_each(|number| picked[mix.pick(number) as usize] += 1);
                assert_eq!(picked, mix.0, "{workload:?}");
            }
        }
    }

    #[test]
    fn names_are_those_of_documents() {
        for workload in WorkloadName::ALL {
            assert_eq!(serde_json::to_string(&workload).unwrap(), format!("\"{}\"", workload.name()));
        }
        for kind in assay_index::Kind::ALL {
            assert_eq!(serde_json::to_string(&kind).unwrap(), format!("\"{}\"", kind.name()));
        }
    }
}
